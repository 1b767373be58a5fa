"""The verdict of the simulation on a rate and its limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gpu_opt.domain.workload import Slo, TokenLength
from gpu_opt.errors import InputError
from gpu_opt.throughput.queueing.arrivals import Requests, sample_requests
from gpu_opt.throughput.queueing.confirm import Fleet, Load, confirm, highest_rate
from gpu_opt.throughput.queueing.simulate import simulate
from gpu_opt.throughput.queueing.step_table import Floats
from gpu_opt.throughput.queueing.trace import Trace


@dataclass(frozen=True)
class Machine:
    kv_token_capacity: float = 100_000.0
    max_num_seqs: int = 64
    chunk_tokens: int = 1024

    def decode_step_seconds(self, batch: Floats, mean_context_tokens: Floats) -> Floats:
        return np.asarray(0.01 + batch * (1e-4 + 1e-8 * mean_context_tokens))

    def prefill_seconds(self, tokens: Floats) -> Floats:
        return np.asarray(0.01 + 5e-5 * tokens)


@dataclass(frozen=True)
class PromptsAreFree(Machine):
    """A machine that knows what a prompt adds to a step: nothing."""

    def prefill_work_seconds(self, tokens: Floats) -> Floats:
        return np.zeros_like(tokens)


LENGTHS = {"input_tokens": TokenLength(mean_tokens=300), "output_tokens": TokenLength(mean_tokens=60)}
LOAD = Load(**LENGTHS, requests=2000)
SLO = Slo(limit_ms={("ttft", "p95"): 200.0, ("tpot", "p95"): 30.0})


def trace() -> Trace:
    sampled = sample_requests(10.0, 300, **LENGTHS)
    return Trace(
        name="t",
        arrival_seconds=sampled.arrival_seconds,
        input_tokens=sampled.input_tokens,
        output_tokens=sampled.output_tokens,
    )


def test_a_light_load_holds_and_reports_every_percentile() -> None:
    verdict = confirm(Fleet(model=Machine()), LOAD, requests_per_second=4.0, slo=SLO)
    assert verdict.ok
    assert verdict.broken == ()
    assert set(verdict.measured_ms) == {
        (metric, statistic) for metric in ("ttft", "tpot", "itl", "e2e") for statistic in ("mean", "p50", "p95", "p99")
    }
    assert verdict.measured_ms["ttft", "p95"] < 200.0


def test_a_limit_that_breaks_is_named_with_its_numbers() -> None:
    verdict = confirm(
        Fleet(model=Machine()),
        LOAD,
        requests_per_second=4.0,
        slo=Slo(limit_ms={("e2e", "p99"): 100.0, ("itl", "p90"): 1.0}),
    )
    assert not verdict.ok
    assert verdict.broken == (
        f"e2e p99 is {verdict.measured_ms['e2e', 'p99']:.0f} ms at 4 requests/s, above 100 ms.",
        f"itl p90 is {verdict.measured_ms['itl', 'p90']:.0f} ms at 4 requests/s, above 1 ms.",
    )


def test_without_limits_a_growing_queue_still_fails() -> None:
    assert confirm(Fleet(model=Machine()), LOAD, requests_per_second=20.0, slo=None).ok
    verdict = confirm(Fleet(model=Machine()), LOAD, requests_per_second=60.0, slo=None)
    assert "the queue keeps growing" in verdict.broken[0]


def test_a_request_that_never_fits_fails() -> None:
    verdict = confirm(Fleet(model=Machine(kv_token_capacity=600.0)), LOAD, requests_per_second=1.0, slo=None)
    assert "need more context than fits" in verdict.broken[0]


def test_the_highest_rate_holds_and_a_little_more_does_not() -> None:
    fleet = Fleet(model=Machine())
    rate, verdict = highest_rate(fleet, LOAD, slo=SLO, at_most_requests_per_second=60.0)
    assert verdict is not None
    assert verdict.ok
    assert verdict.requests_per_second == rate
    assert not confirm(fleet, LOAD, requests_per_second=rate * 1.05, slo=SLO).ok


def test_a_bound_that_holds_is_the_answer_and_limits_below_an_idle_machine_have_none() -> None:
    fleet = Fleet(model=Machine())
    assert highest_rate(fleet, LOAD, slo=SLO, at_most_requests_per_second=2.0)[0] == 2.0
    impossible = Slo(limit_ms={("ttft", "p95"): 5.0})
    assert highest_rate(fleet, LOAD, slo=impossible, at_most_requests_per_second=60.0) == (0.0, None)


@pytest.mark.parametrize("routing", ["weighted", "round_robin", "least_loaded"])
def test_many_replicas_carry_about_as_many_times_the_rate(routing: str) -> None:
    one, _ = highest_rate(Fleet(model=Machine()), LOAD, slo=SLO, at_most_requests_per_second=60.0)
    ten, verdict = highest_rate(
        Fleet(model=Machine(), replicas=10, routing=routing), LOAD, slo=SLO, at_most_requests_per_second=600.0
    )
    assert verdict is not None
    assert verdict.simulated_replicas == (10 if routing == "least_loaded" else 4)
    low, high = (0.9, 1.1) if routing == "weighted" else (0.95, 1.4)
    assert low * 10 * one < ten < high * 10 * one


@pytest.mark.parametrize(("replicas", "routing"), [(1, "weighted"), (8, "weighted"), (8, "round_robin")])
def test_a_trace_is_replayed_at_the_rate_asked_for(replicas: int, routing: str) -> None:
    load = Load(**LENGTHS, trace=trace())
    fleet = Fleet(model=Machine(), replicas=replicas, routing=routing)
    assert confirm(fleet, load, requests_per_second=5.0 * replicas, slo=SLO).ok
    assert not confirm(fleet, load, requests_per_second=40.0 * replicas, slo=SLO).ok


def test_a_model_that_knows_its_mixed_steps_is_believed() -> None:
    requests = sample_requests(15.0, 100, **LENGTHS)
    assert simulate(requests, PromptsAreFree()).latency_ms("tpot", "p95") < 0.8 * simulate(
        requests, Machine()
    ).latency_ms("tpot", "p95")


def test_wrong_arguments_are_input_errors() -> None:
    requests = sample_requests(5.0, 10, **LENGTHS)
    nothing = Requests(arrival_seconds=np.zeros(0), input_tokens=np.zeros(0), output_tokens=np.zeros(0))
    with pytest.raises(InputError, match="no requests"):
        simulate(nothing, Machine())
    with pytest.raises(InputError, match="no replicas"):
        simulate(requests, [])
    with pytest.raises(InputError, match="routing 'random' is not known"):
        simulate(requests, Machine(), routing="random")
    with pytest.raises(InputError, match="weights don't fit"):
        simulate(requests, Machine(), replicas=2, weights=(1.0,))
    with pytest.raises(InputError, match="rate of 0"):
        confirm(Fleet(model=Machine()), LOAD, requests_per_second=0.0, slo=None)


def test_a_simulation_takes_a_few_events_a_request_and_not_one_a_step() -> None:
    # 4,000 requests of about 60 tokens at ten to a batch: some 24,000 steps
    result = simulate(sample_requests(15.0, 4000 / 15, **LENGTHS), Machine())
    steps = float(np.sum(result.itl_tokens)) / (result.running_seconds / result.busy_seconds)
    assert len(result.itl_seconds) < 2.5 * 4000
    assert steps > 4 * 4000


def test_requests_of_one_token_have_no_time_per_output_token() -> None:
    one = TokenLength(mean_tokens=1, p95_tokens=1)
    result = simulate(sample_requests(5.0, 10, LENGTHS["input_tokens"], one), Machine())
    assert np.isnan(result.tpot_seconds).all()
    assert np.isnan(result.latency_ms("tpot", "p95"))
    assert result.output_tokens_per_second == pytest.approx(result.requests_per_second)
