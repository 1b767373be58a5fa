"""What is used stands there: rented, committed, owned or bought."""

from __future__ import annotations

from collections import defaultdict

from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Cell, Grid
from gpu_opt.lp.variables import Expression, RunVars
from gpu_opt.records import record


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
            caps = [rent.max_instances for rent in data.pools[pool].rents]
            if None not in caps:
                most = float(sum(cap for cap in caps if cap is not None))
                run.model.row(f"C4_rented[{pool},{index}]", dict.fromkeys(bought, 1.0), high=most * cell.hours)


@record
class Crowded:
    """(pool, period) pairs in which the occupancy rule was found broken: elsewhere it holds by itself.

    `exact` writes the rule as it is, with a choice for each workload. Otherwise those pairs are taken to be shared,
    which is a restriction, and much easier to solve.
    """

    pairs: frozenset[tuple[str, int]] = frozenset()
    exact: bool = False


def add_occupancy(run: RunVars, data: LpData, grid: Grid, crowded: Crowded) -> None:
    """C5: where two or more workloads of jobs share what is paid for, they fill at most `occupancy` of a period."""
    for pool, period in sorted(crowded.pairs):
        indices = [i for i, cell in enumerate(grid.cells[pool]) if cell.period == period]
        uses = _job_hours(run, pool, indices)
        covered = _covered(run, data, pool, period, indices, uses)
        capacity, fixed = _paid_hours(run, data, grid, pool, indices)
        terms: Expression = defaultdict(float)
        for expression in covered.values():
            for var, hours in expression.items():
                terms[var] += hours
        for var, hours in capacity.items():
            terms[var] -= data.occupancy_fraction * hours
        most = _most_hours(data, grid, pool, indices) if crowded.exact else 0.0
        if crowded.exact:
            terms[_shared(run, pool, period, covered, most)] = most
        high = data.occupancy_fraction * fixed + most
        run.model.row(f"C5_occupancy[{pool},{period}]", terms, high=high)


def _job_hours(run: RunVars, pool: str, indices: list[int]) -> dict[str, Expression]:
    by_workload: dict[str, Expression] = defaultdict(lambda: defaultdict(float))
    for index in indices:
        for workload, expression in run.job_uses.get((pool, index), {}).items():
            for var, hours in expression.items():
                by_workload[workload][var] += hours
    return dict(sorted(by_workload.items()))


def _covered(
    run: RunVars, data: LpData, pool: str, period: int, indices: list[int], uses: dict[str, Expression]
) -> dict[str, Expression]:
    """By workload what it uses less what of it is rented; the rented parts add up to no more than all rent there."""
    covered: dict[str, Expression] = {}
    rent: Expression = {}
    for workload, use in uses.items():
        terms = dict(use)
        name = f"job_rent[{pool},{period},{workload}]"
        rented = run.model.var(name, high=float("inf") if data.pools[pool].rents else 0.0)
        run.named[name] = rented
        terms[rented] = -1.0
        rent[rented] = 1.0
        covered[workload] = terms
        run.model.row(f"C5_covered[{pool},{period},{workload}]", terms, low=0.0)
    for index in indices:
        here = [var for (p, _, i), var in run.rent.items() if (p, i) == (pool, index)]
        here += [var for (_, p, i), var in run.plan.items() if (p, i) == (pool, index)]
        rent.update(dict.fromkeys(here, -1.0))
    run.model.row(f"C5_rent[{pool},{period}]", rent, high=0.0)
    return covered


def _shared(run: RunVars, pool: str, period: int, covered: dict[str, Expression], most: float) -> int:
    """1 when two or more workloads use what is paid for."""
    shared = run.model.var(f"shared[{pool},{period}]", high=1.0, integer=True)
    users: Expression = {}
    for workload, terms in covered.items():
        user = run.model.var(f"user[{pool},{period},{workload}]", high=1.0, integer=True)
        run.model.row(f"C5_user[{pool},{period},{workload}]", {**terms, user: -most}, high=0.0)
        users[user] = 1.0
    run.model.row(f"C5_users[{pool},{period}]", {**users, shared: -float(len(users) - 1)}, high=1.0)
    return shared


def _paid_hours(run: RunVars, data: LpData, grid: Grid, pool: str, indices: list[int]) -> tuple[Expression, float]:
    capacity: Expression = defaultdict(float)
    fixed = 0.0
    for index in indices:
        cell = grid.cells[pool][index]
        alive, standing = alive_in(run, data, pool, cell)
        fixed += standing * cell.hours
        for var, count in alive.items():
            capacity[var] += count * cell.hours
    return capacity, fixed


def _most_hours(data: LpData, grid: Grid, pool: str, indices: list[int]) -> float:
    """More job hours than a pool can have in a period: every run there at once, and all the divisible work."""
    hours = sum(grid.cells[pool][i].hours for i in indices)
    most = 0.0
    for demand in data.runs:
        gangs = [k.instances * k.elapsed_hours for k in data.run_candidates[demand.workload] if k.pool == pool]
        most += max(gangs, default=0.0) * demand.runs
    for demand_fluid in data.fluids:
        candidates = data.fluid_candidates[demand_fluid.workload, demand_fluid.key]
        most += max(
            (k.instances * demand_fluid.work / k.work_per_hour for k in candidates if k.pool == pool), default=0.0
        )
    return max(most, hours)
