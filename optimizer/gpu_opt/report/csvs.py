"""The cost lines as CSV. Text that a spreadsheet would take for a formula is neutralised."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.domain.plan import Plan
from gpu_opt.report.text import cell

COST_COLUMNS = (
    *("period", "workload", "team", "label", "offer", "provider", "market"),
    *("quantity", "unit", "rate_usd", "usd", "billed"),
)


def cost_lines(plan: Plan) -> str:
    """All cost lines; `usd` adds up to the plan's objective to the cent."""
    teams = {workload.name: workload.team for workload in plan.workloads}
    rows = [
        {
            "period": line.period,
            "workload": line.workload,
            "team": teams.get(line.workload, ""),
            "label": line.label,
            "offer": line.offer,
            "provider": line.provider,
            "market": line.market,
            "quantity": line.quantity,
            "unit": line.unit,
            "rate_usd": line.rate_usd,
            "usd": line.usd,
            "billed": "yes" if line.billed else "no",
        }
        for line in plan.cost_lines
    ]
    return written(COST_COLUMNS, rows)


def written(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """CSV with a header and bare line feeds. None is an empty cell; numbers are written as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(row.get(column)) for column in columns])
    return out.getvalue()


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value + 0.0).removesuffix(".0")
    return str(value) if isinstance(value, int) else cell(str(value))
