"""Predictions of measured training points: blank layout cells are searched, then all points are computed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gpu_opt.domain.option import Layout
from gpu_opt.records import record
from gpu_opt.throughput.accuracy.training_points import Point
from gpu_opt.throughput.memory_training import Memory, Rules, memory, rules_of
from gpu_opt.throughput.training.arrays import Columns, Device, Dims, Runs, Spread, Task
from gpu_opt.throughput.training.columns import device_of, dims_of, one, stack_of, task_of
from gpu_opt.throughput.training.constants import stack_constants
from gpu_opt.throughput.training.defaults import default_batch_tokens
from gpu_opt.throughput.training.layouts import Space, layouts
from gpu_opt.throughput.training.search import Setting, layout_at, search
from gpu_opt.throughput.training.step import Step, step

_RECOMPUTE = {"none": 0.0, "selective": 1.0, "full": 2.0}
_CHUNKED_LOGIT_SHARE = 0.25
_ALMOST_ALL = 0.97  # of memory: what a tuned run fills before it fails
_LORA_RANK = 16
_PRESSURE_FROM = 0.85  # of memory
_FUSED_LIVE_SHARE = 0.48  # of a layer computed again, with fused kernels on one GPU: fit on fine-tuning runs
_PLAIN_PIPELINES = frozenset({"nanotron", "internevo"})  # stacks without interleaving

T = TypeVar("T", bound=Columns)


@record
class Resolved:
    """A point with its whole layout, as columns of one element."""

    point: Point
    dims: Dims
    task: Task
    spread: Spread
    device: Device
    rules: Rules


def concat(columns: Sequence[T]) -> T:
    """Columns of one element each, joined to columns of many."""
    kind = type(columns[0])
    return kind(
        **{
            item.name: np.concatenate([getattr(each, item.name) for each in columns])
            for item in fields(kind)  # type: ignore[arg-type]
        }
    )


def resolve(point: Point, constants: Mapping[str, float] | None = None) -> Resolved:
    """The point with the layout that its cells give, and the fastest that fits where they are blank."""
    dims = dims_of(point.model)
    batch = _batch(point)
    task = task_of(
        sequence=point.sequence,
        batch_sequences=batch,
        method=point.method,
        lora_rank=point.hints.lora_rank or _LORA_RANK,
        precision=point.precision,
        cast=point.cast,
    )
    device = device_of(point.accelerator, point.shape, point.precision)
    rules = rules_of(point.stack.memory, "adam")
    if point.hints.chunked_loss:
        rules = replace(rules, logit_bytes=rules.logit_bytes * _CHUNKED_LOGIT_SHARE)
    if point.hints.fused_kernels and point.gpus == 1 and point.stack.memory == "half":
        rules = replace(rules, full_live=rules.full_live * _FUSED_LIVE_SHARE)
    setting = Setting(
        accelerator=point.accelerator,
        shape=point.shape,
        dims=dims,
        task=task,
        device=device,
        stack=stack_of(constants or stack_constants(point.stack.name)),
        rules=rules,
        space=space_of(point, batch),
    )
    with np.errstate(all="ignore"):
        layout = _given(point) or _layout(setting, point.gpus)
    spread = _spread(point, layout)
    return Resolved(point=point, dims=dims, task=task, spread=spread, device=device, rules=rules)


def _given(point: Point) -> Layout | None:
    """The layout of a point whose cells leave nothing open."""
    fixed, cells = point.layout, (point.layout.tp, point.layout.pp, point.layout.cp, point.layout.zero)
    open_experts = point.model.experts > 0 and fixed.ep is None
    if None in cells or fixed.recompute is None or fixed.micro_batch is None or open_experts:
        return None
    tp, pp, cp = fixed.tp or 1, fixed.pp or 1, fixed.cp or 1
    if pp > 1 and point.stack.name not in _PLAIN_PIPELINES and point.hints.virtual_stages is None:
        return None
    return Layout(
        tp=tp,
        pp=pp,
        cp=cp,
        dp=max(1, point.gpus // (tp * pp * cp)),
        ep=fixed.ep or 1,
        zero=fixed.zero or 0,
        recompute=fixed.recompute,
        micro_batch=fixed.micro_batch,
    )


def _batch(point: Point) -> float:
    if point.batch_sequences is not None:
        return point.batch_sequences
    tokens = default_batch_tokens(point.model, kind=point.kind, method=point.method)
    replicas = point.gpus / ((point.layout.tp or 1) * (point.layout.pp or 1) * (point.layout.cp or 1))
    least = replicas * (point.layout.micro_batch or 1)
    if point.kind != "pretrain":
        return max(1.0, least)
    return max(1.0, round(tokens / point.sequence), least)


def space_of(point: Point, batch_sequences: float) -> Space:
    """The layouts that the point's cells leave open."""
    stack, layout = point.stack, point.layout
    zero = stack.zero if point.method == "full" else tuple(sorted({0, *stack.zero}))
    if point.gpus == 1:
        zero = (0,)
    domain = point.shape.scaleup_domain_gpus if point.shape.scaleup_gb_per_second > 0 else point.shape.gpus
    return Space(
        layers=point.model.layers,
        heads=point.model.heads,
        experts=point.model.experts,
        sequence=int(point.sequence),
        batch_sequences=max(1, int(batch_sequences)),
        tp_limit=max(1, min(8, int(domain))) if stack.has_tp else 1,
        has_pp=stack.has_pp,
        has_cp=stack.has_cp,
        has_ep=stack.has_ep,
        zero=zero,
        recompute=stack.recompute,
        fixed=layout,
    )


def _layout(setting: Setting, gpus: int) -> Layout:
    """The fastest layout that fits; else the one that needs least; else plain data parallelism."""
    capacity = float(setting.device.memory_bytes[0]) * _ALMOST_ALL
    found, _ = search(setting, (gpus,), capacity)
    if found:
        return found[0].layout
    smallest = _smallest(setting, gpus)
    if smallest is not None:
        return smallest
    fixed = setting.space.fixed
    tp, pp, cp = fixed.tp or 1, fixed.pp or 1, fixed.cp or 1
    return Layout(
        tp=tp,
        pp=pp,
        cp=cp,
        dp=max(1, gpus // (tp * pp * cp)),
        ep=fixed.ep or 1,
        zero=fixed.zero if fixed.zero is not None else setting.space.zero[-1],
        recompute=fixed.recompute or setting.space.recompute[-1],
        micro_batch=fixed.micro_batch or 1,
    )


def _smallest(setting: Setting, gpus: int) -> Layout | None:
    """The layout that needs least memory, whether it fits or not."""
    spread = layouts(setting.space, (gpus,))
    if not spread.gpus.size:
        return None
    runs = Runs(dims=setting.dims, task=setting.task, spread=spread, device=setting.device, stack=setting.stack)
    return layout_at(spread, int(np.argmin(memory(runs, setting.rules).device)))


def _spread(point: Point, layout: Layout) -> Spread:
    virtual = point.hints.virtual_stages or layout.virtual_stages
    group = layout.dp * layout.cp
    return Spread(
        gpus=one(point.gpus),
        tp=one(layout.tp),
        pp=one(layout.pp),
        dp=one(layout.dp),
        cp=one(layout.cp),
        ep=one(layout.ep),
        zero=one(layout.zero),
        shard=one(min(point.hints.shard_group or group, group)),
        recompute=one(_RECOMPUTE[layout.recompute]),
        micro_batch=one(layout.micro_batch),
        virtual_stages=one(virtual if layout.pp > 1 else 1),
    )


@record
class Batch:
    """Many resolved points as one set of columns."""

    runs: Runs
    rules: Rules


def batch_of(resolved: Sequence[Resolved], stacks: Mapping[str, Mapping[str, float]] | None = None) -> Batch:
    """The points side by side; `stacks` overrides constants by stack name."""
    names = sorted({each.point.stack.name for each in resolved})
    columns = {name: stack_of((stacks or {}).get(name) or stack_constants(name)) for name in names}
    runs = Runs(
        dims=concat([each.dims for each in resolved]),
        task=concat([each.task for each in resolved]),
        spread=concat([each.spread for each in resolved]),
        device=concat([each.device for each in resolved]),
        stack=concat([columns[each.point.stack.name] for each in resolved]),
    )
    return Batch(runs=runs, rules=concat([each.rules for each in resolved]))


def predict(batch: Batch) -> tuple[Step, Memory]:
    """Steps and memory of all points."""
    needs = memory(batch.runs, batch.rules)
    return pressed(step(batch.runs), needs, batch), needs


def pressed(steps: Step, needs: Memory, batch: Batch) -> Step:
    """T7: steps that take longer as memory fills: the allocator frees blocks and asks for them again."""
    filled = np.clip(
        (needs.device / batch.runs.device.memory_bytes - _PRESSURE_FROM) / (1.0 - _PRESSURE_FROM), 0.0, 1.0
    )
    slower = 1.0 + batch.rules.pressure * filled
    return replace(
        steps,
        seconds=np.asarray(steps.seconds * slower),
        tokens_per_second_per_gpu=np.asarray(steps.tokens_per_second_per_gpu / slower),
    )


def cell_bytes(batch: Batch, needs: Memory, kinds: Sequence[str]) -> npt.NDArray[np.float64]:
    """Peak bytes of the kind that each point measured: allocated, reserved, or what the device holds."""
    allocated = np.where(batch.rules.reports_first > 0, needs.first, needs.allocated)
    reserved = np.minimum(allocated * batch.rules.reserved, np.maximum(allocated, batch.runs.device.memory_bytes))
    is_reserved = np.array([kind == "reserved" for kind in kinds])
    is_device = np.array([kind == "device" for kind in kinds])
    return np.asarray(
        np.where(is_device, reserved + batch.rules.context_bytes, np.where(is_reserved, reserved, allocated))
    )
