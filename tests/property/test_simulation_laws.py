"""Laws of the event simulation: conservation, Little's law, monotony, and closed forms of queueing theory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_opt.domain.workload import TokenLength
from gpu_opt.throughput.queueing.arrivals import Requests, sample_requests
from gpu_opt.throughput.queueing.simulate import ROUTINGS, SimulationResult, simulate, simulate_closed_loop
from gpu_opt.throughput.queueing.step_table import Floats


@dataclass(frozen=True)
class Machine:
    """Step times that are linear in everything: hand arithmetic reaches them."""

    kv_token_capacity: float = 100_000.0
    max_num_seqs: int = 64
    chunk_tokens: int = 1024
    step_seconds: float = 0.01
    seconds_per_sequence: float = 1e-4
    seconds_per_context_token: float = 1e-8
    seconds_per_prompt_token: float = 5e-5

    def decode_step_seconds(self, batch: Floats, mean_context_tokens: Floats) -> Floats:
        growth = self.seconds_per_sequence + self.seconds_per_context_token * mean_context_tokens
        return np.asarray(self.step_seconds + batch * growth)

    def prefill_seconds(self, tokens: Floats) -> Floats:
        return np.asarray(self.step_seconds + self.seconds_per_prompt_token * tokens)


def fixed(tokens: float) -> TokenLength:
    return TokenLength(mean_tokens=tokens, p95_tokens=tokens)


def run(rate: float, machine: Machine, *, requests: int = 4000, seed: int = 0) -> SimulationResult:
    lengths = TokenLength(mean_tokens=300), TokenLength(mean_tokens=60)
    return simulate(sample_requests(rate, requests / rate, *lengths, seed=seed), machine)


loads = st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 900), st.integers(1, 120)), min_size=1, max_size=60).map(
    lambda rows: Requests(
        arrival_seconds=np.cumsum([gap for gap, _, _ in rows]),
        input_tokens=np.array([inputs for _, inputs, _ in rows]),
        output_tokens=np.array([outputs for _, _, outputs in rows]),
    )
)
machines = st.builds(
    Machine,
    kv_token_capacity=st.sampled_from([700.0, 1100.0, 2500.0, 100_000.0]),
    max_num_seqs=st.sampled_from([1, 3, 64]),
    chunk_tokens=st.sampled_from([16, 256, 4096]),
)


@settings(max_examples=60, deadline=None)
@given(load=loads, machine=machines, replicas=st.integers(1, 3), routing=st.sampled_from(ROUTINGS))
def test_every_request_finishes_once_or_is_rejected_because_it_can_never_fit(
    load: Requests, machine: Machine, replicas: int, routing: str
) -> None:
    result = simulate(load, machine, replicas=replicas, routing=routing)
    too_long = load.input_tokens + load.output_tokens > machine.kv_token_capacity
    assert np.array_equal(np.isnan(result.e2e_seconds), too_long)
    assert result.rejected == int(too_long.sum())
    assert result.output_tokens == int(load.output_tokens[~too_long].sum())
    served = ~too_long
    assert np.all(result.ttft_seconds[served] > 0)
    assert np.all(result.e2e_seconds[served] >= result.ttft_seconds[served] - 1e-9)


@settings(max_examples=40, deadline=None)
@given(load=loads, machine=machines)
def test_nothing_is_faster_than_alone_on_the_machine(load: Requests, machine: Machine) -> None:
    result = simulate(load, machine)
    served = np.isfinite(result.e2e_seconds)
    prefill = machine.seconds_per_prompt_token * load.input_tokens
    decode = machine.step_seconds * (load.output_tokens - 1)
    assert np.all(result.ttft_seconds[served] >= prefill[served] - 1e-9)
    assert np.all((result.e2e_seconds - result.ttft_seconds)[served] >= decode[served] - 1e-6)


@settings(max_examples=60, deadline=None)
@given(load=loads, machine=machines, replicas=st.integers(1, 3), routing=st.sampled_from(ROUTINGS))
def test_equal_input_gives_equal_output(load: Requests, machine: Machine, replicas: int, routing: str) -> None:
    one, two = (simulate(load, machine, replicas=replicas, routing=routing, seed=4) for _ in range(2))
    assert np.array_equal(one.e2e_seconds, two.e2e_seconds, equal_nan=True)
    assert np.array_equal(one.itl_seconds, two.itl_seconds)


@pytest.mark.parametrize("rate", [2.0, 10.0, 18.0])
def test_littles_law_holds_for_the_sequences_that_decode(rate: float) -> None:
    # the loop integrates its batch over time; the requests' own clocks must give the same sum
    result = run(rate, Machine())
    assert result.preemptions == 0
    assert result.running_seconds == pytest.approx(float(np.sum(result.e2e_seconds - result.ttft_seconds)), rel=1e-9)


def test_gaps_between_tokens_add_up_to_the_time_in_decode() -> None:
    result = run(10.0, Machine())
    total = float(np.sum(result.itl_seconds * result.itl_tokens))
    assert total == pytest.approx(result.running_seconds, rel=1e-9)
    assert result.itl_tokens.sum() == result.output_tokens - len(result.e2e_seconds)


def test_latency_grows_with_the_rate() -> None:
    lengths = TokenLength(mean_tokens=300), TokenLength(mean_tokens=60)
    requests = sample_requests(1.0, 5000, *lengths)
    results = [simulate(requests.at_rate(rate), Machine()) for rate in (2.0, 8.0, 14.0, 20.0, 40.0)]
    for metric in ("ttft", "tpot", "e2e"):
        for statistic in ("mean", "p50", "p95", "p99"):
            values = [result.latency_ms(metric, statistic) for result in results]
            assert values == sorted(values), (metric, statistic)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8])
def test_prompts_alone_wait_as_in_an_m_d_1_queue(rho: float) -> None:
    # one prompt of 1,000 tokens a step, 0.1 s each, no decoding: W = ρ s / (2 (1 − ρ))
    machine = Machine(step_seconds=0.0, seconds_per_prompt_token=1e-4, chunk_tokens=1000, max_num_seqs=1)
    requests = sample_requests(rho / 0.1, 60_000 * 0.1 / rho, fixed(1000), fixed(1), seed=1)
    wait = float(simulate(requests, machine).ttft_seconds.mean()) - 0.1
    assert wait == pytest.approx(rho * 0.1 / (2 * (1 - rho)), rel=0.06)


def test_one_slot_waits_as_in_an_m_d_1_queue_of_whole_requests() -> None:
    # one sequence at a time: 0.1 s of prompt and 40 steps of 0.01 s are s = 0.5 s; at ρ = 0.7
    # W = 0.7 · 0.5 / (2 · 0.3) = 0.583 s
    machine = Machine(
        step_seconds=0.01, seconds_per_sequence=0.0, seconds_per_context_token=0.0, seconds_per_prompt_token=9e-5,
        chunk_tokens=1000, max_num_seqs=1,
    )  # fmt: skip
    requests = sample_requests(1.4, 60_000 / 1.4, fixed(1000), fixed(41), seed=1)
    result = simulate(requests, machine)
    assert float(result.e2e_seconds.mean()) - 0.5 == pytest.approx(0.583, rel=0.06)


def test_a_saturated_replica_delivers_what_its_cycle_allows() -> None:
    # 64 sequences, in 200, out 100, everything linear. A request brings 99 decode tokens and 200 prompt tokens.
    # Steps run at about 64 sequences: 99 / 64 steps of 0.01 + 64 · (1e-4 + 1e-8 · 250) s, and 200 · 5e-5 s of prompt.
    machine = Machine()
    requests = Requests(
        arrival_seconds=np.zeros(20_000), input_tokens=np.full(20_000, 200), output_tokens=np.full(20_000, 100)
    )
    per_request = 99 / 64 * (0.01 + 64 * (1e-4 + 1e-8 * 250)) + 200 * 5e-5
    assert simulate(requests, machine).requests_per_second == pytest.approx(1 / per_request, rel=0.03)


def test_a_full_cache_preempts_and_loses_throughput_but_no_request() -> None:
    requests = Requests(arrival_seconds=np.zeros(300), input_tokens=np.full(300, 100), output_tokens=np.full(300, 200))
    roomy = simulate(requests, Machine())
    tight = simulate(requests, Machine(kv_token_capacity=2_000.0))
    assert (roomy.preemptions, roomy.rejected) == (0, 0)
    assert tight.preemptions > 0
    assert tight.rejected == 0
    assert np.isfinite(tight.e2e_seconds).all()
    assert tight.requests_per_second < 0.5 * roomy.requests_per_second
    # contexts average 200 tokens once a sequence runs: 2,000 tokens hold about 10 to 14 of them
    assert 8 < tight.running_seconds / tight.last_finish_seconds < 16


def test_a_cache_that_fills_while_a_long_prompt_is_computed_preempts_too() -> None:
    # two sequences of 100 tokens and a prompt of 750 leave less than 50 of 1,000; at 14 prompt tokens a step the prompt
    # takes 54 steps, in which the two sequences would grow by 108
    requests = Requests(
        arrival_seconds=np.array([0.0, 0.0, 0.15]),
        input_tokens=np.array([100, 100, 750]),
        output_tokens=np.array([400, 400, 20]),
    )
    result = simulate(requests, Machine(kv_token_capacity=1000.0, chunk_tokens=16))
    assert result.preemptions >= 1
    assert np.isfinite(result.e2e_seconds).all()


def test_a_prompt_on_an_idle_machine_takes_its_prefill_and_then_a_step_a_token() -> None:
    # prompt 0.01 + 1,000 · 5e-5 = 0.06 s; steps at contexts 1,000 and 1,001: 0.01 + 1e-4 + 1e-8 · context
    requests = Requests(arrival_seconds=np.array([5.0]), input_tokens=np.array([1000]), output_tokens=np.array([3]))
    result = simulate(requests, Machine())
    assert result.ttft_seconds[0] == pytest.approx(0.06)
    assert result.tpot_seconds[0] == pytest.approx(0.0101 + 1e-8 * 1000.5)


def test_a_second_prompt_shares_its_step_with_the_first_ones_decoding() -> None:
    # B arrives at 0.1 while A decodes; their mixed step takes A's decode step and B's 1,000 · 5e-5 s, but one step cost
    requests = Requests(
        arrival_seconds=np.array([0.0, 0.1]), input_tokens=np.array([1000, 1000]), output_tokens=np.array([500, 2])
    )
    result = simulate(requests, Machine())
    step = 0.0101 + 1e-8 * 1004
    boundary = 0.06 + 4 * step  # the first step boundary after 0.1
    assert result.ttft_seconds[1] == pytest.approx(boundary + step + 1000 * 5e-5 - 0.1, rel=1e-3)


def test_chunks_bound_the_stall_that_a_long_prompt_causes() -> None:
    requests = Requests(
        arrival_seconds=np.array([0.0, 0.5]), input_tokens=np.array([10, 8000]), output_tokens=np.array([400, 1])
    )
    chunked = simulate(requests, Machine(chunk_tokens=500))
    whole = simulate(requests, Machine(chunk_tokens=8192))
    # 499 prompt tokens a step beside one sequence: 499 · 5e-5 = 0.025 s; the whole prompt is 0.4 s
    assert chunked.itl_seconds.max() == pytest.approx(0.035, abs=0.001)
    assert whole.itl_seconds.max() == pytest.approx(0.41, abs=0.001)
    assert chunked.ttft_seconds[1] > whole.ttft_seconds[1]


def test_a_prefix_cache_saves_prefill_and_room() -> None:
    requests = sample_requests(10.0, 100, fixed(1000), fixed(50))
    cold = simulate(requests, Machine())
    warm = simulate(requests, Machine(), prefix_cache_hit_fraction=0.6)
    assert warm.latency_ms("ttft", "mean") < 0.6 * cold.latency_ms("ttft", "mean")


def test_speculation_takes_fewer_steps() -> None:
    requests = Requests(arrival_seconds=np.array([0.0]), input_tokens=np.array([100]), output_tokens=np.array([101]))
    plain = simulate(requests, Machine())
    drafted = simulate(requests, Machine(), tokens_per_step=2.5)
    # 100 tokens after the first: 100 steps, or 40
    decode = plain.e2e_seconds[0] - plain.ttft_seconds[0]
    assert drafted.e2e_seconds[0] - drafted.ttft_seconds[0] == pytest.approx(0.4 * decode, rel=1e-3)


def test_the_api_adds_to_first_token_and_end_only() -> None:
    requests = sample_requests(5.0, 100, fixed(300), fixed(50))
    bare, served = simulate(requests, Machine()), simulate(requests, Machine(), api_seconds=0.015)
    assert served.ttft_seconds - bare.ttft_seconds == pytest.approx(np.full(500, 0.015))
    assert served.e2e_seconds - bare.e2e_seconds == pytest.approx(np.full(500, 0.015))
    assert np.array_equal(served.tpot_seconds, bare.tpot_seconds)


def test_replicas_behind_weights_get_their_shares() -> None:
    requests = sample_requests(20.0, 500, fixed(300), fixed(50))
    result = simulate(requests, [Machine(), Machine()], weights=(3, 1), seed=1)
    assert np.mean(result.replica == 0) == pytest.approx(0.75, abs=0.02)


def test_near_saturation_routers_that_balance_wait_less_than_chance() -> None:
    requests = sample_requests(116.0, 200, TokenLength(mean_tokens=300), TokenLength(mean_tokens=60))
    waits = {
        routing: simulate(requests, Machine(), replicas=4, routing=routing).latency_ms("e2e", "p99")
        for routing in ROUTINGS
    }
    assert waits["least_loaded"] < waits["weighted"]
    assert waits["round_robin"] < waits["weighted"]


def spread_lengths(count: int) -> Requests:
    return sample_requests(1.0, count, TokenLength(mean_tokens=300), TokenLength(mean_tokens=60))


@pytest.mark.parametrize("users", [1, 8, 40])
def test_a_closed_loop_never_has_more_requests_than_users(users: int) -> None:
    result = simulate_closed_loop(spread_lengths(600), Machine(), users=users)
    sent, ended = result.arrival_seconds, result.arrival_seconds + result.e2e_seconds
    # when a request is sent, those sent before it (or with it) that have not ended yet are at most all users
    inside = [int(np.sum((sent <= now) & (ended > now + 1e-9))) for now in sent]
    assert max(inside) == users


@pytest.mark.parametrize("users", [1, 8, 40])
def test_users_over_their_time_in_the_system_are_the_rate(users: int) -> None:
    result = simulate_closed_loop(spread_lengths(4000), Machine(), users=users)
    assert result.requests_per_second == pytest.approx(users / float(result.e2e_seconds.mean()), rel=0.02)


def test_a_closed_loop_runs_like_an_open_one_at_the_rate_that_it_yields() -> None:
    closed = simulate_closed_loop(spread_lengths(6000), Machine(), users=20)
    lengths = TokenLength(mean_tokens=300), TokenLength(mean_tokens=60)
    rate = closed.requests_per_second
    opened = simulate(sample_requests(rate, 6000 / rate, *lengths), Machine())
    assert opened.latency_ms("tpot", "mean") == pytest.approx(closed.latency_ms("tpot", "mean"), rel=0.1)


def test_users_whose_requests_never_fit_are_rejected_without_stopping_the_others() -> None:
    requests = Requests(
        arrival_seconds=np.zeros(4), input_tokens=np.array([10, 5000, 10, 10]), output_tokens=np.array([5, 5, 5, 5])
    )
    result = simulate_closed_loop(requests, Machine(kv_token_capacity=100.0), users=1)
    assert result.rejected == 1
    assert np.isfinite(result.e2e_seconds).sum() == 3
