"""`gpu-opt fit`: what fits where, without prices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Ran

from gpu_opt.fitting import usual_shapes
from gpu_opt.hardware import load_accelerators
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.calibration.store import dump_calibration

GpuOpt = Callable[..., Ran]


def fits(gpu_opt: GpuOpt, *arguments: str | Path) -> list[dict[str, Any]]:
    """The workloads of the JSON."""
    ran = gpu_opt("fit", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    workloads: list[dict[str, Any]] = json.loads(ran.out)["workloads"]
    return workloads


def test_a_model_and_a_method_are_enough(gpu_opt: GpuOpt) -> None:
    (workload,) = fits(gpu_opt, "--model", "llama-2-7b", "--train", "lora", "--gpu", "H100-SXM", "--gpu", "T4")
    h100 = next(fit for fit in workload["fits"] if fit["gpu"] == "H100-SXM" and fit["gpus"] == 1)
    weights = next(line["gib"] for line in h100["memory"] if line["label"] == "weights")
    assert weights == pytest.approx(6.738e9 * 2 / 2**30, rel=0.02)  # 6.74e9 parameters at 2 bytes
    assert h100["memory_gib_per_gpu"] == pytest.approx(sum(line["gib"] for line in h100["memory"]))
    assert h100["memory_gib_per_gpu"] <= 0.75 * h100["device_gib"]  # the reserve of 25 %
    assert h100["interval"][0] < h100["tokens_per_second_per_gpu"] < h100["interval"][1]
    assert {misfit["gpu"] for misfit in workload["does_not_fit"]} == {"T4"}
    assert "bf16" in workload["does_not_fit"][0]["reason"]


def test_a_model_alone_is_fitted_for_serving_and_each_way_of_tuning(gpu_opt: GpuOpt) -> None:
    names = [workload["name"] for workload in fits(gpu_opt, "--model", "llama-2-7b", "--gpu", "A100-80GB-SXM")]
    assert names == ["serve-llama-2-7b", "qlora-llama-2-7b", "lora-llama-2-7b", "full-llama-2-7b"]
    ran = gpu_opt("fit", "--model", "llama-2-7b", "--gpu", "A100-80GB-SXM")
    assert "GPUs that it takes, and GiB on the fullest" in ran.out


def test_serving_shows_requests_and_latency_and_refuses_by_its_limit(gpu_opt: GpuOpt) -> None:
    serve = ("--model", "llama-2-13b", "--serve", "--gpu", "H100-SXM", "--input", "500", "--output", "200")
    (workload,) = fits(gpu_opt, *serve, "--ttft-p95", "800ms")
    assert all(fit["latency"]["ttft_p95_ms"] <= 800.5 for fit in workload["fits"])
    assert all(fit["requests_per_second"] > 0 for fit in workload["fits"])
    (workload,) = fits(gpu_opt, *serve, "--ttft-p95", "1ms")
    assert workload["fits"] == []
    assert {misfit["code"] for misfit in workload["does_not_fit"]} == {"latency"}


def test_a_table_shows_layout_memory_by_line_and_reasons(gpu_opt: GpuOpt) -> None:
    ran = gpu_opt("fit", "--model", "llama-2-7b", "--train", "full", "--gpu", "A100*", "--gpu", "T4")
    assert ran.code == 0
    assert "the smallest configuration on each GPU" in ran.out
    assert "GiB on the fullest GPU, by line" in ran.out
    assert "why not on the others" in ran.out
    markdown = gpu_opt("fit", "--model", "llama-2-7b", "--train", "full", "--gpu", "A100*", "--format", "md")
    assert markdown.out.startswith("# What fits\n")


def test_tables_show_what_is_on_offer_and_all_shows_every_part(gpu_opt: GpuOpt) -> None:
    ask = ("fit", "--model", "llama-2-7b", "--train", "qlora")
    assert "Arc-Pro-B70" not in gpu_opt(*ask).out
    assert "Arc-Pro-B70" in gpu_opt(*ask, "--all").out


def test_a_file_is_fitted_and_hours_of_a_gpu_are_passed_over(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(
        "version: 1\n"
        "workloads:\n"
        "  - {name: hours, kind: gpu_hours, demand: {H100-SXM: [100]}}\n"
        "  - name: tune\n"
        "    kind: finetune\n"
        "    model: {preset: llama-2-7b}\n"
        "    method: lora\n"
        "    dataset_tokens: 1e9\n"
        "    sequence_length: 2048\n"
        "    gpus: [L40S]\n",
        encoding="utf-8",
    )
    ran = gpu_opt("fit", path, "--format", "json")
    assert ran.code == 0
    assert "hours: hours of a GPU are asked for" in ran.err
    (workload,) = json.loads(ran.out)["workloads"]
    assert {fit["gpu"] for fit in workload["fits"]} == {"L40S"}


def test_the_same_question_gets_the_same_bytes(gpu_opt: GpuOpt) -> None:
    ask = ("fit", "--model", "mixtral-8x7b", "--serve", "--gpu", "H100*", "--format", "json")
    assert gpu_opt(*ask).out == gpu_opt(*ask).out


def test_a_calibration_changes_speed_and_says_so(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    mine = Calibration(
        name="mine", stack="hf-peft", constants={}, gpus=("H100-SXM",), runs=3, low_ratio=0.9, high_ratio=1.1
    )
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(dump_calibration(mine)), encoding="utf-8")
    ask = ("--model", "llama-2-7b", "--train", "lora", "--gpu", "H100-SXM")
    (workload,) = fits(gpu_opt, *ask, "--calibration", path)
    fit = workload["fits"][0]
    assert fit["source"] == "calibrated"
    speed = fit["tokens_per_second_per_gpu"]
    assert fit["interval"] == pytest.approx([0.9 * speed, 1.1 * speed])
    path.write_text("{}", encoding="utf-8")
    assert "not a calibration" in gpu_opt("fit", *ask, "--calibration", path).err
    assert gpu_opt("fit", *ask, "--calibration", tmp_path / "none.json").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is no question"),
        (("--model", "lama-2-7b"), "Did you mean llama-2-7b?"),
        (("--model", "llama-2-7b", "--train", "loro"), "--train loro"),
        (("--model", "llama-2-7b", "--gpu", "H1000"), "H1000"),
        (("--model", "llama-2-7b", "--precision", "bf17"), "--precision bf17"),
        (("missing.yaml",), "missing.yaml"),
        (("missing.yaml", "--serve"), "--serve: a question by options goes without a workload file."),
    ],
)
def test_whatever_is_mistyped_gets_a_message_and_exit_2(gpu_opt: GpuOpt, arguments: tuple[str, ...], said: str) -> None:
    ran = gpu_opt("fit", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_every_part_that_is_not_only_announced_is_looked_at_once_for_each_count() -> None:
    shapes = usual_shapes()
    looked_at = {shape.gpu for shape in shapes}
    assert looked_at == {name for name, part in load_accelerators().items() if part.status != "announced"}
    assert len({(shape.gpu, shape.gpus) for shape in shapes}) == len(shapes)
    assert all(1 <= shape.gpus <= 16 for shape in shapes)
    announced = next(name for name, part in load_accelerators().items() if part.status == "announced")
    assert {shape.gpu for shape in usual_shapes([announced])} == {announced}
