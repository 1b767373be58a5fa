"""Calibration to one's own runs, and the logs that they are read from."""

from __future__ import annotations

import json

import pytest

from gpu_opt.errors import InputError
from gpu_opt.throughput.accuracy import training
from gpu_opt.throughput.calibration.logs import complete, parse_log
from gpu_opt.throughput.calibration.refit import calibrate
from gpu_opt.throughput.calibration.store import dump_calibration, load_calibration

MEGATRON = """\
using world size: 64, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 4
------------------------ arguments ------------------------
  bf16 ............................................ True
  fp8 ............................................. None
  ffn_hidden_size ................................. 14336
  global_batch_size ............................... 256
  hidden_size ..................................... 4096
  micro_batch_size ................................ 2
  num_attention_heads ............................. 32
  num_experts ..................................... None
  num_layers ...................................... 32
  num_query_groups ................................ 8
  padded_vocab_size ............................... 128256
  pipeline_model_parallel_size .................... 2
  recompute_granularity ........................... None
  seq_length ...................................... 8192
  tensor_model_parallel_size ...................... 4
  use_distributed_optimizer ....................... True
-------------------- end of arguments ---------------------
 [2026-01-05 10:00:11] iteration        1/     100 | consumed samples:  256 | elapsed time per iteration (ms): 30000.0 | learning rate: 1.000E-05 | global batch size:   256 | lm loss: 1.1E+01 |
 [2026-01-05 10:00:19] iteration        2/     100 | consumed samples:  512 | elapsed time per iteration (ms): 4100.0 | learning rate: 1.000E-05 | global batch size:   256 | lm loss: 1.1E+01 |
 [2026-01-05 10:00:23] iteration        3/     100 | consumed samples:  768 | elapsed time per iteration (ms): 4000.0 | learning rate: 1.000E-05 | global batch size:   256 | lm loss: 1.0E+01 |
 [2026-01-05 10:00:27] iteration        4/     100 | consumed samples: 1024 | elapsed time per iteration (ms): 4000.0 | learning rate: 1.000E-05 | global batch size:   256 | lm loss: 1.0E+01 |
 [2026-01-05 10:00:31] iteration        5/     100 | consumed samples: 1280 | elapsed time per iteration (ms): 3900.0 | learning rate: 1.000E-05 | global batch size:   256 | lm loss: 9.9E+00 |
"""  # noqa: E501
NEMO = """\
Training epoch 0, iteration 0/49 | lr: 1.5e-07 | global_batch_size: 128 | global_step: 0 | reduced_train_loss: 11.03 | train_step_timing in s: 31.2
Training epoch 0, iteration 1/49 | lr: 3.0e-07 | global_batch_size: 128 | global_step: 1 | reduced_train_loss: 11.02 | train_step_timing in s: 8.12
Training epoch 0, iteration 2/49 | lr: 4.5e-07 | global_batch_size: 128 | global_step: 2 | reduced_train_loss: 10.9 | train_step_timing in s: 8.10
Training epoch 0, iteration 3/49 | lr: 6.0e-07 | global_batch_size: 128 | global_step: 3 | reduced_train_loss: 10.8 | train_step_timing in s: 8.08
Training epoch 0, iteration 4/49 | lr: 7.5e-07 | global_batch_size: 128 | global_step: 4 | reduced_train_loss: 10.7 | train_step_timing in s: 8.11
"""  # noqa: E501
TITAN = """\
[rank0]:[titan] 2026-02-01 09:00:01,100 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: 12.2  \x1b[33mmemory: 40.10GiB(50.7%)  \x1b[34mtps: 900  \x1b[36mtflops: 51  \x1b[35mmfu: 5.2%\x1b[39m
[rank0]:[titan] 2026-02-01 09:00:11,100 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss: 10.2  \x1b[33mmemory: 45.69GiB(57.7%)  \x1b[34mtps: 6,258  \x1b[36mtflops: 366  \x1b[35mmfu: 37.0%\x1b[39m
[rank0]:[titan] 2026-02-01 09:00:21,100 - root - INFO - \x1b[31mstep: 20  \x1b[32mloss:  9.2  \x1b[33mmemory: 45.69GiB(57.7%)  \x1b[34mtps: 6,260  \x1b[36mtflops: 366  \x1b[35mmfu: 37.0%\x1b[39m
"""  # noqa: E501
TRAINER = "{'loss': 1.2, 'epoch': 1.0}\n{'train_runtime': 812.4, 'train_samples_per_second': 16.0, 'train_loss': 1.1}\n"


def test_a_megatron_log_tells_the_whole_run() -> None:
    cells = parse_log(MEGATRON)
    assert cells is not None
    row = complete(cells, {"gpu": "H100"})
    # Without the first of five iterations the median is 4.0 s: 256 × 8,192 tokens / 4.0 s / 64 GPUs = 8,192.
    assert float(row["tokens_per_s_per_gpu"]) == pytest.approx(8192)
    assert (row["tp"], row["pp"], row["n_kv_heads"], row["zero_stage"]) == ("4", "2", "8", "1")
    assert "experts" not in row
    assert row["precision"] == "bf16"


def test_a_nemo_log_needs_gpus_and_sequence_length() -> None:
    cells = parse_log(NEMO)
    assert cells is not None
    row = complete(cells, {"gpu": "H100", "n_gpus": "64", "seq_len": "8192"})
    # 128 × 8,192 tokens in 8.105 s (the median of 8.12, 8.10, 8.08, 8.11) on 64 GPUs.
    assert float(row["tokens_per_s_per_gpu"]) == pytest.approx(128 * 8192 / 8.105 / 64, rel=1e-4)
    assert row["stack"] == "megatron-bridge"


def test_a_torchtitan_log_tells_speed_and_memory_through_its_colours() -> None:
    cells = parse_log(TITAN)
    assert cells is not None
    assert float(cells["tokens_per_s_per_gpu"]) == pytest.approx(6258)
    # 45.69 GiB × 1.0737 = 49.06 GB
    assert float(cells["peak_mem_gb"]) == pytest.approx(49.06, abs=0.01)


def test_a_trainer_log_counts_samples() -> None:
    cells = parse_log(TRAINER)
    assert cells is not None
    row = complete(cells, {"n_gpus": "8", "seq_len": "1024"})
    assert float(row["tokens_per_s_per_gpu"]) == pytest.approx(16.0 * 1024 / 8)


def test_other_text_is_no_log() -> None:
    assert parse_log("hello\nstep 1 loss 2\n") is None


def measured(factor: float, count: int = 4) -> list[dict[str, str]]:
    """Runs exactly `factor` times as fast as the model says."""
    rows = [
        {
            "id": str(place), "stack": "fsdp", "model": model, "gpu": "H100", "n_gpus": "8", "precision": "bf16",
            "seq_len": "4096", "micro_batch": batch, "tp": "1", "pp": "1", "cp": "1", "zero_stage": "3",
            "act_recompute": "full", "method": "pretrain",
        }
        for place, (model, batch) in enumerate(
            [("llama-2-7b", "1"), ("llama-2-13b", "2"), ("llama-3-8b", "2"), ("llama-2-7b", "4")][:count]
        )
    ]  # fmt: skip
    predicted = [row for row in training.evaluate(rows).rows if row.metric == "tokens_per_s_per_gpu"]
    return [
        {**row, "tokens_per_s_per_gpu": f"{each.predicted * factor:.6g}"}
        for row, each in zip(rows, predicted, strict=True)
    ]


def test_runs_that_are_all_a_fifth_faster_are_met_after_calibration() -> None:
    found = calibrate(measured(1.2), "ours")
    assert found.stack == "fsdp"
    assert found.gpus == ("H100-SXM",)
    assert found.median_error_before == pytest.approx(1 - 1 / 1.2, abs=1e-3)
    assert found.median_error_after < 0.02
    assert found.low_ratio < 1 < found.high_ratio


def test_runs_that_agree_with_the_model_change_nothing() -> None:
    found = calibrate(measured(1.0), "ours")
    from gpu_opt.throughput.training.constants import stack_constants

    for name, value in found.constants.items():
        assert value == pytest.approx(stack_constants("fsdp")[name], rel=1e-3)


def test_two_runs_are_too_few() -> None:
    with pytest.raises(InputError, match="at least 3"):
        calibrate(measured(1.0, count=2), "ours")


def test_runs_of_two_stacks_are_refused() -> None:
    rows = measured(1.0)
    rows[0]["stack"] = "nanotron"
    with pytest.raises(InputError, match="several stacks"):
        calibrate(rows, "ours")


def test_a_calibration_survives_its_file() -> None:
    found = calibrate(measured(1.1), "ours")
    assert load_calibration(json.dumps(dump_calibration(found))) == found


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"schema": "gpu-opt/plan/1"}',
     '{"schema": "gpu-opt/calibration/1", "name": "x", "stack": "nothing", "constants": {}}',
     '{"schema": "gpu-opt/calibration/1", "name": "x", "stack": "fsdp", "constants": {"efficiency": -1}}',
     '{"schema": "gpu-opt/calibration/1", "name": "x", "stack": "fsdp", "constants": {"magic": 1}}'],
)  # fmt: skip
def test_what_is_no_calibration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="calibrat"):
        load_calibration(text, "x.json")
