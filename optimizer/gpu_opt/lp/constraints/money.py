"""Budgets, agreements and credits."""

from __future__ import annotations

from collections import defaultdict

from gpu_opt.lp.constraints.capacity import alive_in
from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.variables import AFTER, Expression, RunVars
from gpu_opt.units import HOURS_PER_YEAR


def fixed_costs(data: LpData) -> dict[tuple[int, str], float]:
    """USD by (period, provider) of what stands already, whatever is decided."""
    costs: dict[tuple[int, str], float] = defaultdict(float)
    for standing in data.standing:
        rate = sum(line.usd_per_instance_hour for line in standing.lines) * standing.instances
        for p, period in enumerate(data.horizon.periods):
            hours = max(0.0, min(standing.to_hours, period.end_hours) - max(standing.from_hours, period.start_hours))
            costs[p, data.pools[standing.pool].provider] += rate * hours
    return dict(costs)


def add_agreements(run: RunVars, data: LpData) -> None:
    """C12: what an agreement's least spend isn't reached by, over the horizon's share of a year, is paid."""
    share = data.horizon.hours / HOURS_PER_YEAR
    for agreement in data.agreements:
        least = (agreement.min_spend_usd_per_year - agreement.other_spend_usd_per_year) * share
        fixed = sum(usd for (_, provider), usd in fixed_costs(data).items() if provider == agreement.provider)
        shortfall = run.model.var(f"shortfall[{agreement.provider}]")
        terms: Expression = defaultdict(float)
        for term in run.costs:
            if term.provider == agreement.provider and term.period != AFTER:
                terms[term.var] += term.usd
        terms[shortfall] += 1.0
        run.model.row(f"C12_agreement[{agreement.provider}]", terms, low=least - fixed)
        run.charge(shortfall, 1.0, len(data.horizon.periods) - 1, "")


def add_credits(run: RunVars, data: LpData) -> None:
    """C13: a credit pays its provider's lines of the periods before it expires, and never more than it holds."""
    by_provider: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, credit in enumerate(data.credits):
        used: Expression = {}
        last = data.horizon.hours_at(credit.expires) + 24.0
        for p, period in enumerate(data.horizon.periods):
            if period.end_hours <= last + 1e-9:
                var = run.model.var(f"credit[{index},{p}]")
                used[var] = 1.0
                run.named[f"credit[{index},{p}]"] = var
                by_provider[credit.provider].append((p, var))
        if used:
            run.model.row(f"C13_credit[{index}]", used, high=credit.usd)
    fixed = fixed_costs(data)
    for provider, entries in sorted(by_provider.items()):
        for p in sorted({p for p, _ in entries}):
            terms: Expression = {var: 1.0 for q, var in entries if q == p}
            for term in run.costs:
                if term.provider == provider and term.period == p:
                    terms[term.var] = terms.get(term.var, 0.0) - term.usd * data.support_ratio(provider)
            high = fixed.get((p, provider), 0.0) * data.support_ratio(provider)
            run.model.row(f"C13_lines[{provider},{p}]", terms, high=high)
        for p, var in entries:
            run.charge(var, -1.0, p, "")


def objective_terms(run: RunVars, data: LpData, *, period: int | None = None) -> Expression:
    """O1: effective cost, support included; of one period when asked."""
    terms: Expression = defaultdict(float)
    for term in run.costs:
        if period is None or term.period == period:
            terms[term.var] += term.usd * data.support_ratio(term.provider)
    return dict(terms)


def add_budget(run: RunVars, data: LpData, grid: Grid) -> None:
    """C14: total, per period, capital and the highest hourly rate stay within the budget."""
    budget = data.budget
    fixed = fixed_costs(data)
    everything = {key: usd * data.support_ratio(key[1]) for key, usd in fixed.items()}
    if budget.total_usd is not None and budget.basis == "effective":
        run.model.row("C14_total", objective_terms(run, data), high=budget.total_usd - sum(everything.values()))
    if budget.total_usd is not None and budget.basis == "billed":
        terms, constant = billed_terms(run, data)
        run.model.row("C14_total", terms, high=budget.total_usd - constant)
    if budget.per_period_usd is not None:
        for p in range(len(data.horizon.periods)):
            spent = sum(usd for (q, _), usd in everything.items() if q == p)
            run.model.row(f"C14_period[{p}]", objective_terms(run, data, period=p), high=budget.per_period_usd - spent)
    if budget.capex_usd is not None:
        capex = {run.bought[p.id, k]: p.capex_usd for p in data.purchases for k in range(len(p.deliveries))}
        if capex:
            run.model.row("C14_capex", capex, high=budget.capex_usd)
    if budget.per_hour_usd is not None:
        _hourly(run, data, grid, budget.per_hour_usd)


def billed_terms(run: RunVars, data: LpData) -> tuple[Expression, float]:
    """The cash side of the horizon: upfronts and purchase prices when paid, no annuities, nothing after it."""
    terms: Expression = defaultdict(float)
    constant = sum(usd * data.support_ratio(provider) for provider, usd in _billed_standing(data).items())
    committed = set(run.units.values()) | set(run.bought.values())
    for term in run.costs:
        if term.period != AFTER and term.var not in committed:
            terms[term.var] += term.usd * data.support_ratio(term.provider)
    end = data.horizon.hours
    for offer in data.terms:
        for k, start in enumerate(offer.starts):
            hours = max(0.0, min(start.end_hours, end) - start.start_hours)
            usd = hours * offer.billed_usd_per_unit_hour + offer.upfront_usd
            terms[run.units[offer.id, k]] += usd * data.support_ratio(offer.provider)
    for purchase in data.purchases:
        running = sum(line.usd_per_instance_hour for line in purchase.lines)
        for k, delivery in enumerate(purchase.deliveries):
            hours = max(0.0, min(delivery.end_hours, end) - delivery.start_hours)
            terms[run.bought[purchase.id, k]] += hours * running + purchase.capex_usd
    return dict(terms), constant


def _billed_standing(data: LpData) -> dict[str, float]:
    costs: dict[str, float] = defaultdict(float)
    for standing in data.standing:
        rate = sum(x.usd_per_instance_hour for x in standing.lines if x.label != "annuity") * standing.instances
        hours = max(0.0, min(standing.to_hours, data.horizon.hours) - max(standing.from_hours, 0.0))
        costs[data.pools[standing.pool].provider] += rate * hours
    return dict(costs)


def _hourly(run: RunVars, data: LpData, grid: Grid, most: float) -> None:
    pools = sorted(grid.coupled)
    for index, cell in enumerate(grid.cells[pools[0]] if pools else ()):
        terms: Expression = defaultdict(float)
        fixed = 0.0
        middle = (cell.start_hours + cell.end_hours) / 2
        for pool_id in pools:
            pool = data.pools[pool_id]
            for r, rent in enumerate(pool.rents):
                price = rent.usd_per_instance_hour[cell.period]
                if pool_id in grid.covered:
                    if (pool_id, r, index) in run.rent:
                        terms[run.rent[pool_id, r, index]] += price / cell.hours
                else:
                    for var, use in run.uses.get((pool_id, index), {}).items():
                        terms[var] += price * use / cell.hours
            alive, _ = alive_in(run, data, pool_id, cell)
            rates = _hourly_rates(run, data, pool_id)
            for var, count in alive.items():
                terms[var] += count * rates.get(var, 0.0)
        for term in data.terms:
            if term.market.is_savings_plan:
                for k, start in enumerate(term.starts):
                    if start.start_hours <= middle < start.end_hours:
                        terms[run.units[term.id, k]] += term.billed_usd_per_unit_hour
        for standing in data.standing:
            if standing.from_hours <= middle < standing.to_hours:
                lines = sum(x.usd_per_instance_hour for x in standing.lines if x.label != "annuity")
                fixed += lines * standing.instances
        if terms:
            run.model.row(f"C14_hourly[{index}]", terms, high=most - fixed)


def _hourly_rates(run: RunVars, data: LpData, pool: str) -> dict[int, float]:
    rates: dict[int, float] = {}
    for term in data.terms:
        if term.pool == pool:
            for k in range(len(term.starts)):
                rates[run.units[term.id, k]] = term.billed_usd_per_unit_hour
    for purchase in data.purchases:
        if purchase.pool == pool:
            for k in range(len(purchase.deliveries)):
                rates[run.bought[purchase.id, k]] = sum(line.usd_per_instance_hour for line in purchase.lines)
    return rates
