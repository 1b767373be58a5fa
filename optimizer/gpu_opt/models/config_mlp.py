"""Feed-forward blocks in a configuration: dense, experts, shared experts, and blocks that differ by layer."""

from __future__ import annotations

from typing import Any

from gpu_opt.models.config_values import MOST_EXPERTS, MOST_SIZE, ConfigValues
from gpu_opt.models.families import Family

_FFN_KEYS = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "d_ff")
_EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_CHOSEN_KEYS = ("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "moe_k", "top_k_experts")


def mlp_sizes(values: ConfigValues, family: Family, layers: int, hidden: int) -> dict[str, Any]:
    """`ffn_size` and everything about experts."""
    inner = values.nested("ffn_config") or values
    experts = inner.integer(*_EXPERT_KEYS, default=0, least=0, most=MOST_EXPERTS)
    if not experts:
        return {"ffn_size": _dense_size(values, inner, family, hidden)}
    chosen = inner.needed(*_CHOSEN_KEYS, most=MOST_EXPERTS)
    if chosen > experts:
        inner.wrong("num_experts_per_tok", f"{chosen} of {experts} experts cannot be chosen.")
    sizes: dict[str, Any] = {"experts": experts, "experts_per_token": chosen}
    sizes["expert_ffn_size"] = _expert_size(inner, family)
    sizes["dense_layers"] = _dense_layers(values, layers)
    sizes["ffn_size"] = inner.integer("intermediate_size_mlp", *_FFN_KEYS, default=sizes["expert_ffn_size"])
    sizes.update(_shared(values, family, sizes["expert_ffn_size"]))
    return sizes


def _dense_size(values: ConfigValues, inner: ConfigValues, family: Family, hidden: int) -> int:
    if values.has("block_configs"):
        return 1  # set layer by layer
    if inner.has(*_FFN_KEYS):
        return max(1, inner.integer(*_FFN_KEYS, default=1) // family.ffn_divisor)
    multiple = values.number("expansion_ratio", float(family.ffn_multiple))
    if multiple and multiple * hidden <= MOST_SIZE:
        return max(1, round(multiple * hidden))
    return inner.needed(*_FFN_KEYS)


def _expert_size(inner: ConfigValues, family: Family) -> int:
    if family.ffn_is_expert or not inner.has("moe_intermediate_size"):
        return inner.needed(*_FFN_KEYS)
    return inner.integer("moe_intermediate_size", default=1)


def _shared(values: ConfigValues, family: Family, expert_size: int) -> dict[str, Any]:
    if family.model_type in ("llama4", "llama4_text"):
        return {"shared_experts": 1, "shared_expert_ffn_size": expert_size}
    given = values.integer("shared_expert_intermediate_size", "shared_intermediate_size", default=0, least=0)
    if given:
        return {"shared_experts": 1, "shared_expert_ffn_size": given}
    count = values.integer(
        "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=0, least=0, most=MOST_EXPERTS
    )
    return {"shared_experts": count} if count else {}


def _dense_layers(values: ConfigValues, layers: int) -> int:
    """How many layers of an MoE keep a dense MLP."""
    frequency = values.values.get("moe_layer_freq")
    if isinstance(frequency, list):
        return sum(1 for mark in frequency[:layers] if not mark)
    first = values.integer("first_k_dense_replace", "moe_layer_start_index", default=0, least=0)
    if first > layers:
        values.wrong("first_k_dense_replace", f"{first} is more than the {layers} layers.")
        return 0
    step = values.integer("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq", default=1)
    only = values.sequence("mlp_only_layers")
    sparse = [
        index for index in range(first, layers) if ((index + 1) % step == 0 if step > 1 else True) and index not in only
    ]
    return layers - len(sparse)


def searched_blocks(values: ConfigValues, layers: int, hidden: int, heads: int) -> dict[str, Any]:
    """Averages over `block_configs` of models found by search (Nemotron Super): layers without attention count as
    linear ones without a state; MLP sizes are averaged."""
    blocks = values.sequence("block_configs")
    if not blocks:
        return {}
    attending, ffn_total, group = 0, 0.0, 0
    for index, block in enumerate(blocks[:layers]):
        if not isinstance(block, dict) or not isinstance(block.get("attention"), dict):
            values.wrong(f"block_configs[{index}]", "has no `attention` and `ffn`.")
            return {}
        inner = ConfigValues(block, values.file, f"{values.prefix}block_configs[{index}].", values.problems)
        attention, ffn = inner.nested("attention"), inner.nested("ffn")
        if attention is not None and not attention.flag("no_op") and not attention.flag("replace_with_linear"):
            attending += 1
            group = attention.integer("n_heads_in_group", default=group)
        if ffn is not None and not ffn.flag("no_op"):
            ffn_total += _rounded_ffn(ffn.number("ffn_mult"), hidden)
    sizes: dict[str, Any] = {"ffn_size": max(1, round(ffn_total / layers)), "linear_layers": layers - attending}
    if group:
        sizes["kv_heads"] = max(1, heads // group)
    return sizes


def _rounded_ffn(multiple: float, hidden: int) -> int:
    size = int(2 * multiple * hidden / 3)
    return -(-size // 256) * 256
