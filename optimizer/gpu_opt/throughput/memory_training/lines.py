"""M1–M4: bytes on a GPU by line, for the first and the last pipeline rank, and the fuller of the two."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpu_opt.records import record
from gpu_opt.throughput.memory_training.rules import Rules
from gpu_opt.throughput.training.arrays import Array, Runs
from gpu_opt.throughput.training.compute import adapter_params
from gpu_opt.throughput.training.step import expert_cut, expert_params

LINES = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework")
_HALF_BYTES = 2.0
_ADAPTER_STATE_BYTES = 14.0  # of an adapter, beside its 2-byte weight: fp32 gradient share, master, two moments
_SELECTIVE_SHARE = 0.6  # of activations that stay when norms, activation functions or some layers are computed again
_EXPERTS_LIVE_SHARE = 0.6  # of a live mixture layer in eager stacks, whose experts run one after the other
_NF4_BYTES = 0.53  # 4 bits and the scales of their blocks


@record
class Memory:
    """Bytes of each line on the fullest rank; `allocated` is their sum, `device` what the part must hold.

    `first` is allocated on the first pipeline rank.
    """

    lines: Mapping[str, Array]
    allocated: Array
    first: Array
    device: Array


def _stage_layers(runs: Runs, rules: Rules) -> Array:
    """Layers of the first stage; stacks that balance computation give the last one fewer, for its head."""
    dims, spread = runs.dims, runs.spread
    layer = dims.attention_weights + dims.mlp_matrices * dims.hidden * dims.ffn
    head = np.where((rules.balances_head > 0) & (spread.pp > 1), dims.hidden * dims.vocab / layer, 0.0)
    return np.asarray(np.minimum(dims.layers, np.ceil((dims.layers + head) / spread.pp - 1e-9)))


def _state(runs: Runs, rules: Rules, embedding: Array) -> dict[str, Array]:
    """M1: weights, gradients, optimizer state and the step's copies of a stage that also holds `embedding`."""
    dims, task, spread = runs.dims, runs.task, runs.spread
    share = _stage_layers(runs, rules) / dims.layers
    experts = expert_params(runs)
    tables = dims.hidden * dims.vocab * (2.0 - dims.tied)
    body = np.maximum(dims.params - tables - experts, 0.0) * share / spread.tp
    body = body + experts * share / expert_cut(runs)
    outer = embedding / spread.tp
    shard = np.where(spread.zero >= 1, spread.shard, 1.0)
    full_shard = np.where(spread.zero >= 3, spread.shard, 1.0)
    half_shard = np.where(spread.zero >= 2, spread.shard, 1.0)
    widened = np.where((spread.zero >= 3) & (spread.shard > 1), rules.shard_widening, 1.0)
    adapters = adapter_params(dims, task) * share / spread.tp
    weight = np.where(task.trains_base > 0, rules.weight_bytes * widened, _HALF_BYTES)
    weight = np.where(task.linear_bits < 16.0, np.minimum(weight, rules.low_weight_bytes), weight)
    plain = np.where(task.quantised > 0, _NF4_BYTES, weight)
    layer = body / np.maximum(_stage_layers(runs, rules), 1.0) * np.minimum(plain, _HALF_BYTES)
    gathered = np.where(spread.zero >= 3, rules.live_layers * layer, 0.0)
    widest = np.maximum(dims.ffn, dims.expert_ffn) * dims.hidden / spread.tp
    unpacked = np.where(task.quantised > 0, widest * _HALF_BYTES, 0.0)
    trained = (body + outer) * task.trains_base * widened
    state = rules.master_bytes + rules.state_bytes
    return {
        "weights": (body * plain + outer * weight) / full_shard + gathered + unpacked + adapters * _HALF_BYTES,
        "gradients": trained * rules.gradient_bytes / half_shard,
        "optimizer": trained * state / shard + adapters * _ADAPTER_STATE_BYTES,
        "step": trained * rules.step_bytes / shard,
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
    gathered = np.where(spread.tp > 1, rules.gathered_bytes * dims.hidden * (1.0 - 1.0 / spread.tp), 0.0)
    return np.asarray(((attention + mlp) / spread.tp + gathered) * rules.activation * kept)


@record
class _Kept:
    """Bytes that all layers of a stage keep for their backward pass, and those of the one that is computed again."""

    kept: Array
    live: Array


def _activations(runs: Runs, rules: Rules, in_flight: Array) -> _Kept:
    """M2, M3: activations of the microbatches in flight on a stage, under the recompute rule."""
    dims, spread, task = runs.dims, runs.spread, runs.task
    tokens = spread.micro_batch * task.sequence / spread.cp
    layer = layer_activation_bytes(runs, rules)
    inputs = _HALF_BYTES * dims.hidden / spread.tp
    full = spread.recompute >= 2
    kept = np.where(full, inputs, np.where(spread.recompute >= 1, _SELECTIVE_SHARE * layer, layer))
    one_by_one = (dims.moe_layers > 0) & (rules.full_live > 1.0)
    live = np.where(full, rules.full_live * layer * np.where(one_by_one, _EXPERTS_LIVE_SHARE, 1.0), 0.0)
    return _Kept(
        kept=np.asarray(tokens * _stage_layers(runs, rules) * in_flight * kept), live=np.asarray(tokens * live)
    )


def _rank(
    runs: Runs, rules: Rules, state: Mapping[str, Array], in_flight: Array, logits: Array, microbatches: Array
) -> dict[str, Array]:
    """M4: bytes by line on one stage at its fullest moment.

    A layer that is computed again and the logits never live at the same time. Stacks that drop gradients at the step
    have none yet when the first backward starts, and all of them, with the step's copies, when it ends.
    """
    dims, spread, task = runs.dims, runs.spread, runs.task
    acts = _activations(runs, rules, in_flight)
    gradients, copies = state["gradients"], state["step"]
    persist = (rules.gradients_persist > 0) | (microbatches > 1)
    busy = acts.kept + np.maximum(acts.live, logits)
    start = np.where(persist, gradients, 0.0) + busy
    end = gradients + np.maximum(acts.live, copies)
    at_start = start >= end
    shown = np.where(
        at_start, acts.kept + np.where(acts.live > logits, acts.live, 0.0), acts.live * (acts.live > copies)
    )
    tokens = spread.micro_batch * task.sequence / spread.cp
    return {
        "weights": state["weights"],
        "gradients": np.asarray(np.where(at_start & ~persist, 0.0, gradients)),
        "optimizer": np.asarray(state["optimizer"] + np.where(~at_start & (copies >= acts.live), copies, 0.0)),
        "activations": np.asarray(shown),
        "logits": np.asarray(np.where(at_start & (logits >= acts.live), logits, 0.0)),
        "buffers": np.asarray(np.where(spread.tp > 1, 4.0 * tokens * dims.hidden, 0.0)),
        "framework": rules.base_bytes,
    }


def memory(runs: Runs, rules: Rules) -> Memory:
    """M4: bytes by line on the fullest pipeline rank."""
    dims, task, spread = runs.dims, runs.task, runs.spread
    tokens = spread.micro_batch * task.sequence / spread.cp
    microbatches = np.ceil(task.batch_sequences / (spread.micro_batch * spread.dp) - 1e-9)
    stages, virtual = spread.pp, spread.virtual_stages
    warm = np.where(virtual > 1, stages * (1.0 + (stages - 1.0) / (stages * virtual)), stages)
    logits = tokens * dims.vocab / spread.tp * rules.logit_bytes
    logits = logits + rules.head_bytes * tokens * dims.hidden * (1.0 - 1.0 / spread.tp)
    none = np.zeros_like(logits)
    first_logits = np.where(stages <= 1, logits, none)
    table = dims.hidden * dims.vocab
    tables = np.where(stages <= 1, table * (2.0 - dims.tied), table)
    state = _state(runs, rules, np.asarray(tables))
    first = _rank(runs, rules, state, np.minimum(microbatches, warm), np.asarray(first_logits), microbatches)
    last = _rank(runs, rules, state, np.minimum(microbatches, 1.0), logits, microbatches)
    first_sum = np.asarray(sum(first.values()))
    last_sum = np.asarray(sum(last.values()))
    worst = {name: np.asarray(np.where(first_sum >= last_sum, first[name], last[name])) for name in LINES}
    allocated = np.maximum(first_sum, last_sum)
    return Memory(
        lines=worst,
        allocated=np.asarray(allocated),
        first=first_sum,
        device=np.asarray(allocated * rules.fragmentation + rules.context_bytes),
    )
