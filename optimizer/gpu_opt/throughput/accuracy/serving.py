"""Accuracy of the serving model: throughput and latencies of measured points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.names import UnknownName
from gpu_opt.hardware.accelerators import canonical_gpu, load_accelerators
from gpu_opt.throughput.accuracy.report import Report, Row, Skipped
from gpu_opt.throughput.accuracy.row_model import model_of
from gpu_opt.throughput.accuracy.serving_rows import number, point_of
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.interval import point_interval
from gpu_opt.throughput.serving.points import ServingPoint, predict_points

CELLS = (
    ("throughput_out_tok_s", "throughput_out_tok_s"),
    ("tpot_ms", "tpot_mean"),
    ("tpot_p50_ms", "tpot_p50"),
    ("tpot_p95_ms", "tpot_p95"),
    ("tpot_p99_ms", "tpot_p99"),
    ("itl_p99_ms", "itl_p99"),
    ("ttft_ms", "ttft_mean"),
    ("ttft_p50_ms", "ttft_p50"),
    ("ttft_p95_ms", "ttft_p95"),
    ("ttft_p99_ms", "ttft_p99"),
    ("e2e_ms", "e2e_mean"),
    ("e2e_p50_ms", "e2e_p50"),
    ("e2e_p95_ms", "e2e_p95"),
    ("e2e_p99_ms", "e2e_p99"),
)
"""Metrics of the report, which are the file's columns, and the model's names for them."""


def find_accelerator(name: str) -> Accelerator | None:
    """The accelerator behind any spelling; None for one that the table lacks."""
    try:
        return load_accelerators()[canonical_gpu(name)]
    except UnknownName:
        return None


def measured_value(row: Mapping[str, str], metric: str) -> float | None:
    """The row's measurement; throughput that is blank is the one that its latencies imply."""
    value = number(row.get(metric))
    if value is None and metric == "throughput_out_tok_s":
        value = number(row.get("derived_out_tok_s"))
    return value


def evaluate(rows: Iterable[Mapping[str, str]], constants: Constants | None = None) -> Report:
    """Every metric that the model predicts for each row, measured or not, in the rows' order."""
    known = constants or load_constants()
    points: list[tuple[Mapping[str, str], ServingPoint]] = []
    skipped: list[Skipped] = []
    for index, row in enumerate(rows):
        point = point_of(row, find_accelerator, model_of, key=str(index))
        if isinstance(point, ServingPoint):
            points.append((row, point))
        else:
            skipped.append(Skipped(id=row.get("id", ""), reason=point.reason))
    predicted = predict_points([point for _, point in points], known)
    found = [row for cells, point in points for row in _rows(cells, point, predicted[point.id])]
    return Report(kind="inference", rows=tuple(found), skipped=tuple(skipped))


def _rows(cells: Mapping[str, str], point: ServingPoint, predicted: Mapping[str, float]) -> list[Row]:
    """One row a metric; latencies in ms, throughput of the whole deployment in tokens per second."""
    found = []
    for metric, name in CELLS:
        value = predicted.get(_asked(cells, metric, name), 0.0)
        if value <= 0.0:
            continue
        scaled = value if metric.startswith("throughput") else 1e3 * value
        interval = point_interval(point, name)
        found.append(
            Row(
                id=cells.get("id", ""),
                metric=metric,
                measured=measured_value(cells, metric),
                predicted=scaled,
                low=scaled * interval.low_ratio,
                high=scaled * interval.high_ratio,
            )
        )
    return found


def _asked(cells: Mapping[str, str], metric: str, name: str) -> str:
    """A cell whose statistic is stated as the median is compared with the median."""
    statistic = cells.get(metric.removesuffix("_ms") + "_stat", "").lower() if name.endswith("_mean") else ""
    return name.replace("_mean", "_p50") if "median" in statistic and "mean" not in statistic else name


def columns_match(columns: Sequence[str]) -> bool:
    """Whether a file's columns are those of serving points."""
    names = set(columns)
    return {"id", "gpu", "scenario"} <= names and bool({"throughput_out_tok_s", "ttft_ms", "tpot_ms"} & names)
