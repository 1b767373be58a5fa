"""GPU-hours of whole published runs, the layout left to the tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.domain.names import UnknownName
from gpu_opt.domain.workload import TrainJob
from gpu_opt.errors import GpuOptError
from gpu_opt.hardware.accelerators import canonical_gpu, load_accelerators
from gpu_opt.throughput import goodput
from gpu_opt.throughput.accuracy.report import Report, Row, Skipped
from gpu_opt.throughput.accuracy.row_model import model_of, number, positive
from gpu_opt.throughput.accuracy.training_points import cluster_shape, normal_precision
from gpu_opt.throughput.training.defaults import default_batch_tokens
from gpu_opt.throughput.training.options import job_options

_BILLION = 1e9
_SECONDS_PER_HOUR = 3600.0
_RESERVE = 0.1  # a run that was tuned fills more of its memory than a plan should count on
_CHECKPOINT_HOURS = 1.0 / 60.0
_DEFAULT_SEQUENCE = 4096.0
_LEAST_SEQUENCES_PER_RANK = 1.0 / 64.0


def evaluate(rows: Iterable[Mapping[str, str]]) -> Report:
    """GPU-hours of each row: tokens over speed over goodput, with evaluation, warm-up and late stages."""
    found: list[Row] = []
    skipped: list[Skipped] = []
    for row in rows:
        result = _run(row)
        if isinstance(result, Skipped):
            skipped.append(result)
        else:
            found.append(result)
    return Report(kind="gpu_hours", rows=tuple(found), skipped=tuple(skipped))


def columns_match(columns: Sequence[str]) -> bool:
    """Whether a file's columns are those of whole runs."""
    return {"id", "gpu", "tokens_b", "gpu_hours"} <= set(columns)


def _run(row: Mapping[str, str]) -> Row | Skipped:
    name = row.get("id", "")
    try:
        accelerator = load_accelerators()[canonical_gpu(row.get("gpu", ""))]
        model = model_of(row)
    except (UnknownName, GpuOptError) as error:
        return Skipped(id=name, reason=str(error))
    tokens = positive(row.get("tokens_b"))
    if model is None:
        return Skipped(id=name, reason="neither a known model name nor its size is given")
    if not tokens:
        return Skipped(id=name, reason="tokens_b is blank")
    gpus = max(int(positive(row.get("n_gpus")) or 512), 1)
    sequence = max(positive(row.get("seq_len")) or _DEFAULT_SEQUENCE, 1.0)
    usual = default_batch_tokens(model, kind="pretrain", method="full", tokens=tokens * _BILLION)
    batch = max(usual, gpus * sequence * _LEAST_SEQUENCES_PER_RANK)
    job = TrainJob(
        name=name,
        kind="pretrain",
        active_to_hours=0.0,
        deadline_hours=0.0,
        model=model,
        tokens_per_run=tokens * _BILLION,
        sequence_length_tokens=int(sequence),
        precision=normal_precision(row.get("precision", ""), accelerator),
        global_batch_tokens=batch,
    )
    shape = cluster_shape(accelerator, gpus, None)
    options, rejections = job_options(job, shape, accelerator, gangs=(gpus,), memory_reserve_fraction=_RESERVE)
    if not options:
        options, rejections = job_options(job, shape, accelerator, gangs=(gpus,), memory_reserve_fraction=0.0)
    if not options:
        return Skipped(id=name, reason=rejections[0].reason)
    option = options[0]
    hours = whole_run_gpu_hours(tokens * _BILLION, option.tokens_per_second, gpus)
    return Row(
        id=name,
        metric="gpu_hours",
        measured=number(row.get("gpu_hours")),
        predicted=hours,
        low=hours / option.interval.high_ratio,
        high=hours / option.interval.low_ratio,
    )


def whole_run_gpu_hours(tokens: float, tokens_per_second: float, gpus: int) -> float:
    """G6: paid GPU-hours of a whole pretraining run, from its steady speed."""
    run = goodput.run_time(
        work_hours=tokens / tokens_per_second / _SECONDS_PER_HOUR,
        gpus=gpus,
        instances=max(1, gpus // 8),
        market_is_spot=False,
        checkpoint_interval_hours=None,
        checkpoint_write_hours=_CHECKPOINT_HOURS,
        restart_hours=goodput.default_restart_hours(),
        overhead_fraction=goodput.whole_run_overhead(gpus),
    )
    return run.paid_hours * gpus
