"""The page of the training model's accuracy, made from the committed measured points and left-out errors.

python tools/training_page.py            # writes docs/reference/accuracy-training.md
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gpu_opt.throughput.accuracy import gpu_hours, training
from gpu_opt.throughput.accuracy.report import Row, quantile, summarize

ROOT = Path(__file__).resolve().parent.parent
POINTS = ROOT / "optimizer" / "gpu_opt" / "throughput" / "data" / "training_points.csv"
LEFT_OUT = ROOT / "tools" / "training_left_out.csv"
PAGE = ROOT / "docs" / "reference" / "accuracy-training.md"
WHOLE_RUNS = (
    {"id": "llama-2-70b", "model": "llama-2-70b", "tokens_b": "2000", "seq_len": "4096", "gpu": "A100-80GB-SXM",
     "n_gpus": "2048", "precision": "bf16", "gpu_hours": "1720320", "source": "Llama 2 paper, table 2"},
    {"id": "llama-3.1-405b", "model": "llama-3.1-405b", "tokens_b": "15600", "seq_len": "8192", "gpu": "H100-SXM",
     "n_gpus": "16384", "precision": "bf16", "gpu_hours": "30840000", "source": "Llama 3.1 model card"},
)  # fmt: skip
PEERS = (
    ("llm-analysis 0.2.2, as shipped", "90 % median on several sources"),
    ("llm-analysis 0.2.2, efficiency set to 0.5 by hand", "14.2 % median on several sources"),
    ("vTrain", "8.4 % one node, 14.7 % several nodes, after profiling the GPU"),
    ("Calculon", "3.65 % average, 8.9 % at most, on eight A100 points of its own"),
    ("AMPeD", "12 % at most"),
    ("Echo, SimAI, Lumos, Charon", "2-8 %, from traces or kernel profiles of the machine itself"),
)

Points = Mapping[str, Mapping[str, str]]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, none when it doesn't exist."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *(f"| {' | '.join(line)} |" for line in lines),
        "",
    ]


def errors_by(rows: Sequence[Row], points: Points, key: Callable[[Mapping[str, str]], str]) -> list[str]:
    """Errors by a class of the points."""
    lines = []
    for name in sorted({key(points[row.id]) for row in rows}):
        errors = summarize(row for row in rows if key(points[row.id]) == name)
        if errors is None:
            continue
        lines.append((name, str(errors.n), f"{errors.median_ape:.1%}", f"{errors.p90_ape:.1%}",
                      f"{errors.within_20pct:.0%}", f"{errors.interval_coverage:.0%}"))  # fmt: skip
    return table(("", "runs", "median error", "P90", "within 20 %", "inside P10-P90"), lines)


def source_of(row: Mapping[str, str]) -> str:
    """The source of a point: its stack, and mixtures and adapters apart."""
    kind = " mixtures" if row["experts"] else ""
    method = {"lora": " LoRA", "qlora": " QLoRA", "full-ft": " full"}.get(row["method"], "")
    return f"{row['stack']}{kind}{method}"


def left_out(kind: str, key: str) -> list[str]:
    """Errors on what a fit never saw, by class."""
    found = [row for row in rows_of(LEFT_OUT) if row["left_out"] == kind]
    lines = []
    for name in sorted({row[key] for row in found}):
        errors = [abs(math.expm1(float(row["log_error"]))) for row in found if row[key] == name]
        within = sum(error <= 0.2 for error in errors) / len(errors)
        lines.append((name, str(len(errors)), f"{quantile(errors, 0.5):.1%}", f"{quantile(errors, 0.9):.1%}",
                      f"{within:.0%}"))  # fmt: skip
    return table(("left out", "runs", "median error", "P90", "within 20 %"), lines)


def verdicts(rows: Sequence[Row], points: Points) -> list[str]:
    """Recall of failures and false alarms, by stack."""
    lines = []
    for stack in sorted({points[row.id]["stack"] for row in rows}):
        mine = [row for row in rows if points[row.id]["stack"] == stack]
        failed = [row for row in mine if points[row.id]["peak_mem_gb"].startswith("OOM")]
        worked = [row for row in mine if row.measured is not None]
        if not failed and not worked:
            continue
        recall = f"{sum(not row.fits for row in failed) / len(failed):.0%}" if failed else ""
        alarms = f"{sum(not row.fits for row in worked) / len(worked):.1%}" if worked else ""
        lines.append((stack, str(len(failed)), recall, str(len(worked)), alarms))
    return table(("stack", "failed runs", "recognised", "runs that worked", "false alarms"), lines)


def render() -> str:
    """The whole page."""
    points = {row["id"]: row for row in rows_of(POINTS)}
    report = training.evaluate(points.values())
    speed = [row for row in report.rows if row.metric == "tokens_per_s_per_gpu"]
    memory = [row for row in report.rows if row.metric == "peak_mem_gb"]
    whole = gpu_hours.evaluate(WHOLE_RUNS).rows
    lines = [
        "# Accuracy of the training model",
        "",
        "<!-- Made by tools/training_page.py from measured points; a test compares it. -->",
        "",
        f"{len(points)} published points, each with its source, in `throughput/data/training_points.csv`. "
        f"{len(report.skipped)} can't be predicted. Of one noisy sweep only clean runs are here: the fastest of "
        "repeats, at 15 % utilisation or more. The tables of the first two sections are of points that the constants "
        "were fitted to; the sections after them are of points that a fit never saw.",
        "",
        "## Speed, constants fitted to these sources",
        "",
        *errors_by(speed, points, source_of),
        *errors_by(speed, points, lambda row: row["gpu"]),
        "## Memory",
        "",
        *errors_by(memory, points, source_of),
        *verdicts(memory, points),
        "A failure of the nanotron sweep need not be one of memory: its log doesn't tell a crash from a lack of "
        "memory, and about one in ten happened at less than half of the memory.",
        "",
        "## Speed on sources that a fit never saw",
        "",
        *left_out("source", "class"),
        *left_out("source", "method"),
        "## Speed on GPUs that a fit never saw",
        "",
        *left_out("gpu", "class"),
        "## Speed on models that a fit never saw",
        "",
        *left_out("model", "class"),
        "## Whole runs",
        "",
        *table(
            ("run", "GPU-hours published", "GPU-hours predicted", "ratio"),
            [
                (row.id, f"{row.measured:,.0f}", f"{row.predicted:,.0f}", f"{row.predicted / row.measured:.2f}")
                for row in whole
                if row.measured
            ],
        ),
        "## Peers",
        "",
        *table(("tool", "published accuracy"), PEERS),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
