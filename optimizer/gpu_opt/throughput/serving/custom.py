"""Work that is not a language model: a roofline per unit, with a wide interval."""

from __future__ import annotations

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Interval, Latency, Layout, MemoryLine, Rejection, ReplicaOption
from gpu_opt.domain.workload import BatchJob, CustomUnit, Service
from gpu_opt.throughput.serving.precision import Refusal, find_format, plan_compute

UNIT_FLOPS_FRACTION = 0.35
"""Share of the dense peak that vision and diffusion models reach; MLPerf Inference v4.1 SDXL and ResNet, 2024-08."""
UNIT_INTERVAL = Interval(low_ratio=0.4, high_ratio=1.8, shared_log_sd=0.5, own_log_sd=0.3)
_QUEUE_CAP = 0.85


def unit_options(
    work: Service | BatchJob, unit: CustomUnit, shape: Shape, accelerator: Accelerator, reserve: float | None
) -> tuple[tuple[ReplicaOption, ...], tuple[Rejection, ...]]:
    """I11: one GPU (or share of one) per replica at flops_per_unit over the reachable share of the peak.

    The units of one request are `output_tokens` (contract: `units` stand in place of tokens), at least one.
    """
    share = min(shape.gpus, 1.0)
    usable = shape.memory_gib_per_gpu * share * (1.0 - (0.05 if reserve is None else reserve))
    if unit.memory_gib > usable:
        reason = f"One {unit.unit} needs {unit.memory_gib:.1f} GiB; {shape.gpu} has {usable:.1f} GiB for it."
        return (), (Rejection(workload=work.name, subject=shape.name, code="memory", reason=reason),)
    weights = find_format(work.precision) or find_format("bf16")
    plan = Refusal(reason="unknown precision") if weights is None else plan_compute(weights, accelerator, work.engine)
    if isinstance(plan, Refusal):
        return (), (Rejection(workload=work.name, subject=shape.name, code="precision", reason=plan.reason),)
    units = max(work.output_tokens.mean_tokens, 1.0)
    seconds = units * unit.flops_per_unit / (plan.peak_flops_per_second * share * UNIT_FLOPS_FRACTION)
    load_share, latency_ms = _within_targets(work, seconds) if isinstance(work, Service) else (1.0, {})
    if load_share <= 0.0:
        reason = f"One request takes {1e3 * seconds:,.0f} ms at best, above the latency limit."
        return (), (Rejection(workload=work.name, subject=shape.name, code="latency", reason=reason),)
    option = ReplicaOption(
        shape=shape.name,
        gpus=share,
        requests_per_second=load_share / seconds,
        layout=Layout(),
        engine=work.engine,
        concurrency=1.0,
        memory=(MemoryLine(label="model and activations", gib=unit.memory_gib),),
        latency=Latency(value_ms=latency_ms),
        interval=UNIT_INTERVAL,
        notes=(f"roofline at {UNIT_FLOPS_FRACTION:.0%} of the {plan.compute} peak", plan.note)[: 2 if plan.note else 1],
    )
    return (option,), ()


def _within_targets(service: Service, seconds: float) -> tuple[float, dict[tuple[str, str], float]]:
    """M/D/1: the highest utilisation at which the end-to-end (and TTFT) limits hold, and the latencies there."""
    grow = {"mean": 1.0, "p50": 0.7, "p95": 3.0, "p99": 4.6}
    limits = {} if service.slo is None else service.slo.limit_ms
    best = _QUEUE_CAP
    for (metric, statistic), limit_ms in limits.items():
        if metric not in ("ttft", "e2e"):
            continue
        room = (limit_ms / 1e3 / seconds - 1.0) * 2.0 / grow[statistic]
        best = min(best, room / (1.0 + room) if room > 0 else 0.0)
    wait = 0.5 * seconds * best / (1.0 - best)
    value = {("e2e", name): 1e3 * (seconds + wait * factor) for name, factor in grow.items()}
    return best, value | {("ttft", name): ms for (_, name), ms in value.items()}
