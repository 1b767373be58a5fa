"""One engine step: what decoding a batch and prefilling a prompt take. All functions work on arrays of replicas."""

from __future__ import annotations

import numpy as np

from gpu_opt.throughput.serving.replica import Array, Factors, Facts

_US = 1e-6
_ACTIVATION_BYTES = 2.0
_LARGE_BATCH = 512.0
"""Sequences at which half of the gain of large decode GEMMs is reached."""


def experts_touched_fraction(facts: Facts, factors: Factors, tokens: Array) -> Array:
    """I3: share of the experts that a step of `tokens` reads, 1 − (1 − k/E)^(tokens × coverage)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(facts.experts > 0, facts.experts_per_token / np.maximum(facts.experts, 1.0), 1.0)
    miss = np.power(np.maximum(1.0 - share, 1e-12), np.maximum(tokens * factors.expert_coverage, 1.0))
    return np.maximum(1.0 - miss, share)


def weight_seconds(facts: Facts, factors: Factors, tokens: Array) -> Array:
    """I3: time to read the weights that a step of `tokens` touches, on one GPU through a pipeline's whole depth."""
    shared = facts.attention_params * facts.attention_bytes + facts.dense_params * facts.linear_bytes
    shared = (shared + facts.head_params * 2.0) / facts.tp
    experts = facts.expert_params * facts.linear_bytes / facts.expert_ranks
    experts = experts * experts_touched_fraction(facts, factors, tokens) / factors.expert_bandwidth
    return (shared + experts) / (facts.bandwidth * factors.weight_bandwidth)


def kv_read_bytes(facts: Facts, context: Array) -> Array:
    """I3: KV and state bytes per sequence and GPU at a mean context of `context` tokens."""
    seen = np.minimum(context, facts.attended_tokens)
    tokens = facts.full_layers * seen + facts.window_layers * np.minimum(context, facts.window_tokens)
    return tokens * facts.kv_elements * facts.kv_bytes / facts.kv_shards + facts.state_bytes / facts.tp


def communication_seconds(facts: Facts, factors: Factors, tokens: Array) -> Array:
    """I4: two all-reduces a layer over tp, and two all-to-alls a MoE layer where experts span attention-DP ranks."""
    hops = np.where(facts.tp > 1, 1.0 + factors.hop_growth * (np.log2(np.maximum(facts.tp, 2.0)) - 1.0), 0.0)
    hops = hops * factors.hop_us * _US
    volume = tokens * facts.hidden * _ACTIVATION_BYTES
    rate = facts.link * factors.link_bandwidth
    reduce = 2.0 * facts.layers * (hops + 2.0 * (facts.tp - 1.0) / facts.tp * volume / rate)
    ranks = facts.expert_ranks
    spans = (facts.dp > 1) & (facts.experts > 0)
    sent = volume * facts.experts_per_token * (ranks - 1.0) / ranks / facts.tp
    sending = sent / (facts.exchange * factors.exchange_bandwidth)
    exchange = 2.0 * facts.moe_layers * (factors.exchange_us * _US + sending)
    return reduce + np.where(spans, exchange, 0.0)


def pipeline_hop_seconds(facts: Facts, factors: Factors, tokens: Array) -> Array:
    """I4: handing `tokens` activations from stage to stage."""
    bytes_sent = tokens * facts.hidden * _ACTIVATION_BYTES
    return (facts.pp - 1.0) * (4.0 * factors.hop_us * _US + bytes_sent / (facts.link * factors.link_bandwidth))


def decode_seconds(facts: Facts, factors: Factors, batch: Array, context: Array, width: Array | float = 1.0) -> Array:
    """I5: time of one step that gives each of `batch` sequences a token, at a mean context of `context` tokens.

    A pipeline holds batch/pp sequences a stage, so the step is one pass of that share through all layers.
    `width` is the number of tokens verified per sequence (speculative decoding), 1 without.
    """
    sequences = np.maximum(batch / (facts.dp * facts.decode_stages), 1.0)
    rank_tokens = sequences * width
    moe_tokens = np.maximum(batch / facts.decode_stages, 1.0) * width
    memory = weight_seconds(facts, factors, moe_tokens)
    memory = memory + sequences * kv_read_bytes(facts, context) / (facts.bandwidth * factors.kv_bandwidth)
    dense = facts.attention_params + facts.dense_params + facts.head_params
    flops = 2.0 * rank_tokens * dense / facts.tp
    flops = flops + 2.0 * moe_tokens * facts.active_expert_params / facts.expert_ranks / factors.expert_flops
    window = facts.window_layers * np.minimum(context, facts.window_tokens)
    score = (
        rank_tokens
        * (facts.full_layers * np.minimum(context, facts.attended_tokens) + window)
        * facts.decode_score_flops
        / facts.tp
    )
    grown = 1.0 + factors.decode_growth * rank_tokens / (rank_tokens + _LARGE_BATCH)
    compute = flops / (facts.peak * factors.decode_flops * grown) + score / (facts.peak_16bit * factors.score_flops)
    core = np.maximum(memory, compute) + factors.overlap * np.minimum(memory, compute)
    fixed = facts.layers * factors.layer_us + facts.moe_layers * factors.moe_layer_us + factors.step_us
    host = (fixed + sequences * factors.sequence_us) * _US
    comm = communication_seconds(facts, factors, rank_tokens) + pipeline_hop_seconds(facts, factors, rank_tokens)
    return core + comm + host


def prefill_flops(facts: Facts, tokens: Array, prefix: Array | float) -> tuple[Array, Array]:
    """I6: (dense and attention, expert) FLOPs of `tokens` new tokens behind `prefix` cached ones, whole replica."""
    dense = 2.0 * tokens * (facts.attention_params + facts.dense_params) + 2.0 * facts.head_params
    seen = prefix * tokens + 0.5 * tokens * tokens
    window = np.where(tokens + prefix > facts.window_tokens, tokens * facts.window_tokens, seen)
    seen = np.minimum(seen, tokens * facts.attended_tokens)
    score = facts.score_flops * (facts.full_layers * seen + facts.window_layers * np.minimum(window, seen))
    return dense + score, 2.0 * tokens * facts.active_expert_params


def _prefill_rate(facts: Facts, factors: Factors, tokens: Array) -> Array:
    efficiency = factors.prefill_flops * tokens / (tokens + factors.prefill_half_tokens)
    return facts.peak * np.maximum(efficiency, 1e-6)


def prefill_seconds(facts: Facts, factors: Factors, tokens: Array, prefix: Array | float = 0.0) -> Array:
    """I6: latency of prefilling one prompt alone on an idle replica; chunks of it follow each other through stages."""
    dense, experts = prefill_flops(facts, tokens, prefix)
    compute = (dense / facts.tp + experts / facts.expert_ranks / factors.expert_flops) / _prefill_rate(
        facts, factors, tokens
    )
    chunks = np.maximum(tokens / facts.chunk_tokens, 1.0)
    compute = compute * (chunks + facts.pp - 1.0) / (facts.pp * chunks)
    memory = weight_seconds(facts, factors, np.minimum(tokens, facts.chunk_tokens))
    core = np.maximum(memory, compute)
    fixed = facts.layers * factors.layer_us + facts.moe_layers * factors.moe_layer_us + factors.step_us
    comm = communication_seconds(facts, factors, tokens) + pipeline_hop_seconds(facts, factors, tokens)
    return core + comm + fixed * _US


def prefill_work_seconds(facts: Facts, factors: Factors, tokens: Array, prefix: Array | float = 0.0) -> Array:
    """I6: time that one prompt takes from a loaded replica, all its ranks and stages busy with prompts of their own.

    The weights are read once a step for decode and prefill together, so only compute and communication count.
    """
    dense, experts = prefill_flops(facts, tokens, prefix)
    batched = tokens + 1024.0
    compute = (dense + experts / factors.expert_flops) / facts.tp / _prefill_rate(facts, factors, batched)
    comm = communication_seconds(facts, factors, tokens)
    mixed = facts.layers * factors.mixed_us * _US
    return (factors.prefill_share * (compute + comm) + mixed) / (facts.dp * facts.pp)
