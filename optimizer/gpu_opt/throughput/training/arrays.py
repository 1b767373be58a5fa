"""Runs as columns: every field is an array that broadcasts against the others, one element a run or a layout.

A search keeps model, device and stack as arrays of one element and lets the layout columns vary; a fit or an
accuracy report lets everything vary. Times are seconds, sizes bytes, speeds bytes or FLOP per second.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Self

import numpy as np
import numpy.typing as npt

from gpu_opt.records import record

Array = npt.NDArray[np.float64]


class Columns:
    """What all column dataclasses can do."""

    __slots__ = ()

    def take(self, index: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Self:
        """The same columns at some rows; columns of one element stay as they are."""
        values = {}
        for item in fields(self):  # type: ignore[arg-type]
            column = getattr(self, item.name)
            values[item.name] = column if column.size == 1 else column[index]
        return type(self)(**values)


@record
class Dims(Columns):
    """The transformer, as FLOPs and bytes need it. Widths are elements, summed over heads.

    `score_width` is heads × (query-key size + value size); `kv_width` is keys and values together;
    `attention_weights` counts the linear weights of one layer's attention; `mlp_matrices` is 3 when gated, else 2.
    """

    layers: Array
    hidden: Array
    head_size: Array
    query_width: Array
    kv_width: Array
    score_width: Array
    attention_weights: Array
    dense_layers: Array
    ffn: Array
    mlp_matrices: Array
    moe_layers: Array
    expert_ffn: Array
    experts_per_token: Array
    shared_ffn: Array
    experts: Array
    vocab: Array
    window: Array
    window_layers: Array
    scoreless_layers: Array
    tied: Array
    params: Array


@record
class Task(Columns):
    """What is trained, and how: `trains_base` is 0 for adapters, `quantised` 1 for a 4-bit frozen base."""

    sequence: Array
    batch_sequences: Array
    trains_base: Array
    quantised: Array
    lora_rank: Array
    linear_bits: Array
    low_precision_cast: Array


@record
class Spread(Columns):
    """The layout. `shard` is the group that optimizer state (and, with `zero` 3, weights) is cut over.

    `recompute` is 0 none, 1 selective, 2 full.
    """

    gpus: Array
    tp: Array
    pp: Array
    dp: Array
    cp: Array
    ep: Array
    zero: Array
    shard: Array
    recompute: Array
    micro_batch: Array
    virtual_stages: Array


@record
class Device(Columns):
    """The accelerator and its links. FLOP rates are the best a large multiply reaches, not the data sheet's."""

    linear_flops: Array
    half_flops: Array
    attention_flops: Array
    half_rows: Array
    half_sides: Array
    memory_bytes_per_second: Array
    memory_bytes: Array
    scaleup_bytes_per_second: Array
    scaleup_domain: Array
    network_bytes_per_second: Array
    node_gpus: Array


@record
class Stack(Columns):
    """Constants of a software stack; the data file says what each one is."""

    efficiency: Array
    elementwise: Array
    launch_seconds: Array
    step_seconds: Array
    selective: Array
    scaleup_share: Array
    network_share: Array
    network_decay: Array
    rails: Array
    tp_overlap: Array
    dp_overlap: Array
    gather_overlap: Array
    fsdp_overlap: Array
    cp_overlap: Array
    moe_factor: Array
    moe_launch_seconds: Array
    ep_overlap: Array
    tp_launch_seconds: Array
    pp_launch_seconds: Array
    dequantise: Array
    adapter: Array
    hop_seconds: Array
    jitter: Array
    gradient_bytes: Array


@record
class Runs:
    """Runs to predict: model, task, layout, device and stack, column by column."""

    dims: Dims
    task: Task
    spread: Spread
    device: Device
    stack: Stack

    def take(self, index: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Runs:
        """Some of the runs."""
        return Runs(
            dims=self.dims.take(index),
            task=self.task.take(index),
            spread=self.spread.take(index),
            device=self.device.take(index),
            stack=self.stack.take(index),
        )
