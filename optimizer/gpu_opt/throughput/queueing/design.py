"""From a planned replica to what the simulation needs: its step times, its cache, and the load it was planned for."""

from __future__ import annotations

import dataclasses

import numpy as np

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Latency, ReplicaOption
from gpu_opt.domain.workload import CustomUnit, Parallelism, Service
from gpu_opt.records import record
from gpu_opt.throughput.queueing.confirm import DEFAULT_REQUESTS, Confirmation, Fleet, Load, confirm, highest_rate
from gpu_opt.throughput.queueing.step_table import Floats
from gpu_opt.throughput.queueing.trace import Trace
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.engines import Engine, engine_named
from gpu_opt.throughput.serving.memory import sequence_bytes
from gpu_opt.throughput.serving.precision import Refusal, find_format, plan_compute
from gpu_opt.throughput.serving.profile import serving_profile
from gpu_opt.throughput.serving.replica import Factors, Facts, stack_factors, stack_facts
from gpu_opt.throughput.serving.sizing import Requests, Sized, fitting_replicas, service_requests
from gpu_opt.throughput.serving.steady import DRAFT_STEP_FRACTION
from gpu_opt.throughput.serving.step import decode_seconds, prefill_seconds, prefill_work_seconds


@record
class ReplicaSteps:
    """The serving model of one replica, step by step (a `LoadedStepModel`)."""

    facts: Facts
    factors: Factors
    kv_token_capacity: float
    max_num_seqs: int
    chunk_tokens: int
    draft_tokens: float = 0.0

    def decode_step_seconds(self, batch: Floats, mean_context_tokens: Floats) -> Floats:
        step = decode_seconds(self.facts, self.factors, batch, mean_context_tokens, 1.0 + self.draft_tokens)
        return step * (1.0 + DRAFT_STEP_FRACTION * self.draft_tokens)

    def prefill_seconds(self, tokens: Floats) -> Floats:
        return prefill_seconds(self.facts, self.factors, tokens)

    def prefill_work_seconds(self, tokens: Floats) -> Floats:
        return prefill_work_seconds(self.facts, self.factors, tokens)


def replica_steps(sized: Sized, engine: Engine, requests: Requests, constants: Constants) -> ReplicaSteps:
    """The steps of a replica that fits. Its cache is counted in tokens at the service's mean context."""
    replica = sized.replica
    per_token = sequence_bytes(replica, engine, requests.context_tokens) / requests.context_tokens
    ranks = replica.layout.dp
    return ReplicaSteps(
        facts=stack_facts([replica]),
        factors=stack_factors([replica], constants),
        kv_token_capacity=sized.need.pool_bytes / per_token * ranks,
        max_num_seqs=engine.max_sequences * ranks,
        chunk_tokens=engine.max_batched_tokens * ranks,
        draft_tokens=requests.draft_tokens,
    )


def fleet_of(
    service: Service,
    shape: Shape,
    accelerator: Accelerator,
    option: ReplicaOption,
    *,
    replicas: int,
    memory_reserve_fraction: float | None = None,
    calibration: Constants | None = None,
) -> Fleet | None:
    """`replicas` copies of an option behind the service's router; None where there is no model to simulate.

    That is so for a measured speed (its layout isn't known) and for work that is not a language model.
    """
    weights = find_format(service.precision)
    if isinstance(service.model, CustomUnit) or option.source == "measured" or weights is None:
        return None
    engine, requests = engine_named(option.engine or service.engine), service_requests(service)
    plan = plan_compute(weights, accelerator, engine.name)
    if isinstance(plan, Refusal):
        return None
    layout = option.layout
    sized, _ = fitting_replicas(
        serving_profile(service.model),
        plan,
        accelerator,
        shape,
        engine,
        requests,
        service.kv_precision,
        Parallelism(tp=layout.tp, pp=layout.pp, dp=layout.dp),
        memory_reserve_fraction,
    )
    if not sized:
        return None
    steps = replica_steps(sized[0], engine, requests, calibration or load_constants())
    return Fleet(
        model=steps,
        replicas=replicas,
        routing="round_robin" if service.round_robin else "weighted",
        prefix_cache_hit_fraction=service.prefix_cache_hit_fraction,
        tokens_per_step=requests.accepted_tokens,
        api_seconds=float(np.max(steps.factors.request_ms)) * 1e-3,
    )


def load_of_service(service: Service, trace: Trace | None = None, requests: int = DEFAULT_REQUESTS) -> Load:
    """What a service is asked: its lengths and mix, or the busiest part of its trace."""
    return Load(
        input_tokens=service.input_tokens,
        output_tokens=service.output_tokens,
        mix=service.request_mix,
        trace=trace,
        requests=requests,
    )


def confirm_option(
    service: Service,
    shape: Shape,
    accelerator: Accelerator,
    option: ReplicaOption,
    *,
    replicas: int,
    requests_per_second: float,
    trace: Trace | None = None,
    requests: int = DEFAULT_REQUESTS,
    memory_reserve_fraction: float | None = None,
    calibration: Constants | None = None,
) -> Confirmation | None:
    """Whether `replicas` copies of an option hold the service's targets at its whole rate; None: can't be simulated."""
    fleet = fleet_of(
        service,
        shape,
        accelerator,
        option,
        replicas=replicas,
        memory_reserve_fraction=memory_reserve_fraction,
        calibration=calibration,
    )
    if fleet is None:
        return None
    load = load_of_service(service, trace, requests)
    return confirm(fleet, load, requests_per_second=requests_per_second, slo=service.slo)


def confirmed_option(
    service: Service,
    shape: Shape,
    accelerator: Accelerator,
    option: ReplicaOption,
    *,
    trace: Trace | None = None,
    requests: int = DEFAULT_REQUESTS,
    memory_reserve_fraction: float | None = None,
    calibration: Constants | None = None,
) -> ReplicaOption | None:
    """The option at the highest rate, at most its own, that the simulation of one replica confirms, with its latencies.

    An option that can't be simulated comes back as it is; None where no rate holds the targets.
    """
    fleet = fleet_of(
        service,
        shape,
        accelerator,
        option,
        replicas=1,
        memory_reserve_fraction=memory_reserve_fraction,
        calibration=calibration,
    )
    if fleet is None:
        return option
    planned = option.requests_per_second
    load = load_of_service(service, trace, requests)
    rate, verdict = highest_rate(fleet, load, slo=service.slo, at_most_requests_per_second=planned)
    if verdict is None:
        return None
    note = "confirmed by simulation"
    if rate < planned:
        note = f"rate lowered from {planned:.4g} to {rate:.4g} requests/s by simulation"
    return dataclasses.replace(
        option,
        requests_per_second=rate,
        concurrency=verdict.mean_running,
        latency=Latency(value_ms=dict(verdict.measured_ms)),
        notes=(*option.notes, note),
    )
