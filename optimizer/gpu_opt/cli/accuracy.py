"""`gpu-opt accuracy`: predictions beside one's own measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpu_opt.cli._common import echo_err, write_json
from gpu_opt.cli._tables import markdown_table, text_table
from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.accuracy.report import Report, summary, to_json

_HEADER = ("metric", "rows", "median error", "mean error", "P90 error", "within 20 %", "inside P10-P90")
_REASONS_SHOWN = 10


def command(
    file: Annotated[Path, typer.Argument(help="Measured points, as CSV.", metavar="FILE")],
    output: Annotated[Literal["table", "json", "md"], typer.Option("--format", help="How to print it.")] = "table",
) -> None:
    """Hold the model against measured points: training speed and memory, serving, or GPU-hours of whole runs."""
    report = _report(file)
    if output == "json":
        write_json(to_json(report))
        return
    table = markdown_table if output == "md" else text_table
    typer.echo(table(_HEADER, _lines(report)))
    _skipped(report)


def _report(file: Path) -> Report:
    """The report of a benchmark's result file, else of a CSV file."""
    from gpu_opt.throughput.bench_files import read_bench_file, sniff

    if sniff(file):
        from gpu_opt.throughput.accuracy.serving import evaluate

        return evaluate(read_bench_file(file))
    from gpu_opt.throughput.accuracy.evaluate import evaluate_csv

    return evaluate_csv(read_text(file), file.name)


def read_text(file: Path) -> str:
    """The text of a file, InputError when it can't be read."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(
            Problem(file=file.name, what="no such file.", remedy="Give the path of a CSV file.")
        ) from error
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(Problem(file=file.name, what="can't be read as UTF-8 text.")) from error


def _lines(report: Report) -> list[tuple[str, ...]]:
    return [
        (
            metric,
            str(errors.n),
            f"{errors.median_ape:.1%}",
            f"{errors.mape:.1%}",
            f"{errors.p90_ape:.1%}",
            f"{errors.within_20pct:.0%}",
            f"{errors.interval_coverage:.0%}",
        )
        for metric, errors in summary(report).items()
    ]


def _skipped(report: Report) -> None:
    for each in report.skipped[:_REASONS_SHOWN]:
        echo_err(f"skipped {each.id}: {each.reason}")
    more = len(report.skipped) - _REASONS_SHOWN
    if more > 0:
        echo_err(f"and {more} more rows skipped")
