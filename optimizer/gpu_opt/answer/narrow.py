"""Fewer candidates where a calendar with all of them would be too large: what a plan without a calendar chose, and the
cheapest others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpu_opt.candidates.build import Built
from gpu_opt.domain.program import RunCandidate
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision

_MOST_CANDIDATES = 4  # of a run, beside those that were chosen
_MOST_OF_A_POOL = 1


def narrowed(built: Built, chosen: Decision) -> Built:
    """The same question with a few candidates for each run that happens once."""
    data = built.data
    once = {demand.workload for demand in data.runs if not demand.recurring}
    taken = {(data.runs[d].workload, c) for d, c in chosen.many}
    candidates = {
        name: _few(data, group, {c for workload, c in taken if workload == name}) if name in once else group
        for name, group in data.run_candidates.items()
    }
    return replace(built, data=replace(data, run_candidates=candidates))


def _few(data: LpData, group: tuple[RunCandidate, ...], taken: set[int]) -> tuple[RunCandidate, ...]:
    kept = set(taken)
    of_pool: Counter[str] = Counter()
    for index in sorted(range(len(group)), key=lambda i: (_usd(data, group[i]), group[i].elapsed_hours, i)):
        if of_pool.total() >= _MOST_CANDIDATES:
            break
        if of_pool[group[index].pool] < _MOST_OF_A_POOL:
            of_pool[group[index].pool] += 1
            kept.add(index)
    return tuple(group[index] for index in sorted(kept))


def _usd(data: LpData, candidate: RunCandidate) -> float:
    """What a run costs at the lowest rent of its pool; what stands there already is tried first."""
    if any(s.pool == candidate.pool for s in data.standing):
        return 0.0
    prices = [min(rent.usd_per_instance_hour) for rent in data.pools[candidate.pool].rents]
    prices += [term.usd_per_unit_hour for term in data.terms if term.pool == candidate.pool]
    return min(prices, default=0.0) * candidate.instances * candidate.paid_hours + candidate.place_usd
