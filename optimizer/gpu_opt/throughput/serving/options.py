"""The serving model's doors for the planner: options of a service or of an offline job on one shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Latency, Rejection, ReplicaOption
from gpu_opt.domain.workload import BatchJob, CustomUnit, Parallelism, RequestClass, Service, Slo
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.custom import unit_options
from gpu_opt.throughput.serving.engines import Engine, engine_named
from gpu_opt.throughput.serving.interval import interval_for
from gpu_opt.throughput.serving.memory import MemoryNeed, memory_lines
from gpu_opt.throughput.serving.precision import ComputePlan, Refusal, find_format, plan_compute
from gpu_opt.throughput.serving.profile import ServingProfile, serving_profile
from gpu_opt.throughput.serving.replica import stack_factors, stack_facts
from gpu_opt.throughput.serving.sizing import (
    Grid,
    Requests,
    Sized,
    batch_grid,
    combine_requests,
    evaluate_grid,
    fitting_replicas,
    load_of,
    refined_batches,
    service_requests,
    worst_ratio,
)
from gpu_opt.throughput.serving.steady import offline
from gpu_opt.units import GIB_BYTES

KEEP_OPTIONS = 4
Answer = tuple[tuple[ReplicaOption, ...], tuple[Rejection, ...]]


def service_options(
    service: Service,
    shape: Shape,
    accelerator: Accelerator,
    *,
    memory_reserve_fraction: float | None,
    calibration: Constants | None = None,
) -> Answer:
    """Replicas of a service on one shape, each at the highest rate that keeps every latency limit (I10).

    At most four options, Pareto-best in rate per GPU against replica size; a rejection tells why there is none.
    """
    if isinstance(service.model, CustomUnit):
        return unit_options(service, service.model, shape, accelerator, memory_reserve_fraction)
    requests = service_requests(service)
    prepared = _prepare(service, shape, accelerator, requests, service.parallel, memory_reserve_fraction)
    if isinstance(prepared, Rejection):
        return (), (prepared,)
    sized, plan, engine = prepared
    constants = calibration or load_constants()
    grid = evaluate_grid(sized, requests, constants, batch_grid(sized))
    worst = worst_ratio(grid, service.slo)
    feasible = np.flatnonzero((worst <= 1.0).any(axis=1))
    if not feasible.size:
        return (), (_too_slow(service.name, shape, grid, service.slo),)
    kept = [sized[i] for i in feasible]
    refined = evaluate_grid(kept, requests, constants, refined_batches(grid, worst)[feasible], grid.top_rate[feasible])
    ratio = worst_ratio(refined, service.slo)
    rate = np.where(ratio <= 1.0 + 1e-9, refined.rate, -1.0)
    column = rate.argmax(axis=1)
    options = [
        _service_option(service, shape, requests, constants, plan, engine, kept[i], refined, i, int(column[i]))
        for i in range(len(kept))
    ]
    if service.disaggregated == "auto":
        note = "disaggregated: auto sizes replicas that prefill and decode together; separate workers aren't sized yet"
        options = [dataclasses.replace(option, notes=(*option.notes, note)) for option in options]
    return _pareto(options), ()


def batch_options(
    job: BatchJob,
    shape: Shape,
    accelerator: Accelerator,
    *,
    memory_reserve_fraction: float | None,
    calibration: Constants | None = None,
) -> Answer:
    """Replicas of an offline job on one shape at their highest rate, without latency limits (I9)."""
    if isinstance(job.model, CustomUnit):
        return unit_options(job, job.model, shape, accelerator, memory_reserve_fraction)
    single = RequestClass(share_fraction=1.0, input_tokens=job.input_tokens, output_tokens=job.output_tokens)
    requests = combine_requests((single,))
    prepared = _prepare(job, shape, accelerator, requests, Parallelism(), memory_reserve_fraction)
    if isinstance(prepared, Rejection):
        return (), (prepared,)
    sized, plan, engine = prepared
    constants = calibration or load_constants()
    replicas = [item.replica for item in sized]
    load = load_of(requests, np.array([float(item.max_batch) for item in sized]))
    state = offline(stack_facts(replicas), stack_factors(replicas, constants), load)
    options = []
    for i, item in enumerate(sized):
        value = {("tpot", "mean"): 1e3 * float(state.tpot_seconds[i])}
        rate, batch = float(state.requests_per_second[i]), float(state.batch[i])
        options.append(_option(shape, requests, constants, plan, engine, item, rate, batch, value))
    return _pareto(options), ()


def _prepare(
    work: Service | BatchJob,
    shape: Shape,
    accelerator: Accelerator,
    requests: Requests,
    fixed: Parallelism,
    reserve: float | None,
) -> tuple[list[Sized], ComputePlan, Engine] | Rejection:
    """The replicas that fit, or the one reason why none does."""
    if isinstance(work.model, CustomUnit):
        raise TypeError("a custom unit has no layouts")
    engine, weights = engine_named(work.engine), find_format(work.precision)
    if weights is None:
        reason = f"Precision {work.precision} is not known to the serving model."
        return Rejection(workload=work.name, subject=shape.name, code="precision", reason=reason)
    plan = plan_compute(weights, accelerator, engine.name)
    if isinstance(plan, Refusal):
        return Rejection(workload=work.name, subject=shape.name, code="precision", reason=plan.reason)
    profile = serving_profile(work.model)
    sized, closest = fitting_replicas(
        profile, plan, accelerator, shape, engine, requests, work.kv_precision, fixed, reserve
    )
    if not sized:
        return _too_big(work.name, shape, profile, closest)
    return sized, _with_position_note(plan, profile, requests), engine


def _with_position_note(plan: ComputePlan, profile: ServingProfile, requests: Requests) -> ComputePlan:
    """Requests beyond the trained positions still run where the engine scales them; the option says so."""
    tokens = requests.input_tokens + requests.output_tokens
    if not profile.max_positions or tokens <= profile.max_positions:
        return plan
    note = f"requests of {tokens:,.0f} tokens exceed the model's {profile.max_positions:,.0f} positions: rope scaling"
    return dataclasses.replace(plan, note=f"{plan.note}; {note}" if plan.note else note)


def _too_big(name: str, shape: Shape, profile: ServingProfile, closest: MemoryNeed | None) -> Rejection:
    if closest is None:
        reason = f"{profile.name}: the layout asked for doesn't fit the {shape.gpus:g} GPUs of {shape.name}."
        return Rejection(workload=name, subject=shape.name, code="layout", reason=reason)
    fixed = closest.usable_bytes - closest.pool_bytes
    ratio = fixed / closest.usable_bytes if fixed > closest.usable_bytes > 0 else None
    what = f"weights {closest.weights_bytes / GIB_BYTES:,.1f} GiB"
    have = closest.usable_bytes / GIB_BYTES
    if fixed > closest.usable_bytes:
        reason = f"{what} + workspace = {fixed / GIB_BYTES:,.1f} GiB > {have:,.1f} GiB usable per GPU."
    else:
        left = closest.pool_bytes / GIB_BYTES
        reason = f"{what} leave {left:,.1f} GiB of {have:,.1f} GiB usable per GPU: one sequence doesn't fit."
    return Rejection(workload=name, subject=shape.name, code="memory", reason=reason, shortfall_ratio=ratio)


def _too_slow(name: str, shape: Shape, grid: Grid, slo: Slo | None) -> Rejection:
    """The limit that is missed by the largest factor even at the lightest load, on the best layout."""
    limits = {} if slo is None else slo.limit_ms
    best = {key: float(grid.latency_ms[key].min()) for key in limits}
    key = max(limits, key=lambda k: (best[k] / limits[k], k))
    label = f"{key[0].upper() if key[0] != 'e2e' else 'End-to-end'} {key[1]}"
    if best[key] > limits[key]:
        reason = f"{label} is at best {best[key]:,.0f} ms, limit {limits[key]:,.0f} ms."
    else:
        reason = f"No layout meets all limits at once; {label} is the tightest (limit {limits[key]:,.0f} ms)."
    ratio = best[key] / limits[key]
    return Rejection(
        workload=name, subject=shape.name, code="latency", reason=reason, shortfall_ratio=ratio if ratio > 1.0 else None
    )


def _service_option(
    service: Service,
    shape: Shape,
    requests: Requests,
    constants: Constants,
    plan: ComputePlan,
    engine: Engine,
    item: Sized,
    grid: Grid,
    row: int,
    column: int,
) -> ReplicaOption:
    value = {key: float(table[row, column]) for key, table in sorted(grid.latency_ms.items())}
    rate, batch = float(grid.rate[row, column]), float(grid.batch[row, column])
    return _option(shape, requests, constants, plan, engine, item, rate, batch, value)


def _option(
    shape: Shape,
    requests: Requests,
    constants: Constants,
    plan: ComputePlan,
    engine: Engine,
    item: Sized,
    rate: float,
    batch: float,
    latency_ms: dict[tuple[str, str], float],
) -> ReplicaOption:
    replica = item.replica
    return ReplicaOption(
        shape=shape.name,
        gpus=replica.gpus * min(shape.gpus, 1.0),
        requests_per_second=rate,
        layout=replica.layout,
        engine=engine.name,
        concurrency=batch,
        memory=memory_lines(replica, engine, item.need, batch, requests.context_tokens),
        latency=Latency(value_ms=latency_ms),
        interval=interval_for(replica, "throughput_out_tok_s", constants),
        source=constants.origin,
        notes=(plan.note,) if plan.note else (),
    )


def _pareto(options: Sequence[ReplicaOption]) -> tuple[ReplicaOption, ...]:
    """The best option of each size; a larger replica stays only if it gives more requests per GPU."""
    best: dict[float, ReplicaOption] = {}
    for option in sorted(options, key=lambda o: (o.gpus, -o.requests_per_second, o.layout.tp, o.layout.pp)):
        best.setdefault(option.gpus, option)
    kept: list[ReplicaOption] = []
    for option in best.values():
        rate = option.requests_per_second / option.gpus
        if not kept or rate > max(other.requests_per_second / other.gpus for other in kept):
            kept.append(option)
    return tuple(kept[-KEEP_OPTIONS:])
