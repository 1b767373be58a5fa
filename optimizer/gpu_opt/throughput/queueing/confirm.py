"""Does a design hold? The simulation's verdict on a rate and its latency targets, and the highest rate that holds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from gpu_opt.domain.workload import RequestClass, Slo, TokenLength
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.queueing.arrivals import Requests, busiest, requests_of, sample_requests
from gpu_opt.throughput.queueing.simulate import SimulationResult, simulate
from gpu_opt.throughput.queueing.step_table import StepModel
from gpu_opt.throughput.queueing.trace import Trace

REPORTED = tuple(
    (metric, statistic) for metric in ("ttft", "tpot", "itl", "e2e") for statistic in ("mean", "p50", "p95", "p99")
)
_MAX_SIMULATED_REPLICAS = 4
_BACKLOG_FRACTION = 0.02
_SAMPLED_TAIL_FRACTION = 0.02  # sampled lengths beyond their P95 are an assumption; an engine refuses the longest
_BISECTIONS = 9
_IDLE_REQUESTS = 1000
DEFAULT_REQUESTS = 10_000  # a hundred of them above P99


@record
class Load:
    """What a service is asked: lengths and arrivals, sampled, or those of the busiest part of a trace."""

    input_tokens: TokenLength
    output_tokens: TokenLength
    mix: tuple[RequestClass, ...] = ()
    interarrival_cv: float = 1.0
    trace: Trace | None = None
    requests: int = DEFAULT_REQUESTS
    seed: int = 0

    def at(self, requests_per_second: float, *, times: float = 1.0) -> Requests:
        """About `requests` × `times` requests at this mean rate; a trace keeps its pattern, faster or slower."""
        if self.trace is None:
            seconds = self.requests * times / requests_per_second
            return sample_requests(
                requests_per_second, seconds, self.input_tokens, self.output_tokens,
                mix=self.mix, interarrival_cv=self.interarrival_cv, seed=self.seed,
            )  # fmt: skip
        window = self.trace.duration_seconds * min(1.0, self.requests * times / self.trace.requests)
        part = requests_of(busiest(self.trace, window))
        seconds = max(float(part.arrival_seconds[-1]), 1e-9)
        return part.at_rate(requests_per_second / (len(part) / seconds))


@record
class Fleet:
    """Equal replicas behind a router, as the simulation sees them."""

    model: StepModel
    replicas: int = 1
    routing: str = "weighted"
    prefix_cache_hit_fraction: float = 0.0
    tokens_per_step: float = 1.0
    api_seconds: float = 0.0


@record
class Confirmation:
    """Whether a rate holds, what was measured by (metric, statistic) in ms, and which limits broke, in words."""

    ok: bool
    requests_per_second: float
    measured_ms: Mapping[tuple[str, str], float]
    broken: tuple[str, ...]
    simulated_requests: int
    simulated_replicas: int
    mean_running: float
    max_queue: int
    preemptions: int
    rejected: int


def confirm(fleet: Fleet, load: Load, *, requests_per_second: float, slo: Slo | None) -> Confirmation:
    """Simulates the whole service's rate; fails where the queue keeps growing, requests can't fit, or a limit breaks.

    Of sampled requests 2 % may be too long for the cache, of a trace none. Under weighted and round-robin routing
    replicas don't see each other, so that at most four of them are run.
    """
    if requests_per_second <= 0:
        what = f"a rate of {requests_per_second:g} requests per second."
        raise InputError(Problem(what=what, remedy="Give a positive rate."))
    shown = min(fleet.replicas, _MAX_SIMULATED_REPLICAS) if fleet.routing != "least_loaded" else fleet.replicas
    requests = _share(fleet, load, requests_per_second, shown)
    result = simulate(
        requests,
        fleet.model,
        replicas=shown,
        routing=fleet.routing,
        prefix_cache_hit_fraction=fleet.prefix_cache_hit_fraction,
        tokens_per_step=fleet.tokens_per_step,
        api_seconds=fleet.api_seconds,
        seed=load.seed,
    )
    measured = {key: result.latency_ms(*key) for key in dict.fromkeys((*REPORTED, *(slo.limit_ms if slo else ())))}
    overload = _overload(result, len(requests), traced=load.trace is not None)
    broken = (*overload, *_broken_limits(measured, slo, requests_per_second))
    return Confirmation(
        ok=not broken,
        requests_per_second=requests_per_second,
        measured_ms=measured,
        broken=broken,
        simulated_requests=len(requests),
        simulated_replicas=shown,
        mean_running=result.running_seconds / result.last_finish_seconds / shown,
        max_queue=result.max_queue,
        preemptions=result.preemptions,
        rejected=result.rejected,
    )


def highest_rate(
    fleet: Fleet, load: Load, *, slo: Slo | None, at_most_requests_per_second: float
) -> tuple[float, Confirmation | None]:
    """The highest rate up to a bound that `confirm` accepts, to 1/512 of the bound; (0, None) if none does."""
    low, high = 0.0, at_most_requests_per_second
    best = confirm(fleet, load, requests_per_second=high, slo=slo)
    if best.ok:
        return high, best
    idle = dataclasses.replace(load, requests=min(_IDLE_REQUESTS, load.requests))
    if not confirm(fleet, idle, requests_per_second=high / 2**_BISECTIONS, slo=slo).ok:
        return 0.0, None
    found: Confirmation | None = None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        tried = confirm(fleet, load, requests_per_second=middle, slo=slo)
        if tried.ok:
            low, found = middle, tried
        else:
            high = middle
    return low, found


def _share(fleet: Fleet, load: Load, requests_per_second: float, shown: int) -> Requests:
    """The requests that the simulated replicas get: all of them, or their part under the same routing."""
    if shown == fleet.replicas:
        return load.at(requests_per_second)
    part = shown / fleet.replicas
    if load.trace is None and fleet.routing == "weighted":
        return load.at(requests_per_second * part)
    whole = load.at(requests_per_second, times=1.0 / part)
    if fleet.routing == "round_robin":
        kept = np.arange(len(whole)) % fleet.replicas < shown
    else:
        kept = np.random.default_rng(load.seed).random(len(whole)) < part
        kept[0] = True
    return Requests(
        arrival_seconds=whole.arrival_seconds[kept],
        input_tokens=whole.input_tokens[kept],
        output_tokens=whole.output_tokens[kept],
    )


def _overload(result: SimulationResult, requests: int, *, traced: bool) -> Sequence[str]:
    broken = []
    if result.rejected > (0.0 if traced else _SAMPLED_TAIL_FRACTION * requests):
        broken.append(f"{result.rejected} of {requests} requests need more context than fits on a replica.")
    waiting = result.waiting_at(float(result.arrival_seconds[-1]))
    if waiting > _BACKLOG_FRACTION * requests + 2 * math.sqrt(requests):
        broken.append(f"the queue keeps growing: {waiting} of {requests} requests still wait when the last one comes.")
    return broken


def _broken_limits(measured: Mapping[tuple[str, str], float], slo: Slo | None, rate: float) -> Sequence[str]:
    return [
        f"{metric} {statistic} is {measured[metric, statistic]:.0f} ms at {rate:.3g} requests/s, above {limit:.0f} ms."
        for (metric, statistic), limit in sorted((slo.limit_ms if slo else {}).items())
        if measured[metric, statistic] > limit
    ]
