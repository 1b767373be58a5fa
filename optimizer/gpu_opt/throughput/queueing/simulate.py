"""An event simulation of a service: requests routed to replicas, each with continuous batching."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.queueing.arrivals import Requests
from gpu_opt.throughput.queueing.replica import Jobs, Replica
from gpu_opt.throughput.queueing.step_table import StepModel, build_table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ROUTINGS = ("weighted", "round_robin", "least_loaded")
WARM_UP_FRACTION = 0.1  # of the arrivals, left out of percentiles: the replicas start empty


@record
class SimulationResult:
    """What each request saw, in order of arrival; NaN for one that can never fit (`rejected` counts those).

    `tpot_seconds` is NaN for a request of one token. `itl_seconds` holds gaps between tokens and `itl_tokens` how many
    tokens had each. `running_seconds` is the time integral of the sequences that decode, over all replicas.
    """

    arrival_seconds: Floats
    ttft_seconds: Floats
    tpot_seconds: Floats
    e2e_seconds: Floats
    replica: Ints
    itl_seconds: Floats
    itl_tokens: Floats
    output_tokens: int
    last_finish_seconds: float
    running_seconds: float
    busy_seconds: float
    max_queue: int
    preemptions: int
    rejected: int

    @property
    def requests_per_second(self) -> float:
        """Finished requests over the time until the last of them finished."""
        return float(np.isfinite(self.e2e_seconds).sum()) / self.last_finish_seconds

    @property
    def output_tokens_per_second(self) -> float:
        return self.output_tokens / self.last_finish_seconds

    def latency_ms(self, metric: str, statistic: str) -> float:
        """`ttft`, `tpot`, `itl` or `e2e` as `mean`, `p50`, `p95` …, without the warm-up; NaN if no request has it."""
        if metric == "itl":
            return 1000 * _statistic(self.itl_seconds, statistic, self.itl_tokens)
        values: Floats = {"ttft": self.ttft_seconds, "tpot": self.tpot_seconds, "e2e": self.e2e_seconds}[metric]
        values = values[int(len(values) * WARM_UP_FRACTION) :]
        return 1000 * _statistic(values[np.isfinite(values)], statistic)

    def waiting_at(self, seconds: float) -> int:
        """Requests that have come and have no first token yet."""
        first = self.arrival_seconds + self.ttft_seconds
        return int(np.sum((self.arrival_seconds <= seconds) & (first > seconds)))


def simulate(
    requests: Requests,
    models: StepModel | Sequence[StepModel],
    *,
    replicas: int = 1,
    routing: str = "weighted",
    weights: Sequence[float] = (),
    prefix_cache_hit_fraction: float = 0.0,
    tokens_per_step: float = 1.0,
    api_seconds: float = 0.0,
    seed: int = 0,
) -> SimulationResult:
    """Runs all requests to their end on `replicas` copies of one model, or on one replica for each of `models`.

    `weighted` sends each request at random by `weights` (equal without), `round_robin` in turn, `least_loaded` to the
    replica with the fewest unfinished requests. `tokens_per_step` above 1 is speculative decoding: the step model
    then times a step with its drafts. `api_seconds` is added to TTFT and end-to-end. Equal input, equal output.
    """
    each = list(models) if isinstance(models, Sequence) else [models] * replicas
    _check(requests, each, routing, weights)
    typical = float(requests.input_tokens.mean() + requests.output_tokens.mean() / 2)
    tables = {id(model): build_table(model, typical_context_tokens=typical) for model in each}
    jobs = _jobs(requests, prefix_cache_hit_fraction, tokens_per_step)
    fleet = [Replica(tables[id(model)], jobs, tokens_per_step) for model in each]
    smallest = min(table.kv_token_capacity for table in tables.values())
    fits = np.array(jobs.new_tokens) + requests.output_tokens <= smallest
    order = np.flatnonzero(fits)
    replica = np.full(len(requests), -1, dtype=np.int64)
    if routing == "least_loaded":
        replica[order] = _run_least_loaded(fleet, jobs, order.tolist())
    else:
        replica[order] = _assign(len(order), len(fleet), routing, weights, seed)
        for index, one in enumerate(fleet):
            one.queue = np.flatnonzero(replica == index).tolist()
            one.run_until(float("inf"))
    return _result(requests, jobs, fleet, replica, api_seconds)


def simulate_closed_loop(
    requests: Requests,
    model: StepModel,
    *,
    users: int,
    prefix_cache_hit_fraction: float = 0.0,
    tokens_per_step: float = 1.0,
    api_seconds: float = 0.0,
) -> SimulationResult:
    """`users` that each send the next request when their last one ends, from a start all at once, on one replica.

    Arrival times of `requests` are not used; those of the result are when each request was sent.
    """
    _check(requests, [model], "round_robin", ())
    typical = float(requests.input_tokens.mean() + requests.output_tokens.mean() / 2)
    jobs = _jobs(requests, prefix_cache_hit_fraction, tokens_per_step)
    replica = Replica(build_table(model, typical_context_tokens=typical), jobs, tokens_per_step)
    fits = np.array(jobs.new_tokens) + requests.output_tokens <= model.kv_token_capacity
    order = np.flatnonzero(fits).tolist()
    jobs.arrival = [0.0] * len(requests)
    replica.queue, replica.next_users = order[:users], order[users:][::-1]
    replica.run_until(float("inf"))
    sent = Requests(
        arrival_seconds=np.array(jobs.arrival),
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
    )
    return _result(sent, jobs, [replica], np.where(fits, 0, -1), api_seconds)


def _check(requests: Requests, models: list[StepModel], routing: str, weights: Sequence[float]) -> None:
    problems = []
    if not len(requests):
        problems.append(Problem(what="no requests to simulate.", remedy="Give at least one."))
    if not models:
        problems.append(Problem(what="no replicas to simulate.", remedy="Give at least one."))
    if routing not in ROUTINGS:
        problems.append(Problem(what=f"routing {routing!r} is not known.", remedy=f"Use one of {', '.join(ROUTINGS)}."))
    if weights and (len(weights) != len(models) or min(weights) < 0 or sum(weights) <= 0):
        problems.append(
            Problem(what="weights don't fit the replicas.", remedy="Give one weight of 0 or more for each.")
        )
    if problems:
        raise InputError(problems)


def _jobs(requests: Requests, hit_fraction: float, tokens_per_step: float) -> Jobs:
    count = len(requests)
    new_tokens = np.maximum(1, np.rint(requests.input_tokens * (1.0 - hit_fraction))).astype(np.int64)
    steps = np.ceil((requests.output_tokens - 1) / tokens_per_step).astype(np.int64)
    return Jobs(
        arrival=requests.arrival_seconds.tolist(),
        context=requests.input_tokens.tolist(),
        new_tokens=new_tokens.tolist(),
        steps=steps.tolist(),
        first_token=[-1.0] * count,
        finish=[-1.0] * count,
        finish_step=[-1] * count,
    )


def _assign(count: int, replicas: int, routing: str, weights: Sequence[float], seed: int) -> Ints:
    if routing == "round_robin":
        return np.arange(count, dtype=np.int64) % replicas
    shares = np.array(weights if weights else [1.0] * replicas)
    edges = np.cumsum(shares / shares.sum())
    drawn = np.random.default_rng(seed).random(count)
    return np.minimum(np.searchsorted(edges, drawn, side="right"), replicas - 1).astype(np.int64)


def _run_least_loaded(fleet: list[Replica], jobs: Jobs, order: list[int]) -> list[int]:
    """Loads are known to within the step that each replica is in; ties go to the first."""
    chosen = []
    for index in order:
        now = jobs.arrival[index]
        for one in fleet:
            if one.clock < now and one.outstanding:
                one.run_until(now)
        loads = [one.outstanding for one in fleet]
        best = loads.index(min(loads))
        fleet[best].queue.append(index)
        chosen.append(best)
    for one in fleet:
        one.run_until(float("inf"))
    return chosen


def _result(
    requests: Requests, jobs: Jobs, fleet: list[Replica], replica: Ints, api_seconds: float
) -> SimulationResult:
    first, finish = np.array(jobs.first_token), np.array(jobs.finish)
    served = replica >= 0
    nothing = np.full(len(requests), np.nan)
    decoded = np.maximum(requests.output_tokens - 1, 1)
    has_gaps = served & (requests.output_tokens > 1)
    tallies = [one.tally for one in fleet]
    return SimulationResult(
        arrival_seconds=requests.arrival_seconds,
        ttft_seconds=np.where(served, first - requests.arrival_seconds + api_seconds, nothing),
        tpot_seconds=np.where(has_gaps, (finish - first) / decoded, nothing),
        e2e_seconds=np.where(served, finish - requests.arrival_seconds + api_seconds, nothing),
        replica=replica,
        itl_seconds=np.array([gap for tally in tallies for gap in tally.gap_seconds]),
        itl_tokens=np.array([tokens for tally in tallies for tokens in tally.gap_tokens]),
        output_tokens=int(requests.output_tokens[served].sum()),
        last_finish_seconds=max(float(finish.max()), float(requests.arrival_seconds[-1]), 1e-9),
        running_seconds=sum(tally.running_seconds for tally in tallies),
        busy_seconds=sum(tally.busy_seconds for tally in tallies),
        max_queue=max(tally.max_queue for tally in tallies),
        preemptions=sum(tally.preemptions for tally in tallies),
        rejected=int(np.sum(~served)),
    )


def _statistic(values: Floats, statistic: str, weights: Floats | None = None) -> float:
    if len(values) == 0:
        return float("nan")
    if statistic == "mean":
        return float(np.average(values, weights=weights))
    percent = float(statistic.removeprefix("p"))
    if weights is None:
        return float(np.percentile(values, percent))
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    at = np.searchsorted(cumulative, percent / 100 * cumulative[-1])
    return float(values[order][min(int(at), len(values) - 1)])
