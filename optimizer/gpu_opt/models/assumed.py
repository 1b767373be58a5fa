"""A typical shape where only the parameter count is known."""

from __future__ import annotations

import math
from dataclasses import replace

from gpu_opt.domain.model import ModelSpec
from gpu_opt.errors import InputError, Problem
from gpu_opt.models.parameters import attention_params_per_layer, counted

_BILLION = 1e9
LEAST_BILLION, MOST_BILLION = 1e-3, 1e5
HEAD_SIZE = 128  # of nearly every open model from 3 B on
KV_HEADS = 8
# Medians of the dense presets with grouped queries from 3 to 405 B: hidden size per layer, and parameters of a layer
# in units of the hidden size squared (2.5 attention, 10.5 gated MLP of 3.5 times the hidden size).
HIDDEN_PER_LAYER = 110.0
LAYER_PARAMS_PER_HIDDEN_SQUARED = 13.0
SMALL_VOCAB, LARGE_VOCAB, LARGE_FROM_BILLION = 32_000, 128_256, 2.0
MOE_BELOW_RATIO = 0.8  # active over all: closer than this, the model is taken as dense
FINE_EXPERTS_FROM_RATIO = 6.0  # all over active: beyond it experts are many and small (top 8), else few (top 2)
MOST_SPARSE_RATIO = 200.0  # all over active; the sparsest presets have 32


def assumed(params_billion: float, active_params_billion: float | None = None, name: str = "") -> ModelSpec:
    """A typical decoder of this size: grouped queries, gated MLP; experts when fewer parameters are active.

    `origin` is `assumed`; the counted parameters are within 1 % of those asked for. InputError for a size that is
    no finite number between 0.001 and 100,000 (in 10**9), or an active part above the whole.
    """
    _check(params_billion, active_params_billion)
    active = params_billion if active_params_billion is None else active_params_billion
    if active < MOE_BELOW_RATIO * params_billion:
        spec = _mixture(params_billion * _BILLION, active * _BILLION)
    else:
        spec = _dense(params_billion * _BILLION)
    label = name or f"{params_billion:g}B" + (f"-A{active:g}B" if spec.experts else "")
    text = f"typical shape of {params_billion:g} B parameters"
    return replace(counted(spec), name=label, origin="assumed", source=text)


def _check(params_billion: float, active_params_billion: float | None) -> None:
    problems = []
    for key, value in (("params_billion", params_billion), ("active_params_billion", active_params_billion)):
        if value is None:
            continue
        if isinstance(value, bool) or not math.isfinite(value) or not LEAST_BILLION <= value <= MOST_BILLION:
            problems.append(
                Problem(path=key, what=f"{value!r} is no size of a model.", remedy="Give billions, from 0.001 to 1e5.")
            )
    if not problems and active_params_billion is not None and active_params_billion > params_billion:
        what = f"{active_params_billion:g} active parameters are more than all {params_billion:g} (in 10^9)."
        problems.append(Problem(path="active_params_billion", what=what, remedy="Exchange the two, or leave it out."))
    elif (
        not problems
        and active_params_billion is not None
        and params_billion > MOST_SPARSE_RATIO * active_params_billion
    ):
        what = f"{active_params_billion:g} active parameters are too few of {params_billion:g} (in 10^9)."
        problems.append(Problem(path="active_params_billion", what=what, remedy="Give the sizes of the model instead."))
    if problems:
        raise InputError(problems)


def _frame(params: float) -> ModelSpec:
    """Hidden size, layers, heads and vocabulary of a dense model of this size, with an MLP of size 1 yet.

    Heads come in eights and layers in fours from 2 B on, so that layouts divide them as they do real models.
    """
    large = params >= LARGE_FROM_BILLION * _BILLION
    vocab = LARGE_VOCAB if large else SMALL_VOCAB
    tables = 2 if large else 1
    hidden = (params * HIDDEN_PER_LAYER / LAYER_PARAMS_PER_HIDDEN_SQUARED) ** (1 / 3)
    for _ in range(40):
        left = max(params - tables * vocab * hidden, 0.2 * params)
        hidden = 0.5 * (hidden + (left * HIDDEN_PER_LAYER / LAYER_PARAMS_PER_HIDDEN_SQUARED) ** (1 / 3))
    heads = _multiple(hidden / HEAD_SIZE, 8 if large else 2)
    hidden_size = heads * HEAD_SIZE
    return ModelSpec(
        name="",
        layers=_multiple(hidden / HIDDEN_PER_LAYER, 4 if large else 2),
        hidden_size=hidden_size,
        heads=heads,
        kv_heads=KV_HEADS if heads % KV_HEADS == 0 else heads,
        head_size=HEAD_SIZE,
        ffn_size=1,
        vocab_size=min(vocab, max(256, round(0.3 * params / hidden_size))),
        tied_embeddings=not large,
        params=0.0,
        active_params=0.0,
    )


def _multiple(value: float, of: int) -> int:
    """The nearest multiple, at least one."""
    return max(of, of * round(value / of))


def _outside_mlp(spec: ModelSpec) -> float:
    tables = spec.vocab_size * spec.hidden_size * (1 if spec.tied_embeddings else 2)
    norms = (2 * spec.layers + 1) * spec.hidden_size
    return float(tables + norms + spec.layers * attention_params_per_layer(spec))


def _dense(params: float) -> ModelSpec:
    spec = _frame(params)
    size = (params - _outside_mlp(spec)) / (3 * spec.hidden_size * spec.layers)
    return replace(spec, ffn_size=_multiple(size, 64 if size > 6400 else 1))


def _mixture(params: float, active: float) -> ModelSpec:
    """Experts in every layer: their number from the shares of the active and the whole, their size from the whole."""
    spec = _frame(active)
    outside = _outside_mlp(spec)
    routed_active = max(active - outside, 0.1 * active)
    share = routed_active / (params - outside)
    fine = params >= FINE_EXPERTS_FROM_RATIO * active
    chosen = 8 if fine else 2 if share < 0.3 else max(1, min(15, round(16 * share)))
    experts = 16 if chosen > 2 and not fine else max(2 * chosen, _multiple(chosen / share, 8 if fine else 1))
    routers = spec.layers * experts * spec.hidden_size
    size = max(1, round((params - outside - routers) / (3 * spec.hidden_size * spec.layers * experts)))
    return replace(spec, ffn_size=size, experts=experts, experts_per_token=chosen, expert_ffn_size=size)
