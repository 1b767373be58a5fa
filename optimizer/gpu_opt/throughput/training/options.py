"""What a planner asks: the gang sizes of a job on a shape, each with its best layout, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import Interval, JobOption, Rejection
from gpu_opt.domain.workload import TrainJob
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.memory_training import fit_confidence, verdict
from gpu_opt.throughput.training.custom import custom_options
from gpu_opt.throughput.training.gangs import candidate_gangs, frontier
from gpu_opt.throughput.training.intervals import interval_of
from gpu_opt.throughput.training.search import Found, Setting, Shortfall, search
from gpu_opt.throughput.training.setting import Prepared, precision_gap, prepare

_GIB_BYTES = 2.0**30

_INFERENCE_ONLY = ("Inferentia1", "Inferentia2")  # AWS Neuron documentation, 2026: training on Trainium alone


def job_options(
    job: TrainJob,
    shape: Shape,
    accelerator: Accelerator,
    *,
    gangs: Sequence[int] | None = None,
    memory_reserve_fraction: float,
    calibration: Calibration | None = None,
) -> tuple[tuple[JobOption, ...], tuple[Rejection, ...]]:
    """The best layout of each gang size, smallest gang first, or the one reason why there is none.

    `gangs` are GPU counts of whole instances; without them a frontier of at most 16 is searched. A gang fits when
    its need is at most memory × (1 − reserve).
    """
    refused = _inference_only(job, shape) or _network_gap(job, shape) or precision_gap(job, shape, accelerator)
    if refused is not None:
        return (), (refused,)
    if not isinstance(job.model, ModelSpec):
        return custom_options(job, shape, accelerator, gangs=gangs, memory_reserve_fraction=memory_reserve_fraction)
    prepared = prepare(job, job.model, shape, accelerator, calibration=calibration)
    sizes = _gang_sizes(job, job.model, shape, prepared, gangs, memory_reserve_fraction)
    capacity = float(prepared.setting.device.memory_bytes[0]) * (1.0 - memory_reserve_fraction)
    found, missed = search(prepared.setting, sizes, capacity)
    if not found:
        return (), (_no_gang(job, shape, sizes, missed, capacity),)
    if gangs is None:
        counts, speeds = [each.gpus for each in found], [each.tokens_per_second for each in found]
        found = [found[index] for index in frontier(counts, speeds)]
    return tuple(_option(each, shape, prepared) for each in found), ()


def _gang_sizes(
    job: TrainJob,
    model: ModelSpec,
    shape: Shape,
    prepared: Prepared,
    gangs: Sequence[int] | None,
    memory_reserve_fraction: float,
) -> tuple[int, ...]:
    if gangs is not None:
        return tuple(sorted(set(gangs)))
    setting = prepared.setting
    capacity = float(setting.device.memory_bytes[0]) * (1.0 - memory_reserve_fraction)
    base = float(setting.task.trains_base[0])
    per_param = float(setting.rules.weight_bytes[0]) if base else 0.5 if job.method == "qlora" else 2.0
    least = 0.8 * model.params * per_param / capacity
    return candidate_gangs(
        shape.gpus,
        kind=job.kind,
        max_gpus=job.max_gpus,
        batch_sequences=int(setting.task.batch_sequences[0]),
        least_gpus=least,
    )


def _option(found: Found, shape: Shape, prepared: Prepared) -> JobOption:
    setting = prepared.setting
    share = min(1.0, shape.gpus)
    capacity = float(setting.device.memory_bytes[0]) / _GIB_BYTES
    confidence = fit_confidence(found.need_gib, capacity, float(setting.rules.log_sd[0]))
    fit = f"memory {found.need_gib:.1f} of {capacity:.1f} GiB: {verdict(confidence)} with {confidence:.0%} confidence"
    return JobOption(
        shape=shape.name,
        gpus=found.gpus * share,
        tokens_per_second=found.tokens_per_second,
        layout=found.layout,
        stack=prepared.stack.name,
        memory=found.memory,
        interval=_interval(prepared),
        source="calibrated" if prepared.calibrated else "model",
        verdict=verdict(confidence),
        notes=(*prepared.notes, fit),
    )


def _interval(prepared: Prepared) -> Interval:
    if prepared.interval is not None:
        return prepared.interval
    setting = prepared.setting
    return interval_of(
        setting.accelerator,
        stack_known=prepared.stack_known,
        method=prepared.method,
        mixture=setting.space.experts > 0,
    )


def _inference_only(job: TrainJob, shape: Shape) -> Rejection | None:
    if shape.gpu not in _INFERENCE_ONLY:
        return None
    reason = f"{shape.gpu} runs inference only: its software doesn't train"
    return Rejection(workload=job.name, subject=shape.name, code="training", reason=reason)


def _network_gap(job: TrainJob, shape: Shape) -> Rejection | None:
    wanted = job.min_network_gbps_per_gpu
    if wanted is None:
        return None
    if shape.network_gbps is None:
        reason = f"the network of {shape.name} is unknown, and {wanted:g} Gb/s per GPU are asked for"
    elif shape.network_gbps / max(shape.gpus, 1.0) < wanted:
        offered = shape.network_gbps / max(shape.gpus, 1.0)
        reason = f"{shape.name} has {offered:g} Gb/s per GPU, and {wanted:g} are asked for"
    else:
        return None
    return Rejection(workload=job.name, subject=shape.name, code="network", reason=reason)


def _no_gang(
    job: TrainJob, shape: Shape, sizes: tuple[int, ...], missed: Shortfall | None, capacity_bytes: float
) -> Rejection:
    if missed is not None:
        reason = (
            f"needs {missed.need_gib:.1f} GiB per GPU of the {capacity_bytes / _GIB_BYTES:.1f} GiB that the memory "
            f"reserve leaves on {shape.gpu}, at best on {missed.gpus} GPUs; "
            f"the largest line is {missed.largest} with {missed.largest_gib:.1f} GiB"
        )
        return Rejection(workload=job.name, subject=shape.name, code="memory", reason=reason)
    if not sizes and job.max_gpus is not None and job.max_gpus < shape.gpus:
        reason = f"one instance has {shape.gpus:g} GPUs, and at most {job.max_gpus} are asked for"
        return Rejection(workload=job.name, subject=shape.name, code="max-gpus", reason=reason)
    if not sizes:
        limit = f"at most {job.max_gpus} GPUs" if job.max_gpus is not None else "the largest gang"
        reason = f"weights alone don't fit on {limit} of {shape.gpu} with {shape.gpus:g} per instance"
        return Rejection(workload=job.name, subject=shape.name, code="memory", reason=reason)
    reason = f"no layout of {', '.join(str(size) for size in sizes[:6])} GPUs matches the parallelism asked for"
    return Rejection(workload=job.name, subject=shape.name, code="layout", reason=reason)


__all__ = ["Setting", "job_options"]
