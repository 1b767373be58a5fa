"""The schedule in calendar time: every run, and every stretch of divisible work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

from gpu_opt.domain.plan import ScheduledRun
from gpu_opt.domain.program import FluidCandidate
from gpu_opt.domain.question import Horizon
from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.grid import Cell, Grid
from gpu_opt.lp.schedule import Placement, Room, Span, used_room
from gpu_opt.units import SECONDS_PER_HOUR


def moment(horizon: Horizon, at_hours: float) -> str:
    """ISO 8601 in UTC, to the second."""
    start = datetime.combine(horizon.start, time(), tzinfo=UTC)
    return (start + timedelta(seconds=round(at_hours * SECONDS_PER_HOUR))).strftime("%Y-%m-%dT%H:%M:%SZ")


def scheduled_runs(
    data: LpData, grid: Grid, decision: Decision, placements: Iterable[Placement], batches: Iterable[str]
) -> tuple[ScheduledRun, ...]:
    """Runs of training jobs as placed, then batch work in whole instances: on owned machines in the gaps that runs and
    services leave, elsewhere from each cell's start on."""
    placed = list(placements)
    found = [_entry(data, p.workload, p.run, p.pool, p.instances, p.start_hours, p.end_hours) for p in placed]
    names = set(batches)
    numbers: dict[str, int] = defaultdict(int)
    room = used_room(data, decision, placed)
    for (d, c, index), hours in sorted(decision.fluid.items()):
        demand = data.fluids[d]
        if demand.workload not in names:
            continue
        candidate = data.fluid_candidates[demand.workload, demand.key][c]
        cell = grid.cells[candidate.pool][index]
        unit_hours = hours / (cell.high_fraction - cell.low_fraction)
        for start, end, units in _stretches(room, candidate, cell, unit_hours):
            numbers[demand.workload] += 1
            instances = units * candidate.instances
            room.used[candidate.pool].append(Span(start_hours=start, end_hours=end, count=instances))
            found.append(_entry(data, demand.workload, numbers[demand.workload], candidate.pool, instances, start, end))
    return tuple(sorted(found, key=lambda r: (r.start_hours, r.workload, r.run)))


def _stretches(room: Room, candidate: FluidCandidate, cell: Cell, unit_hours: float) -> list[tuple[float, float, int]]:
    """(start, end, units) that hold a cell's unit-hours: gaps of owned machines first, what is left from the start."""
    found: list[tuple[float, float, int]] = []
    if not room.data.pools[candidate.pool].rents:
        marks = [*room.marks(candidate.pool, cell.start_hours, cell.end_hours), cell.end_hours]
        for start, end in pairwise(marks):
            units = int((room.free(candidate.pool, start, rent=False) + 1e-9) // candidate.instances)
            taken = min(units * (end - start), unit_hours)
            if taken > 1e-9:
                found.append((start, start + taken / units, units))
                unit_hours -= taken
    if unit_hours > 1e-9:
        span = cell.end_hours - cell.start_hours
        units = max(1, ceiling(unit_hours / span))
        found.append((cell.start_hours, cell.start_hours + unit_hours / units, units))
    return found


def _entry(
    data: LpData, workload: str, run: int, pool: str, instances: int, start_hours: float, end_hours: float
) -> ScheduledRun:
    horizon = data.horizon
    return ScheduledRun(
        workload=workload,
        run=run,
        offer=pool,
        instances=instances,
        start=moment(horizon, start_hours),
        end=moment(horizon, end_hours),
        start_hours=start_hours,
        end_hours=end_hours,
    )
