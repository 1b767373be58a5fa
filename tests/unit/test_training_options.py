"""What a planner gets for a training job on a shape: options, and rejections with their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.workload import CustomUnit, Parallelism, TrainJob
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.hardware.shapes import shape_of
from gpu_opt.models.presets import preset
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.training import job_options
from gpu_opt.throughput.training.constants import family_of, find_stack, stack_constants, stacks

JOB = TrainJob(
    name="job",
    kind="pretrain",
    active_to_hours=1e4,
    deadline_hours=1e4,
    model=preset("llama-2-7b"),
    tokens_per_run=1e11,
    sequence_length_tokens=4096,
)


def node(gpu: str = "H100-SXM", count: float = 8.0, **changes: Any) -> Shape:
    return replace(shape_of("", "", gpu, count), **{"network_gbps": 3200.0, **changes})


def ask(job: TrainJob, shape: Shape, **changes: Any) -> Any:
    given = {"memory_reserve_fraction": 0.25, **changes}
    return job_options(job, shape, load_accelerators()[shape.gpu], **given)


def test_a_seven_billion_model_trains_on_one_node_at_a_third_to_two_thirds_of_peak() -> None:
    options, refused = ask(JOB, node(), gangs=(8,))
    assert not refused
    # 6 × 6.6e9 + attention 3.2e9 FLOPs a token; 989e12 FLOP/s: 100 % would be 23,100 tokens/s.
    assert 0.33 < options[0].tokens_per_second / 8 / 23_100 < 0.66
    assert options[0].source == "model"


def test_the_notes_say_what_was_assumed() -> None:
    options, _ = ask(JOB, node(network_gbps=None), gangs=(8,))
    text = " | ".join(options[0].notes)
    assert "stack megatron-bridge assumed" in text
    assert "global batch of 4,000,000 tokens assumed" in text
    assert "network unknown" in text
    assert "confidence" in text


def test_an_unknown_stack_is_replaced_with_a_note_and_a_wider_interval() -> None:
    known, _ = ask(replace(JOB, stack="Megatron-LM"), node(), gangs=(8,))
    unknown, _ = ask(replace(JOB, stack="my-own"), node(), gangs=(8,))
    assert known[0].stack == "megatron"
    assert "'my-own' is not known" in unknown[0].notes[0]
    width = [each[0].interval.high_ratio / each[0].interval.low_ratio for each in (known, unknown)]
    assert width[1] > width[0]


def test_an_optimizer_that_is_not_known_counts_as_adam_and_is_named() -> None:
    options, _ = ask(replace(JOB, optimizer="sophia"), node(), gangs=(8,))
    assert any("'sophia' is not known" in note for note in options[0].notes)


def test_a_stack_without_runs_of_its_own_says_so() -> None:
    options, _ = ask(replace(JOB, stack="torchtitan"), node(), gangs=(8,))
    assert any("no runs of torchtitan" in note for note in options[0].notes)


def test_too_little_memory_is_refused_with_the_need_and_its_largest_line() -> None:
    job = replace(JOB, kind="finetune", method="full", stack="hf-peft", max_gpus=1)
    _, refused = ask(job, node("L4", 1.0), gangs=(1,))
    assert refused[0].code == "memory"
    assert "18.0 GiB" in refused[0].reason  # 24 GiB less a quarter
    assert "largest line" in refused[0].reason


def test_a_model_larger_than_any_gang_allowed_is_refused() -> None:
    job = replace(JOB, model=preset("llama-3.1-405b"), max_gpus=8)
    options, refused = ask(job, node("A10G"))
    assert not options
    assert refused[0].code == "memory"
    assert "at most 8 GPUs" in refused[0].reason


def test_a_part_that_lacks_the_precision_is_refused_and_names_what_it_has() -> None:
    _, refused = ask(replace(JOB, precision="fp8"), node("A100-80GB-SXM"))
    assert refused[0].code == "precision"
    assert "bf16" in refused[0].reason
    _, turing = ask(JOB, node("T4", 1.0))
    assert turing[0].code == "precision"
    assert "set `precision: fp16`" in turing[0].reason


def test_a_network_minimum_refuses_slower_and_unknown_networks() -> None:
    job = replace(JOB, min_network_gbps_per_gpu=200.0)
    _, slow = ask(job, node("A100-80GB-SXM", network_gbps=400.0))
    assert slow[0].code == "network"
    assert "50 Gb/s per GPU" in slow[0].reason
    _, unknown = ask(job, node(network_gbps=None))
    assert "unknown" in unknown[0].reason
    assert ask(job, node(), gangs=(8,))[0]


def test_a_fixed_layout_is_kept() -> None:
    job = replace(JOB, parallel=Parallelism(tp=4, pp=2, micro_batch=2, recompute="full"))
    options, _ = ask(job, node(), gangs=(16,))
    layout = options[0].layout
    assert (layout.tp, layout.pp, layout.dp, layout.micro_batch, layout.recompute) == (4, 2, 2, 2, "full")


def test_a_fixed_layout_that_no_gang_can_have_is_refused() -> None:
    _, refused = ask(replace(JOB, parallel=Parallelism(tp=3)), node(), gangs=(8,))
    assert refused[0].code == "layout"


def test_small_instances_make_one_gang_over_their_network() -> None:
    two, _ = ask(JOB, node(count=4.0, network_gbps=50.0), gangs=(8,))
    one, _ = ask(JOB, node(), gangs=(8,))
    assert two[0].gpus == one[0].gpus == 8
    assert two[0].tokens_per_second < one[0].tokens_per_second


def test_a_share_of_a_gpu_runs_what_fits_on_it() -> None:
    job = replace(JOB, kind="finetune", method="qlora", model=preset("llama-2-7b"), sequence_length_tokens=1024)
    whole, _ = ask(job, node("L40S", 1.0), gangs=(1,))
    half, _ = ask(job, node("L40S", 0.5))
    assert half[0].gpus == 0.5
    assert half[0].tokens_per_second < whole[0].tokens_per_second
    _, refused = ask(replace(job, method="lora"), node("L4", 0.5))
    assert refused[0].code == "memory"


def test_max_gpus_bounds_the_gang() -> None:
    options, _ = ask(replace(JOB, max_gpus=32), node())
    assert max(option.gpus for option in options) == 32


def test_an_instance_larger_than_the_gang_allowed_is_refused() -> None:
    _, refused = ask(replace(JOB, max_gpus=4), node())
    assert refused[0].code == "max-gpus"
    assert "8 GPUs" in refused[0].reason


def test_a_calibration_of_the_stack_changes_the_speed_and_says_so() -> None:
    faster = stack_constants("megatron-bridge")["efficiency"] * 1.1
    calibration = Calibration(
        name="ours", stack="megatron-bridge", constants={"efficiency": faster}, gpus=("H100-SXM",), runs=5,
        log_sd=0.05, low_ratio=0.94, high_ratio=1.07,
    )  # fmt: skip
    plain, _ = ask(JOB, node(), gangs=(8,))
    ours, _ = ask(JOB, node(), gangs=(8,), calibration=calibration)
    assert ours[0].source == "calibrated"
    assert ours[0].tokens_per_second > plain[0].tokens_per_second
    assert (ours[0].interval.low_ratio, ours[0].interval.high_ratio) == (0.94, 1.07)
    assert any("ours" in note for note in ours[0].notes)
    other, _ = ask(replace(JOB, stack="nanotron"), node(), gangs=(8,), calibration=calibration)
    assert other[0].source == "model"


def test_work_of_a_custom_unit_is_a_roofline_with_a_wide_interval() -> None:
    job = replace(JOB, model=CustomUnit(unit="image", flops_per_unit=1.2e12, memory_gib=18.5), tokens_per_run=1e8)
    options, _ = ask(job, node(), gangs=(8, 16))
    # 989e12 FLOP/s, below 70 % of it for multiplies and 60 % of that for the rest, over 1.2e12 FLOPs an image.
    assert 200 < options[0].tokens_per_second / 8 < 400
    assert options[0].interval.high_ratio / options[0].interval.low_ratio > 3
    _, refused = ask(job, node("L4", 1.0))
    assert refused[0].code == "memory"


def test_mixtures_spread_their_experts() -> None:
    options, _ = ask(replace(JOB, model=preset("mixtral-8x7b"), precision="bf16"), node(), gangs=(64,))
    assert options[0].tokens_per_second > 0
    assert options[0].layout.ep >= 1


@pytest.mark.parametrize(
    ("spelled", "name"),
    [("Megatron-LM", "megatron"), ("NeMo", "megatron-bridge"), ("HF Trainer", "hf-peft"), ("torchtitan", "torchtitan"),
     ("hf_peft", "hf-peft"), ("DeepSpeed-ZeRO", "deepspeed"), ("nothing-known", None)],
)  # fmt: skip
def test_stacks_are_found_by_their_usual_names(spelled: str, name: str | None) -> None:
    found = find_stack(spelled)
    assert (found.name if found else None) == name


def test_stacks_inherit_the_constants_they_do_not_have() -> None:
    for name in stacks():
        values = stack_constants(name)
        assert values["efficiency"] > 0
        assert 0 < values["scaleup_share"] < 1


def test_every_accelerator_belongs_to_a_family() -> None:
    families = {name: family_of(part) for name, part in load_accelerators().items()}
    assert families["H100-SXM"] == "hopper"
    assert families["GB200"] == "blackwell"
    assert families["RTX-5090"] == "blackwell-gb20x"
    assert families["A10G"] == "ampere-ga10x"
    assert families["TPU-v5p"] == "tpu"
    assert families["Trainium2"] == "trainium"
