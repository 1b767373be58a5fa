"""The precision that a checkpoint ships in, from `quantization_config` and the data type."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.models.config_values import ConfigValues

_BY_DTYPE = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
}  # fmt: skip
_BY_METHOD = {
    "fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "awq": "int4", "gptq": "int4", "gptq_marlin": "int4",
    "awq_marlin": "int4", "marlin": "int4", "nvfp4": "nvfp4", "eetq": "int8", "mxfp8": "mxfp8",
}  # fmt: skip
_BY_ALGORITHM = {
    "FP8": "fp8", "NVFP4": "nvfp4", "W4A16_AWQ": "int4", "W8A8_SQ_PER_CHANNEL": "int8", "MXFP4": "mxfp4",
    "MXFP8": "mxfp8",
}  # fmt: skip


def native_precision(text: ConfigValues, whole: ConfigValues) -> str:
    """bf16, fp16, fp32, fp8, mxfp8, int8, int4, nvfp4 or mxfp4; bf16 where nothing is said."""
    for values in (text, whole):
        quantization = values.nested("quantization_config") or values.nested("compression_config")
        if quantization is not None:
            found = _quantized(quantization)
            if found:
                return found
    dtype = (text.text("torch_dtype", "dtype") or whole.text("torch_dtype", "dtype")).removeprefix("torch.")
    return _BY_DTYPE.get(dtype, "bf16")


def _quantized(values: ConfigValues) -> str:
    method = values.text("quant_method").casefold()
    if method == "modelopt" or values.has("quant_algo"):
        return _BY_ALGORITHM.get(values.text("quant_algo").upper(), "")
    if method == "bitsandbytes" or values.flag("load_in_4bit") or values.flag("load_in_8bit"):
        return "int4" if values.flag("load_in_4bit") else "int8" if values.flag("load_in_8bit") else ""
    if method in ("compressed-tensors", "quark") or values.has("config_groups"):
        return _grouped(values)
    bits = values.integer("bits", "w_bit", default=0, least=0, most=64)
    if method in ("awq", "gptq", "gptq_marlin", "awq_marlin") and bits:
        return "int8" if bits == 8 else "int4"
    return _BY_METHOD.get(method, "")


def _grouped(values: ConfigValues) -> str:
    """The weights of the first group of a compressed-tensors configuration."""
    groups = values.nested("config_groups")
    if groups is None:
        return ""
    for key, group in groups.values.items():
        inner = groups.nested(key)
        weights = inner.nested("weights") if inner is not None and isinstance(group, Mapping) else None
        if weights is None:
            continue
        bits = weights.integer("num_bits", default=0, least=0, most=64)
        if weights.text("type") == "float":
            return {4: "nvfp4", 8: "fp8"}.get(bits, "")
        return {4: "int4", 8: "int8"}.get(bits, "")
    return ""
