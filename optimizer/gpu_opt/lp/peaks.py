"""Among equally cheap ways to lay divisible work, the one that needs fewest instances at one time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from gpu_opt.lp.build import Program
from gpu_opt.lp.solver import Model, SolveResult, solve
from gpu_opt.lp.variables import Expression

_SLACK_USD = 1e-4  # far below a cent


def evened(program: Program, fixed: Model) -> SolveResult:
    """The fixed model solved for cost, and then, at that cost and with each candidate's share of the work as it is,
    for the sum of the pools' rented peaks."""
    cheapest = solve(fixed, relaxed=True)
    if not cheapest.has_solution or not program.run.fluid:
        return cheapest
    model = replace(fixed, rows=list(fixed.rows), names=list(fixed.names), costs={})
    model.lows, model.highs = list(fixed.lows), list(fixed.highs)
    model.integers = list(fixed.integers)
    model.row("O2_as_cheap", fixed.costs, high=cheapest.objective - fixed.constant + _SLACK_USD)
    for d, c in sorted({(d, c) for d, c, _ in program.run.fluid}):
        mine = {var: 1.0 for (dd, cc, _), var in program.run.fluid.items() if (dd, cc) == (d, c)}
        hours = sum(cheapest.values[var] for var in mine)
        model.row(f"O2_share[{d},{c}]", mine, low=hours, high=hours)
    for pool, cells in sorted(_rented(program).items()):
        peak = model.var(f"peak[{pool}]")
        model.cost({peak: 1.0})
        for index, terms in sorted(cells.items()):
            model.row(f"O2_peak[{pool},{index}]", {**terms, peak: -program.grid.cells[pool][index].hours}, high=0.0)
    again = solve(model, relaxed=True)
    if not again.has_solution:
        return cheapest
    return replace(cheapest, values=again.values[: len(fixed.names)])


def _rented(program: Program) -> dict[str, dict[int, Expression]]:
    """By pool and cell the instance-hours that are rented, in pools where divisible work may run."""
    data, run = program.data, program.run
    pools = {data.fluid_candidates[data.fluids[d].workload, data.fluids[d].key][c].pool for d, c, _ in run.fluid}
    found: dict[str, dict[int, Expression]] = defaultdict(dict)
    for (pool, _, index), var in run.rent.items():
        if pool in pools:
            found[pool].setdefault(index, {})[var] = 1.0
    for (pool, index), use in run.uses.items():
        if pool in pools and pool not in program.grid.covered:
            found[pool][index] = dict(use)
    return found
