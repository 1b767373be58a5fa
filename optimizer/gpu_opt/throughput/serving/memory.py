"""What a replica holds per GPU, and how many sequences fit (I2)."""

from __future__ import annotations

import math

from gpu_opt.domain.option import MemoryLine
from gpu_opt.records import record
from gpu_opt.throughput.serving.engines import Engine
from gpu_opt.throughput.serving.replica import Replica
from gpu_opt.units import GB_BYTES, GIB_BYTES

_MLA_BLOCK_TOKENS = 64
_HEAD_BYTES = 2.0
_WORKSPACE_FLOOR_GB = 0.5
_GRAPH_GB = 0.35
_GRAPH_WIDE_GB = 0.4
_WORKSPACE_SEQUENCES = 256


@record
class MemoryNeed:
    """Bytes on the fullest GPU of a replica. `pool_bytes` is what is left for KV, negative when nothing fits."""

    weights_bytes: float
    workspace_bytes: float
    graph_bytes: float
    usable_bytes: float
    pool_bytes: float


def weights_bytes(replica: Replica) -> float:
    """I2: weights on the fullest rank. Embedding and head stay at 16 bits; attention is replicated over dp ranks."""
    profile, plan, layout = replica.profile, replica.plan, replica.layout
    stage = math.ceil(profile.layers / layout.pp) / profile.layers
    shared = profile.attention_params * replica.attention_bytes + profile.dense_params * plan.format.linear_bytes
    experts = profile.expert_params * plan.format.linear_bytes
    head_bytes = max(_HEAD_BYTES, 0.0) if plan.format.linear_bytes <= 2 else plan.format.linear_bytes
    tables = (profile.embedding_params, profile.head_params)
    table = (max(tables) if layout.pp > 1 else sum(tables)) * head_bytes
    return stage * shared / layout.tp + stage * experts / (layout.tp * layout.dp) + table / layout.tp


def kv_bytes_per_token(replica: Replica) -> float:
    """I2: KV bytes of one token on one GPU, all layers of a stage, full-attention layers only."""
    profile, layout = replica.profile, replica.layout
    shards = 1.0 if profile.is_mla else min(layout.tp, max(profile.kv_heads, 1.0))
    return profile.full_layers / layout.pp * profile.kv_elements * replica.kv_bytes / shards


def sequence_bytes(replica: Replica, engine: Engine, tokens: float) -> float:
    """I2: what one sequence of `tokens` holds on one GPU: whole blocks, windows capped, constant state added."""
    profile, layout = replica.profile, replica.layout
    block = _MLA_BLOCK_TOKENS if profile.is_mla else engine.block_tokens
    rounded = math.ceil(tokens / block) * block
    per_layer = profile.kv_elements * replica.kv_bytes
    shards = 1.0 if profile.is_mla else min(layout.tp, max(profile.kv_heads, 1.0))
    windowed = min(rounded, math.ceil(profile.window_tokens / block) * block) if profile.window_layers else 0.0
    held = profile.full_layers * rounded + profile.window_layers * windowed
    return (held * per_layer / shards + profile.state_bytes / layout.tp) / layout.pp


def memory_need(replica: Replica, engine: Engine, memory_reserve_fraction: float | None) -> MemoryNeed:
    """I2: weights, workspace, graphs and the KV pool under the engine's memory fraction, or the workload's reserve."""
    profile, layout = replica.profile, replica.layout
    device = replica.accelerator.memory_gib * GIB_BYTES * replica.gpu_fraction
    weights = weights_bytes(replica)
    tokens = engine.max_batched_tokens
    activations = tokens * (4.0 * profile.hidden_size + 2.0 * profile.ffn_size / layout.tp) * 2.0
    logits = profile.vocab_size * _WORKSPACE_SEQUENCES * 4.0 / layout.tp
    workspace = max(activations + logits, _WORKSPACE_FLOOR_GB * GB_BYTES)
    graphs = engine.context_gb + (_GRAPH_GB if layout.tp > 1 else 0.0) + (_GRAPH_WIDE_GB if layout.tp >= 4 else 0.0)
    graph_bytes = graphs * GB_BYTES
    fixed = weights + workspace + graph_bytes
    if memory_reserve_fraction is not None:
        usable = device * (1.0 - memory_reserve_fraction)
    elif engine.fraction_of == "free":
        usable = fixed + engine.memory_fraction * max(device - fixed, 0.0) if device > fixed else device
    else:
        usable = device * engine.memory_fraction
    return MemoryNeed(
        weights_bytes=weights,
        workspace_bytes=workspace,
        graph_bytes=graph_bytes,
        usable_bytes=usable,
        pool_bytes=usable - fixed,
    )


def max_concurrency(
    replica: Replica,
    engine: Engine,
    need: MemoryNeed,
    *,
    mean_tokens: float,
    peak_tokens: float,
    sd_tokens: float = 0.0,
) -> int:
    """I2: sequences that fit at one time in the whole replica, 0 when not even one fits at its full length.

    In steady state a sequence holds `mean_tokens` on average (an engine that
    never evicts reserves its peak); a spread of lengths adds sd/√B to that mean.
    """
    if need.pool_bytes < sequence_bytes(replica, engine, peak_tokens):
        return 0
    held = peak_tokens if engine.admits_by == "peak" else mean_tokens
    fits = need.pool_bytes / sequence_bytes(replica, engine, held)
    if sd_tokens > 0:
        padded = held + sd_tokens / math.sqrt(max(fits, 1.0))
        fits = need.pool_bytes / sequence_bytes(replica, engine, padded)
    per_rank = min(max(int(fits), 1), engine.max_sequences)
    return per_rank * replica.layout.dp


def memory_lines(
    replica: Replica, engine: Engine, need: MemoryNeed, sequences: float, tokens: float
) -> tuple[MemoryLine, ...]:
    """The lines of the fullest GPU with `sequences` in the replica at `tokens` each."""
    kv = sequences / replica.layout.dp * sequence_bytes(replica, engine, tokens)
    return (
        MemoryLine(label="weights", gib=need.weights_bytes / GIB_BYTES),
        MemoryLine(label="KV cache", gib=min(kv, max(need.pool_bytes, 0.0)) / GIB_BYTES),
        MemoryLine(label="activations", gib=need.workspace_bytes / GIB_BYTES),
        MemoryLine(label="CUDA graphs and context", gib=need.graph_bytes / GIB_BYTES),
    )
