"""The replicas that a service or an offline job can use on a shape, each at its highest rate within the targets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.workload import Parallelism, RequestClass, Service, Slo
from gpu_opt.records import record
from gpu_opt.throughput.serving.constants import Constants
from gpu_opt.throughput.serving.engines import Engine
from gpu_opt.throughput.serving.latency import Spread, log_sd, open_loop_latency
from gpu_opt.throughput.serving.layouts import instance_counts, replica_layouts
from gpu_opt.throughput.serving.memory import MemoryNeed, max_concurrency, memory_need
from gpu_opt.throughput.serving.precision import ComputePlan, kv_bytes_per_element
from gpu_opt.throughput.serving.profile import ServingProfile
from gpu_opt.throughput.serving.replica import Array, Factors, Facts, Replica, link_between, stack_factors, stack_facts
from gpu_opt.throughput.serving.steady import Load, Steady, steady_at_batch

UTILISATION_CAP = 0.95
"""Highest share of the maximum rate that is planned: a queue has no steady state at 1. MLPerf servers run at 0.94."""
_GRID_POINTS = 24


@record
class Requests:
    """What a replica is asked: mean lengths, context weighted by decoding time, spreads, cache hits, drafts."""

    input_tokens: float
    output_tokens: float
    context_tokens: float
    spread: Spread
    prefix_tokens: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 1.0

    @property
    def peak_tokens(self) -> float:
        """A long sequence at its end: both lengths at their 95th percentile."""
        z = 1.6449
        grow_in = np.exp(z * self.spread.input_log_sd - 0.5 * self.spread.input_log_sd**2)
        grow_out = np.exp(z * self.spread.output_log_sd - 0.5 * self.spread.output_log_sd**2)
        return float(self.input_tokens * grow_in + self.output_tokens * grow_out)

    @property
    def sd_tokens(self) -> float:
        """Standard deviation of the tokens that a sequence holds."""
        spread = self.spread
        inputs = self.input_tokens * np.sqrt(np.expm1(spread.input_log_sd**2))
        outputs = 0.5 * self.output_tokens * np.sqrt(np.expm1(spread.output_log_sd**2))
        return float(np.hypot(inputs, outputs))


def _mixture_log_sd(means: Array, log_sds: Array, shares: Array) -> float:
    mean = float(shares @ means)
    second = float(shares @ (means**2 * np.exp(log_sds**2)))
    return float(np.sqrt(np.log(max(second / mean**2, 1.0)))) if mean > 0 else 0.0


def combine_requests(classes: Sequence[RequestClass]) -> Requests:
    """I7: a mix of request sizes as one stream: means by share, context by time spent decoding."""
    shares = np.array([c.share_fraction for c in classes])
    shares = shares / shares.sum()
    inputs = np.array([c.input_tokens.mean_tokens for c in classes])
    outputs = np.array([c.output_tokens.mean_tokens for c in classes])
    input_sds = np.array([log_sd(c.input_tokens) for c in classes])
    output_sds = np.array([log_sd(c.output_tokens) for c in classes])
    output = float(shares @ outputs)
    held = inputs + 0.5 * outputs * np.exp(output_sds**2)
    context = float((shares * outputs) @ held) / output if output > 0 else float(shares @ inputs)
    return Requests(
        input_tokens=float(shares @ inputs),
        output_tokens=output,
        context_tokens=context,
        spread=Spread(
            input_log_sd=_mixture_log_sd(inputs, input_sds, shares),
            output_log_sd=_mixture_log_sd(outputs, output_sds, shares),
        ),
    )


def service_requests(service: Service) -> Requests:
    """The stream that a service's replicas see."""
    single = RequestClass(share_fraction=1.0, input_tokens=service.input_tokens, output_tokens=service.output_tokens)
    stream = combine_requests(service.request_mix or (single,))
    accepted = 1.0
    if service.speculative_tokens:
        rate = min(max(service.speculative_acceptance_fraction, 0.0), 0.999)
        accepted = (1.0 - rate ** (service.speculative_tokens + 1)) / (1.0 - rate)
    return dataclasses.replace(
        stream,
        prefix_tokens=stream.input_tokens * service.prefix_cache_hit_fraction,
        draft_tokens=float(service.speculative_tokens),
        accepted_tokens=accepted,
    )


@record
class Sized:
    """A replica that fits, with its memory need and the sequences that fit."""

    replica: Replica
    need: MemoryNeed
    max_batch: int


def fitting_replicas(
    profile: ServingProfile,
    plan: ComputePlan,
    accelerator: Accelerator,
    shape: Shape,
    engine: Engine,
    requests: Requests,
    kv_precision: str,
    fixed: Parallelism,
    reserve: float | None,
) -> tuple[list[Sized], MemoryNeed | None]:
    """Replicas that fit, in one instance or, where none does, in as few as it takes; else the closest need."""
    device = dataclasses.replace(accelerator, memory_gib=shape.memory_gib_per_gpu or accelerator.memory_gib)
    kv_bytes = kv_bytes_per_element(kv_precision, plan.format, engine.name)
    closest: MemoryNeed | None = None
    for instances in (1, *instance_counts(shape)):
        found: list[Sized] = []
        for layout in replica_layouts(profile, shape, fixed, instances=instances):
            replica = Replica(
                profile=profile,
                accelerator=device,
                plan=plan,
                kv_bytes=kv_bytes,
                layout=layout,
                link=link_between(accelerator, layout.tp if layout.tp > 1 else layout.pp, shape),
                exchange=link_between(accelerator, layout.tp * layout.dp, shape),
                engine=engine.name,
                gpu_fraction=min(shape.gpus, 1.0),
            )
            need = memory_need(replica, engine, reserve)
            batch = max_concurrency(
                replica,
                engine,
                need,
                mean_tokens=requests.context_tokens,
                peak_tokens=requests.peak_tokens,
                sd_tokens=requests.sd_tokens,
            )
            if batch >= 1:
                found.append(Sized(replica=replica, need=need, max_batch=batch))
            elif closest is None or need.pool_bytes > closest.pool_bytes:
                closest = need
        if found:
            return found, closest
    return [], closest


def load_of(requests: Requests, max_batch: Array) -> Load:
    ones = np.ones_like(max_batch)
    return Load(
        input_tokens=requests.input_tokens * ones,
        output_tokens=requests.output_tokens * ones,
        prefix_tokens=requests.prefix_tokens * ones,
        context_tokens=requests.context_tokens * ones,
        max_batch=max_batch,
        draft_tokens=requests.draft_tokens,
        accepted_tokens=requests.accepted_tokens,
    )


def repeat_rows(stacked: Facts | Factors, times: int) -> dict[str, Array]:
    return {f.name: np.repeat(getattr(stacked, f.name), times) for f in dataclasses.fields(stacked)}


@record
class Grid:
    """States of each replica (rows) at growing batches (columns), and its highest sustainable rate."""

    batch: Array
    rate: Array
    latency_ms: Mapping[tuple[str, str], Array]
    top_rate: Array


def evaluate_grid(
    sized: Sequence[Sized], requests: Requests, constants: Constants, batch: Array, top_rate: Array | None = None
) -> Grid:
    """I10: states and latencies of each replica at its own row of batches."""
    replicas = [item.replica for item in sized]
    columns = batch.shape[1]
    facts = Facts(**repeat_rows(stack_facts(replicas), columns))
    factors = Factors(**repeat_rows(stack_factors(replicas, constants), columns))
    slots = np.repeat(np.array([float(item.max_batch) for item in sized]), columns)
    load = load_of(requests, slots)
    state: Steady = steady_at_batch(facts, factors, load, batch.ravel())
    rate = state.requests_per_second.reshape(batch.shape)
    top = rate.max(axis=1) if top_rate is None else top_rate
    rho = np.minimum(rate / top[:, None], 1.0).ravel()
    latency = open_loop_latency(state, load, requests.spread, rho)
    return Grid(
        batch=batch,
        rate=rate,
        latency_ms={key: 1e3 * value.reshape(batch.shape) for key, value in latency.items()},
        top_rate=top,
    )


def worst_ratio(grid: Grid, slo: Slo | None) -> Array:
    """Highest latency over its limit, and the rate over its cap, at each point."""
    worst = grid.rate / (UTILISATION_CAP * grid.top_rate[:, None])
    if slo is not None:
        for key, limit in slo.limit_ms.items():
            worst = np.maximum(worst, grid.latency_ms[key] / limit)
    return worst


def batch_grid(sized: Sequence[Sized]) -> Array:
    return np.array([np.geomspace(0.25, item.max_batch, _GRID_POINTS) for item in sized])


def refined_batches(grid: Grid, worst: Array) -> Array:
    """The batch where the tightest limit is just met, between the last point that meets it and the next."""
    feasible = worst <= 1.0
    masked = np.where(feasible, grid.rate, -1.0)
    last = masked.argmax(axis=1)
    rows = np.arange(len(last))
    after = np.minimum(last + 1, worst.shape[1] - 1)
    low, high = np.log(worst[rows, last]), np.log(worst[rows, after])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(high > low, (0.0 - low) / (high - low), 0.0)
    share = np.clip(share, 0.0, 1.0) * 0.98
    start, end = np.log(grid.batch[rows, last]), np.log(grid.batch[rows, after])
    return np.stack([grid.batch[rows, last], np.exp(start + share * (end - start))], axis=1)
