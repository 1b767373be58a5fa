"""From data to a program: variables, every family of constraints, the objective."""

from __future__ import annotations

from gpu_opt.lp.constraints import after, capacity, demand, limits, money, places, services
from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Grid, make_grid
from gpu_opt.lp.variables import RunVars, make_variables
from gpu_opt.records import record


@record
class Program:
    """A built program with the grid and variables that its solution is read by."""

    data: LpData
    grid: Grid
    run: RunVars


def build(data: LpData, crowded: capacity.Crowded | None = None) -> Program:
    """The whole program. Families that add costs come before those that sum them.

    The occupancy rule is written out for the pairs of `crowded` alone: see `evaluate.overfull`.
    """
    grid = make_grid(data)
    run = make_variables(data, grid)
    demand.add_runs_met(run, data, grid)
    demand.add_work_met(run, data)
    services.add_services_met(run, data)
    capacity.add_capacity(run, data, grid)
    capacity.add_occupancy(run, data, grid, crowded or capacity.Crowded())
    limits.add_quotas(run, data, grid)
    limits.add_spot_shares(run, data)
    limits.add_term_rules(run, data)
    limits.add_savings_plans(run, data, grid)
    after.add_after_horizon(run, data, grid)
    limits.add_sites(run, data)
    limits.add_providers(run, data)
    places.add_places(run, data)
    money.add_agreements(run, data)
    money.add_credits(run, data)
    money.add_budget(run, data, grid)
    run.model.cost(money.objective_terms(run, data))
    fixed = money.fixed_costs(data)
    run.model.constant = sum(usd * data.support_ratio(provider) for (_, provider), usd in sorted(fixed.items()))
    return Program(data=data, grid=grid, run=run)
