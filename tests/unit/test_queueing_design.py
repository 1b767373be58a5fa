"""The simulation confirms what the serving model plans, from the same step times."""

from __future__ import annotations

import dataclasses

import pytest

from gpu_opt.domain.option import ReplicaOption
from gpu_opt.domain.workload import CustomUnit, Service, Slo, TokenLength
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.hardware.shapes import shape_table
from gpu_opt.models.presets import preset
from gpu_opt.throughput.queueing.arrivals import sample_requests
from gpu_opt.throughput.queueing.design import confirm_option, confirmed_option, fleet_of, load_of_service
from gpu_opt.throughput.queueing.trace import Trace
from gpu_opt.throughput.serving.options import service_options

GPU = load_accelerators()["H100-SXM"]
SHAPE = next(shape for _, _, shape in shape_table() if shape.gpu == "H100-SXM" and shape.gpus == 1)
SERVICE = Service(
    name="chat",
    kind="serve",
    active_to_hours=720.0,
    model=preset("llama-3-8b"),
    blocks=(),
    input_tokens=TokenLength(mean_tokens=500, p95_tokens=1000),
    output_tokens=TokenLength(mean_tokens=200, p95_tokens=400),
    slo=Slo(limit_ms={("ttft", "p95"): 800.0, ("tpot", "p95"): 50.0}),
)


def planned(service: Service = SERVICE) -> ReplicaOption:
    options, _ = service_options(service, SHAPE, GPU, memory_reserve_fraction=None)
    return options[0]


def test_half_the_planned_rate_holds_and_three_times_it_does_not() -> None:
    option = planned()
    rate = option.requests_per_second
    easy = confirm_option(SERVICE, SHAPE, GPU, option, replicas=3, requests_per_second=1.5 * rate)
    hard = confirm_option(SERVICE, SHAPE, GPU, option, replicas=3, requests_per_second=9.0 * rate)
    assert easy is not None
    assert hard is not None
    assert easy.ok, easy.broken
    assert not hard.ok


def test_simulated_and_planned_batch_and_token_time_agree() -> None:
    option = planned()
    verdict = confirm_option(SERVICE, SHAPE, GPU, option, replicas=1, requests_per_second=option.requests_per_second)
    assert verdict is not None
    assert verdict.mean_running == pytest.approx(option.concurrency, rel=0.15)
    assert verdict.measured_ms["tpot", "mean"] == pytest.approx(option.latency.value_ms["tpot", "mean"], rel=0.15)
    assert verdict.measured_ms["e2e", "p50"] == pytest.approx(option.latency.value_ms["e2e", "p50"], rel=0.15)


def test_an_option_is_confirmed_or_its_rate_is_lowered_until_it_holds() -> None:
    option = planned()
    eager = dataclasses.replace(option, requests_per_second=3.0 * option.requests_per_second)
    lowered = confirmed_option(SERVICE, SHAPE, GPU, eager, requests=3000)
    assert lowered is not None
    assert 0.5 * option.requests_per_second < lowered.requests_per_second < 1.3 * option.requests_per_second
    assert lowered.latency.value_ms["ttft", "p95"] <= 800.0
    assert lowered.latency.value_ms["tpot", "p95"] <= 50.0
    assert lowered.notes[-1].startswith("rate lowered from")
    modest = dataclasses.replace(option, requests_per_second=0.5 * option.requests_per_second)
    kept = confirmed_option(SERVICE, SHAPE, GPU, modest, requests=3000)
    assert kept is not None
    assert kept.requests_per_second == modest.requests_per_second
    assert kept.notes[-1] == "confirmed by simulation"


def test_targets_below_an_idle_replica_confirm_nothing() -> None:
    strict = dataclasses.replace(SERVICE, slo=Slo(limit_ms={("ttft", "p50"): 1.0}))
    assert confirmed_option(strict, SHAPE, GPU, planned()) is None


def test_speculation_round_robin_and_prefix_cache_reach_the_simulation() -> None:
    service = dataclasses.replace(
        SERVICE,
        speculative_tokens=3,
        speculative_acceptance_fraction=0.5,
        prefix_cache_hit_fraction=0.4,
        round_robin=True,
    )
    fleet = fleet_of(service, SHAPE, GPU, planned(service), replicas=2)
    assert fleet is not None
    # 1 + 0.5 + 0.25 + 0.125 tokens a step
    assert fleet.tokens_per_step == pytest.approx(1.875)
    assert (fleet.routing, fleet.prefix_cache_hit_fraction, fleet.replicas) == ("round_robin", 0.4, 2)


def test_a_trace_replaces_sampled_arrivals() -> None:
    sampled = sample_requests(10.0, 200, SERVICE.input_tokens, SERVICE.output_tokens, seed=7)
    trace = Trace(
        name="t",
        arrival_seconds=sampled.arrival_seconds,
        input_tokens=sampled.input_tokens,
        output_tokens=sampled.output_tokens,
    )
    verdict = confirm_option(
        SERVICE, SHAPE, GPU, planned(), replicas=1, requests_per_second=5.0, trace=trace
    )  # fmt: skip
    assert verdict is not None
    assert verdict.simulated_requests == 2000
    assert load_of_service(SERVICE, trace).trace is trace


def test_what_has_no_step_model_is_not_simulated() -> None:
    option = planned()
    measured = dataclasses.replace(option, source="measured")
    image = CustomUnit(unit="image", flops_per_unit=1e12, memory_gib=10.0)
    for service, chosen in (
        (SERVICE, measured),
        (dataclasses.replace(SERVICE, model=image), option),
        (dataclasses.replace(SERVICE, precision="unheard-of"), option),
    ):
        assert confirm_option(service, SHAPE, GPU, chosen, replicas=1, requests_per_second=1.0) is None
        assert confirmed_option(service, SHAPE, GPU, chosen) == chosen


def test_a_precision_that_the_gpu_lacks_is_not_simulated() -> None:
    old = load_accelerators()["V100-SXM-32GB"]
    eight_bit = dataclasses.replace(SERVICE, precision="fp8")
    assert fleet_of(eight_bit, SHAPE, old, planned(), replicas=1) is None


def test_a_layout_that_does_not_fit_is_not_simulated() -> None:
    big = dataclasses.replace(SERVICE, model=preset("llama-3-70b"))
    assert fleet_of(big, SHAPE, GPU, planned(), replicas=1) is None
