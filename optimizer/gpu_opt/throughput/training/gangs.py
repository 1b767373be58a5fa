"""Which gang sizes to look at, and which of them are worth a planner's while."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MAX_GANGS = 16
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
_MAX_GPUS = {"pretrain": 16384, "finetune": 2048}
_MAX_SPLIT = 64  # ranks that one sequence of the batch is usefully spread over
_WORTHWHILE_GAIN = 1.02
_LEAST_EFFICIENCY = 0.25


def candidate_gangs(
    gpus_per_instance: float, *, kind: str, max_gpus: int | None, batch_sequences: int, least_gpus: float
) -> tuple[int, ...]:
    """GPU counts of whole instances, powers of two and few between, from the least that could hold the model."""
    instance = max(1, round(gpus_per_instance))
    limit = max_gpus if max_gpus is not None else _MAX_GPUS.get(kind, 2048)
    limit = min(limit, batch_sequences * _MAX_SPLIT)
    if gpus_per_instance < 1:
        return (1,)
    counts = [instance * step for step in _STEPS if instance * step <= limit]
    enough = [count for count in counts if count >= least_gpus]
    return tuple(enough)


def frontier(gangs: Sequence[int], speeds: Sequence[float]) -> list[int]:
    """Indices of gangs worth keeping, smallest first: each faster than all smaller ones, none hopelessly inefficient.

    `speeds` are tokens per second of the whole gang, 0 where nothing fits.
    """
    order = sorted(range(len(gangs)), key=lambda index: gangs[index])
    kept: list[int] = []
    best_speed, best_efficiency = 0.0, 0.0
    for index in order:
        speed, efficiency = speeds[index], speeds[index] / gangs[index]
        if speed <= best_speed * _WORTHWHILE_GAIN or speed <= 0:
            continue
        best_speed, best_efficiency = speed, max(best_efficiency, efficiency)
        if efficiency >= _LEAST_EFFICIENCY * best_efficiency:
            kept.append(index)
    return _thin(kept)


def _thin(kept: Sequence[int]) -> list[int]:
    if len(kept) <= MAX_GANGS:
        return list(kept)
    picks = np.unique(np.round(np.linspace(0, len(kept) - 1, MAX_GANGS)).astype(int))
    return [kept[pick] for pick in picks]
