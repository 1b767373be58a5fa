"""What is used stands there: rented, committed, owned or bought."""

from __future__ import annotations

from collections import defaultdict

from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Cell, Grid
from gpu_opt.lp.variables import Expression, RunVars


def alive_in(run: RunVars, data: LpData, pool: str, cell: Cell) -> tuple[Expression, float]:
    """Instances that stand in a cell, paid for used or not: terms and purchases as variables, the rest fixed."""
    middle = (cell.start_hours + cell.end_hours) / 2
    terms: Expression = defaultdict(float)
    for term in data.terms:
        if term.pool == pool and not term.market.is_savings_plan:
            for k, start in enumerate(term.starts):
                if start.start_hours <= middle < start.end_hours:
                    terms[run.units[term.id, k]] += 1.0
    for purchase in data.purchases:
        if purchase.pool == pool:
            for k, delivery in enumerate(purchase.deliveries):
                if delivery.start_hours <= middle < delivery.end_hours:
                    terms[run.bought[purchase.id, k]] += 1.0
    fixed = sum(float(s.instances) for s in data.standing if s.pool == pool and s.from_hours <= middle < s.to_hours)
    return dict(terms), fixed


def add_capacity(run: RunVars, data: LpData, grid: Grid) -> None:
    """C4: in each cell what is used is at most what is rented and what stands there."""
    for pool in sorted(grid.covered):
        for index, cell in enumerate(grid.cells[pool]):
            use = run.uses.get((pool, index))
            if not use:
                continue
            alive, fixed = alive_in(run, data, pool, cell)
            terms = dict(use)
            bought = [var for (p, _, i), var in run.rent.items() if (p, i) == (pool, index)]
            bought += [var for (_, p, i), var in run.plan.items() if (p, i) == (pool, index)]
            for var in bought:
                terms[var] = -1.0
            for var, count in alive.items():
                terms[var] = terms.get(var, 0.0) - count * cell.hours
            run.model.row(f"C4_capacity[{pool},{index}]", terms, high=fixed * cell.hours)


def add_occupancy(run: RunVars, data: LpData, grid: Grid, shared: frozenset[tuple[str, int]]) -> None:
    """C5: where two or more workloads of jobs share what is paid for, they fill at most `occupancy` of a period.

    `shared` names the (pool, period) pairs in which the rule was found broken: elsewhere it holds by itself.
    """
    for pool, period in sorted(shared):
        _occupancy_in(run, data, grid, pool, period)


def _occupancy_in(run: RunVars, data: LpData, grid: Grid, pool: str, period: int) -> None:
    indices = [i for i, cell in enumerate(grid.cells[pool]) if cell.period == period]
    by_workload: dict[str, Expression] = defaultdict(lambda: defaultdict(float))
    for index in indices:
        for workload, expression in run.job_uses.get((pool, index), {}).items():
            for var, hours in expression.items():
                by_workload[workload][var] += hours
    if len(by_workload) < 2:
        return
    capacity: Expression = defaultdict(float)
    fixed = 0.0
    for index in indices:
        cell = grid.cells[pool][index]
        alive, standing = alive_in(run, data, pool, cell)
        fixed += standing * cell.hours
        for var, count in alive.items():
            capacity[var] += count * cell.hours
    rent_terms: Expression = {}
    most = _most_hours(run, data, grid, pool, indices)
    shared = run.model.var(f"shared[{pool},{period}]", high=1.0, integer=True)
    covered: Expression = {}
    users: Expression = {}
    for workload, use in sorted(by_workload.items()):
        rented = run.model.var(f"job_rent[{pool},{period},{workload}]") if data.pools[pool].rents else None
        if rented is not None:
            run.named[f"job_rent[{pool},{period},{workload}]"] = rented
        user = run.model.var(f"user[{pool},{period},{workload}]", high=1.0, integer=True)
        run.named[f"user[{pool},{period},{workload}]"] = user
        terms = dict(use)
        if rented is not None:
            terms[rented] = -1.0
            rent_terms[rented] = 1.0
        run.model.row(f"C5_user[{pool},{period},{workload}]", {**terms, user: -most}, high=0.0)
        users[user] = 1.0
        for var, hours in terms.items():
            covered[var] = covered.get(var, 0.0) + hours
    run.model.row(f"C5_users[{pool},{period}]", {**users, shared: -float(len(users) - 1)}, high=1.0)
    if rent_terms:
        for index in indices:
            for (p, _, i), var in run.rent.items():
                if (p, i) == (pool, index):
                    rent_terms[var] = -1.0
            for (_, p, i), var in run.plan.items():
                if (p, i) == (pool, index):
                    rent_terms[var] = -1.0
        run.model.row(f"C5_rent[{pool},{period}]", rent_terms, high=0.0)
    terms = dict(covered)
    for var, hours in capacity.items():
        terms[var] = terms.get(var, 0.0) - data.occupancy_fraction * hours
    run.model.row(
        f"C5_occupancy[{pool},{period}]", {**terms, shared: most}, high=data.occupancy_fraction * fixed + most
    )


def _most_hours(run: RunVars, data: LpData, grid: Grid, pool: str, indices: list[int]) -> float:
    """More job hours than a pool can have in a period: every run there at once, and all the divisible work."""
    hours = sum(grid.cells[pool][i].hours for i in indices)
    most = 0.0
    for _d, demand in enumerate(data.runs):
        gangs = [k.instances * k.elapsed_hours for k in data.run_candidates[demand.workload] if k.pool == pool]
        most += max(gangs, default=0.0) * demand.runs
    for demand_fluid in data.fluids:
        candidates = data.fluid_candidates[demand_fluid.workload, demand_fluid.key]
        most += max(
            (k.instances * demand_fluid.work / k.work_per_hour for k in candidates if k.pool == pool), default=0.0
        )
    return max(most, hours)
