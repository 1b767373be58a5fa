"""`gpu-opt verify`: re-checks a plan from its file alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpu_opt.cli._common import clean, write_json
from gpu_opt.cli._plan_files import read_plan_document
from gpu_opt.errors import CheckFailed, InputError, Problem

_COUNTED = (
    ("workloads", "workload", "workloads"),
    ("schedule", "scheduled run", "scheduled runs"),
    ("fleet", "entry of the fleet", "entries of the fleet"),
    ("commitments", "commitment", "commitments"),
    ("purchases", "purchase", "purchases"),
    ("cost_lines", "cost line", "cost lines"),
)


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file, as `gpu-opt plan -o` writes it.", show_default=False)],
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Re-check a plan from its file alone: constraints, schedule, sums and bound. Exit 5 when it doesn't hold.

    Neither prices nor the workload file are read, and none of the planning code is used.
    """
    from gpu_opt.verify import check

    document = read_plan_document(plan)
    if document.get("status") == "infeasible":
        what = "says that no plan exists; there is nothing to verify."
        raise InputError(Problem(file=str(plan), what=what, remedy="Plan again with one of its repairs."))
    problems = list(check(document))
    if output == "json":
        write_json({"schema": "gpu-opt/verify/1", "holds": not problems, "problems": problems})
    else:
        sys.stdout.write(clean(_report(document, problems)) + "\n")
    if problems:
        raise CheckFailed(f"{plan}: the plan does not hold ({len(problems)} found).")


def _report(document: Mapping[str, Any], problems: list[str]) -> str:
    lines = [
        f"Checked {_counts(document)}:",
        "  every demand met inside its window, on capacity that stands at that time;",
        "  quotas, budgets and other limits kept at every time;",
        "  each cost line is quantity × rate, the lines add up to the total, workloads and platform too;",
        "  the bound, the gap and what is claimed of them agree.",
    ]
    if problems:
        return "\n".join([*lines, "", "It does NOT hold:", *(f"  - {problem}" for problem in problems)])
    objective = document.get("objective_usd")
    cost = f" It costs ${objective:,.2f}." if isinstance(objective, int | float) else ""
    return "\n".join([*lines, "", f"The plan holds.{cost}"])


def _counts(document: Mapping[str, Any]) -> str:
    parts = []
    for key, one, many in _COUNTED:
        held = document.get(key)
        if isinstance(held, list) and held:
            parts.append(f"{len(held)} {one if len(held) == 1 else many}")
    return ", ".join(parts) or "an empty plan"
