"""A plan on stdout, in the form that was asked for; its warnings on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from gpu_opt.cli._common import echo_err, is_terminal, write_json
from gpu_opt.cli._plan_files import write_document
from gpu_opt.domain.plan import Plan
from gpu_opt.errors import Infeasible
from gpu_opt.report.money import usd_short


class PlanFormat(StrEnum):
    """How a plan is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    HTML = "html"
    CSV = "csv"
    FOCUS = "focus"


def show_plan(plan: Plan, form: PlanFormat, output: Path | None) -> None:
    """Writes the plan file where one is asked for, then prints."""
    from gpu_opt.report.plan_json import to_json

    document = to_json(plan) if output is not None or form is PlanFormat.JSON else None
    if output is not None:
        write_document(output, document)
    if form is PlanFormat.JSON:
        write_json(document)
    else:
        sys.stdout.write(plan_text(plan, form))


def plan_text(plan: Plan, form: PlanFormat) -> str:
    """The plan as text of any form but JSON."""
    if form is PlanFormat.CSV:
        from gpu_opt.report.csvs import cost_lines

        return cost_lines(plan)
    if form is PlanFormat.FOCUS:
        from gpu_opt.report.focus import focus_csv

        return focus_csv(plan)
    if form is PlanFormat.HTML:
        from gpu_opt.report.html import render as render_html

        return render_html(plan)
    from gpu_opt.report.sections import report_of

    if form is PlanFormat.MD:
        from gpu_opt.report.markdown import render as render_markdown

        return render_markdown(report_of(plan))
    from gpu_opt.report.table import render

    return render(report_of(plan), width=terminal_width(), colour=wants_colour())


def show_infeasible(error: Infeasible, *, json: bool, output: Path | None) -> None:
    """The conflict and its repairs in words on stderr; as JSON on stdout and in the file where they were asked for."""
    from gpu_opt.report.plan_json import infeasible_json

    document = infeasible_json(error.conflict, error.repairs)
    if output is not None:
        write_document(output, document)
    if json:
        write_json(document)
    lines = ["No plan meets all of this:", *(f"  - {reason}" for reason in error.conflict)]
    if error.repairs:
        lines.append("The cheapest ways out, each by itself, with what the plan would then cost:")
        lines += [f"  - {change}: {usd_short(usd)}" for change, usd in error.repairs]
    else:
        lines.append("`gpu-opt fit WORKLOAD` shows on which GPUs each workload runs, and why not on the others.")
    echo_err("\n".join(lines))


def warn(warnings: Iterable[str]) -> None:
    """One line each on stderr."""
    for warning in warnings:
        echo_err(f"warning: {warning}")


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def wants_colour() -> bool:
    """Whether stdout is a colour terminal whose user doesn't object."""
    return is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
