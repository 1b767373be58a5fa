"""What a serving replica holds: weights, KV cache and what is left, worked by hand."""

from __future__ import annotations

import pytest
from tests.unit.serving_cases import preset

from gpu_opt.domain.option import Layout
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.throughput.serving.engines import engine_named
from gpu_opt.throughput.serving.memory import (
    kv_bytes_per_token,
    max_concurrency,
    memory_need,
    sequence_bytes,
    weights_bytes,
)
from gpu_opt.throughput.serving.precision import ComputePlan, find_format, kv_bytes_per_element, plan_compute
from gpu_opt.throughput.serving.profile import serving_profile
from gpu_opt.throughput.serving.replica import Replica, link_between


def replica(model: str, gpu: str, precision: str, layout: Layout = Layout(), engine: str = "vllm") -> Replica:  # noqa: B008
    part = load_accelerators()[gpu]
    weights = find_format(precision)
    assert weights is not None
    plan = plan_compute(weights, part, engine)
    assert isinstance(plan, ComputePlan)
    return Replica(
        profile=serving_profile(preset(model)),
        accelerator=part,
        plan=plan,
        kv_bytes=kv_bytes_per_element("", weights),
        layout=layout,
        link=link_between(part, layout.tp, None),
        exchange=link_between(part, layout.tp * layout.dp, None),
        engine=engine,
    )


def test_bf16_weights_are_two_bytes_a_parameter() -> None:
    # Llama-3-8B: 8.03e9 parameters × 2 B = 16.06e9 B
    assert weights_bytes(replica("llama-3-8b", "H100-SXM", "bf16")) == pytest.approx(16.06e9, rel=0.01)


def test_fp8_keeps_embedding_and_head_at_two_bytes() -> None:
    # 2 × 128256 × 4096 = 1.0507e9 table parameters at 2 B; the other 6.98e9 at 1.004 B: 2.10e9 + 7.01e9
    assert weights_bytes(replica("llama-3-8b", "H100-SXM", "fp8")) == pytest.approx(9.11e9, rel=0.01)


def test_tensor_parallel_ranks_share_the_weights_evenly() -> None:
    one = weights_bytes(replica("llama-3-70b", "H100-SXM", "bf16"))
    eight = weights_bytes(replica("llama-3-70b", "H100-SXM", "bf16", Layout(tp=8)))
    assert eight == pytest.approx(one / 8)


def test_attention_dp_replicates_attention_and_spreads_experts() -> None:
    tp = weights_bytes(replica("deepseek-v3", "H200-SXM", "fp8", Layout(tp=8)))
    dp = weights_bytes(replica("deepseek-v3", "H200-SXM", "fp8", Layout(dp=8, ep=8)))
    assert dp > tp


def test_grouped_query_attention_holds_only_its_kv_heads() -> None:
    # Llama-3-8B: 2 × 32 layers × 8 heads × 128 × 2 B = 131072 B a token; Llama-2-7B has 32 heads: 524288 B
    assert kv_bytes_per_token(replica("llama-3-8b", "H100-SXM", "bf16")) == 131072
    assert kv_bytes_per_token(replica("llama-2-7b", "H100-SXM", "bf16")) == 524288


def test_latent_attention_holds_576_elements_a_layer_and_is_not_split_by_tp() -> None:
    # DeepSeek-V3: 61 layers × (512 + 64) × 2 B = 70272 B a token on every rank
    alone = replica("deepseek-v3", "H200-SXM", "fp8")
    assert kv_bytes_per_token(alone) == 70272
    assert kv_bytes_per_token(replica("deepseek-v3", "H200-SXM", "fp8", Layout(tp=8))) == 70272


def test_kv_heads_are_split_by_tp_only_as_far_as_there_are_heads() -> None:
    # 8 KV heads over 16 ranks: each rank still holds one
    eight = kv_bytes_per_token(replica("llama-3-70b", "H100-SXM", "bf16", Layout(tp=8)))
    sixteen = kv_bytes_per_token(replica("llama-3-70b", "H100-SXM", "bf16", Layout(tp=16)))
    assert sixteen == eight


def test_a_sequence_takes_whole_blocks() -> None:
    # 17 tokens are two vLLM blocks of 16: 32 × 131072 B
    item = replica("llama-3-8b", "H100-SXM", "bf16")
    assert sequence_bytes(item, engine_named("vllm"), 17) == 32 * 131072


def test_windowed_layers_stop_growing_at_their_window() -> None:
    item = replica("gpt-oss-120b", "H100-SXM", "mxfp4")
    engine = engine_named("vllm")
    short, long, longer = (sequence_bytes(item, engine, n) for n in (128, 4096, 8192))
    # half of 36 layers have a window of 128: beyond it a token adds 18 layers × 2 × 8 × 64 × 2 B = 36864 B
    assert longer - long == pytest.approx(4096 * 36864)
    assert short == pytest.approx(128 * 2 * 36864)


def test_linear_layers_hold_a_constant_state() -> None:
    item = replica("qwen3.5-397b-a17b", "B200-SXM", "fp8", Layout(tp=8))
    engine = engine_named("vllm")
    growth = sequence_bytes(item, engine, 2048) - sequence_bytes(item, engine, 1024)
    assert 0 < growth == pytest.approx(1024 * kv_bytes_per_token(item))
    assert sequence_bytes(item, engine, 16) > 16 * kv_bytes_per_token(item)


def test_the_engine_fraction_and_not_the_training_reserve_governs_serving() -> None:
    item = replica("llama-3-8b", "H100-SXM", "bf16")
    need = memory_need(item, engine_named("vllm"), None)
    assert need.usable_bytes == pytest.approx(0.9 * 80 * 2**30)
    assert memory_need(item, engine_named("vllm"), 0.25).usable_bytes == pytest.approx(0.75 * 80 * 2**30)


def test_tensorrt_llm_takes_its_fraction_of_what_the_weights_leave() -> None:
    item = replica("llama-3-8b", "H100-SXM", "fp8", engine="tensorrt-llm")
    need = memory_need(item, engine_named("tensorrt-llm"), None)
    fixed = need.weights_bytes + need.workspace_bytes + need.graph_bytes
    assert need.pool_bytes == pytest.approx(0.9 * (80 * 2**30 - fixed))


@pytest.mark.parametrize(("gpu", "tp", "fits"), [("H100-SXM", 1, False), ("H100-SXM", 2, True), ("H200-SXM", 1, False)])
def test_seventy_billion_bf16_parameters_need_141_gb_and_room(gpu: str, tp: int, fits: bool) -> None:
    # 141 GB of weights: not on 85.9 GB, not on 0.9 × 151.4 GB, but on two H100 (70.6 GB each of 77.3 GB)
    item = replica("llama-3-70b", gpu, "bf16", Layout(tp=tp))
    engine = engine_named("vllm")
    need = memory_need(item, engine, None)
    assert (max_concurrency(item, engine, need, mean_tokens=600, peak_tokens=700) > 0) is fits


def test_one_sequence_that_does_not_fit_at_its_full_length_is_no_fit() -> None:
    item = replica("llama-3-8b", "L4", "bf16")
    engine = engine_named("vllm")
    need = memory_need(item, engine, None)
    assert max_concurrency(item, engine, need, mean_tokens=64, peak_tokens=128_000) == 0


def test_a_spread_of_lengths_costs_sequences() -> None:
    item = replica("llama-3-8b", "L40S", "bf16")
    engine = engine_named("vllm")
    need = memory_need(item, engine, None)
    even = max_concurrency(item, engine, need, mean_tokens=4000, peak_tokens=5000)
    spread = max_concurrency(item, engine, need, mean_tokens=4000, peak_tokens=5000, sd_tokens=3000)
    assert 0 < spread < even
