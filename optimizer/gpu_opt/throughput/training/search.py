"""The layout search: all layouts of all gangs at once, memory first, then time, the best of each gang kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Layout, MemoryLine
from gpu_opt.records import record
from gpu_opt.throughput.memory_training import LINES, Rules, memory
from gpu_opt.throughput.training.arrays import Array, Device, Dims, Runs, Spread, Stack, Task
from gpu_opt.throughput.training.layouts import RECOMPUTE_NAMES, Space, layouts
from gpu_opt.throughput.training.step import step

_GIB_BYTES = 2.0**30


@record
class Setting:
    """A job on a shape, ready to search: everything but the layout."""

    accelerator: Accelerator
    shape: Shape
    dims: Dims
    task: Task
    device: Device
    stack: Stack
    rules: Rules
    space: Space
    weights_per_capacity: float = 0.0


@record
class Found:
    """The best layout of one gang: speed of the gang, memory by line and the device's need in GiB."""

    gpus: int
    tokens_per_second: float
    layout: Layout
    memory: tuple[MemoryLine, ...]
    need_gib: float
    allocated_gib: float


@record
class Shortfall:
    """The layout that came closest to fitting: its gang, need and largest line."""

    gpus: int
    need_gib: float
    largest: str
    largest_gib: float


def search(setting: Setting, gangs: tuple[int, ...], capacity_bytes: float) -> tuple[list[Found], Shortfall | None]:
    """The fastest layout that fits for each gang, in the gangs' order; and the nearest miss if no gang has any."""
    spread = layouts(setting.space, gangs, setting.weights_per_capacity)
    if not spread.gpus.size:
        spread = layouts(setting.space, gangs)
    if not spread.gpus.size:
        return [], None
    runs = Runs(dims=setting.dims, task=setting.task, spread=spread, device=setting.device, stack=setting.stack)
    need = memory(runs, setting.rules)
    fits = need.device <= capacity_bytes
    if not fits.any():
        return [], _nearest(spread.gpus, need.device, need.lines)
    chosen = runs.take(fits)
    speed = step(chosen).tokens_per_second_per_gpu * chosen.spread.gpus
    best = _fastest(chosen.spread.gpus, speed, need.device[fits])
    original = np.flatnonzero(fits)
    found = [
        _found(chosen, int(row), float(speed[row]), need.lines, int(original[row]), need.device, need.allocated)
        for row in best
    ]
    return found, None


def _fastest(gangs: Array, speed: Array, need: Array) -> list[int]:
    """Row of the highest speed of each gang; of equals the one that needs least memory."""
    order = np.lexsort((need, -np.round(speed, 6), gangs))
    first = np.ones(order.size, dtype=bool)
    first[1:] = gangs[order][1:] != gangs[order][:-1]
    return [int(row) for row in order[first]]


def layout_at(spread: Spread, row: int) -> Layout:
    """One row of the layout columns."""
    return Layout(
        tp=int(spread.tp[row]),
        pp=int(spread.pp[row]),
        dp=int(spread.dp[row]),
        cp=int(spread.cp[row]),
        ep=int(spread.ep[row]),
        zero=int(spread.zero[row]),
        recompute=RECOMPUTE_NAMES[int(spread.recompute[row])],
        micro_batch=int(spread.micro_batch[row]),
        virtual_stages=int(spread.virtual_stages[row]),
    )


def _at(column: Array, row: int) -> float:
    """A row of a column, which may be one value for all rows."""
    return float(column[row] if column.size > 1 else column.flat[0])


def _found(
    runs: Runs, row: int, speed: float, lines: Mapping[str, Array], original: int, device: Array, allocated: Array
) -> Found:
    spread = runs.spread
    need = float(device[original])
    parts = [(name, _at(lines[name], original)) for name in LINES]
    parts.append(("context and fragmentation", need - float(allocated[original])))
    return Found(
        gpus=int(spread.gpus[row]),
        tokens_per_second=speed,
        layout=layout_at(spread, row),
        memory=tuple(MemoryLine(label=name, gib=size / _GIB_BYTES) for name, size in parts if size > 0),
        need_gib=need / _GIB_BYTES,
        allocated_gib=float(allocated[original]) / _GIB_BYTES,
    )


def _nearest(gangs: Array, need: Array, lines: Mapping[str, Array]) -> Shortfall:
    row = int(np.argmin(need))
    sizes = {name: _at(column, row) for name, column in lines.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    return Shortfall(
        gpus=int(gangs[row]),
        need_gib=float(need[row]) / _GIB_BYTES,
        largest=largest,
        largest_gib=sizes[largest] / _GIB_BYTES,
    )
