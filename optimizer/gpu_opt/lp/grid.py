"""Time: when runs may start, and the cells that each pool's time is cut into."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping

from gpu_opt.lp.data import LpData
from gpu_opt.lp.starts import Times, starts_of
from gpu_opt.records import record

_TINY_HOURS = 1e-6


@record
class Cell:
    """A stretch of one period, [start, end), and a slice of every day in it, [low, high)."""

    start_hours: float
    end_hours: float
    period: int
    low_fraction: float
    high_fraction: float

    @property
    def hours(self) -> float:
        """Hours that the cell holds."""
        return (self.end_hours - self.start_hours) * (self.high_fraction - self.low_fraction)


@record
class Grid:
    """`coupled` pools have something to share: capacity that is paid for, or a limit on what runs at one time.

    `covered` pools have capacity that is paid for whether used or not, or more than one rented price.
    `complete` is false where possible starts were left out, so that the program is a restriction.
    """

    coupled: frozenset[str]
    covered: frozenset[str]
    cells: Mapping[str, tuple[Cell, ...]]
    starts: Mapping[tuple[int, int], tuple[float, ...]]
    complete: bool


def make_grid(data: LpData) -> Grid:
    """Cuts time at every start, end, delivery and term date (contract, 7.1), for each group of pools together."""
    covered = _covered(data)
    coupled = covered | _limited(data)
    dates = _dates(data)
    groups = _groups(data, coupled)
    starts, complete = starts_of(data, Times(dates=dates, coupled=coupled, covered=covered, groups=groups))
    cells: dict[str, tuple[Cell, ...]] = {}
    for group in groups:
        cuts = _cuts(data, group, starts, dates, coupled)
        slices = _slices(data, group)
        made = _cells(data, cuts, slices)
        for pool in group:
            cells[pool] = made
    return Grid(coupled=coupled, covered=covered, cells=cells, starts=starts, complete=complete)


def _covered(data: LpData) -> frozenset[str]:
    """Pools with rent variables of their own: paid capacity may serve them, or several prices or caps."""
    pools = {s.pool for s in data.standing} | {p.pool for p in data.purchases}
    for term in data.terms:
        pools |= set(term.plan_rates) if term.market.is_savings_plan else {term.pool}
    for pool in data.pools.values():
        if len(pool.rents) != 1 or any(r.max_instances is not None or r.from_hours > 0.0 for r in pool.rents):
            pools.add(pool.id)
    return frozenset(pool for pool in pools if pool in data.pools)


def _limited(data: LpData) -> frozenset[str]:
    if data.budget.per_hour_usd is not None:
        return frozenset(data.pools)
    return frozenset(pool for limit in data.limits for pool, _ in limit.rent_weight)


def _dates(data: LpData) -> dict[str, frozenset[float]]:
    """By pool: the times at which what stands there changes; under the empty key those of everyone."""
    end = data.horizon.hours
    by_pool: dict[str, set[float]] = defaultdict(set)
    for period in data.horizon.periods:
        by_pool[""] |= {period.start_hours, period.end_hours}
    for pool in data.pools.values():
        by_pool[pool.id] |= {rent.from_hours for rent in pool.rents}
    for standing in data.standing:
        by_pool[standing.pool] |= {standing.from_hours, standing.to_hours}
    for purchase in data.purchases:
        by_pool[purchase.pool] |= {t for d in purchase.deliveries for t in (d.start_hours, d.end_hours)}
    for term in data.terms:
        for name in term.plan_rates or (term.pool,):
            by_pool[name] |= {t for s in term.starts for t in (s.start_hours, s.end_hours)}
    for credit in data.credits:
        by_pool[""].add(data.horizon.hours_at(credit.expires) + 24.0)
    return {
        pool: frozenset(t for t in times if -_TINY_HOURS <= t <= end + _TINY_HOURS) for pool, times in by_pool.items()
    }


def _groups(data: LpData, coupled: frozenset[str]) -> list[list[str]]:
    """Pools that share a limit at one time, a savings plan or the hourly budget need the same cells."""
    parent = {pool: pool for pool in sorted(data.pools)}

    def root(pool: str) -> str:
        while parent[pool] != pool:
            parent[pool] = parent[parent[pool]]
            pool = parent[pool]
        return pool

    def join(pools: Iterable[str]) -> None:
        known = [pool for pool in pools if pool in parent]
        for pool in known[1:]:
            parent[root(pool)] = root(known[0])

    for limit in data.limits:
        join(
            sorted({pool for pool, _ in limit.rent_weight} | {t.pool for t in data.terms if t.id in limit.term_weight})
        )
    for term in data.terms:
        join(sorted(term.plan_rates))
    if data.budget.per_hour_usd is not None:
        join(sorted(coupled))
    groups: dict[str, list[str]] = defaultdict(list)
    for pool in parent:
        groups[root(pool)].append(pool)
    return list(groups.values())


def _cuts(
    data: LpData,
    group: list[str],
    starts: Mapping[tuple[int, int], tuple[float, ...]],
    dates: Mapping[str, frozenset[float]],
    coupled: frozenset[str],
) -> list[float]:
    members = set(group)
    cuts = set(dates.get("", frozenset()))
    for pool in group:
        cuts |= dates.get(pool, frozenset())
    for (d, c), times in starts.items():
        candidate = data.run_candidates[data.runs[d].workload][c]
        if candidate.pool in members and candidate.pool in coupled:
            cuts |= {t for start in times for t in (start, start + candidate.elapsed_hours)}
    for demand in data.fluids:
        if any(k.pool in members for k in data.fluid_candidates[demand.workload, demand.key]):
            cuts |= {demand.from_hours, demand.to_hours}
    for run in data.runs:
        if run.recurring and any(k.pool in members for k in data.run_candidates[run.workload]):
            cuts |= {run.from_hours, run.latest_hours}
    for service in data.services:
        if any(k.pool in members for k in data.replica_candidates[service.workload]):
            cuts |= {service.from_hours, service.to_hours}
    return sorted(cuts)


def _slices(data: LpData, group: list[str]) -> list[float]:
    members = set(group)
    marks = {0.0, 1.0}
    for service in data.services:
        if any(k.pool in members for k in data.replica_candidates[service.workload]):
            marks |= {m for block in service.blocks for m in (block.low_fraction, block.high_fraction)}
    return _distinct(sorted(marks), 1e-9)


def _distinct(values: list[float], apart: float) -> list[float]:
    kept = values[:1]
    for value in values[1:]:
        if value - kept[-1] > apart:
            kept.append(value)
    return kept


def _cells(data: LpData, cuts: list[float], slices: list[float]) -> tuple[Cell, ...]:
    times = _distinct([t for t in cuts if 0.0 <= t <= data.horizon.hours], _TINY_HOURS)
    return tuple(
        Cell(start_hours=start, end_hours=end, period=data.period_at(start), low_fraction=low, high_fraction=high)
        for start, end in itertools.pairwise(times)
        for low, high in itertools.pairwise(slices)
    )
