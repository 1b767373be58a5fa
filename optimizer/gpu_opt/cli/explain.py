"""`gpu-opt explain`: why a plan chose what it chose, from its file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpu_opt.cli._common import write_json
from gpu_opt.cli._plan_files import read_plan_document
from gpu_opt.cli._shown import terminal_width, wants_colour
from gpu_opt.report.section import Report


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file, as `gpu-opt plan -o` writes it.", show_default=False)],
    workload: Annotated[Path | None, typer.Argument(help="Its workload file, to see that it is the same.")] = None,
    why_not: Annotated[
        str | None, typer.Option("--why-not", metavar="OFFER", help="An offer, a place, an instance type, a pattern.")
    ] = None,
    output: Annotated[Literal["table", "json", "md"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Tell why a plan chose what it chose: the runner-up, the price at which it would win, what one more unit of each
    limit is worth, and why the rest could not be used.
    """
    document = read_plan_document(plan)
    if document.get("status") == "infeasible":
        _show(_infeasible(document), output)
        return
    from gpu_opt.report.explanation import explanation
    from gpu_opt.report.explanation import why_not as reasons_against
    from gpu_opt.report.plan_file import from_json

    made = from_json(document, str(plan))
    if workload is not None:
        _compare(workload, made.workload_sha256)
    if why_not is None:
        _show(explanation(made), output)
        return
    shapes, known = _offers_meant(why_not)
    _show(reasons_against(made, why_not, shapes, known), output)


def _show(report: Report, output: str) -> None:
    if output == "json":
        write_json(_document(report))
    elif output == "md":
        from gpu_opt.report.markdown import render as render_markdown

        sys.stdout.write(render_markdown(report))
    else:
        from gpu_opt.report.table import render

        sys.stdout.write(render(report, width=terminal_width(), colour=wants_colour()))


def _document(report: Report) -> dict[str, Any]:
    return {
        "schema": "gpu-opt/explain/1",
        "answer": [{"label": line.label, "text": line.text} for line in report.answer],
        "sections": [
            {
                "key": section.key,
                "items": list(section.items),
                "rows": [dict(zip(section.header, row, strict=True)) for row in section.rows],
            }
            for section in report.sections
        ],
    }


def _infeasible(document: Mapping[str, Any]) -> Report:
    from gpu_opt.report.money import usd_short
    from gpu_opt.report.section import Line, Section

    conflict = document.get("conflict")
    repairs = document.get("repairs")
    ways = [
        f"{entry.get('change')}: {usd_short(float(entry['usd']))}"
        for entry in (repairs if isinstance(repairs, list) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("usd"), int | float)
    ]
    against = Section(
        key="conflict",
        title="What can't be met together",
        items=tuple(str(reason) for reason in (conflict if isinstance(conflict, list) else ())),
    )
    out = Section(key="repairs", title="The cheapest ways out, with what the plan would then cost", items=tuple(ways))
    return Report(
        title="Why there is no plan",
        answer=(Line(label="Plan", text="none exists for these inputs"),),
        sections=tuple(section for section in (against, out) if section.items),
    )


def _compare(workload: Path, sha256: str) -> None:
    from gpu_opt.cli._common import echo_err
    from gpu_opt.workload_file.reader import load

    if load(workload).sha256 != sha256:
        echo_err(f"warning: {workload} is not the file that this plan was made from, or --set changed it.")


def _offers_meant(wanted: str) -> tuple[frozenset[str], dict[str, str]]:
    """The shapes of the offers that are meant, and why each of them can't be bought ("" where it can)."""
    from gpu_opt.cli._offers import load_offers
    from gpu_opt.hardware import shape_of
    from gpu_opt.report.explanation import meant

    offers = {offer.id: offer for offer in load_offers(quiet=True).offers}
    shapes: set[str] = set()
    known: dict[str, str] = {}
    for name in sorted(meant(wanted, offers)):
        o = offers[name]
        shape = shape_of(o.provider, o.instance_type, o.gpu, o.gpu_count, o.gpu_memory_gib, o.vcpus, o.memory_gib)
        shapes.add(shape.name)
        known[name] = "" if o.purchasable else o.note or "its price is only a list price"
    return frozenset(shapes), known
