"""Memory of training by line, against sums worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.test_training_step import LLAMA, runs

from gpu_opt.throughput.memory_training import fit_confidence, memory, rules_of, verdict
from gpu_opt.throughput.memory_training.rules import known_optimizers
from gpu_opt.throughput.training.columns import one

GB = 1e9


def test_mixed_precision_adam_keeps_eighteen_bytes_a_parameter_on_one_gpu() -> None:
    # Megatron: 2 for weights, 4 for fp32 gradients, 4 + 8 for master weights and moments; 6.74e9 parameters.
    found = memory(runs(gpus=1, dp=1, shard=1), rules_of("megatron", "adam"))
    assert found.lines["weights"][0] / GB == pytest.approx(2 * 6.74)
    assert found.lines["gradients"][0] / GB == pytest.approx(4 * 6.74)
    assert found.lines["optimizer"][0] / GB == pytest.approx(12 * 6.74)


def test_zero_one_shards_the_optimizer_alone_and_zero_three_everything() -> None:
    rules = rules_of("fsdp", "adam")
    one_, three = (memory(runs(zero=stage), rules) for stage in (1, 3))
    assert one_.lines["optimizer"][0] / GB == pytest.approx(8 * 6.74 / 8)
    assert one_.lines["weights"][0] / GB == pytest.approx(4 * 6.74)
    # Shards of 4 bytes, and two gathered layers of (6.74e9 − 2 × 4096 × 32000)/32 parameters in 2 bytes.
    layer = (6.74e9 - 2 * 4096 * 32000) / 32
    assert three.lines["weights"][0] == pytest.approx(4 * 6.74e9 / 8 + 2 * 2 * layer)


@pytest.mark.parametrize(
    ("optimizer", "bytes_a_parameter"),
    [("adam", 12.0), ("adamw_8bit", 6.0), ("paged_adamw", 4.0), ("muon", 8.0), ("sgd", 4.0), ("adam_bf16", 4.0)],
)
def test_each_optimizer_keeps_its_own_state(optimizer: str, bytes_a_parameter: float) -> None:
    found = memory(runs(gpus=1, dp=1, shard=1), rules_of("megatron", optimizer))
    assert found.lines["optimizer"][0] / GB == pytest.approx(bytes_a_parameter * 6.74)


def test_optimizer_names_in_other_spellings_are_the_same() -> None:
    assert rules_of("megatron", "AdamW-8bit").state_bytes[0] == rules_of("megatron", "adamw_8bit").state_bytes[0]
    assert "muon" in known_optimizers()


def test_recompute_keeps_only_the_input_of_each_layer() -> None:
    # 2 bytes × 4096 for each of 2048 tokens and 32 layers = 0.537 GB, and one live layer or the logits.
    rules = replace(rules_of("megatron", "adam"), logit_bytes=one(0.0))
    full = memory(runs(gpus=1, dp=1, shard=1, recompute=2), rules).lines["activations"][0]
    layer = memory(runs(gpus=1, dp=1, shard=1), rules).lines["activations"][0] / 32
    assert full == pytest.approx(2 * 4096 * 2048 * 32 + layer)


def test_higher_tensor_parallelism_lowers_memory() -> None:
    rules = rules_of("megatron", "adam")
    needs = [memory(runs(tp=tp, dp=8 // tp, shard=8 // tp), rules).device[0] for tp in (1, 2, 4, 8)]
    assert needs == sorted(needs, reverse=True)


def test_the_first_stage_holds_a_microbatch_for_every_stage() -> None:
    # With 4 stages the first holds 4 microbatches of 8 layers: as much as one microbatch of all 32.
    rules = rules_of("megatron", "adam")
    piped = memory(runs(pp=4, dp=2, shard=2, batch=64), rules).lines["activations"][0]
    alone = memory(runs(gpus=1, dp=1, shard=1), rules).lines["activations"][0]
    assert piped == pytest.approx(alone)


def test_a_quantised_base_takes_about_half_a_byte_a_parameter() -> None:
    rules = rules_of("half", "adam")
    plain = memory(runs(method="lora", gpus=1, dp=1, shard=1), rules).lines["weights"][0]
    packed = memory(runs(method="qlora", gpus=1, dp=1, shard=1), rules).lines["weights"][0]
    assert 0.25 < packed / plain < 0.35


def test_the_device_needs_more_than_what_is_allocated() -> None:
    found = memory(runs(), rules_of("megatron", "adam"))
    assert found.device[0] > found.allocated[0]
    assert sum(line[0] for line in found.lines.values()) == pytest.approx(found.allocated[0])


def test_a_need_at_capacity_is_a_coin_toss_and_far_below_it_is_certain() -> None:
    assert fit_confidence(80.0, 80.0, 0.15) == pytest.approx(0.5)
    # ln(80/66) = 0.192 = 1.28 standard deviations of 0.15: 90 %.
    assert fit_confidence(66.0, 80.0, 0.15) == pytest.approx(0.90, abs=0.002)
    assert [verdict(share) for share in (0.95, 0.7, 0.2)] == ["fits", "tight", "doesn't fit"]


def test_the_model_used_here_is_the_one_whose_sums_are_worked() -> None:
    assert LLAMA.params == 6.74e9
