"""Which number formats a GPU really computes in, and how many bytes a weight takes in each (I1)."""

from __future__ import annotations

from functools import cache

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.records import record
from gpu_opt.throughput.serving.tables import read_rows

_MARLIN_CAPABILITY = 8.0
_W8A8_CAPABILITY = 7.5
_WEIGHT_ONLY_ENGINES = ("vllm", "sglang")


@record
class WeightFormat:
    """Bytes per weight of the linear and the attention layers, and the precision that the GEMMs run in."""

    name: str
    linear_bytes: float
    attention_bytes: float
    compute: str
    weight_only: bool


@record
class ComputePlan:
    """How a GPU runs a format: GEMM precision and peak, in FLOP/s; `weight_only` where weights are unpacked first."""

    format: WeightFormat
    compute: str
    peak_flops_per_second: float
    peak_16bit_flops_per_second: float
    weight_only: bool
    note: str = ""


@record
class Refusal:
    """Why a GPU can't run a format, as a sentence."""

    reason: str


@cache
def weight_formats() -> dict[str, WeightFormat]:
    """Formats by canonical name."""
    return {
        row["name"]: WeightFormat(
            name=row["name"],
            linear_bytes=float(row["linear_bytes"]),
            attention_bytes=float(row["attention_bytes"]),
            compute=row["compute"],
            weight_only=row["weight_only"] == "yes",
        )
        for row in read_rows("serving_formats.csv")
    }


@cache
def _spellings() -> dict[str, str]:
    return {row["spelling"]: row["format"] for row in read_rows("serving_spellings.csv")}


def find_format(spelling: str) -> WeightFormat | None:
    """The format that a benchmark's or a user's spelling means; None when it is unknown."""
    name = spelling.strip().lower()
    return weight_formats().get(_spellings().get(name, name))


def kv_bytes_per_element(kv_precision: str, weights: WeightFormat, engine: str = "") -> float:
    """Bytes of one KV element. Blank and `auto` follow the engines: the weights' 16-bit type, 2 bytes; TensorRT-LLM's
    FP8 and FP4 checkpoints carry an FP8 cache."""
    name = kv_precision.strip().lower().rstrip("?")
    if name in ("", "auto"):
        if engine == "tensorrt-llm" and weights.compute in ("fp8", "fp4"):
            return 1.0
        return 4.0 if weights.name == "fp32" else 2.0
    if name in ("int4", "nvfp4", "fp4"):
        return 0.5625
    known = find_format(name)
    return known.linear_bytes if known is not None and known.linear_bytes >= 2 else 1.0


def _capability(accelerator: Accelerator) -> float:
    try:
        return float(accelerator.compute_capability)
    except ValueError:
        return 0.0


def plan_compute(weights: WeightFormat, accelerator: Accelerator, engine: str) -> ComputePlan | Refusal:
    """I1: the precision that the engine's GEMMs run in on this GPU, natively or with weights unpacked to 16 bits."""
    peaks = accelerator.peak_tflops
    sixteen = "bf16" if "bf16" in peaks else "fp16" if "fp16" in peaks else "fp32" if "fp32" in peaks else ""
    if not sixteen:
        return Refusal(reason=f"{accelerator.name} has no known 16-bit peak.")
    wanted = weights.compute
    if wanted in ("bf16", "fp16"):
        native = wanted if wanted in peaks else sixteen
        note = "" if native == wanted or weights.weight_only else f"{wanted} runs as {native} on {accelerator.name}"
        return _plan(weights, accelerator, native, sixteen, weights.weight_only, note)
    if wanted in peaks and not _only_emulated(weights, accelerator):
        return _plan(weights, accelerator, wanted, sixteen, False, "")
    return _without_native(weights, accelerator, engine, sixteen)


def _only_emulated(weights: WeightFormat, accelerator: Accelerator) -> bool:
    if weights.name == "int8" and accelerator.vendor == "NVIDIA":
        return _capability(accelerator) < _W8A8_CAPABILITY
    if weights.name == "mxfp8":
        return "fp4" not in accelerator.peak_tflops
    return False


def _without_native(
    weights: WeightFormat, accelerator: Accelerator, engine: str, sixteen: str
) -> ComputePlan | Refusal:
    """FP8 and FP4 weights are unpacked to 16 bits by Marlin kernels from Ampere on; INT8 W8A8 is not."""
    name, lacks = accelerator.name, weights.compute.upper()
    nvidia = accelerator.vendor == "NVIDIA"
    if weights.compute in ("fp8", "fp4") and nvidia and _capability(accelerator) >= _MARLIN_CAPABILITY:
        if engine in _WEIGHT_ONLY_ENGINES or weights.name == "mxfp4":
            note = f"{name} lacks {lacks}: {weights.name} weights are unpacked to {sixteen} (weight-only)"
            return _plan(weights, accelerator, sixteen, sixteen, True, note)
        return Refusal(reason=f"{name} lacks {lacks}, and {engine} has no weight-only kernel for {weights.name} there.")
    if weights.name == "mxfp4" and accelerator.vendor == "AMD":
        note = f"{name} lacks FP4: mxfp4 weights are unpacked to {sixteen}"
        return _plan(weights, accelerator, sixteen, sixteen, True, note)
    if weights.compute in ("tf32", "fp32") and "fp32" in accelerator.peak_tflops:
        return _plan(weights, accelerator, "fp32", sixteen, False, f"{name} lacks TF32: runs as FP32")
    return Refusal(reason=f"{name} lacks {lacks}, which {weights.name} needs; bf16, fp16 or int4 weights would run.")


def _plan(
    weights: WeightFormat, accelerator: Accelerator, compute: str, sixteen: str, weight_only: bool, note: str
) -> ComputePlan:
    peaks = accelerator.peak_tflops
    return ComputePlan(
        format=weights,
        compute=compute,
        peak_flops_per_second=peaks[compute] * 1e12,
        peak_16bit_flops_per_second=peaks[sixteen] * 1e12,
        weight_only=weight_only,
        note=note,
    )
