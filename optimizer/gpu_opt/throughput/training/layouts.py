"""Every sensible layout of a gang: tensor, pipeline, context, expert and data parallelism, ZeRO, recompute, batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from gpu_opt.domain.workload import Parallelism
from gpu_opt.records import record
from gpu_opt.throughput.training.arrays import Spread

_POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
_PIPELINES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
_MAX_MICRO_TOKENS = 32768  # beyond this a larger microbatch gains nothing that a multiply can feel
_CONTEXT_TOKENS = 4096  # tokens a rank should keep for context parallelism to be worth its ring
_MANY_EXPERTS = 16
_MANY_EXPERT_GROUPS = (1, 8, 16, 32, 64)
_VIRTUAL_STAGES = (2, 3, 4, 5, 6, 8)
_RECOMPUTE = {"none": 0.0, "selective": 1.0, "full": 2.0}
RECOMPUTE_NAMES = ("none", "selective", "full")


@record
class Space:
    """What a search may use: sizes of the model and of the batch, limits of the stack and of the scale-up domain."""

    layers: int
    heads: int
    experts: int
    sequence: int
    batch_sequences: int
    tp_limit: int
    has_pp: bool
    has_cp: bool
    has_ep: bool
    zero: tuple[int, ...]
    recompute: tuple[str, ...]
    fixed: Parallelism


def _choices(fixed: int | None, candidates: Iterable[int]) -> tuple[int, ...]:
    return (fixed,) if fixed is not None else tuple(candidates)


def _groups(space: Space, gang: int) -> list[tuple[int, int, int, int, int, int]]:
    """(tp, pp, cp, dp, ep, virtual stages) that multiply to the gang."""
    fixed = space.fixed
    found: list[tuple[int, int, int, int, int, int]] = []
    tps = (t for t in _POWERS if t <= space.tp_limit and space.heads % t == 0)
    for tp in _choices(fixed.tp, tps):
        pps = (p for p in _PIPELINES if p == 1 or (space.has_pp and p <= space.layers))
        for pp in _choices(fixed.pp, pps):
            cps = (c for c in _POWERS if c == 1 or (space.has_cp and c * _CONTEXT_TOKENS <= space.sequence))
            for cp in _choices(fixed.cp, cps):
                dp, rest = divmod(gang, tp * pp * cp)
                if rest or dp < 1 or dp > space.batch_sequences or (fixed.dp is not None and dp != fixed.dp):
                    continue
                for ep in _choices(fixed.ep, _expert_groups(space, dp * cp * tp)):
                    found.extend((tp, pp, cp, dp, ep, v) for v in _virtual(space.layers, pp))
    return found


def _expert_groups(space: Space, ranks: int) -> tuple[int, ...]:
    if not space.experts or not space.has_ep:
        return (1,)
    sizes = _MANY_EXPERT_GROUPS if space.experts > _MANY_EXPERTS else _POWERS
    return tuple(e for e in sizes if e == 1 or (space.experts % e == 0 and ranks % e == 0))


@cache
def _virtual(layers: int, pp: int) -> tuple[int, ...]:
    """One stage a rank, and the finest interleaving that divides the layers (or they and the two tables)."""
    if pp == 1:
        return (1,)
    finer = [v for v in _VIRTUAL_STAGES if 0 in (layers % (pp * v), (layers + 2) % (pp * v))]
    return (1, finer[-1]) if finer else (1,)


@lru_cache(maxsize=64)
def _columns(space: Space, gangs: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Rows of (gang, tp, pp, cp, dp, ep, virtual stages, ZeRO, recompute, microbatch)."""
    groups = [(gang, *group) for gang in gangs for group in _groups(space, gang)]
    zeros = _choices(space.fixed.zero, space.zero)
    names = (space.fixed.recompute,) if space.fixed.recompute else space.recompute
    sizes = _choices(space.fixed.micro_batch, _MICRO_BATCHES)
    choices = [(zero, _RECOMPUTE[name], size) for zero in zeros for name in names for size in sizes]
    if not groups:
        return np.zeros((0, 10))
    left = np.repeat(np.array(groups, dtype=np.float64), len(choices), axis=0)
    table = np.hstack([left, np.tile(np.array(choices, dtype=np.float64), (len(groups), 1))])
    if space.fixed.zero is None:  # sharded weights don't go with a pipeline unless they are asked for
        table = table[(table[:, 7] < 3) | (table[:, 2] == 1)]
    if space.fixed.micro_batch is not None:
        return table
    size, cp, dp = table[:, 9], table[:, 3], table[:, 4]
    short = size * space.sequence <= _MAX_MICRO_TOKENS * cp
    small = size * dp <= space.batch_sequences
    return np.asarray(table[(size == 1) | (short & small)])


def layouts(space: Space, gangs: Sequence[int], weights_per_capacity: float = 0.0) -> Spread:
    """All layouts of all gangs, as columns; none at all when nothing multiplies to a gang.

    `weights_per_capacity` is the least that weights and gradients take, over the memory of one GPU: layouts whose
    unsharded part can't fit are left out.
    """
    table = _columns(space, tuple(gangs))
    if weights_per_capacity > 1.0:
        table = table[(table[:, 7] >= 3) | (weights_per_capacity <= table[:, 1] * table[:, 2] * table[:, 5])]
    columns = (np.ascontiguousarray(table[:, place]) for place in range(10))
    gang, tp, pp, cp, dp, ep, virtual, zero, recompute, micro_batch = columns
    return Spread(
        gpus=gang,
        tp=tp,
        pp=pp,
        dp=dp,
        cp=cp,
        ep=ep,
        zero=zero,
        shard=dp * cp,
        recompute=recompute,
        micro_batch=micro_batch,
        virtual_stages=virtual,
    )
