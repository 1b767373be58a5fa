"""A model from the sizes that a user gives: what is missing is filled in, what contradicts itself is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.names import nearest
from gpu_opt.models.assumed import HEAD_SIZE, KV_HEADS, LARGE_VOCAB, assumed
from gpu_opt.models.config_values import MOST_EXPERTS, MOST_LAYERS, MOST_POSITIONS, ConfigValues
from gpu_opt.models.parameters import count_parameters, counted

_BILLION = 1e9
_KEYS = (
    "name", "params_billion", "active_params_billion", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn",
    "vocab", "experts", "experts_per_token", "shared_experts", "expert_ffn", "dense_layers", "tied_embeddings",
    "gated_mlp", "sliding_window", "max_positions",
)  # fmt: skip
_SHAPE_KEYS = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "experts", "expert_ffn")
# Biases, tied tables and gates that nobody gives explain this much between a shape and the size in a model's name.
_AGREE_WITHIN_FRACTION = 0.15
_MLP_PER_HIDDEN = 3.5  # gated MLPs of models with grouped queries; 8/3 with as many KV heads as heads


class _Fields(ConfigValues):
    missing_remedy = "Give it, or params_billion alone."


def from_fields(fields: Mapping[str, Any]) -> ModelSpec:
    """The model of keys as in a workload file (`params_billion`, `layers`, `hidden` …); absent or None is not given.

    With `params_billion` alone the shape is typical (`origin` assumed); with `layers` and `hidden` it is the given
    one, and `params_billion` decides the MLP where `ffn` is absent. InputError for unknown keys, wrong values and
    sizes that hold another number of parameters than `params_billion`.
    """
    values = _Fields({key: value for key, value in fields.items() if value is not None})
    for key in values.values:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            values.wrong(key, "is no size of a model.", f"Did you mean {meant}?" if meant else "")
    name = values.text("name")
    params = values.number("params_billion")
    active = values.number("active_params_billion")
    if values.has("params_billion") and not params:
        values.wrong("params_billion", "0 is no size of a model.", "Give billions, from 0.001 to 1e5.")
    values.finish()
    if not values.has(*_SHAPE_KEYS) and not values.has("experts_per_token", "shared_experts", "dense_layers"):
        return _typical(values, params, active, name)
    return _shaped(values, params, active, name)


def _typical(values: ConfigValues, params: float, active: float, name: str) -> ModelSpec:
    if not params:
        values.wrong("params_billion", "is missing.", "Give params_billion, or layers and hidden.")
        values.finish()
    spec = assumed(params, active or None, name)
    window = values.integer("sliding_window", default=0, least=0, most=MOST_POSITIONS)
    return replace(
        spec,
        max_positions=values.integer("max_positions", default=0, least=0, most=MOST_POSITIONS),
        sliding_window=window,
        sliding_layers=spec.layers if window else 0,
    )


def _shaped(values: ConfigValues, params: float, active: float, name: str) -> ModelSpec:
    layers = values.needed("layers", most=MOST_LAYERS)
    hidden = values.needed("hidden", most=1_000_000)
    values.finish()
    spec = _skeleton(values, layers, hidden, name)
    values.finish()
    if not values.has("ffn"):
        spec = replace(spec, ffn_size=_missing_ffn(values, spec, params))
    spec = counted(_with_tables(values, spec, params))
    values.finish()
    spec = replace(spec, source=f"given sizes, {spec.params / _BILLION:.3g} B parameters")
    if params:
        _agree(values, "params_billion", params, spec.params)
        if active and spec.experts:
            _agree(values, "active_params_billion", active, spec.active_params)
        values.finish()
    return spec


def _skeleton(values: ConfigValues, layers: int, hidden: int, name: str) -> ModelSpec:
    given_size = values.integer("head_dim", default=0)
    heads = values.integer("heads", default=max(1, hidden // (given_size or HEAD_SIZE)))
    if not given_size and hidden % heads:
        values.wrong("heads", f"{heads} does not divide the hidden size {hidden}.", "Give head_dim.")
    typical_kv = KV_HEADS if heads % KV_HEADS == 0 and not values.has("heads") else heads
    kv_heads = values.integer("kv_heads", default=typical_kv)
    if heads % kv_heads:
        values.wrong("kv_heads", f"{kv_heads} does not divide {heads} heads.")
    experts = values.integer("experts", default=0, least=0, most=MOST_EXPERTS)
    window = values.integer("sliding_window", default=0, least=0, most=MOST_POSITIONS)
    expert_sizes = _experts(values, experts, layers) if experts else {}
    return ModelSpec(
        name=name or f"{layers}x{hidden}",
        layers=layers,
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_size=given_size or max(1, hidden // heads),
        ffn_size=values.integer("ffn", default=1),
        vocab_size=values.integer("vocab", default=LARGE_VOCAB),
        gated_mlp=values.flag("gated_mlp", default=True),
        tied_embeddings=values.flag("tied_embeddings"),
        sliding_window=window,
        sliding_layers=layers if window else 0,
        max_positions=values.integer("max_positions", default=0, least=0, most=MOST_POSITIONS),
        params=0.0,
        active_params=0.0,
        origin="given",
        **expert_sizes,
    )


def _experts(values: ConfigValues, experts: int, layers: int) -> dict[str, Any]:
    chosen = values.needed("experts_per_token", most=MOST_EXPERTS)
    if chosen > experts:
        values.wrong("experts_per_token", f"{chosen} of {experts} experts cannot be chosen.")
    dense = values.integer("dense_layers", default=0, least=0, most=MOST_LAYERS)
    if dense >= layers:
        values.wrong("dense_layers", f"{dense} of {layers} layers leave none with experts.")
    return {
        "experts": experts,
        "experts_per_token": chosen,
        "shared_experts": values.integer("shared_experts", default=0, least=0, most=MOST_EXPERTS),
        "expert_ffn_size": values.integer("expert_ffn", default=0, least=0),
        "dense_layers": min(dense, layers),
    }


def _missing_ffn(values: ConfigValues, spec: ModelSpec, params: float) -> int:
    """From the parameter count where it is given, else by custom. A given `expert_ffn` settles MoE layers alone."""
    if spec.expert_ffn_size:
        return spec.expert_ffn_size
    if not params:
        grouped = spec.kv_heads < spec.heads
        return max(1, 64 * round(spec.hidden_size * (_MLP_PER_HIDDEN if grouped else 8 / 3) / 64))
    per_unit = count_parameters(replace(spec, ffn_size=2)).total - count_parameters(replace(spec, ffn_size=1)).total
    rest = params * _BILLION - count_parameters(replace(spec, ffn_size=1)).total
    if rest <= 0:
        what = f"{params:g} B leave no room for an MLP beside {spec.layers} layers of {spec.hidden_size}."
        values.wrong("params_billion", what, "Check layers, hidden and vocab.")
        return 1
    return 1 + math.floor(rest / per_unit)


def _with_tables(values: ConfigValues, spec: ModelSpec, params: float) -> ModelSpec:
    """KV heads, a table shared by embedding and head, a gated MLP: where nobody says, the parameter count tells."""
    if not params:
        return spec
    grouped = [count for count in (KV_HEADS, 1) if spec.heads % count == 0 and not values.has("kv_heads")]
    tied = (spec.tied_embeddings,) if values.has("tied_embeddings") else (False, True)
    gated = (spec.gated_mlp,) if values.has("gated_mlp") or not values.has("ffn") else (True, False)
    choices = [
        replace(spec, tied_embeddings=one, gated_mlp=other, kv_heads=kv_heads)
        for kv_heads in dict.fromkeys((spec.kv_heads, *grouped))
        for other in gated
        for one in tied
    ]
    return min(choices, key=lambda each: abs(count_parameters(each).total / (params * _BILLION) - 1))


def _agree(values: ConfigValues, key: str, given_billion: float, held: float) -> None:
    if abs(held / (given_billion * _BILLION) - 1) > _AGREE_WITHIN_FRACTION:
        what = f"{given_billion:g} B, but the sizes hold {held / _BILLION:.3g} B."
        values.wrong(key, what, "Correct one of them, or leave one out.")
