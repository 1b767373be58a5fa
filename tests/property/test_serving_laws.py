"""Laws that the serving model keeps whatever the numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.serving_cases import batch_job, preset, service, shape_of

from gpu_opt.domain.option import Layout
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.throughput.serving import batch_options, service_options
from gpu_opt.throughput.serving.constants import load_constants
from gpu_opt.throughput.serving.precision import ComputePlan, find_format, kv_bytes_per_element, plan_compute
from gpu_opt.throughput.serving.profile import serving_profile
from gpu_opt.throughput.serving.replica import Factors, Facts, Replica, link_between, stack_factors, stack_facts
from gpu_opt.throughput.serving.steady import Load, closed_loop, offline, static_batch, steady_at_batch
from gpu_opt.throughput.serving.step import communication_seconds, decode_seconds, prefill_seconds

MODELS = st.sampled_from(["llama-3-8b", "llama-3-70b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-120b"])
GPUS = st.sampled_from(["A100-80GB-SXM", "H100-SXM", "L40S", "MI300X", "B200-SXM"])
TPS = st.sampled_from([1, 2, 4, 8])
few = settings(max_examples=40, deadline=None)


def stacked(model: str, gpu: str, layout: Layout) -> tuple[Facts, Factors]:
    part = load_accelerators()[gpu]
    weights = find_format("bf16")
    assert weights is not None
    plan = plan_compute(weights, part, "vllm")
    assert isinstance(plan, ComputePlan)
    replica = Replica(
        profile=serving_profile(preset(model)),
        accelerator=part,
        plan=plan,
        kv_bytes=kv_bytes_per_element("", weights),
        layout=layout,
        link=link_between(part, layout.tp, None),
        exchange=link_between(part, layout.tp * layout.dp, None),
        engine="vllm",
    )
    return stack_facts([replica]), stack_factors([replica], load_constants())


def load(inputs: float, outputs: float, slots: float = 1e4) -> Load:
    return Load(
        input_tokens=np.array([inputs]),
        output_tokens=np.array([outputs]),
        prefix_tokens=np.zeros(1),
        context_tokens=np.array([inputs + outputs / 2]),
        max_batch=np.array([slots]),
    )


@few
@given(MODELS, GPUS, TPS, st.floats(1, 512), st.floats(1.01, 4))
def test_a_larger_batch_takes_longer_a_step_and_gives_more_tokens(
    model: str, gpu: str, tp: int, batch: float, factor: float
) -> None:
    facts, factors = stacked(model, gpu, Layout(tp=tp))
    context = np.array([1000.0])
    small = decode_seconds(facts, factors, np.array([batch]), context)[0]
    large = decode_seconds(facts, factors, np.array([batch * factor]), context)[0]
    assert large >= small
    assert batch * factor / large >= batch / small * (1 - 1e-9)


@few
@given(MODELS, GPUS, st.floats(64, 8000), st.floats(1.01, 4))
def test_a_longer_prompt_takes_longer(model: str, gpu: str, tokens: float, factor: float) -> None:
    facts, factors = stacked(model, gpu, Layout(tp=8))
    short = prefill_seconds(facts, factors, np.array([tokens]))[0]
    assert prefill_seconds(facts, factors, np.array([tokens * factor]))[0] >= short


@few
@given(MODELS, GPUS, st.floats(1, 4096))
def test_one_gpu_communicates_nothing(model: str, gpu: str, tokens: float) -> None:
    facts, factors = stacked(model, gpu, Layout())
    assert communication_seconds(facts, factors, np.array([tokens]))[0] == 0.0


@few
@given(GPUS, st.floats(1, 200), st.floats(100, 4000), st.floats(2, 1000))
def test_littles_law_holds_in_a_closed_loop(gpu: str, users: float, inputs: float, outputs: float) -> None:
    facts, factors = stacked("llama-3-8b", gpu, Layout(tp=2))
    state = closed_loop(facts, factors, load(inputs, outputs), np.array([users]))
    assert state.requests_per_second[0] * state.e2e_seconds[0] == pytest.approx(users, rel=1e-6)


@few
@given(GPUS, st.floats(1, 200), st.floats(100, 4000), st.floats(2, 1000))
def test_littles_law_gives_the_rate_at_a_batch(gpu: str, batch: float, inputs: float, outputs: float) -> None:
    facts, factors = stacked("llama-3-8b", gpu, Layout())
    state = steady_at_batch(facts, factors, load(inputs, outputs), np.array([batch]))
    decoding = (outputs - 1) * state.tpot_seconds[0]
    assert state.requests_per_second[0] * decoding == pytest.approx(batch, rel=1e-9)


@few
@given(MODELS, GPUS, st.floats(1, 64), st.floats(1.01, 8))
def test_more_slots_never_lower_the_offline_rate(model: str, gpu: str, slots: float, factor: float) -> None:
    facts, factors = stacked(model, gpu, Layout(tp=8))
    few_slots = offline(facts, factors, load(500, 200, slots)).requests_per_second[0]
    many = offline(facts, factors, load(500, 200, slots * factor)).requests_per_second[0]
    assert many >= few_slots * (1 - 1e-9)


@few
@given(GPUS, st.integers(1, 64))
def test_a_static_batch_of_one_token_is_its_prefill(gpu: str, batch: int) -> None:
    facts, factors = stacked("llama-3-8b", gpu, Layout())
    state = static_batch(facts, factors, load(500, 1), np.array([float(batch)]))
    assert state.e2e_seconds[0] == pytest.approx(state.ttft_seconds[0])


@few
@given(GPUS, st.floats(200, 5000), st.floats(1.05, 4), st.sampled_from(["ttft", "e2e"]))
def test_relaxing_a_limit_never_lowers_the_rate(gpu: str, limit: float, factor: float, metric: str) -> None:
    part, shape = load_accelerators()[gpu], shape_of(gpu, 1)

    def best(limit_ms: float) -> float:
        work = service("llama-3-8b", slo={(metric, "p95"): limit_ms, ("tpot", "mean"): 100.0})
        options, _ = service_options(work, shape, part, memory_reserve_fraction=None)
        return max((option.requests_per_second for option in options), default=0.0)

    assert best(limit * factor) >= best(limit) * 0.98


@few
@given(GPUS, st.floats(50, 3000), st.floats(20, 800))
def test_no_service_runs_faster_than_offline(gpu: str, inputs: float, outputs: float) -> None:
    part, shape = load_accelerators()[gpu], shape_of(gpu, 1)
    served, _ = service_options(
        service("llama-3-8b", inputs=inputs, outputs=outputs), shape, part, memory_reserve_fraction=None
    )
    batch, _ = batch_options(
        batch_job("llama-3-8b", inputs=inputs, outputs=outputs), shape, part, memory_reserve_fraction=None
    )
    assert max(o.requests_per_second for o in served) <= max(o.requests_per_second for o in batch) * 1.05


@few
@given(MODELS, GPUS, st.sampled_from(["bf16", "fp8", "int4"]), st.sampled_from([1, 2, 4, 8]))
def test_what_is_said_to_fit_fits(model: str, gpu: str, precision: str, gpus: int) -> None:
    part, shape = load_accelerators()[gpu], shape_of(gpu, gpus)
    work = service(model, precision=precision)
    for option in service_options(work, shape, part, memory_reserve_fraction=None)[0]:
        assert sum(line.gib for line in option.memory) <= part.memory_gib


@few
@given(MODELS, GPUS)
def test_equal_questions_have_equal_answers(model: str, gpu: str) -> None:
    part, shape = load_accelerators()[gpu], shape_of(gpu, 8)
    work = service(model, slo={("ttft", "p95"): 2000.0})
    first = service_options(work, shape, part, memory_reserve_fraction=None)
    again = service_options(dataclasses.replace(work), shape, part, memory_reserve_fraction=None)
    assert repr(first) == repr(again)
