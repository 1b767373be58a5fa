"""The accuracy page of the serving model, made from the measured points that ship with the tool."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from gpu_opt.throughput.accuracy.report import MetricSummary, Row, summarize
from gpu_opt.throughput.accuracy.serving import evaluate
from gpu_opt.throughput.accuracy.serving_rows import scenario_of
from gpu_opt.throughput.serving.tables import read_rows

POINTS = "serving_points.csv"
_METRICS = ("throughput_out_tok_s", "tpot_ms", "tpot_p99_ms", "ttft_ms", "ttft_p99_ms", "e2e_ms", "e2e_p99_ms")
_LEAST = 10
_INTRO = """# Accuracy of the serving model

Predictions beside {points} public measurements that ship with the tool (`throughput/data/{file}`, each row with its
source); {predicted} of them are predicted. This page is generated from that table: the constants saw these points, so
the errors here are those of points like the ones it knows. What to expect of a model, a GPU or a configuration that
it never saw is in [the held-out table](#held-out). Intervals are P10–P90; coverage is the share of measurements
inside them.
"""
_HELD_OUT = """## Held out

Constants fitted without the group that is then predicted: its family (model, GPU, engine, precision), its GPU, or its
model. Median error and share within 20 %, on all points of quality A and B.

| held out | metric | points | median | within 20 % |
|---|---|---:|---:|---:|
"""


def render() -> str:
    """The page as Markdown, the same bytes for the same table and constants."""
    cells = read_rows(POINTS)
    report = evaluate(cells)
    predicted = len({row.id for row in report.rows})
    by_id = {row["id"]: row for row in cells}
    parts = [_INTRO.format(points=len(cells), predicted=predicted, file=POINTS)]
    parts.append(_section("By metric", _by_metric(report.rows)))
    parts.append(_section("Throughput by kind of benchmark", _grouped(report.rows, by_id, _kind)))
    parts.append(_section("Throughput by GPU", _grouped(report.rows, by_id, lambda row: row["gpu"])))
    parts.append(_section("Throughput by engine", _grouped(report.rows, by_id, lambda row: row["engine"])))
    parts.append(_held_out())
    parts.append(_sources(cells))
    if report.skipped:
        reasons = Counter(each.reason for each in report.skipped)
        lines = "\n".join(f"- {count} × {reason}" for reason, count in sorted(reasons.items()))
        parts.append(f"## Not predicted\n\n{lines}\n")
    return "\n".join(parts)


def _kind(row: Mapping[str, str]) -> str:
    return scenario_of(row)


def _section(title: str, lines: Sequence[str]) -> str:
    head = "| | points | median | mean | P90 | within 20 % | in interval |\n|---|---:|---:|---:|---:|---:|---:|"
    return "\n".join([f"## {title}\n", head, *lines, ""])


def _line(label: str, errors: MetricSummary) -> str:
    shares = (errors.median_ape, errors.mape, errors.p90_ape, errors.within_20pct, errors.interval_coverage)
    return f"| {label} | {errors.n} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |"


def _by_metric(rows: Sequence[Row]) -> list[str]:
    found = ((metric, summarize(row for row in rows if row.metric == metric)) for metric in _METRICS)
    return [_line(f"`{metric}`", errors) for metric, errors in found if errors is not None]


def _grouped(
    rows: Sequence[Row], by_id: Mapping[str, Mapping[str, str]], key: Callable[[Mapping[str, str]], str]
) -> list[str]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.metric == "throughput_out_tok_s" and row.measured is not None:
            groups[key(by_id[row.id])].append(row)
    found = ((name, summarize(members)) for name, members in sorted(groups.items()))
    return [_line(name, errors) for name, errors in found if errors is not None and errors.n >= _LEAST]


def _held_out() -> str:
    lines = [
        f"| {row['held_out']} | `{row['metric']}` | {row['points']} | {100 * float(row['median_ape']):.1f} % | "
        f"{100 * float(row['within_20pct']):.0f} % |"
        for row in read_rows("serving_held_out.csv")
    ]
    return _HELD_OUT + "\n".join(lines) + "\n"


def _sources(cells: Sequence[Mapping[str, str]]) -> str:
    counts = Counter(row["source"].split(" (")[0] for row in cells)
    grouped: Counter[str] = Counter()
    for source, count in counts.items():
        grouped[source.split("/")[0] if source.count("/") > 1 else source] += count
    lines = "\n".join(f"- {source}: {count} points" for source, count in sorted(grouped.items()))
    return f"## Sources\n\n{lines}\n"
