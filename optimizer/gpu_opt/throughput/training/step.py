"""T5: the step, from layers over pipeline and data parallelism to tokens per second."""

from __future__ import annotations

import numpy as np

from gpu_opt.records import record
from gpu_opt.throughput.training import communication
from gpu_opt.throughput.training.arrays import Array, Runs
from gpu_opt.throughput.training.compute import adapter_params, head_seconds, layer_seconds

_OPTIMIZER_BYTES = 24.0  # Adam reads and writes gradient, master weight and two moments in fp32


@record
class Step:
    """One optimizer step: its seconds, the speed of one GPU, and where the time goes (seconds, same shape)."""

    seconds: Array
    tokens_per_second_per_gpu: Array
    layer_seconds: Array
    head_seconds: Array
    bubble_seconds: Array
    data_seconds: Array
    other_seconds: Array
    microbatches: Array


def expert_params(runs: Runs) -> Array:
    """Parameters that expert parallelism cuts."""
    dims = runs.dims
    return np.asarray(dims.moe_layers * dims.experts * dims.mlp_matrices * dims.hidden * dims.expert_ffn)


def body_params(runs: Runs) -> tuple[Array, Array]:
    """Parameters of the layers on one tensor-parallel rank, all stages together: (dense part, expert part)."""
    dims, spread = runs.dims, runs.spread
    experts = expert_params(runs)
    embedding = dims.hidden * dims.vocab * (2.0 - dims.tied)
    dense = np.maximum(dims.params - embedding - experts, 0.0) / spread.tp
    return np.asarray(dense), np.asarray(experts / expert_cut(runs))


def expert_cut(runs: Runs) -> Array:
    """Ranks that share all experts of a stage."""
    spread = runs.spread
    return np.asarray(np.minimum(spread.tp * spread.ep, np.maximum(spread.gpus / spread.pp, 1.0)))


def _stage_seconds(runs: Runs, per_layer: Array, head: Array) -> Array:
    """The slowest stage: whole layers, and the head either on top of the last stage or counted as layers."""
    stages = runs.spread.pp
    plain = np.ceil(runs.dims.layers / stages - 1e-9) * per_layer + head
    balanced = np.ceil((runs.dims.layers + head / per_layer) / stages - 1e-9) * per_layer
    whole = np.minimum(plain, np.maximum(balanced, head))
    return np.asarray(np.where(stages > 1, whole, runs.dims.layers * per_layer + head))


def step(runs: Runs) -> Step:
    """T5: seconds of a step and tokens per second and GPU, for each run."""
    dims, task, spread, stack = runs.dims, runs.task, runs.spread, runs.stack
    tokens = spread.micro_batch * task.sequence / spread.cp
    layer = layer_seconds(runs, tokens)
    dense, experts = body_params(runs)
    visible = communication.tensor_seconds(runs, tokens)
    visible = visible + communication.context_seconds(runs, tokens, layer.attention_both)
    if np.any(dims.moe_layers > 0):
        visible = visible + communication.expert_seconds(runs, tokens)
    visible = visible + communication.shard_seconds(runs, (dense + experts) / dims.layers, layer.both)
    per_layer = layer.both + visible
    head = head_seconds(runs, tokens)
    stage = _stage_seconds(runs, per_layer, head) + communication.pipeline_seconds(runs, tokens)
    microbatches = np.ceil(task.batch_sequences / (spread.micro_batch * spread.dp) - 1e-9)
    bubble = (spread.pp - 1.0) / spread.virtual_stages * stage
    trained = np.where(task.trains_base > 0, dims.params / (spread.tp * spread.pp), 0.0)
    cut_share = (dense + experts) / (dense + experts * expert_cut(runs) / spread.tp)
    trained = np.where(dims.moe_layers > 0, trained * cut_share, trained)
    trained = np.maximum(trained, adapter_params(dims, task) / (spread.tp * spread.pp))
    backward = (per_layer - layer.forward) * dims.layers / spread.pp
    data = communication.data_seconds(runs, trained, backward)
    state = np.where(spread.zero >= 1, trained / spread.shard, trained)
    update = _OPTIMIZER_BYTES * state / runs.device.memory_bytes_per_second
    seconds = microbatches * stage + bubble + data + update + stack.step_seconds
    seconds = seconds * (1.0 + stack.jitter * np.log2(np.maximum(spread.gpus / runs.device.node_gpus, 1.0)))
    speed = task.batch_sequences * task.sequence / (seconds * spread.gpus)
    return Step(
        seconds=np.asarray(seconds),
        tokens_per_second_per_gpu=np.asarray(speed),
        layer_seconds=np.asarray(microbatches * per_layer * dims.layers / spread.pp),
        head_seconds=np.asarray(microbatches * head),
        bubble_seconds=np.asarray(bubble),
        data_seconds=np.asarray(data),
        other_seconds=np.asarray(update + stack.step_seconds),
        microbatches=np.asarray(microbatches),
    )
