"""M1–M4: bytes on a GPU by line, for the first and the last pipeline rank, and the fuller of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpu_opt.throughput.memory_training.rules import Rules
from gpu_opt.throughput.training.arrays import Array, Runs
from gpu_opt.throughput.training.compute import adapter_params
from gpu_opt.throughput.training.step import expert_cut, expert_params

LINES = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework")
_HALF_BYTES = 2.0
_ADAPTER_STATE_BYTES = 14.0  # of an adapter, beside its 2-byte weight: fp32 gradient share, master, two moments
_SELECTIVE_SHARE = 0.6  # of activations that stay when norms, activation functions or every other layer are computed again
_NF4_BYTES = 0.5625  # 4 bits and the scales of their blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of each line on the fullest rank; `allocated` is their sum, `device` what the part must hold."""

    lines: Mapping[str, Array]
    allocated: Array
    device: Array


def _stage_layers(runs: Runs) -> Array:
    return np.asarray(np.ceil(runs.dims.layers / runs.spread.pp - 1e-9))


def _state(runs: Runs, rules: Rules, embedding: Array) -> dict[str, Array]:
    """M1: weights, gradients and optimizer state of a stage that also holds `embedding` parameters."""
    dims, task, spread = runs.dims, runs.task, runs.spread
    share = _stage_layers(runs) / dims.layers
    experts = expert_params(runs)
    tables = dims.hidden * dims.vocab * (2.0 - dims.tied)
    body = np.maximum(dims.params - tables - experts, 0.0) * share / spread.tp
    body = body + experts * share / expert_cut(runs)
    outer = embedding / spread.tp
    shard = np.where(spread.zero >= 1, spread.shard, 1.0)
    full_shard = np.where(spread.zero >= 3, spread.shard, 1.0)
    half_shard = np.where(spread.zero >= 2, spread.shard, 1.0)
    base = task.trains_base
    adapters = adapter_params(dims, task) * share / spread.tp
    plain = np.where(base > 0, rules.weight_bytes, _HALF_BYTES)
    plain = np.where(task.quantised > 0, _NF4_BYTES, plain)
    stored = body * plain + outer * np.where(base > 0, rules.weight_bytes, _HALF_BYTES)
    layer = body / np.maximum(_stage_layers(runs), 1.0) * _HALF_BYTES
    gathered = np.where(spread.zero >= 3, rules.live_layers * layer, 0.0)
    unpacked = np.where(task.quantised > 0, layer, 0.0)
    trained = (body + outer) * base
    state = rules.master_bytes + rules.state_bytes
    return {
        "weights": stored / full_shard + gathered + unpacked + adapters * _HALF_BYTES,
        "gradients": trained * rules.gradient_bytes / half_shard,
        "optimizer": trained * state / shard + adapters * _ADAPTER_STATE_BYTES,
    }


def layer_activation_bytes(runs: Runs, rules: Rules) -> Array:
    """M2: bytes that one layer keeps per token for its backward pass, with fused attention and sequence parallel.

    With 8-bit multiplies the inputs of linear layers are kept in 8 bits.
    """
    dims, task, spread = runs.dims, runs.task, runs.spread
    low = task.linear_bits < 16.0
    attention = np.where(low, 7.0, 12.0) * dims.hidden + 2.0 * (dims.query_width + dims.kv_width)
    attention = attention + np.where(low, 3.0, 2.0) * dims.query_width
    routed = dims.experts_per_token * dims.expert_ffn + dims.shared_ffn
    wide = (dims.dense_layers * dims.ffn + dims.moe_layers * routed) / dims.layers
    moe_copies = 4.0 * dims.experts_per_token * dims.hidden * dims.moe_layers / dims.layers
    mlp = np.where(low, 2.25, 4.0) * (dims.mlp_matrices - 1.0) * wide + moe_copies
    kept = np.where(task.trains_base > 0, 1.0, rules.frozen_activation)
    return np.asarray((attention + mlp) / spread.tp * rules.activation * kept)


def _activations(runs: Runs, rules: Rules, in_flight: Array) -> Array:
    """M2, M3: activations of the microbatches in flight on a stage, under the recompute rule."""
    dims, spread, task = runs.dims, runs.spread, runs.task
    tokens = spread.micro_batch * task.sequence / spread.cp
    layers = _stage_layers(runs)
    layer = layer_activation_bytes(runs, rules)
    inputs = _HALF_BYTES * dims.hidden / spread.tp
    selective = _SELECTIVE_SHARE * layer
    kept = np.where(spread.recompute >= 2, inputs, np.where(spread.recompute >= 1, selective, layer))
    live = np.where(spread.recompute >= 2, layer, 0.0)
    return np.asarray(tokens * (layers * in_flight * kept + live))


def memory(runs: Runs, rules: Rules) -> Memory:
    """M4: bytes by line on the fullest pipeline rank."""
    dims, task, spread = runs.dims, runs.task, runs.spread
    tokens = spread.micro_batch * task.sequence / spread.cp
    microbatches = np.ceil(task.batch_sequences / (spread.micro_batch * spread.dp) - 1e-9)
    table = dims.hidden * dims.vocab
    alone = spread.pp <= 1
    first_table = np.where(alone, table * (2.0 - dims.tied), table)
    stages, virtual = spread.pp, spread.virtual_stages
    warm = np.where(virtual > 1, stages * (1.0 + (stages - 1.0) / (stages * virtual)), stages)
    logits = tokens * dims.vocab / spread.tp * rules.logit_bytes
    buffers = np.where(spread.tp > 1, 4.0 * tokens * dims.hidden, 0.0)
    fixed = {"buffers": buffers + 0.0 * logits, "framework": rules.base_bytes + 0.0 * logits}
    first = {
        **_state(runs, rules, np.asarray(first_table)),
        "activations": _activations(runs, rules, np.minimum(microbatches, warm)),
        "logits": np.where(alone, logits, 0.0),
        **fixed,
    }
    last = {
        **_state(runs, rules, np.asarray(first_table)),
        "activations": _activations(runs, rules, np.minimum(microbatches, 1.0)),
        "logits": logits,
        **fixed,
    }
    first_sum, last_sum = sum(first.values()), sum(last.values())
    worst = {name: np.asarray(np.where(first_sum >= last_sum, first[name], last[name])) for name in LINES}
    allocated = np.maximum(first_sum, last_sum)
    return Memory(
        lines=worst,
        allocated=np.asarray(allocated),
        device=np.asarray(allocated * rules.fragmentation + rules.context_bytes),
    )
