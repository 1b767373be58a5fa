"""What a model costs to serve, counted from its shape: parameters by kind, KV elements, attention work."""

from __future__ import annotations

from functools import cache

from gpu_opt.domain.model import ModelSpec
from gpu_opt.records import record


@record
class ServingProfile:
    """Parameters by kind (whole model) and per-layer sizes.

    `dense_params` are the MLPs and shared experts that every token uses, `expert_params` all routed experts,
    `active_expert_params` those that one token uses. `kv_elements` are per token and layer; `score_flops` are per
    query token, context token and layer, `decode_score_flops` the same in decoding (MLA works in its compressed space).
    `attended_tokens` is how many tokens a query of sparse attention looks at, 0 where all.
    """

    name: str
    layers: float
    hidden_size: float
    vocab_size: float
    ffn_size: float
    attention_params: float
    dense_params: float
    expert_params: float
    active_expert_params: float
    embedding_params: float
    head_params: float
    experts: float
    experts_per_token: float
    moe_layers: float
    full_layers: float
    window_layers: float
    window_tokens: float
    linear_layers: float
    kv_elements: float
    kv_heads: float
    is_mla: bool
    score_flops: float
    decode_score_flops: float
    state_bytes: float
    attended_tokens: float
    max_positions: float
    native_precision: str

    @property
    def params(self) -> float:
        """All parameters that must be held."""
        return self.attention_params + self.dense_params + self.expert_params + self.embedding_params + self.head_params

    @property
    def active_params(self) -> float:
        """Parameters that multiply one token (the output head counted, the embedding look-up not)."""
        return self.attention_params + self.dense_params + self.active_expert_params + self.head_params


def _attention_params_per_layer(spec: ModelSpec) -> float:
    hidden, heads, size = spec.hidden_size, spec.heads, spec.head_size
    if not spec.mla_kv_rank:
        return hidden * size * (2 * heads + 2 * spec.kv_heads)
    query_size, value_size = size + spec.mla_rope_size, spec.mla_v_head_size or size
    rank = spec.mla_q_rank
    query = hidden * rank + rank * heads * query_size if rank else hidden * heads * query_size
    key_value = hidden * (spec.mla_kv_rank + spec.mla_rope_size) + spec.mla_kv_rank * heads * (size + value_size)
    return query + key_value + heads * value_size * hidden


def _score_flops(spec: ModelSpec) -> tuple[float, float]:
    if not spec.mla_kv_rank:
        flops = 4.0 * spec.heads * spec.head_size
        return flops, flops
    value_size = spec.mla_v_head_size or spec.head_size
    prefill = 2.0 * spec.heads * (spec.head_size + spec.mla_rope_size + value_size)
    return prefill, 2.0 * spec.heads * (2 * spec.mla_kv_rank + spec.mla_rope_size)


@cache
def serving_profile(spec: ModelSpec) -> ServingProfile:
    """I2: count the model. What the shape leaves unexplained of `spec.params` is counted with its largest part."""
    matrices = 3 if spec.gated_mlp else 2
    moe_layers = spec.layers - spec.dense_layers if spec.experts else 0
    dense_layers = spec.layers - moe_layers
    expert_size = spec.expert_ffn_size or spec.ffn_size
    one_expert = matrices * spec.hidden_size * expert_size
    shared = spec.shared_experts * matrices * spec.hidden_size * (spec.shared_expert_ffn_size or expert_size)
    attention = float(_attention_params_per_layer(spec) * spec.layers)
    dense = float(matrices * spec.hidden_size * spec.ffn_size * dense_layers + moe_layers * shared)
    experts = float(moe_layers * spec.experts * one_expert)
    active = float(moe_layers * spec.experts_per_token * one_expert)
    table = float(spec.vocab_size * spec.hidden_size)
    embedding = 0.0 if spec.tied_embeddings else table
    weights = spec.params + spec.vision_params
    if experts:
        dense += max(spec.active_params - (attention + dense + active + embedding + table), 0.0)
        experts = max(weights - (attention + dense + embedding + table), 0.5 * experts)
    else:
        dense = max(weights - (attention + embedding + table), 0.5 * dense)
    prefill_score, decode_score = _score_flops(spec)
    is_mla = spec.mla_kv_rank > 0
    return ServingProfile(
        name=spec.name,
        layers=float(spec.layers),
        hidden_size=float(spec.hidden_size),
        vocab_size=float(spec.vocab_size),
        ffn_size=float(spec.ffn_size or expert_size),
        attention_params=float(attention),
        dense_params=float(dense),
        expert_params=experts,
        active_expert_params=active,
        embedding_params=embedding,
        head_params=table,
        experts=float(spec.experts),
        experts_per_token=float(spec.experts_per_token),
        moe_layers=float(moe_layers),
        full_layers=float(spec.layers - spec.sliding_layers - spec.linear_layers),
        window_layers=float(spec.sliding_layers),
        window_tokens=float(spec.sliding_window),
        linear_layers=float(spec.linear_layers),
        kv_elements=float(spec.mla_kv_rank + spec.mla_rope_size) if is_mla else 2.0 * spec.kv_heads * spec.head_size,
        kv_heads=float(spec.kv_heads),
        is_mla=is_mla,
        score_flops=prefill_score,
        decode_score_flops=decode_score,
        state_bytes=float(spec.linear_state_bytes),
        attended_tokens=float(spec.sparse_attention_tokens),
        max_positions=float(spec.max_positions),
        native_precision=spec.native_precision,
    )
