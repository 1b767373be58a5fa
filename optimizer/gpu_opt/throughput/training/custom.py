"""Work that is no language model: a roofline over units of a fixed cost, data parallel, with a wide interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Interval, JobOption, Layout, MemoryLine, Rejection
from gpu_opt.domain.workload import CustomUnit, TrainJob
from gpu_opt.throughput.training.columns import linear_peak_tflops
from gpu_opt.throughput.training.constants import power_share, rates_of
from gpu_opt.throughput.training.gangs import candidate_gangs
from gpu_opt.throughput.training.setting import base_precision

_TERA = 1e12
_SHARE_OF_BEST_RATE = 0.6  # of the best multiply; vision and diffusion training reaches a third to a half of peak
_LOSS_PER_DOUBLING = 0.02
_INTERVAL = Interval(low_ratio=0.5, high_ratio=1.8, shared_log_sd=0.4, own_log_sd=0.25)
_MAX_GPUS = 256


def custom_options(
    job: TrainJob,
    shape: Shape,
    accelerator: Accelerator,
    *,
    gangs: Sequence[int] | None,
    memory_reserve_fraction: float,
) -> tuple[tuple[JobOption, ...], tuple[Rejection, ...]]:
    """T6: units per second from the FLOPs of a unit, the same on each GPU of a data-parallel gang."""
    if not isinstance(job.model, CustomUnit):
        raise TypeError(job.model)
    share = min(1.0, shape.gpus)
    capacity = shape.memory_gib_per_gpu * share * (1.0 - memory_reserve_fraction)
    if job.model.memory_gib > capacity:
        reason = (
            f"needs {job.model.memory_gib:.1f} GiB per GPU of the {capacity:.1f} GiB that the memory reserve leaves "
            f"on {shape.gpu}; the one line is the {job.model.unit} model's own"
        )
        return (), (Rejection(workload=job.name, subject=shape.name, code="memory", reason=reason),)
    precision = base_precision(job.precision)
    peak = linear_peak_tflops(accelerator, precision) or 0.0
    rates = rates_of(accelerator, "half")
    rate = peak * _TERA * rates.efficiency * power_share(accelerator, rates) * share * _SHARE_OF_BEST_RATE
    per_gpu = rate / job.model.flops_per_unit
    limit = min(job.max_gpus or _MAX_GPUS, _MAX_GPUS)
    sizes = gangs or candidate_gangs(shape.gpus, kind=job.kind, max_gpus=limit, batch_sequences=limit, least_gpus=0)
    options = tuple(
        JobOption(
            shape=shape.name,
            gpus=size * share,
            tokens_per_second=per_gpu * size * (1.0 - _LOSS_PER_DOUBLING) ** math.log2(size),
            layout=Layout(dp=size),
            stack="roofline",
            memory=(MemoryLine(label=job.model.unit, gib=job.model.memory_gib),),
            interval=_INTERVAL,
            notes=("speed from FLOPs alone: give measured speeds for a narrow interval",),
        )
        for size in sorted(set(sizes))
    )
    return options, ()
