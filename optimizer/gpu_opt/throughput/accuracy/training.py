"""Accuracy of the training model: speed and memory of measured runs, and GPU-hours of whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gpu_opt.domain.option import Interval
from gpu_opt.throughput.accuracy.report import Report, Row, Skipped
from gpu_opt.throughput.accuracy.row_model import number
from gpu_opt.throughput.accuracy.training_points import Point, point_of
from gpu_opt.throughput.accuracy.training_predict import Batch, batch_of, cell_bytes, predict, resolve
from gpu_opt.throughput.memory_training import Memory
from gpu_opt.throughput.training.intervals import P90_SCORE, interval_of

_GB_BYTES = 1e9


def evaluate(rows: Iterable[Mapping[str, str]]) -> Report:
    """Speed and peak memory of each row, measured or not, in the rows' order."""
    points: list[Point] = []
    skipped: list[Skipped] = []
    for row in rows:
        point = point_of(row)
        if isinstance(point, Skipped):
            skipped.append(point)
        else:
            points.append(point)
    if not points:
        return Report(kind="training", rows=(), skipped=tuple(skipped))
    batch = batch_of([resolve(point) for point in points])
    with np.errstate(all="ignore"):
        steps, needs = predict(batch)
    speeds = steps.tokens_per_second_per_gpu
    peaks = cell_bytes(batch, needs, [point.memory_kind for point in points]) / _GB_BYTES
    found: list[Row] = []
    usable = np.isfinite(speeds) & (speeds > 0) & np.isfinite(peaks) & (peaks > 0)
    for index, point in enumerate(points):
        if not usable[index]:
            skipped.append(Skipped(id=point.id, reason="its cells contradict each other"))
            continue
        found.append(_speed_row(point, float(speeds[index])))
        found.append(_memory_row(point, float(peaks[index]), batch, needs, index))
    return Report(kind="training", rows=tuple(found), skipped=tuple(skipped))


def interval_of_point(point: Point) -> Interval:
    """P10–P90 of a point's speed by its class."""
    return interval_of(
        point.accelerator, stack_known=point.stack_fitted, method=point.method, mixture=point.model.experts > 0
    )


def _speed_row(point: Point, speed: float) -> Row:
    interval = interval_of_point(point)
    return Row(
        id=point.id,
        metric="tokens_per_s_per_gpu",
        measured=number(point.row.get("tokens_per_s_per_gpu")),
        predicted=speed,
        low=speed * interval.low_ratio,
        high=speed * interval.high_ratio,
    )


def _memory_row(point: Point, peak_gb: float, batch: Batch, needs: Memory, index: int) -> Row:
    log_sd = float(batch.rules.log_sd[index])
    factor = float(np.exp(P90_SCORE * log_sd))
    cell = point.row.get("peak_mem_gb", "")
    return Row(
        id=point.id,
        metric="peak_mem_gb",
        measured=None if cell.upper().startswith("OOM") else number(cell),
        predicted=peak_gb,
        low=peak_gb / factor,
        high=peak_gb * factor,
        fits=bool(needs.device[index] <= batch.runs.device.memory_bytes[index]),
    )


def columns_match(columns: Sequence[str]) -> bool:
    """Whether a file's columns are those of training points."""
    return {"id", "gpu", "n_gpus"} <= set(columns) and bool({"tokens_per_s_per_gpu", "peak_mem_gb"} & set(columns))
