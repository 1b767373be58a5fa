"""The schedule in calendar time: every run, and every stretch of divisible work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta

from gpu_opt.domain.plan import ScheduledRun
from gpu_opt.domain.question import Horizon
from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.schedule import Placement
from gpu_opt.units import SECONDS_PER_HOUR


def moment(horizon: Horizon, at_hours: float) -> str:
    """ISO 8601 in UTC, to the second."""
    start = datetime.combine(horizon.start, time(), tzinfo=UTC)
    return (start + timedelta(seconds=round(at_hours * SECONDS_PER_HOUR))).strftime("%Y-%m-%dT%H:%M:%SZ")


def scheduled_runs(
    data: LpData, grid: Grid, decision: Decision, placements: Iterable[Placement], batches: Iterable[str]
) -> tuple[ScheduledRun, ...]:
    """Runs of training jobs as placed, then batch work: whole instances from each cell's start on."""
    found = [_entry(data, p.workload, p.run, p.pool, p.instances, p.start_hours, p.end_hours) for p in placements]
    names = set(batches)
    numbers: dict[str, int] = defaultdict(int)
    for (d, c, index), hours in sorted(decision.fluid.items()):
        demand = data.fluids[d]
        if demand.workload not in names:
            continue
        candidate = data.fluid_candidates[demand.workload, demand.key][c]
        cell = grid.cells[candidate.pool][index]
        span = cell.end_hours - cell.start_hours
        units = max(1, ceiling(hours / cell.hours))
        numbers[demand.workload] += 1
        end = cell.start_hours + span * hours / (units * cell.hours)
        found.append(
            _entry(
                data,
                demand.workload,
                numbers[demand.workload],
                candidate.pool,
                units * candidate.instances,
                cell.start_hours,
                end,
            )
        )
    return tuple(sorted(found, key=lambda r: (r.start_hours, r.workload, r.run)))


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
