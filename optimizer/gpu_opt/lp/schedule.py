"""From decisions to a calendar: every run with its start and end, on capacity that is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpu_opt.domain.program import RunCandidate, RunDemand
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.grid import Grid
from gpu_opt.records import record

_TINY_HOURS = 1e-6


@record
class Placement:
    """`instances` of a pool in use by a workload in [start, end). `run` numbers runs of a workload from 1."""

    workload: str
    run: int
    pool: str
    instances: int
    start_hours: float
    end_hours: float
    candidate: RunCandidate


@record
class Unplaced:
    """Recurring runs of a demand that found no room on a candidate: placed `placed` of `asked`."""

    demand: int
    candidate: int
    placed: int
    asked: int


@record
class Span:
    """`count` instances in use or available in [start, end)."""

    start_hours: float
    end_hours: float
    count: float


@dataclass(slots=True)
class Room:
    """What stands and what is used in every pool over time, while runs are being placed."""

    data: LpData
    decision: Decision
    alive: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    used: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def at(self, spans: Iterable[Span], hours: float) -> float:
        """The sum of spans at a time."""
        return sum(s.count for s in spans if s.start_hours <= hours < s.end_hours)

    def marks(self, pool: str, start: float, end: float) -> list[float]:
        """Times in [start, end) at which the room in a pool may change, `start` included."""
        pools = {pool} | {
            p for limit in self.data.limits for p, _ in limit.rent_weight if _touches(limit.rent_weight, pool)
        }
        times = {start} | {r.from_hours for r in self.data.pools[pool].rents if start < r.from_hours < end}
        for name in pools:
            for span in (*self.alive[name], *self.used[name]):
                times |= {t for t in (span.start_hours, span.end_hours) if start < t < end}
        return sorted(times)

    def free(self, pool: str, hours: float, *, rent: bool) -> float:
        """Instances that are free at a time: paid capacity, and what may be rented beside it when `rent`."""
        paid = self.at(self.alive[pool], hours) - self.at(self.used[pool], hours)
        if not rent or not self.data.pools[pool].rents:
            return max(0.0, paid)
        return max(0.0, paid) + self._rentable(pool, hours, max(0.0, -paid))

    def _rentable(self, pool: str, hours: float, rented: float) -> float:
        rents = self.data.pools[pool].rents
        caps = [r.max_instances for r in rents if r.from_hours <= hours + _TINY_HOURS]
        room = float("inf") if None in caps else sum(float(c) for c in caps if c is not None) - rented
        market = str(rents[0].offer.market)
        for limit in self.data.limits:
            weight = limit.rent_weight.get((pool, market), 0.0)
            if weight:
                room = min(room, (limit.maximum - self._counted(limit.id, hours)) / weight)
        return max(0.0, room)

    def _counted(self, limit_id: str, hours: float) -> float:
        limit = next(x for x in self.data.limits if x.id == limit_id)
        total = 0.0
        for (pool, market), weight in limit.rent_weight.items():
            rents = self.data.pools[pool].rents
            if rents and str(rents[0].offer.market) == market:
                over = self.at(self.used[pool], hours) - self.at(self.alive[pool], hours)
                total += weight * max(0.0, over)
        for term in self.data.terms:
            weight = limit.term_weight.get(term.id, 0.0)
            for k, start in enumerate(term.starts if weight else ()):
                if start.start_hours <= hours < start.end_hours:
                    total += weight * self.decision.units.get((term.id, k), 0.0)
        for standing in self.data.standing:
            if standing.from_hours <= hours < standing.to_hours:
                total += limit.standing_weight.get(standing.id, 0.0) * standing.instances
        return total


def _touches(weights: object, pool: str) -> bool:
    return any(name == pool for name, _ in weights)  # type: ignore[attr-defined]


def make_schedule(data: LpData, grid: Grid, decision: Decision) -> tuple[tuple[Placement, ...], tuple[Unplaced, ...]]:
    """Places every run. Single runs have their start; recurring ones take the earliest room, paid capacity first."""
    room = standing_room(data, decision)
    placed: list[Placement] = []
    numbers: dict[str, int] = defaultdict(int)
    for d, c, k in decision.once:
        demand = data.runs[d]
        candidate = data.run_candidates[demand.workload][c]
        start = grid.starts[d, c][k]
        numbers[demand.workload] += 1
        placement = _placement(demand, candidate, numbers[demand.workload], start)
        placed.append(placement)
        room.used[candidate.pool].append(_span(placement))
    _services_used(data, decision, room)
    unplaced: list[Unplaced] = []
    for (d, c), count in sorted(decision.many.items(), key=lambda item: _hardest_first(data, *item[0])):
        demand = data.runs[d]
        candidate = data.run_candidates[demand.workload][c]
        starts = _starts_of(room, demand, candidate, count, candidate.pool in grid.coupled)
        for start in starts:
            numbers[demand.workload] += 1
            placement = _placement(demand, candidate, numbers[demand.workload], start)
            placed.append(placement)
        if len(starts) < count:
            unplaced.append(Unplaced(demand=d, candidate=c, placed=len(starts), asked=count))
    return tuple(sorted(placed, key=lambda p: (p.start_hours, p.workload, p.run))), tuple(unplaced)


def standing_room(data: LpData, decision: Decision) -> Room:
    """What is paid for whether used or not, over time."""
    room = Room(data, decision)
    for standing in data.standing:
        room.alive[standing.pool].append(
            Span(start_hours=standing.from_hours, end_hours=standing.to_hours, count=standing.instances)
        )
    for term in data.terms:
        for k, start in enumerate(() if term.market.is_savings_plan else term.starts):
            units = decision.units.get((term.id, k), 0.0)
            if units:
                room.alive[term.pool].append(
                    Span(start_hours=start.start_hours, end_hours=start.end_hours, count=units)
                )
    for purchase in data.purchases:
        for k, delivery in enumerate(purchase.deliveries):
            bought = decision.bought.get((purchase.id, k), 0)
            if bought:
                room.alive[purchase.pool].append(
                    Span(start_hours=delivery.start_hours, end_hours=delivery.end_hours, count=bought)
                )
    return room


def used_room(data: LpData, decision: Decision, placements: Iterable[Placement]) -> Room:
    """What stands, and what runs and services use of it, over time."""
    room = standing_room(data, decision)
    for placement in placements:
        room.used[placement.pool].append(_span(placement))
    _services_used(data, decision, room)
    return room


def _hardest_first(data: LpData, d: int, c: int) -> tuple[float, int, int]:
    candidate = data.run_candidates[data.runs[d].workload][c]
    return (-candidate.elapsed_hours * candidate.instances, d, c)


def _placement(demand: RunDemand, candidate: RunCandidate, run: int, start: float) -> Placement:
    return Placement(
        workload=demand.workload,
        run=run,
        pool=candidate.pool,
        instances=candidate.instances,
        start_hours=start,
        end_hours=start + candidate.elapsed_hours,
        candidate=candidate,
    )


def _span(placement: Placement) -> Span:
    return Span(start_hours=placement.start_hours, end_hours=placement.end_hours, count=placement.instances)


def _services_used(data: LpData, decision: Decision, room: Room) -> None:
    """A service's peak over the day is what runs without a pause must leave to it."""
    peaks: dict[tuple[int, str], float] = defaultdict(float)
    by_block: dict[tuple[int, int, str], float] = defaultdict(float)
    for (d, c, b), count in decision.hosts.items():
        candidate = data.replica_candidates[data.services[d].workload][c]
        by_block[d, b, candidate.pool] += count * (candidate.instances if candidate.per_instance == 1 else 1)
    for (d, _, pool), in_block in by_block.items():
        peaks[d, pool] = max(peaks[d, pool], in_block)
    for (d, pool), peak in sorted(peaks.items()):
        demand = data.services[d]
        room.used[pool].append(Span(start_hours=demand.from_hours, end_hours=demand.to_hours, count=peak))


def _starts_of(room: Room, demand: RunDemand, candidate: RunCandidate, count: int, coupled: bool) -> list[float]:
    if not coupled:
        return _spread_evenly(demand, candidate, count)
    starts = _earliest(room, demand, candidate, count, rent=False)
    left = count - len(starts)
    if left and room.free(candidate.pool, demand.from_hours, rent=True) == float("inf"):
        more = _spread_evenly(demand, candidate, left)
        room.used[candidate.pool] += [
            Span(start_hours=t, end_hours=t + candidate.elapsed_hours, count=candidate.instances) for t in more
        ]
        return sorted(starts + more)
    if left:
        starts += _earliest(room, demand, candidate, left, rent=True)
    return sorted(starts)


def _spread_evenly(demand: RunDemand, candidate: RunCandidate, count: int) -> list[float]:
    """Starts over the whole window: one after the other where they fit so, else overlapping evenly."""
    window = demand.latest_hours - demand.from_hours
    gap = window / count
    if gap < candidate.elapsed_hours and count > 1:
        gap = max(0.0, (window - candidate.elapsed_hours) / (count - 1))
    return [demand.from_hours + index * gap for index in range(count)]


def _earliest(room: Room, demand: RunDemand, candidate: RunCandidate, count: int, *, rent: bool) -> list[float]:
    """Starts of up to `count` runs, each at the earliest time with room for its whole length."""
    length = candidate.elapsed_hours
    starts: list[float] = []
    times = room.marks(candidate.pool, demand.from_hours, demand.latest_hours)
    seen = set(times)
    while times and len(starts) < count:
        time = times.pop(0)
        if time + length > demand.latest_hours + _TINY_HOURS:
            break
        inside = room.marks(candidate.pool, time, time + length - _TINY_HOURS)
        free = min(room.free(candidate.pool, t, rent=rent) for t in inside)
        lanes = int(min(free // candidate.instances, count - len(starts)))
        if lanes <= 0:
            continue
        starts += [time] * lanes
        room.used[candidate.pool].append(
            Span(start_hours=time, end_hours=time + length, count=lanes * candidate.instances)
        )
        after = time + length
        if not any(abs(after - t) < _TINY_HOURS for t in seen):
            times = sorted([*times, after])
        seen.add(after)
    return starts
