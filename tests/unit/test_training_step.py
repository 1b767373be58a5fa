"""The time of a training step: identities and limits that hold whatever the constants are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu_opt.domain.model import ModelSpec
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.hardware.shapes import shape_of
from gpu_opt.throughput.training.arrays import Runs, Spread
from gpu_opt.throughput.training.columns import device_of, dims_of, linear_peak_tflops, one, stack_of, task_of
from gpu_opt.throughput.training.communication import exposed
from gpu_opt.throughput.training.compute import linear_weights_per_token, model_flops_per_token
from gpu_opt.throughput.training.constants import rates_of, stack_constants, table_rows
from gpu_opt.throughput.training.step import step

SMALL = ModelSpec(
    name="small",
    layers=4,
    hidden_size=512,
    heads=8,
    kv_heads=8,
    head_size=64,
    ffn_size=1024,
    vocab_size=1000,
    params=11_512_832.0,
    active_params=11_512_832.0,
)
LLAMA = replace(
    SMALL, name="llama", layers=32, hidden_size=4096, heads=32, kv_heads=32, head_size=128, ffn_size=11008,
    vocab_size=32000, params=6.74e9, active_params=6.74e9,
)  # fmt: skip


def spread(**given: float) -> Spread:
    values = {
        "gpus": 8, "tp": 1, "pp": 1, "dp": 8, "cp": 1, "ep": 1, "zero": 0, "shard": 8, "recompute": 0,
        "micro_batch": 1, "virtual_stages": 1,
    }  # fmt: skip
    return Spread(**{name: one(value) for name, value in {**values, **given}.items()})


def runs(model: ModelSpec = LLAMA, method: str = "full", batch: int = 64, **given: float) -> Runs:
    accelerator = load_accelerators()["H100-SXM"]
    shape = replace(shape_of("", "", "H100-SXM", 8.0), network_gbps=3200.0)
    return Runs(
        dims=dims_of(model),
        task=task_of(sequence=2048, batch_sequences=batch, method=method, lora_rank=16, precision="bf16"),
        spread=spread(**given),
        device=device_of(accelerator, shape, "bf16"),
        stack=stack_of(stack_constants("megatron")),
    )


def test_flops_of_a_token_are_six_per_weight_and_three_causal_attention_passes() -> None:
    # One layer: attention 4 × 512² = 1,048,576; MLP 3 × 512 × 1024 = 1,572,864. Four layers and a head of 512,000:
    # 4 × 2,621,440 + 512,000 = 10,997,760 weights. Attention: a token sees 1,024 of 2,048 on average, so
    # 2 FLOPs × (512 + 512) widths × 1,024 × 4 layers = 8,388,608 forward.
    job = runs(SMALL)
    assert linear_weights_per_token(job.dims)[0] == 10_997_760
    assert model_flops_per_token(job.dims, job.task)[0] == 6 * 10_997_760 + 3 * 8_388_608


def test_adapters_of_vanishing_rank_need_four_sixths_of_the_linear_flops() -> None:
    full, lora = runs(SMALL), runs(SMALL, method="lora")
    bare = replace(lora.task, lora_rank=one(0.0))
    attention = 3 * 8_388_608
    share = (model_flops_per_token(lora.dims, bare)[0] - attention) / (
        model_flops_per_token(full.dims, full.task)[0] - attention
    )
    assert share == pytest.approx(4 / 6)


def test_tokens_of_a_step_are_speed_times_seconds_times_gpus() -> None:
    found = step(runs(batch=64))
    assert found.tokens_per_second_per_gpu[0] * found.seconds[0] * 8 == pytest.approx(64 * 2048)


def test_one_gpu_alone_has_neither_bubble_nor_data_parallel_time() -> None:
    found = step(runs(gpus=1, dp=1, shard=1))
    assert found.bubble_seconds[0] == 0
    assert found.data_seconds[0] == 0


def test_many_microbatches_make_the_bubble_vanish() -> None:
    few, many = (step(runs(batch=batch, pp=8, dp=1, shard=1)) for batch in (8, 8192))
    assert few.bubble_seconds[0] / few.seconds[0] > 0.4
    assert many.bubble_seconds[0] / many.seconds[0] < 0.01


def test_interleaving_cuts_the_bubble_by_its_number_of_virtual_stages() -> None:
    plain, fine = (step(runs(batch=32, pp=4, dp=2, shard=2, virtual_stages=v)) for v in (1, 4))
    assert fine.bubble_seconds[0] < plain.bubble_seconds[0] / 3


def test_full_recompute_costs_a_forward_pass_more() -> None:
    none, full = (step(runs(recompute=mode)) for mode in (0, 2))
    assert 1.2 < full.layer_seconds[0] / none.layer_seconds[0] < 1.4


def test_adapters_train_faster_than_the_whole_model() -> None:
    full, lora = step(runs()), step(runs(method="lora"))
    assert lora.tokens_per_second_per_gpu[0] > full.tokens_per_second_per_gpu[0]


def test_communication_is_hidden_up_to_its_overlap_with_computation() -> None:
    # Of 10 s on the wire 60 % can hide: 4 s stay. Behind only 5 s of computation 60 % of them, 3 s, hide: 7 s stay.
    assert exposed(one(10.0), one(100.0), one(0.6))[0] == pytest.approx(4.0)
    assert exposed(one(10.0), one(5.0), one(0.6))[0] == pytest.approx(7.0)


def test_a_slower_network_never_speeds_a_run_up() -> None:
    fast = runs(gpus=64, dp=64, shard=64, zero=3)
    slow = replace(fast, device=replace(fast.device, network_bytes_per_second=one(5e9)))
    assert step(slow).tokens_per_second_per_gpu[0] < step(fast).tokens_per_second_per_gpu[0]


def test_no_multiply_exceeds_the_best_that_sweeps_found() -> None:
    for row in table_rows("training_gpu_families.csv"):
        assert float(row["efficiency"]) <= float(row["best_multiply"]) + 1e-9, row["family"]


def test_every_accelerator_has_rates_for_the_precisions_it_computes_in() -> None:
    for accelerator in load_accelerators().values():
        for precision in ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "int8"):
            if linear_peak_tflops(accelerator, precision) is None:
                continue
            group = {"fp8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "int8": "int8"}.get(precision, "half")
            assert 0 < rates_of(accelerator, group).efficiency < 1


def test_columns_broadcast_a_model_of_one_element_over_many_layouts() -> None:
    many = replace(spread(), micro_batch=np.array([1.0, 2.0, 4.0]))
    assert step(replace(runs(), spread=many)).tokens_per_second_per_gpu.shape == (3,)
