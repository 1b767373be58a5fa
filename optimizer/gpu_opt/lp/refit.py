"""From a calendar back to the program: recurring runs stay where they were placed, the rest is fitted around them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gpu_opt.lp.build import Program
from gpu_opt.lp.decision import Decision, read_values
from gpu_opt.lp.peaks import evened
from gpu_opt.lp.schedule import Placement
from gpu_opt.lp.variables import overlap_hours

_TINY_HOURS = 1e-6


def around_calendar(program: Program, decision: Decision, placements: Iterable[Placement]) -> Decision | None:
    """The same choices with divisible work and paid capacity fitted anew around the recurring runs of a calendar;
    None where they don't fit."""
    if not program.run.lanes:
        return decision
    model = program.run.model
    fixed = {i: float(round(v)) for i, v in enumerate(decision.values) if model.integers[i]}
    fixed |= _lane_hours(program, placements)
    fitted = evened(program, model.fixed(fixed))
    if not fitted.has_solution:
        return None
    again = read_values(program, fitted, list(fitted.values))
    return replace(
        again,
        minimized_usd=decision.minimized_usd,
        bound_usd=decision.bound_usd,
        status=decision.status,
        solver=decision.solver,
        version=decision.version,
    )


def _lane_hours(program: Program, placements: Iterable[Placement]) -> dict[int, float]:
    """What the placed runs take of each cell, by lane variable."""
    data = program.data
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (d, c, index), var in program.run.lanes.items():
        lanes[d, c].append((index, var))
    hours = dict.fromkeys(program.run.lanes.values(), 0.0)
    for placement in placements:
        for (d, c), cells in lanes.items():
            demand = data.runs[d]
            same = demand.workload == placement.workload
            inside = demand.from_hours - _TINY_HOURS <= placement.start_hours < demand.latest_hours
            if not (same and inside and data.run_candidates[demand.workload][c] is placement.candidate):
                continue
            for index, var in cells:
                cell = program.grid.cells[placement.pool][index]
                span = overlap_hours(placement.start_hours, placement.end_hours, cell.start_hours, cell.end_hours)
                hours[var] += span * (cell.high_fraction - cell.low_fraction)
    return hours
