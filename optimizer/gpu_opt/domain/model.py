"""The architecture of a language model, as throughput and memory need it."""

from __future__ import annotations

from gpu_opt.records import record


@record
class ModelSpec:
    """Shape of a transformer. Counts are per model, sizes are elements.

    `ffn_size` is the dense MLP's; `expert_ffn_size` one expert's. `dense_layers` of an MoE model keep a dense MLP.
    MLA models set `mla_kv_rank` (compressed KV, DeepSeek: 512) and `mla_rope_size` (64), `mla_q_rank` (0 = no query
    compression) and `mla_v_head_size`; their `head_size` is the query's content part (128).
    `sliding_window` is in tokens, 0 for none; `sliding_layers` counts layers that use it.
    `linear_layers` hold a constant state in place of a KV cache (Mamba, linear or gated-delta attention), of
    `linear_state_bytes` per sequence over all of them; `linear_layer_params` are one such layer's mixer (0 for layers
    without any). `attention_gate` adds a gate as wide as the queries. `sparse_attention_tokens` is how many tokens
    a query attends to at most, 0 for all; the KV cache holds all of them nevertheless.
    `active_params` are all but the routed experts that one token doesn't use (a dense model's are `params`).
    `vision_params` are parameters of towers outside the text model (0 for text only).
    `origin` tells where the shape comes from: preset, config, given or assumed (from the parameter count alone).
    """

    name: str
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_size: int
    ffn_size: int
    vocab_size: int
    gated_mlp: bool = True
    tied_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    learned_positions: int = 0
    norms_per_layer: int = 2
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    expert_ffn_size: int = 0
    shared_expert_ffn_size: int = 0
    dense_layers: int = 0
    mla_kv_rank: int = 0
    mla_q_rank: int = 0
    mla_rope_size: int = 0
    mla_v_head_size: int = 0
    sliding_window: int = 0
    sliding_layers: int = 0
    linear_layers: int = 0
    linear_state_bytes: int = 0
    linear_layer_params: float = 0.0
    attention_gate: bool = False
    sparse_attention_tokens: int = 0
    max_positions: int = 0
    params: float
    active_params: float
    vision_params: float = 0.0
    native_precision: str = "bf16"
    origin: str = "preset"
    source: str = ""
