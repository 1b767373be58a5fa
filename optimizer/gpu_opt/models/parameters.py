"""Counting a transformer's parameters from its shape."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpu_opt.domain.model import ModelSpec
from gpu_opt.records import record


@record
class ParameterCount:
    """Parameters by part. Parts named `_per_layer` are of one layer, the others of the whole model.

    `expert_per_layer` is all routed experts of one MoE layer, `shared_per_layer` its shared experts.
    `total` and `active` are text only; `active` leaves out the routed experts that one token doesn't use.
    """

    embedding: int
    head: int
    attention_per_layer: int
    linear_per_layer: int
    dense_mlp_per_layer: int
    expert: int
    expert_per_layer: int
    shared_per_layer: int
    router_per_layer: int
    norms: int
    attention_layers: int
    linear_layers: int
    dense_layers: int
    moe_layers: int
    total: int
    active: int


def attention_params_per_layer(spec: ModelSpec) -> int:
    """P1: the projections of one attention layer, grouped-query or latent (MLA), with biases and gate."""
    hidden, heads, size = spec.hidden_size, spec.heads, spec.head_size
    if spec.mla_kv_rank:
        query_size, value_size = size + spec.mla_rope_size, spec.mla_v_head_size or size
        rank = spec.mla_q_rank
        query = hidden * rank + rank * heads * query_size if rank else hidden * heads * query_size
        down = hidden * (spec.mla_kv_rank + spec.mla_rope_size)
        up = spec.mla_kv_rank * heads * (size + value_size)
        return query + down + up + heads * value_size * hidden
    query = hidden * heads * size * (2 if spec.attention_gate else 1)
    key_value = 2 * hidden * spec.kv_heads * size
    bias = (heads + 2 * spec.kv_heads) * size if spec.attention_bias else 0
    return query + key_value + bias + heads * size * hidden


def mlp_params(spec: ModelSpec, ffn_size: int) -> int:
    """P1: one feed-forward block: gate, up and down, or up and down alone."""
    matrices = 3 if spec.gated_mlp else 2
    bias = (matrices - 1) * ffn_size + spec.hidden_size if spec.mlp_bias else 0
    return matrices * spec.hidden_size * ffn_size + bias


@cache
def count_parameters(spec: ModelSpec) -> ParameterCount:
    """P1: parameters by part; a total within 1 % of what is published (norms and biases in full, no MTP heads)."""
    hidden = spec.hidden_size
    moe_layers = spec.layers - spec.dense_layers if spec.experts else 0
    dense_layers = spec.layers - moe_layers
    attention_layers = spec.layers - spec.linear_layers
    table = spec.vocab_size * hidden
    embedding = table + spec.learned_positions * hidden
    head = 0 if spec.tied_embeddings else table
    attention = attention_params_per_layer(spec)
    linear = round(spec.linear_layer_params)
    dense = mlp_params(spec, spec.ffn_size) if dense_layers else 0
    expert = mlp_params(spec, spec.expert_ffn_size or spec.ffn_size) if moe_layers else 0
    shared_size = spec.shared_expert_ffn_size or spec.expert_ffn_size or spec.ffn_size
    shared = spec.shared_experts * mlp_params(spec, shared_size) if moe_layers else 0
    router = hidden * spec.experts
    norms = (spec.norms_per_layer * spec.layers + 1) * hidden
    always = (
        embedding + head + norms
        + attention_layers * attention + spec.linear_layers * linear
        + dense_layers * dense + moe_layers * (shared + router)
    )  # fmt: skip
    return ParameterCount(
        embedding=embedding,
        head=head,
        attention_per_layer=attention,
        linear_per_layer=linear,
        dense_mlp_per_layer=dense,
        expert=expert,
        expert_per_layer=spec.experts * expert,
        shared_per_layer=shared,
        router_per_layer=router,
        norms=norms,
        attention_layers=attention_layers,
        linear_layers=spec.linear_layers,
        dense_layers=dense_layers,
        moe_layers=moe_layers,
        total=always + moe_layers * spec.experts * expert,
        active=always + moe_layers * spec.experts_per_token * expert,
    )


def counted(spec: ModelSpec) -> ModelSpec:
    """The spec with `params` and `active_params` set to what its shape holds."""
    count = count_parameters(spec)
    return replace(spec, params=float(count.total), active_params=float(count.active))
