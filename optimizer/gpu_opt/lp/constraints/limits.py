"""Quotas, spot shares, providers, sites and the terms' own bounds."""

from __future__ import annotations

import math
from collections import defaultdict

from gpu_opt.domain.program import Limit
from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.variables import Expression, RunVars


def add_quotas(run: RunVars, data: LpData, grid: Grid) -> None:
    """C6: at every time, what a quota counts of rented and reserved instances stays within it."""
    for limit in data.limits:
        pools = sorted({pool for pool, _ in limit.rent_weight if pool in data.pools})
        term_pools = {t.pool for t in data.terms if t.id in limit.term_weight} & set(data.pools)
        if not pools and not term_pools:
            continue
        cells = grid.cells[pools[0] if pools else sorted(term_pools)[0]]
        for index, cell in enumerate(cells):
            terms: Expression = defaultdict(float)
            for pool in pools:
                _rented(run, data, grid, pool, index, cell.hours, limit.rent_weight, terms)
            middle = (cell.start_hours + cell.end_hours) / 2
            for term in data.terms:
                weight = limit.term_weight.get(term.id, 0.0)
                for k, start in enumerate(term.starts if weight else ()):
                    if start.start_hours <= middle < start.end_hours:
                        terms[run.units[term.id, k]] += weight
            fixed = sum(
                limit.standing_weight.get(s.id, 0.0) * s.instances
                for s in data.standing
                if s.from_hours <= middle < s.to_hours
            )
            if terms:
                run.model.row(f"C6_quota[{limit.id},{index}]", terms, high=_whole(limit) - fixed)


def _whole(limit: Limit) -> float:
    """What whole instances can reach of a limit: of 12 GPUs, instances of 8 use 8 at one time."""
    weights = [*limit.rent_weight.values(), *limit.term_weight.values(), *limit.standing_weight.values()]
    if not weights or any(weight != int(weight) or weight <= 0 for weight in weights):
        return limit.maximum
    step = math.gcd(*(int(weight) for weight in weights))
    return math.floor(limit.maximum / step + 1e-9) * float(step)


def _rented(
    run: RunVars,
    data: LpData,
    grid: Grid,
    pool: str,
    index: int,
    hours: float,
    weights: object,
    terms: Expression,
) -> None:
    table = dict(weights)  # type: ignore[call-overload]
    for r, rent in enumerate(data.pools[pool].rents):
        weight = table.get((pool, str(rent.offer.market)), 0.0)
        if not weight:
            continue
        if pool in grid.covered:
            var = run.rent.get((pool, r, index))
            if var is not None:
                terms[var] += weight / hours
        else:
            for var, use in run.uses.get((pool, index), {}).items():
                terms[var] += weight * use / hours
    for (_, p, i), var in run.plan.items():
        if (p, i) == (pool, index):
            terms[var] += table.get((pool, "on_demand"), 0.0) / hours


def add_spot_shares(run: RunVars, data: LpData) -> None:
    """C7: spot carries at most its share of a service's replicas, a batch's work or a period's runs."""
    for d, demand in enumerate(data.runs):
        if demand.spot_share_fraction >= 1.0:
            continue
        candidates = data.run_candidates[demand.workload]
        spot = [v for (dd, c, _), v in run.once.items() if dd == d and data.pools[candidates[c].pool].spot]
        spot += [v for (dd, c), v in run.many.items() if dd == d and data.pools[candidates[c].pool].spot]
        if spot:
            run.model.row(f"C7_spot_runs[{d}]", dict.fromkeys(spot, 1.0), high=demand.spot_share_fraction * demand.runs)
    for d, work in enumerate(data.fluids):
        units = data.fluid_candidates[work.workload, work.key]
        terms = {
            v: units[c].work_per_hour
            for (dd, c, _), v in run.fluid.items()
            if dd == d and data.pools[units[c].pool].spot
        }
        if terms and work.spot_share_fraction < 1.0:
            run.model.row(f"C7_spot_work[{d}]", terms, high=work.spot_share_fraction * work.work)
    for d, service in enumerate(data.services):
        kinds = data.replica_candidates[service.workload]
        for b in range(len(service.blocks)) if service.spot_share_fraction < 1.0 else ():
            share = service.spot_share_fraction
            terms = {
                v: (1.0 - share if data.pools[kinds[c].pool].spot else -share)
                for (dd, c, bb), v in run.replicas.items()
                if (dd, bb) == (d, b)
            }
            run.model.row(f"C7_spot_replicas[{d},{b}]", terms, high=0.0)


def add_term_rules(run: RunVars, data: LpData) -> None:
    """C8: a quote that is used stands with at least its minimum at one time, and never above its maximum."""
    for term in data.terms:
        _at_one_time(
            run, term.id, [run.units[term.id, k] for k in range(len(term.starts))], term.starts, term.max_units
        )
        if term.min_units <= 0:
            continue
        for k in range(len(term.starts)):
            used = run.model.var(f"used[{term.id},{k}]", high=1.0, integer=True)
            most = float(term.max_units or 1_000_000)
            unit = run.units[term.id, k]
            run.model.row(f"C8_most[{term.id},{k}]", {unit: 1.0, used: -most}, high=0.0)
            start = term.starts[k].start_hours
            terms: Expression = {used: -float(term.min_units)}
            for j, other in enumerate(term.starts):
                if other.start_hours <= start < other.end_hours:
                    terms[run.units[term.id, j]] = 1.0
            run.model.row(f"C8_least[{term.id},{k}]", terms, low=0.0)
    for purchase in data.purchases:
        bought = [run.bought[purchase.id, k] for k in range(len(purchase.deliveries))]
        if purchase.max_instances is not None and bought:
            run.model.row(f"C8_bought[{purchase.id}]", dict.fromkeys(bought, 1.0), high=float(purchase.max_instances))


def _at_one_time(run: RunVars, name: str, variables: list[int], starts: object, most: int | None) -> None:
    if most is None:
        return
    spans = list(starts)  # type: ignore[call-overload]
    for k, span in enumerate(spans):
        alive = [v for v, s in zip(variables, spans, strict=True) if s.start_hours <= span.start_hours < s.end_hours]
        if len(alive) > 1:
            run.model.row(f"C8_one_time[{name},{k}]", dict.fromkeys(alive, 1.0), high=float(most))


def add_savings_plans(run: RunVars, data: LpData, grid: Grid) -> None:
    """C9: in each cell a savings plan covers at most its committed dollars per hour, at the plan's prices."""
    for term in data.terms:
        if not term.market.is_savings_plan:
            continue
        pools = sorted(pool for pool in term.plan_rates if pool in data.pools)
        for index, cell in enumerate(grid.cells[pools[0]] if pools else ()):
            terms: Expression = {}
            for pool in pools:
                var = run.plan.get((term.id, pool, index))
                if var is not None:
                    terms[var] = term.plan_rates[pool]
            if not terms:
                continue
            middle = (cell.start_hours + cell.end_hours) / 2
            for k, start in enumerate(term.starts):
                if start.start_hours <= middle < start.end_hours:
                    terms[run.units[term.id, k]] = -cell.hours
            run.model.row(f"C9_plan[{term.id},{index}]", terms, high=0.0)


def add_sites(run: RunVars, data: LpData) -> None:
    """C10: what is bought for a site fits its free power and racks."""
    for site in data.sites:
        for field, most in (("kw_per_instance", site.power_kw_free), ("racks_per_instance", site.racks_free)):
            if most is None:
                continue
            terms: Expression = {}
            for purchase in data.purchases:
                if purchase.site == site.name:
                    for k in range(len(purchase.deliveries)):
                        terms[run.bought[purchase.id, k]] = float(getattr(purchase, field))
            if terms:
                run.model.row(f"C10_{field}[{site.name}]", terms, high=most)


def provider_uses(run: RunVars, data: LpData) -> dict[str, dict[int, float]]:
    """By provider: the variables that mean something is had from it, with a bound of each on its own."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for (d, c, _), var in run.once.items():
        found[data.pools[data.run_candidates[data.runs[d].workload][c].pool].provider][var] = 1.0
    for (d, c), var in run.many.items():
        provider = data.pools[data.run_candidates[data.runs[d].workload][c].pool].provider
        found[provider][var] = float(data.runs[d].runs)
    for (d, c, _), var in run.fluid.items():
        demand = data.fluids[d]
        candidate = data.fluid_candidates[demand.workload, demand.key][c]
        found[data.pools[candidate.pool].provider][var] = max(demand.work / candidate.work_per_hour, 1e-9)
    for (d, c, b), var in run.replicas.items():
        service = data.services[d]
        candidate_pool = data.replica_candidates[service.workload][c].pool
        needed = data.replicas_needed(service.workload, c, service.blocks[b].requests_per_second)
        found[data.pools[candidate_pool].provider][var] = float(needed + service.min_replicas + 1) * 4.0
    for term in data.terms:
        for k in range(len(term.starts)):
            found[term.provider][run.units[term.id, k]] = float(term.max_units or 100_000)
    return found


def add_providers(run: RunVars, data: LpData) -> None:
    """C11: at most `max_providers` are used (one's own sites don't count); a fixed charge is paid where one is used."""
    fixed = {o.provider: o.fixed_usd_per_period for o in data.overheads if o.fixed_usd_per_period > 0.0}
    if data.max_providers is None and not fixed:
        return
    existing = {data.pools[s.pool].provider for s in data.standing if not s.owned}
    flags: Expression = {}
    for provider, uses in sorted(provider_uses(run, data).items()):
        if provider == "onprem":
            continue
        used = run.model.var(f"provider[{provider}]", low=1.0 if provider in existing else 0.0, high=1.0, integer=True)
        flags[used] = 1.0
        run.named[f"provider[{provider}]"] = used
        for var, most in uses.items():
            run.model.row(f"C11_provider[{provider},{var}]", {var: 1.0, used: -most}, high=0.0)
        for period in range(len(data.horizon.periods)):
            run.charge(used, fixed.get(provider, 0.0), period, "")
    if data.max_providers is not None and flags:
        run.model.row("C11_providers", flags, high=float(data.max_providers))
