"""Laws of the training model: what must hold for any model, GPU and layout."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import JobOption, Rejection
from gpu_opt.domain.workload import TrainJob
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.hardware.shapes import shape_of
from gpu_opt.models.assumed import assumed
from gpu_opt.throughput.training import job_options

PARTS = ("H100-SXM", "A100-80GB-SXM", "A10G", "L4", "MI300X", "TPU-v5p", "Gaudi2", "RTX-4090", "GB200", "B200-SXM")


def shape(gpu: str, count: int) -> Shape:
    found = shape_of("", "", gpu, float(count))
    return replace(found, network_gbps=400.0 * count)


def job(model: ModelSpec, **changes: object) -> TrainJob:
    base = TrainJob(
        name="job",
        kind="pretrain",
        active_to_hours=1e4,
        deadline_hours=1e4,
        model=model,
        tokens_per_run=1e11,
        sequence_length_tokens=4096,
        global_batch_tokens=1024 * 4096.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def options(
    work: TrainJob, gpu: str, count: int = 8, reserve: float = 0.25, gangs: tuple[int, ...] | None = None
) -> tuple[tuple[JobOption, ...], tuple[Rejection, ...]]:
    return job_options(work, shape(gpu, count), load_accelerators()[gpu], gangs=gangs, memory_reserve_fraction=reserve)


models = st.sampled_from([1.0, 3.0, 8.0, 30.0, 70.0, 180.0]).map(assumed)
methods = st.sampled_from(["pretrain", "full", "lora", "qlora"])
gpus = st.sampled_from(PARTS)


def of_method(model: ModelSpec, method: str) -> TrainJob:
    return job(model) if method == "pretrain" else job(model, kind="finetune", method=method)


@settings(max_examples=40, deadline=None)
@given(models, gpus, methods)
def test_every_shape_gets_options_or_a_reason(model: ModelSpec, gpu: str, method: str) -> None:
    found, refused = options(of_method(model, method), gpu)
    assert bool(found) != bool(refused)
    assert all(option.tokens_per_second > 0 for option in found)
    assert all(rejection.code and any(letter.isdigit() for letter in rejection.reason) for rejection in refused)


@settings(max_examples=30, deadline=None)
@given(models, gpus, methods)
def test_a_gang_is_whole_instances_and_its_layout_multiplies_to_it(model: ModelSpec, gpu: str, method: str) -> None:
    found, _ = options(of_method(model, method), gpu)
    for option in found:
        layout = option.layout
        assert option.gpus % 8 == 0
        assert layout.tp * layout.pp * layout.cp * layout.dp == option.gpus


@settings(max_examples=30, deadline=None)
@given(models, gpus)
def test_a_frontier_is_short_and_each_larger_gang_is_faster(model: ModelSpec, gpu: str) -> None:
    found, _ = options(job(model), gpu)
    speeds = [option.tokens_per_second for option in found]
    assert len(found) <= 16
    assert speeds == sorted(speeds)


@settings(max_examples=30, deadline=None)
@given(models, gpus, st.floats(0.0, 0.5))
def test_a_larger_reserve_never_makes_a_gang_faster(model: ModelSpec, gpu: str, reserve: float) -> None:
    loose, _ = options(job(model), gpu, reserve=reserve, gangs=(64,))
    tight, _ = options(job(model), gpu, reserve=reserve + 0.2, gangs=(64,))
    if tight:
        assert loose[0].tokens_per_second >= tight[0].tokens_per_second * (1 - 1e-9)


@settings(max_examples=30, deadline=None)
@given(models, gpus, methods)
def test_what_is_chosen_stays_within_memory_less_its_reserve(model: ModelSpec, gpu: str, method: str) -> None:
    found, _ = options(of_method(model, method), gpu)
    limit = shape(gpu, 8).memory_gib_per_gpu * 0.75
    for option in found:
        assert sum(line.gib for line in option.memory) <= limit * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(models, gpus)
def test_twice_the_gang_is_never_more_than_twice_as_fast(model: ModelSpec, gpu: str) -> None:
    # A larger gang shards more, so it may drop recomputation: compare where the smaller one doesn't recompute.
    small, _ = options(job(model), gpu, gangs=(64,))
    large, _ = options(job(model), gpu, gangs=(128,))
    if small and large and small[0].layout.recompute == "none":
        assert large[0].tokens_per_second <= 2.12 * small[0].tokens_per_second


@settings(max_examples=20, deadline=None)
@given(models, st.sampled_from(["H100-SXM", "B200-SXM", "MI300X"]))
def test_eight_bit_multiplies_are_not_slower_on_large_models(model: ModelSpec, gpu: str) -> None:
    half, _ = options(job(model), gpu, gangs=(128,))
    low, _ = options(job(model, precision="fp8"), gpu, gangs=(128,))
    if half and low and model.params > 2e10:
        assert low[0].tokens_per_second > half[0].tokens_per_second


@settings(max_examples=10, deadline=None)
@given(models, gpus, methods)
def test_the_same_question_has_the_same_answer(model: ModelSpec, gpu: str, method: str) -> None:
    assert options(of_method(model, method), gpu) == options(of_method(model, method), gpu)


@settings(max_examples=20, deadline=None)
@given(models, gpus, methods)
def test_intervals_surround_the_prediction(model: ModelSpec, gpu: str, method: str) -> None:
    found, _ = options(of_method(model, method), gpu)
    for option in found:
        assert option.interval.low_ratio < 1 < option.interval.high_ratio
        assert option.interval.shared_log_sd >= 0
        assert option.interval.own_log_sd > 0
