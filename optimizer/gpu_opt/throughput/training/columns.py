"""From domain objects to columns of one element: model, task, device and stack."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.throughput.training.arrays import Array, Device, Dims, Stack, Task
from gpu_opt.throughput.training.constants import power_share, rates_of

_TERA = 1e12
_GIGA = 1e9
_GIB_BYTES = 2.0**30
_BITS_PER_BYTE = 8.0
_CAST_SHARE = {"tensorwise": 0.15, "rowwise": 0.30, "mx": 0.20}
_GROUPS = {
    "fp8": ("fp8", "fp8", "tensorwise"),
    "mxfp8": ("fp8", "fp8", "mx"),
    "nvfp4": ("fp4", "fp4", "mx"),
    "mxfp4": ("fp4", "fp4", "mx"),
    "int8": ("int8", "int8", "tensorwise"),
}


def one(value: float) -> Array:
    """A column of one element."""
    return np.array([value], dtype=np.float64)


@lru_cache(maxsize=64)
def dims_of(model: ModelSpec) -> Dims:
    """The columns of a model."""
    hidden, heads = float(model.hidden_size), float(model.heads)
    moe_layers = float(model.layers - model.dense_layers) if model.experts else 0.0
    query, kv, score, weights = _attention_widths(model)
    return Dims(
        layers=one(model.layers),
        hidden=one(hidden),
        head_size=one(query / heads),
        query_width=one(query),
        kv_width=one(kv),
        score_width=one(score),
        attention_weights=one(weights),
        dense_layers=one(model.layers - moe_layers),
        ffn=one(model.ffn_size),
        mlp_matrices=one(3.0 if model.gated_mlp else 2.0),
        moe_layers=one(moe_layers),
        expert_ffn=one(model.expert_ffn_size or (model.ffn_size if model.experts else 0)),
        experts_per_token=one(model.experts_per_token),
        shared_ffn=one(model.shared_experts * (model.shared_expert_ffn_size or model.expert_ffn_size)),
        experts=one(model.experts),
        vocab=one(model.vocab_size),
        window=one(model.sliding_window),
        window_layers=one(model.sliding_layers if model.sliding_window else 0),
        scoreless_layers=one(model.linear_layers),
        tied=one(float(model.tied_embeddings)),
        params=one(model.params),
    )


def _attention_widths(model: ModelSpec) -> tuple[float, float, float, float]:
    """(query width, key and value width, score width, linear weights of a layer) of either kind of attention."""
    hidden, heads = float(model.hidden_size), float(model.heads)
    if not model.mla_kv_rank:
        query = heads * model.head_size
        kv = 2.0 * model.kv_heads * model.head_size
        return query, kv, 2.0 * query, hidden * (2.0 * query + kv)
    value = model.mla_v_head_size or model.head_size
    key = model.head_size + model.mla_rope_size
    query = heads * key
    down_query = hidden * model.mla_q_rank + model.mla_q_rank * query if model.mla_q_rank else hidden * query
    down_kv = hidden * (model.mla_kv_rank + model.mla_rope_size)
    up_kv = model.mla_kv_rank * heads * (model.head_size + value)
    weights = down_query + down_kv + up_kv + heads * value * hidden
    return query, heads * (model.head_size + value), heads * (key + value), weights


def task_of(
    *, sequence: float, batch_sequences: float, method: str, lora_rank: float, precision: str, cast: str = ""
) -> Task:
    """The columns of a training task; `cast` overrides how low precision scales (tensorwise, rowwise, mx)."""
    trains_base = method not in ("lora", "qlora")
    _, _, scaling = _GROUPS.get(precision, ("", "", ""))
    kind = cast or scaling
    return Task(
        sequence=one(sequence),
        batch_sequences=one(batch_sequences),
        trains_base=one(float(trains_base)),
        quantised=one(float(method == "qlora")),
        lora_rank=one(0.0 if trains_base else lora_rank),
        linear_bits=one(8.0 if precision in ("fp8", "mxfp8", "int8") else 4.0 if "fp4" in precision else 16.0),
        low_precision_cast=one(_CAST_SHARE.get(kind, 0.0) if scaling else 0.0),
    )


def half_peak_tflops(accelerator: Accelerator, precision: str) -> float | None:
    """Dense peak of the 16-bit type that training runs in (bf16 where it exists), None where the part has none."""
    peaks = accelerator.peak_tflops
    wanted = "fp16" if precision == "fp16" else "bf16"
    return peaks.get(wanted)


def linear_peak_tflops(accelerator: Accelerator, precision: str) -> float | None:
    """Dense peak of the linear layers in a precision, None where the part lacks it."""
    peaks = accelerator.peak_tflops
    if precision in _GROUPS:
        return peaks.get(_GROUPS[precision][0])
    if precision in ("fp32", "tf32"):
        return peaks.get(precision)
    return half_peak_tflops(accelerator, precision)


def device_of(accelerator: Accelerator, shape: Shape, precision: str) -> Device:
    """The columns of a device in its shape; the precision must be one the part has."""
    half_rates = rates_of(accelerator, "half")
    group = _GROUPS[precision][1] if precision in _GROUPS else "half"
    rates = rates_of(accelerator, group)
    power = power_share(accelerator, half_rates)
    linear = linear_peak_tflops(accelerator, precision) or 0.0
    half = half_peak_tflops(accelerator, precision) or accelerator.peak_tflops.get("fp16") or linear
    share = min(1.0, shape.gpus)
    gpus_in_node = max(1.0, shape.gpus)
    domain = float(shape.scaleup_domain_gpus) if shape.scaleup_gb_per_second > 0 else gpus_in_node
    local = shape.scaleup_gb_per_second if shape.scaleup_gb_per_second > 0 else shape.pcie_gb_per_second
    assumed = 100.0 * gpus_in_node if shape.scaleup_gb_per_second > 0 else 25.0
    network = (shape.network_gbps or assumed) / _BITS_PER_BYTE / gpus_in_node
    return Device(
        linear_flops=one(linear * _TERA * rates.efficiency * power * share),
        half_flops=one(half * _TERA * half_rates.efficiency * power * share),
        attention_flops=one(half * _TERA * half_rates.attention * power * share),
        half_rows=one(rates.half_rows * share),
        half_sides=one(rates.half_sides),
        memory_bytes_per_second=one(accelerator.memory_gb_per_second * _GIGA * share),
        memory_bytes=one(shape.memory_gib_per_gpu * share * _GIB_BYTES),
        scaleup_bytes_per_second=one(max(local, 1.0) * _GIGA),
        scaleup_domain=one(max(domain, 1.0)),
        network_bytes_per_second=one(max(network, 0.1) * _GIGA),
        node_gpus=one(gpus_in_node),
    )


def stack_of(constants: Mapping[str, float]) -> Stack:
    """The columns of a stack's constants."""
    values = {name: one(value) for name, value in constants.items()}
    values["moe_launch_seconds"] = values.pop("moe_launch_ms") * 1e-3
    values["tp_launch_seconds"] = values.pop("tp_launch_ms") * 1e-3
    values["pp_launch_seconds"] = values.pop("pp_launch_ms") * 1e-3
    values["launch_seconds"] = values.pop("launch_ms") * 1e-3
    values["hop_seconds"] = values.pop("hop_us") * 1e-6
    return Stack(**values)
