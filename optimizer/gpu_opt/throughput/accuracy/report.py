"""An accuracy report: predictions beside measurements, their error by metric, as JSON or as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpu_opt.records import record

SCHEMA = "gpu-opt/accuracy/1"
_WITHIN = 0.2
_P90 = 0.9


@record
class Row:
    """One metric of one measured point. `measured` is None where the point has none (a run that failed)."""

    id: str
    metric: str
    measured: float | None
    predicted: float
    low: float
    high: float
    fits: bool | None = None


@record
class Skipped:
    """A point that can't be predicted, and why."""

    id: str
    reason: str


@record
class MetricSummary:
    """Errors of one metric over the rows that have a measurement; fractions, not percent."""

    n: int
    median_ape: float
    mape: float
    p90_ape: float
    within_20pct: float
    interval_coverage: float


@record
class Report:
    """All rows of a file. `kind` is training, inference or gpu_hours."""

    kind: str
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...] = ()


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile of sorted or unsorted values, linear between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def summarize(rows: Iterable[Row]) -> MetricSummary | None:
    """Errors of rows of one metric; None when no row has a measurement."""
    measured = [(row, row.measured) for row in rows if row.measured is not None and row.measured > 0]
    if not measured:
        return None
    errors = [abs(row.predicted - value) / value for row, value in measured]
    covered = sum(row.low <= value <= row.high for row, value in measured)
    return MetricSummary(
        n=len(errors),
        median_ape=quantile(errors, 0.5),
        mape=sum(errors) / len(errors),
        p90_ape=quantile(errors, _P90),
        within_20pct=sum(error <= _WITHIN for error in errors) / len(errors),
        interval_coverage=covered / len(errors),
    )


def summary(report: Report) -> dict[str, MetricSummary]:
    """Errors by metric, metrics in alphabetical order."""
    metrics = sorted({row.metric for row in report.rows})
    found = ((metric, summarize(row for row in report.rows if row.metric == metric)) for metric in metrics)
    return {metric: errors for metric, errors in found if errors is not None}


def _digits(value: float) -> float:
    """Six significant digits, so that equal inputs give equal bytes on every machine."""
    return float(f"{value:.6g}")


def to_json(report: Report) -> dict[str, object]:
    """The document of `gpu-opt accuracy --format json` (contract, section 5)."""
    rows = []
    for row in report.rows:
        cells: dict[str, object] = {
            "id": row.id,
            "metric": row.metric,
            "measured": row.measured,
            "predicted": _digits(row.predicted),
            "low": _digits(row.low),
            "high": _digits(row.high),
        }
        if row.fits is not None:
            cells["fits"] = row.fits
        rows.append(cells)
    return {
        "schema": SCHEMA,
        "kind": report.kind,
        "rows": rows,
        "skipped": [{"id": each.id, "reason": each.reason} for each in report.skipped],
        "summary": {
            metric: {
                "n": errors.n,
                "median_ape": _digits(errors.median_ape),
                "mape": _digits(errors.mape),
                "p90_ape": _digits(errors.p90_ape),
                "within_20pct": _digits(errors.within_20pct),
                "interval_coverage": _digits(errors.interval_coverage),
            }
            for metric, errors in summary(report).items()
        },
    }
