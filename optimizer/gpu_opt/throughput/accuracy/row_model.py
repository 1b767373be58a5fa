"""The model of a measured point: a preset where the name and the given sizes agree, else the shape of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_opt.domain.model import ModelSpec
from gpu_opt.models.assumed import assumed
from gpu_opt.models.presets import find

_BILLION = 1e9
_MOST = 1e9  # above every count, length and time of a measurement
_CLOSE = 0.12  # a preset's parameter count may differ from the cell's by rounding and by tied tables


def number(text: str | None) -> float | None:
    """A cell as a number, None when it is blank, no number, or one that nothing measured has."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) <= _MOST else None


def positive(text: str | None) -> float | None:
    """A cell as a number above zero; None for everything else."""
    value = number(text)
    return value if value is not None and value > 0 else None


def model_of(row: Mapping[str, str]) -> ModelSpec | None:
    """The model of a row; None when neither its name nor its cells tell a size."""
    preset = find(row.get("model", ""))
    if preset is not None and _agrees(preset, row):
        return preset
    sizes = [positive(row.get(name)) for name in ("n_layers", "hidden", "n_heads", "vocab")]
    if all(size is not None and size > 0 for size in sizes):
        return _from_cells(row)
    params = positive(row.get("params_b"))
    if params:
        active = positive(row.get("active_params_b"))
        return assumed(params, active if active and active < params else None, name=row.get("model", ""))
    return preset


def _agrees(preset: ModelSpec, row: Mapping[str, str]) -> bool:
    given = (
        (positive(row.get("n_layers")), preset.layers),
        (positive(row.get("hidden")), preset.hidden_size),
        (positive(row.get("experts")), preset.experts),
        (positive(row.get("n_kv_heads")) if not preset.mla_kv_rank else None, preset.kv_heads),
    )
    if any(cell is not None and cell != size for cell, size in given):
        return False
    params = positive(row.get("params_b"))
    return params is None or abs(params * _BILLION / preset.params - 1.0) <= _CLOSE


def _from_cells(row: Mapping[str, str]) -> ModelSpec:
    layers, hidden, heads = (int(positive(row[name]) or 0) for name in ("n_layers", "hidden", "n_heads"))
    kv_heads = int(positive(row.get("n_kv_heads")) or heads)
    experts = int(positive(row.get("experts")) or 0)
    ffn = int(positive(row.get("ffn")) or 4 * hidden)
    spec = ModelSpec(
        name=row.get("model", "") or "given",
        layers=layers,
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_size=hidden // heads,
        ffn_size=ffn,
        vocab_size=int(positive(row["vocab"]) or 0),
        experts=experts,
        experts_per_token=int(positive(row.get("topk")) or 0),
        expert_ffn_size=ffn if experts else 0,
        params=1.0,
        active_params=1.0,
        origin="given",
    )
    params = (positive(row.get("params_b")) or 0.0) * _BILLION
    candidates = [
        replace(spec, gated_mlp=gated, tied_embeddings=tied) for gated in (True, False) for tied in (False, True)
    ]
    sized = [replace(each, params=_count(each), active_params=_count(each, active=True)) for each in candidates]
    if not params:
        return sized[0]
    best = min(sized, key=lambda each: abs(each.params / params - 1.0))
    active = (positive(row.get("active_params_b")) or 0.0) * _BILLION
    return replace(best, params=params, active_params=active or (best.active_params if experts else params))


def _count(spec: ModelSpec, *, active: bool = False) -> float:
    """Parameters of the linear layers and the tables; norms and biases are far below the cells' rounding."""
    hidden, size = spec.hidden_size, spec.head_size
    attention = 2.0 * hidden * size * (spec.heads + spec.kv_heads)
    matrices = 3.0 if spec.gated_mlp else 2.0
    mlps = (spec.experts_per_token if active else spec.experts) or 1
    tables = hidden * spec.vocab_size * (1.0 if spec.tied_embeddings else 2.0)
    return spec.layers * (attention + mlps * matrices * hidden * spec.ffn_size) + tables
