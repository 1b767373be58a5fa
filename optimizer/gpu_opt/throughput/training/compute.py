"""T1–T3: the arithmetic of one microbatch on one rank, without communication."""

from __future__ import annotations

import numpy as np

from gpu_opt.records import record
from gpu_opt.throughput.training.arrays import Array, Device, Dims, Runs, Task

_HALF_BYTES = 2.0
_CAUSAL_BACKWARD = 2.5  # backward over forward FLOPs of fused attention: it computes the scores again


def attended_tokens(dims: Dims, task: Task) -> Array:
    """Tokens that a query attends to on average over its causal context and over the layers."""
    sequence = task.sequence
    window = np.where(dims.window > 0, np.minimum(dims.window, sequence), sequence)
    windowed = window * (1.0 - window / (2.0 * sequence))
    full_layers = dims.layers - dims.window_layers - dims.scoreless_layers
    return (full_layers * sequence / 2.0 + dims.window_layers * windowed) / dims.layers


def linear_weights_per_token(dims: Dims) -> Array:
    """Weights that one token multiplies, head included and embedding look-up not."""
    dense = dims.dense_layers * dims.mlp_matrices * dims.hidden * dims.ffn
    routed = dims.experts_per_token * dims.expert_ffn + dims.shared_ffn
    moe = dims.moe_layers * dims.mlp_matrices * dims.hidden * routed
    return dims.layers * dims.attention_weights + dense + moe + dims.hidden * dims.vocab


def adapter_params(dims: Dims, task: Task) -> Array:
    """Parameters of rank-r adapters on the four attention projections."""
    widths = 4.0 * dims.hidden + 2.0 * dims.query_width + dims.kv_width
    return dims.layers * task.lora_rank * widths * (1.0 - task.trains_base)


def model_flops_per_token(dims: Dims, task: Task) -> Array:
    """T1: FLOPs per trained token: 6 per weight (4 for a frozen base) and three causal attention passes."""
    linear = linear_weights_per_token(dims)
    attention = 2.0 * dims.layers * dims.score_width * attended_tokens(dims, task)
    passes = 2.0 + task.trains_base
    return 2.0 * passes * linear + 6.0 * adapter_params(dims, task) + 3.0 * attention


@record
class LayerTime:
    """Seconds of an average layer for one microbatch on one rank: forward parts, and the sums of both passes."""

    forward: Array
    both: Array
    attention_both: Array


def _shape_loss(rows: Array, columns: Array, depth: Array, device: Device) -> Array:
    """How much longer a multiply takes than at its best rate: rows × depth times depth × columns."""
    return 1.0 + device.half_rows / rows + device.half_sides / columns + device.half_sides / depth


def _linear_seconds(runs: Runs, tokens: Array) -> Array:
    """T2: forward seconds of an average layer's multiplies."""
    dims, device, spread = runs.dims, runs.device, runs.spread
    tp = spread.tp
    rate = device.linear_flops
    qkv = dims.query_width + dims.kv_width
    attention = 2.0 * tokens * dims.attention_weights / (tp * rate)
    attention = attention * _shape_loss(tokens, qkv / tp, dims.hidden, device)
    up = dims.mlp_matrices - 1.0
    dense = 2.0 * tokens * dims.mlp_matrices * dims.hidden * dims.ffn / (tp * rate)
    dense = dense * _shape_loss(tokens, up * np.maximum(dims.ffn, 1.0) / tp, dims.hidden, device)
    per_layer = attention + dense * dims.dense_layers / dims.layers
    if np.any(dims.moe_layers > 0):
        per_layer = per_layer + _expert_seconds(runs, tokens) * dims.moe_layers / dims.layers
    return np.asarray(per_layer)


def _expert_seconds(runs: Runs, tokens: Array) -> Array:
    """T2 for a mixture layer: each expert multiplies only the tokens that are routed to it."""
    dims, device, spread = runs.dims, runs.device, runs.spread
    experts = np.maximum(dims.experts, 1.0)
    ffn = np.maximum(dims.expert_ffn, 1.0)
    cut = np.where(spread.ep > 1, 1.0, spread.tp)  # without expert parallelism each expert is cut like a dense layer
    rows = tokens * spread.ep * dims.experts_per_token / experts * np.where(spread.ep > 1, 1.0 / spread.tp, 1.0)
    flops = 2.0 * tokens * dims.mlp_matrices * dims.hidden * dims.expert_ffn * dims.experts_per_token
    up = dims.mlp_matrices - 1.0
    loss = _shape_loss(np.maximum(rows, 1.0), up * ffn / cut, dims.hidden, device)
    routed = flops / (spread.tp * device.linear_flops) * loss
    shared = 2.0 * tokens * dims.mlp_matrices * dims.hidden * dims.shared_ffn / (spread.tp * device.linear_flops)
    shared_loss = _shape_loss(tokens, up * np.maximum(dims.shared_ffn, 1.0) / spread.tp, dims.hidden, device)
    return np.asarray((routed + shared * shared_loss) * runs.stack.moe_factor)


def _elementwise_seconds(runs: Runs, tokens: Array) -> Array:
    """T3: forward seconds of norms, activations, residuals and casts: bytes moved over memory bandwidth."""
    dims, task, spread, stack = runs.dims, runs.task, runs.spread, runs.stack
    active = dims.dense_layers * dims.ffn
    routed = dims.experts_per_token * dims.expert_ffn + dims.shared_ffn
    active = (active + dims.moe_layers * routed) / dims.layers
    permuted = 4.0 * dims.experts_per_token * dims.hidden * dims.moe_layers / dims.layers
    elements = 12.0 * dims.hidden + 2.0 * dims.mlp_matrices * active + permuted
    elements = elements * (1.0 + task.low_precision_cast)
    adapters = (1.0 - task.trains_base) * stack.adapter * 8.0 * dims.hidden
    moved = tokens * (stack.elementwise * elements + adapters) * _HALF_BYTES / spread.tp
    return np.asarray(moved / runs.device.memory_bytes_per_second)


def _dequantise_seconds(runs: Runs) -> Array:
    """Seconds to unpack one layer's 4-bit weights once: read 4.5 bits, write 2 bytes a weight."""
    dims, task, stack = runs.dims, runs.task, runs.stack
    body = dims.params - dims.hidden * dims.vocab * (2.0 - dims.tied)
    per_layer = body / dims.layers / runs.spread.tp
    moved = per_layer * (4.5 / 8.0 + _HALF_BYTES)
    return np.asarray(task.quantised * stack.dequantise * moved / runs.device.memory_bytes_per_second)


def layer_seconds(runs: Runs, tokens: Array) -> LayerTime:
    """T2, T3: an average layer's seconds for `tokens` of one microbatch on one rank, forward and backward."""
    dims, task, device, stack = runs.dims, runs.task, runs.device, runs.stack
    linear = _linear_seconds(runs, tokens)
    scores = 2.0 * tokens * dims.score_width * attended_tokens(dims, task)
    attention = scores / (runs.spread.tp * device.attention_flops)
    element = _elementwise_seconds(runs, tokens)
    unpack = _dequantise_seconds(runs)
    forward = linear + attention + element + unpack
    backward = linear * (1.0 + task.trains_base) + attention * _CAUSAL_BACKWARD + 2.0 * element + unpack
    recompute = runs.spread.recompute
    again = np.where(recompute >= 2, forward, np.where(recompute >= 1, stack.selective * forward, 0.0))
    busy = (forward + backward + again) / stack.efficiency
    launch = stack.launch_seconds + stack.moe_launch_seconds * dims.moe_layers / dims.layers
    launch = launch + np.where(runs.spread.tp > 1, stack.tp_launch_seconds, 0.0)
    launch = launch * np.where(recompute >= 2, 4.0 / 3.0, 1.0)
    both = (busy**4 + launch**4) ** 0.25
    return LayerTime(
        forward=forward / stack.efficiency,
        both=np.asarray(both),
        attention_both=np.asarray(attention * (1.0 + _CAUSAL_BACKWARD) / stack.efficiency),
    )


def head_seconds(runs: Runs, tokens: Array) -> Array:
    """The output layer and its loss for one microbatch, both passes, in half precision."""
    dims, task, device = runs.dims, runs.task, runs.device
    columns = dims.vocab / runs.spread.tp
    multiply = 2.0 * tokens * dims.hidden * columns / device.half_flops
    multiply = multiply * _shape_loss(tokens, columns, dims.hidden, device) * (2.0 + task.trains_base)
    moved = 10.0 * tokens * columns / device.memory_bytes_per_second
    return np.asarray((multiply + moved * runs.stack.elementwise) / runs.stack.efficiency)
