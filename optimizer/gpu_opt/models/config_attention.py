"""Attention in a configuration: heads, latent (MLA), sliding windows, linear layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_opt.models.config_values import MOST_POSITIONS, ConfigValues
from gpu_opt.models.families import Family

_LINEAR_LAYER_NAMES = ("linear_attention", "linear", "mamba", "recurrent", "gated_delta_net")
_SLIDING_LAYER_NAMES = ("sliding_attention", "chunked_attention", "sliding", "local", "local_attention")
_STATE_BYTES = 4  # linear-attention states are kept in fp32
_CONVOLUTION_BYTES = 2


def head_sizes(values: ConfigValues, family: Family, hidden: int) -> dict[str, Any]:
    """`heads`, `kv_heads`, `head_size` and what MLA adds."""
    heads = values.needed("num_attention_heads", "n_heads", "n_head", "num_heads", default=family.heads)
    if values.has("kv_lora_rank"):
        return _latent(values, heads)
    size = values.integer("head_dim", "kv_channels", "attention_head_dim", default=family.head_size)
    if not size:
        if hidden % heads and not values.problems:
            values.wrong("num_attention_heads", f"{heads} does not divide the hidden size {hidden}.", "Add `head_dim`.")
        size = max(1, hidden // heads)
    kv_heads = _kv_heads(values, family, heads)
    if heads % kv_heads:
        values.wrong("num_key_value_heads", f"{kv_heads} does not divide {heads} attention heads.")
    return {"heads": heads, "kv_heads": kv_heads, "head_size": size}


def _latent(values: ConfigValues, heads: int) -> dict[str, Any]:
    return {
        "heads": heads,
        "kv_heads": heads,
        "head_size": values.needed("qk_nope_head_dim"),
        "mla_kv_rank": values.integer("kv_lora_rank"),
        "mla_q_rank": values.integer("q_lora_rank", default=0, least=0),
        "mla_rope_size": values.integer("qk_rope_head_dim", default=0, least=0),
        "mla_v_head_size": values.needed("v_head_dim"),
        "sparse_attention_tokens": values.integer("index_topk", default=0, least=0, most=MOST_POSITIONS),
    }


def _kv_heads(values: ConfigValues, family: Family, heads: int) -> int:
    attention = values.nested("attn_config")
    if attention is not None:
        if attention.text("attn_type") == "multiquery_attention":
            return 1
        return attention.integer("kv_n_heads", default=heads)
    per_layer = values.sequence("num_key_value_heads_per_layer")
    if per_layer and all(isinstance(count, int) and not isinstance(count, bool) for count in per_layer):
        return max(1, round(float(sum(per_layer)) / len(per_layer)))
    if family.model_type in ("falcon", "refinedweb", "refinedwebmodel"):
        return _falcon_kv_heads(values, heads)
    if values.flag("multi_query"):
        return 1
    if values.flag("multi_query_attention"):
        return values.integer("multi_query_group_num", default=1)
    return values.integer(
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", default=family.kv_heads or heads
    )


def _falcon_kv_heads(values: ConfigValues, heads: int) -> int:
    grouped = values.flag("new_decoder_architecture") or values.has("n_head_kv")
    if grouped:
        return values.integer("num_kv_heads", "n_head_kv", default=heads)
    return 1 if values.flag("multi_query", default=True) else heads


def window_sizes(values: ConfigValues, family: Family, layers: int, positions: int) -> dict[str, Any]:
    """`sliding_window` and how many layers use it; nothing where the window is off or longer than the context."""
    window = values.integer("sliding_window", "attention_chunk_size", default=0, least=0, most=MOST_POSITIONS)
    applies = values.flag("use_sliding_window", default=family.window_applies)
    if not window or not applies or (positions and window >= positions):
        return {}
    sliding = _sliding_layers(values, family, layers)
    return {"sliding_window": window, "sliding_layers": sliding} if sliding else {}


def _sliding_layers(values: ConfigValues, family: Family, layers: int) -> int:
    types = values.sequence("layer_types")
    if types:
        return sum(1 for kind in types[:layers] if kind in _SLIDING_LAYER_NAMES)
    no_rope = values.sequence("no_rope_layers")
    if no_rope and values.has("attention_chunk_size"):  # Llama 4: layers marked 1 rotate and attend in chunks
        return sum(1 for mark in no_rope[:layers] if mark == 1)
    pattern = values.integer(
        "sliding_window_pattern", "_sliding_window_pattern", default=family.sliding_pattern, least=0, most=layers
    )
    if pattern:
        return layers - layers // pattern
    first_full = values.integer("max_window_layers", default=0, least=0)
    return max(0, layers - first_full) if values.has("max_window_layers") else layers


def linear_sizes(values: ConfigValues, layers: int, hidden: int, heads: Mapping[str, Any]) -> dict[str, Any]:
    """Layers with a constant state: gated delta nets (Qwen3-Next) and lightning attention (MiniMax)."""
    marks = values.sequence("attn_type_list")  # MiniMax: 0 is linear, 1 softmax
    count = sum(1 for mark in marks[:layers] if mark == 0) if marks else _linear_by_type(values, layers)
    if not count:
        return {}
    if values.has("linear_num_value_heads"):
        params, state = _delta_net(values, hidden)
    else:
        size = heads["heads"] * heads["head_size"]
        params, state = 5 * hidden * size, heads["heads"] * heads["head_size"] ** 2 * _STATE_BYTES
    return {"linear_layers": count, "linear_layer_params": float(params), "linear_state_bytes": count * state}


def _linear_by_type(values: ConfigValues, layers: int) -> int:
    types = values.sequence("layer_types")
    if types:
        return sum(1 for kind in types[:layers] if kind in _LINEAR_LAYER_NAMES)
    if values.has("linear_num_value_heads"):
        interval = values.integer("full_attention_interval", default=4, most=layers)
        return layers - layers // interval
    return 0


def _delta_net(values: ConfigValues, hidden: int) -> tuple[int, int]:
    """Parameters and state bytes of one gated-delta-net layer (queries, keys, values, gate; a short convolution)."""
    key_heads, value_heads = values.needed("linear_num_key_heads"), values.needed("linear_num_value_heads")
    key_size = values.integer("linear_key_head_dim", default=128)
    value_size = values.integer("linear_value_head_dim", default=128)
    kernel = values.integer("linear_conv_kernel_dim", default=4)
    keys, outputs = key_heads * key_size, value_heads * value_size
    mixed = 2 * keys + outputs
    params = hidden * (mixed + outputs + 2 * value_heads) + kernel * mixed + outputs * hidden
    params += 2 * value_heads + value_size
    state = value_heads * key_size * value_size * _STATE_BYTES + (kernel - 1) * mixed * _CONVOLUTION_BYTES
    return params, state
