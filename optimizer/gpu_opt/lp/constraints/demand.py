"""What is asked for is done."""

from __future__ import annotations

from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.variables import RunVars


def add_runs_met(run: RunVars, data: LpData, grid: Grid) -> None:
    """C1: every run is done once, on one candidate, at one start; recurring runs add up to their number."""
    for d, demand in enumerate(data.runs):
        if not demand.recurring:
            terms = {var: 1.0 for (demand_index, _, _), var in run.once.items() if demand_index == d}
            run.model.row(f"C1_run[{d}]", terms, low=1.0, high=1.0)
            continue
        terms = {var: 1.0 for (demand_index, _), var in run.many.items() if demand_index == d}
        run.model.row(f"C1_runs[{d}]", terms, low=float(demand.runs), high=float(demand.runs))
        _lane_hours(run, data, grid, d)


def _lane_hours(run: RunVars, data: LpData, grid: Grid, d: int) -> None:
    demand = data.runs[d]
    for c, candidate in enumerate(data.run_candidates[demand.workload]):
        lanes = {index: var for (dd, cc, index), var in run.lanes.items() if (dd, cc) == (d, c)}
        if (d, c) not in run.many or candidate.pool not in grid.coupled:
            continue
        many = run.many[d, c]
        terms = dict.fromkeys(lanes.values(), 1.0)
        terms[many] = -candidate.elapsed_hours
        run.model.row(f"C1_lane_hours[{d},{c}]", terms, low=0.0, high=0.0)


def add_work_met(run: RunVars, data: LpData) -> None:
    """C2: divisible work is done in full and no more, wherever and whenever its pieces run inside its window."""
    for d, demand in enumerate(data.fluids):
        candidates = data.fluid_candidates[demand.workload, demand.key]
        terms = {var: candidates[c].work_per_hour for (dd, c, _), var in run.fluid.items() if dd == d}
        scale = 1.0 / demand.work if demand.work > 0 else 1.0
        terms = {var: value * scale for var, value in terms.items()}
        run.model.row(f"C2_work[{d}]", terms, low=demand.work * scale, high=demand.work * scale)
