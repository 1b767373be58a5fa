"""Number formats as engines run them on each GPU."""

from __future__ import annotations

import pytest

from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.throughput.serving.precision import (
    ComputePlan,
    Refusal,
    find_format,
    kv_bytes_per_element,
    plan_compute,
    weight_formats,
)


def plan(precision: str, gpu: str, engine: str = "vllm") -> ComputePlan | Refusal:
    weights = find_format(precision)
    assert weights is not None
    return plan_compute(weights, load_accelerators()[gpu], engine)


def test_fp8_runs_natively_from_ada_on() -> None:
    found = plan("fp8", "L40S")
    assert isinstance(found, ComputePlan)
    assert (found.compute, found.weight_only) == ("fp8", False)


def test_fp8_weights_are_unpacked_on_ampere_by_vllm() -> None:
    found = plan("fp8", "A100-80GB-SXM")
    assert isinstance(found, ComputePlan)
    assert (found.compute, found.weight_only) == ("bf16", True)
    assert "lacks FP8" in found.note


@pytest.mark.parametrize(
    ("precision", "gpu", "engine"),
    [
        ("fp8", "A100-80GB-SXM", "tensorrt-llm"),
        ("fp8", "T4", "vllm"),
        ("fp8", "MI250", "vllm"),
        ("nvfp4", "MI300X", "vllm"),
        ("mxfp8", "V100-SXM-16GB", "vllm"),
        ("int8", "V100-SXM-16GB", "vllm"),
    ],
)
def test_a_format_without_a_kernel_is_refused_by_name(precision: str, gpu: str, engine: str) -> None:
    found = plan(precision, gpu, engine)
    assert isinstance(found, Refusal)
    assert found.reason.startswith(f"{gpu} lacks")


def test_int4_weights_compute_in_16_bits_everywhere() -> None:
    for gpu in ("T4", "A10G", "H100-SXM", "MI300X"):
        found = plan("int4", gpu)
        assert isinstance(found, ComputePlan)
        assert found.compute in ("bf16", "fp16")
        assert found.weight_only


def test_bf16_runs_as_fp16_where_there_is_no_bf16() -> None:
    found = plan("bf16", "T4")
    assert isinstance(found, ComputePlan)
    assert found.compute == "fp16"
    assert "runs as fp16" in found.note


def test_nvfp4_is_native_on_blackwell_and_unpacked_on_hopper() -> None:
    native, unpacked = plan("nvfp4", "B200-SXM"), plan("nvfp4", "H100-SXM")
    assert isinstance(native, ComputePlan)
    assert isinstance(unpacked, ComputePlan)
    assert (native.compute, unpacked.compute) == ("fp4", "bf16")


def test_mxfp4_runs_in_16_bits_on_mi300x() -> None:
    found = plan("mxfp4", "MI300X")
    assert isinstance(found, ComputePlan)
    assert found.weight_only


def test_tf32_falls_back_to_fp32() -> None:
    found = plan("tf32", "V100-SXM-16GB")
    assert isinstance(found, ComputePlan)
    assert found.compute == "fp32"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("AWQ-INT4 GEMM", "int4"), ("fp8?", "fp8"), ("int8_sq", "int8"), ("f16", "fp16"), ("exl2 2.5 bpw", "exl2-2.5")],
)
def test_spellings_of_benchmarks_are_known(spelling: str, name: str) -> None:
    found = find_format(spelling)
    assert found is not None
    assert found.name == name


def test_an_unknown_spelling_is_no_format() -> None:
    assert find_format("int3-magic") is None


def test_the_default_cache_has_two_bytes_an_element() -> None:
    fp8 = weight_formats()["fp8"]
    assert kv_bytes_per_element("", fp8) == 2.0
    assert kv_bytes_per_element("fp8", fp8) == 1.0
    assert kv_bytes_per_element("nvfp4", fp8) == 0.5625
    assert kv_bytes_per_element("", weight_formats()["fp32"]) == 4.0
    assert kv_bytes_per_element("fp16", fp8) == 2.0
