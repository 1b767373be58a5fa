"""What the planner gets for a service or an offline job on one shape."""

from __future__ import annotations

import pytest
from tests.unit.serving_cases import batch_job, service, shape_of

from gpu_opt.domain.workload import CustomUnit, Parallelism, RequestClass, TokenLength
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.throughput.serving import batch_options, service_options

TIGHT = {("ttft", "p95"): 800.0, ("tpot", "p95"): 50.0}


def ask(work, gpu: str, gpus: float, reserve: float | None = None):  # type: ignore[no-untyped-def]
    ready = shape_of(gpu, gpus)
    door = batch_options if work.kind == "batch" else service_options
    return door(work, ready, load_accelerators()[gpu], memory_reserve_fraction=reserve)


def test_every_option_meets_every_limit() -> None:
    options, rejections = ask(service("llama-3-8b", slo=TIGHT), "H100-SXM", 8)
    assert options
    assert not rejections
    for option in options:
        assert all(option.latency.value_ms[key] <= limit for key, limit in TIGHT.items())


def test_a_model_that_is_too_big_is_rejected_with_its_gib() -> None:
    options, (rejection,) = ask(service("llama-3.1-405b"), "L4", 1)
    assert not options
    assert rejection.code == "memory"
    assert "GiB" in rejection.reason
    assert rejection.shortfall_ratio is not None
    assert rejection.shortfall_ratio > 1.0


def test_a_limit_below_the_best_latency_is_rejected_with_both_numbers() -> None:
    options, (rejection,) = ask(service("llama-3-70b", precision="fp8", slo={("ttft", "p95"): 1.0}), "H100-SXM", 8)
    assert not options
    assert rejection.code == "latency"
    assert rejection.reason.startswith("TTFT p95 is at best")
    assert "limit 1 ms" in rejection.reason


def test_a_precision_that_the_gpu_lacks_is_rejected() -> None:
    _, (rejection,) = ask(service("llama-3-8b", precision="fp8"), "T4", 1)
    assert rejection.code == "precision"


def test_an_unknown_precision_is_rejected_by_name() -> None:
    _, (rejection,) = ask(service("llama-3-8b", precision="int3"), "H100-SXM", 1)
    assert "int3" in rejection.reason


def test_unpacked_weights_are_noted() -> None:
    options, _ = ask(service("llama-3-8b", precision="fp8"), "A100-80GB-SXM", 1)
    assert "weight-only" in options[0].notes[0]


def test_a_large_model_spans_two_instances_where_one_is_too_small() -> None:
    options, _ = ask(service("llama-3.1-405b"), "H100-SXM", 8)
    assert {option.gpus for option in options} == {16}


def test_a_share_of_a_gpu_holds_its_share_of_the_memory() -> None:
    options, _ = ask(service("llama-3.2-3b"), "H100-SXM", 0.5)
    assert options[0].gpus == 0.5
    whole, _ = ask(service("llama-3.2-3b"), "H100-SXM", 1)
    assert options[0].requests_per_second < whole[0].requests_per_second


def test_a_layout_that_the_user_fixed_is_the_only_one() -> None:
    options, _ = ask(service("llama-3-8b", parallel=Parallelism(tp=4)), "H100-SXM", 8)
    assert [option.layout.tp for option in options] == [4]


def test_a_fixed_layout_larger_than_the_shape_is_rejected() -> None:
    options, rejections = ask(service("llama-3-8b", parallel=Parallelism(tp=8)), "L4", 1)
    assert not options
    assert rejections[0].code == "layout"


def test_no_limits_means_the_highest_sustainable_rate() -> None:
    free, _ = ask(service("llama-3-8b"), "H100-SXM", 1)
    bound, _ = ask(service("llama-3-8b", slo=TIGHT), "H100-SXM", 1)
    offline, _ = ask(batch_job("llama-3-8b"), "H100-SXM", 1)
    assert bound[0].requests_per_second <= free[0].requests_per_second <= offline[0].requests_per_second


def test_prefix_cache_hits_raise_the_rate() -> None:
    plain, _ = ask(service("llama-3-8b", slo=TIGHT, inputs=4000), "H100-SXM", 1)
    cached, _ = ask(service("llama-3-8b", slo=TIGHT, inputs=4000, prefix_cache_hit_fraction=0.6), "H100-SXM", 1)
    assert cached[0].requests_per_second > plain[0].requests_per_second


def test_drafts_that_are_accepted_shorten_tokens() -> None:
    slow = service("llama-3-70b", precision="fp8", slo={("tpot", "mean"): 12.0}, parallel=Parallelism(tp=4))
    drafted = service(
        "llama-3-70b",
        precision="fp8",
        slo={("tpot", "mean"): 12.0},
        parallel=Parallelism(tp=4),
        speculative_tokens=4,
        speculative_acceptance_fraction=0.8,
    )
    assert ask(drafted, "H100-SXM", 8)[0][0].requests_per_second > ask(slow, "H100-SXM", 8)[0][0].requests_per_second


def test_a_mix_of_sizes_lies_between_its_sizes() -> None:
    def rate(*classes: tuple[float, float, float]) -> float:
        mix = tuple(
            RequestClass(
                share_fraction=share,
                input_tokens=TokenLength(mean_tokens=inputs),
                output_tokens=TokenLength(mean_tokens=outputs),
            )
            for share, inputs, outputs in classes
        )
        return ask(service("llama-3-8b", request_mix=mix), "H100-SXM", 1)[0][0].requests_per_second

    small, large = rate((1.0, 200, 100)), rate((1.0, 4000, 800))
    assert large < rate((0.5, 200, 100), (0.5, 4000, 800)) < small


def test_memory_lines_stay_within_the_device() -> None:
    for gpu in ("H100-SXM", "A10G", "MI300X"):
        for option in ask(service("llama-3-8b"), gpu, 1)[0]:
            assert sum(line.gib for line in option.memory) <= load_accelerators()[gpu].memory_gib


def test_a_reserve_in_the_file_replaces_the_engine_fraction() -> None:
    generous, _ = ask(batch_job("llama-3-8b"), "L4", 1, reserve=0.02)
    strict, _ = ask(batch_job("llama-3-8b"), "L4", 1, reserve=0.15)
    assert strict[0].concurrency < generous[0].concurrency


def test_a_custom_unit_is_a_roofline_of_its_peak() -> None:
    unit = CustomUnit(unit="image", flops_per_unit=1.2e12, memory_gib=18.0)
    work = service("llama-3-8b", model=unit, outputs=1.0)
    (option,), _ = ask(work, "H100-SXM", 1)
    # 0.85 of 989.4e12 × 0.35 / 1.2e12 = 245 images a second
    assert option.requests_per_second == pytest.approx(245.3, rel=0.01)
    assert option.interval.low_ratio < 0.5


def test_a_custom_unit_too_large_or_too_slow_is_rejected() -> None:
    large = CustomUnit(unit="image", flops_per_unit=1.2e12, memory_gib=100.0)
    assert ask(service("llama-3-8b", model=large), "H100-SXM", 1)[1][0].code == "memory"
    slow = CustomUnit(unit="image", flops_per_unit=1e16, memory_gib=10.0)
    work = service("llama-3-8b", model=slow, outputs=1.0, slo={("e2e", "p95"): 100.0})
    assert ask(work, "H100-SXM", 1)[1][0].code == "latency"
    odd = service("llama-3-8b", model=slow, precision="fp8")
    assert ask(odd, "T4", 1)[1][0].code == "precision"
    small = CustomUnit(unit="image", flops_per_unit=1e9, memory_gib=1.0)
    eased = service("llama-3-8b", model=small, outputs=1.0, slo={("e2e", "p95"): 100.0, ("tpot", "p95"): 5.0})
    assert ask(eased, "H100-SXM", 1)[0]


def test_disaggregation_that_is_left_to_the_tool_is_named_in_the_notes() -> None:
    options, _ = ask(service("llama-3-8b", disaggregated="auto"), "H100-SXM", 1)
    assert "disaggregated" in options[0].notes[-1]


def test_requests_beyond_the_models_positions_are_noted() -> None:
    options, _ = ask(service("llama-2-7b", inputs=6000), "H100-SXM", 1)
    assert "4,096 positions" in options[0].notes[0]
