"""What is in use and what stands in a pool at every time, worked out from runs, services and divisible work."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json
from gpu_opt.verify.form import TooLarge

_MOST_SEGMENTS = 4_000_000
Slice = tuple[float, float]


@dataclass(slots=True)
class Segment:
    """A stretch of time in a slice of every day, in which `fixed` instances run without a pause and `alive` are paid
    for whether used or not."""

    start: float
    end: float
    fixed: float
    alive: float

    @property
    def over(self) -> float:
        """Instances that run on rent."""
        return max(0.0, self.fixed - self.alive)


@dataclass(slots=True)
class Cell:
    """A stretch of one period, in a slice of every day, in which divisible work of `divisible` instance-hours may run
    at any time. `room` are paid hours that runs and services leave free; `over` what they need beyond them."""

    start: float
    end: float
    period: int
    share: float
    segments: list[Segment] = field(default_factory=list)
    divisible: float = 0.0
    room: float = 0.0
    over: float = 0.0

    @property
    def hours(self) -> float:
        """Hours that the cell holds."""
        return (self.end - self.start) * self.share

    @property
    def divisible_over(self) -> float:
        """Instance-hours of divisible work beyond the room."""
        return max(0.0, self.divisible - self.room)


@dataclass(slots=True)
class Profile:
    """A pool's cells by slice of the day."""

    pool: str
    slices: list[Slice]
    cells: dict[Slice, list[Cell]]

    def at(self, middle: float) -> list[Cell]:
        """The cells of the slice that a part of the day falls in."""
        for low, high in self.slices:
            if low <= middle < high:
                return self.cells[low, high]
        return []


def profiles_of(have: Estate) -> dict[str, Profile]:
    """Every pool that is used or has paid capacity."""
    runs: dict[str, list[Json]] = defaultdict(list)
    work: dict[str, list[Json]] = defaultdict(list)
    services: dict[str, list[Json]] = defaultdict(list)
    for run in have.evidence["runs"]["placed"]:
        runs[run["pool"]].append(run)
    for done in have.evidence["work"]["done"]:
        work[done["pool"]].append(done)
    for standing in have.evidence["services"]["standing"]:
        services[standing["pool"]].append(standing)
    found = {}
    segments = 0
    for pool in sorted({*runs, *work, *services, *have.by_pool}):
        found[pool], count = _profile(have, pool, runs[pool], work[pool], services[pool], _MOST_SEGMENTS - segments)
        segments += count
    return found


def _marks(values: Iterable[float], low: float, high: float, apart: float) -> list[float]:
    """Sorted distinct values in [low, high], both ends included."""
    kept = [low]
    for value in sorted(values):
        if low < value < high and value - kept[-1] > apart:
            kept.append(value)
    if high - kept[-1] <= apart and len(kept) > 1:
        kept.pop()
    return [*kept, high]


def _profile(
    have: Estate, pool: str, runs: list[Json], work: list[Json], services: list[Json], most: int
) -> tuple[Profile, int]:
    asked = have.evidence["services"]["asked"]
    parts = [(asked[s["demand"]], asked[s["demand"]]["blocks"][s["block"]], have.instances_of(s)) for s in services]
    day = {mark for _, block, _ in parts for mark in (block["low_fraction"], block["high_fraction"])}
    day |= {mark for done in work for mark in (done["low_fraction"], done["high_fraction"])}
    edges = _marks(day, 0.0, 1.0, 1e-9)
    slices = list(itertools.pairwise(edges))
    sources = have.by_pool.get(pool, [])
    cuts = {t for done in work for t in (done["start_hours"], done["end_hours"])}
    cuts |= {t for s in sources for t in (s["start_hours"], s["end_hours"])} | set(have.starts)
    times = _marks(cuts, 0.0, have.horizon_hours, 1e-9)
    marks = set(times) | {t for run in runs for t in (run["start_hours"], run["end_hours"])}
    marks |= {t for demand, _, _ in parts for t in (demand["from_hours"], demand["to_hours"])}
    fine = _marks(marks, 0.0, have.horizon_hours, 0.0)
    count = len(fine) * len(slices)
    if count > most or _overlaps(work, times) * len(slices) > most:
        raise TooLarge(f"evidence: the use of {pool} changes at more times than can be checked.")
    steady: list[tuple[float, float]] = []
    for run in runs:
        steady += [(run["start_hours"], run["instances"]), (run["end_hours"], -run["instances"])]
    stands: list[tuple[float, float]] = []
    for source in sources:
        stands += [(source["start_hours"], source["instances"]), (source["end_hours"], -source["instances"])]
    cells = {}
    for low, high in slices:
        middle = (low + high) / 2
        own = list(steady)
        for demand, block, instances in parts:
            if block["low_fraction"] <= middle < block["high_fraction"]:
                own += [(demand["from_hours"], instances), (demand["to_hours"], -instances)]
        cells[low, high] = _cells(have, times, fine, high - low, sorted(own), sorted(stands))
    for done in work:
        _spread(cells, times, done)
    for made in cells.values():
        for cell in made:
            _sum(cell)
    return Profile(pool=pool, slices=slices, cells=cells), count


def _overlaps(work: list[Json], times: list[float]) -> int:
    """How many cells all the stretches of divisible work cover together."""
    return sum(bisect_left(times, d["end_hours"]) - bisect_left(times, d["start_hours"]) + 1 for d in work)


def _cells(
    have: Estate,
    times: list[float],
    fine: list[float],
    share: float,
    use: list[tuple[float, float]],
    stands: list[tuple[float, float]],
) -> list[Cell]:
    cells = [
        Cell(start=start, end=end, period=have.period_at((start + end) / 2), share=share)
        for start, end in itertools.pairwise(times)
    ]
    at, used, alive, u, s = 0, 0.0, 0.0, 0, 0
    for start, end in itertools.pairwise(fine):
        while u < len(use) and use[u][0] <= start:
            used += use[u][1]
            u += 1
        while s < len(stands) and stands[s][0] <= start:
            alive += stands[s][1]
            s += 1
        while at < len(cells) - 1 and cells[at].end <= start:
            at += 1
        fixed = used if abs(used) > 1e-9 else 0.0
        cells[at].segments.append(Segment(start=start, end=end, fixed=fixed, alive=max(0.0, alive)))
    return cells


def _spread(cells: dict[Slice, list[Cell]], times: list[float], done: Json) -> None:
    """Divisible work on the cells that its stretch covers, by their hours."""
    start, end = max(done["start_hours"], 0.0), min(done["end_hours"], times[-1])
    whole = (end - start) * (done["high_fraction"] - done["low_fraction"])
    if whole <= 0.0:
        return
    amount = done["unit_hours"] * done["instances"]
    first = max(0, bisect_right(times, start + TINY_HOURS) - 1)
    for (low, high), made in cells.items():
        if not done["low_fraction"] - 1e-9 <= low < high <= done["high_fraction"] + 1e-9:
            continue
        for cell in made[first:]:
            if cell.start >= end - TINY_HOURS:
                break
            part = min(end, cell.end) - max(start, cell.start)
            cell.divisible += amount * part * (high - low) / whole


def _sum(cell: Cell) -> None:
    for segment in cell.segments:
        hours = (segment.end - segment.start) * cell.share
        cell.over += segment.over * hours
        cell.room += max(0.0, segment.alive - segment.fixed) * hours
