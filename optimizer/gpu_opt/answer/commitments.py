"""What the plan commits to and buys, until when it must be used to pay, and what would make it a mistake."""

from __future__ import annotations

from gpu_opt.candidates.build import Built
from gpu_opt.costs.finance import annual_fall_that_ends_its_worth
from gpu_opt.domain.plan import CommitmentPlan, PurchasePlan
from gpu_opt.domain.program import Pool
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.units import HOURS_PER_YEAR


def commitment_plans(built: Built, decision: Decision) -> tuple[CommitmentPlan, ...]:
    """Existing commitments, then those that the plan starts."""
    data = built.data
    found = []
    for standing in data.standing:
        if standing.owned:
            continue
        pool = data.pools[standing.pool]
        rate = sum(line.usd_per_instance_hour for line in standing.lines)
        found.append(
            CommitmentPlan(
                offer=standing.id,
                provider=pool.provider,
                region=pool.region,
                instance_type=pool.instance_type,
                market="existing",
                units=float(standing.instances),
                start=_day(data, standing.from_hours),
                end=_day(data, standing.to_hours),
                usd_per_unit_hour=rate,
                upfront_usd=0.0,
                existing=True,
                pays_if_used_until="",
                stops_paying_if_prices_fall_annually=None,
            )
        )
    for term in data.terms:
        for k, start in enumerate(term.starts):
            units = decision.units.get((term.id, k), 0.0)
            if not units:
                continue
            pool_or_none = data.pools.get(term.pool)
            hours = start.end_hours - start.start_hours
            rent = (_rent(pool_or_none) or _rent_of_gpu(built, pool_or_none)) if pool_or_none else None
            found.append(
                CommitmentPlan(
                    offer=term.id,
                    provider=term.provider,
                    region=pool_or_none.region if pool_or_none else "",
                    instance_type=pool_or_none.instance_type if pool_or_none else "",
                    market=str(term.market),
                    units=round(units, 6),
                    start=_day(data, start.start_hours),
                    end=_day(data, start.end_hours),
                    usd_per_unit_hour=term.usd_per_unit_hour,
                    upfront_usd=round(term.upfront_usd * units, 2),
                    existing=False,
                    pays_if_used_until=_pays_until(data, start.start_hours, hours, term.usd_per_unit_hour, rent),
                    stops_paying_if_prices_fall_annually=_fall(term.usd_per_unit_hour, rent, hours),
                )
            )
    return tuple(found)


def purchase_plans(built: Built, decision: Decision) -> tuple[PurchasePlan, ...]:
    """Machines that the plan buys."""
    data = built.data
    found = []
    for purchase in data.purchases:
        pool = data.pools[purchase.pool]
        running = sum(line.usd_per_instance_hour for line in purchase.lines)
        cost = purchase.annuity_usd_per_hour + running
        rent = _rent_of_gpu(built, pool)
        for k, delivery in enumerate(purchase.deliveries):
            count = decision.bought.get((purchase.id, k), 0)
            if count:
                found.append(
                    PurchasePlan(
                        system=pool.instance_type,
                        site=purchase.site,
                        gpu=pool.gpu,
                        instances=count,
                        ordered=_day(data, purchase.order_hours[k]),
                        delivered=_day(data, delivery.start_hours),
                        capex_usd=round(purchase.capex_usd * count, 2),
                        annuity_usd_per_hour=purchase.annuity_usd_per_hour,
                        life_years=purchase.life_hours / HOURS_PER_YEAR,
                        pays_if_used_until=_pays_until(data, delivery.start_hours, purchase.life_hours, cost, rent),
                        stops_paying_if_prices_fall_annually=_fall(cost, rent, purchase.life_hours),
                    )
                )
    return tuple(found)


def _day(data: LpData, at_hours: float) -> str:
    return data.horizon.date_at(at_hours).isoformat()


def _rent(pool: Pool) -> float | None:
    return min((r.usd_per_instance_hour[0] for r in pool.rents), default=None)


def _rent_of_gpu(built: Built, pool: Pool) -> float | None:
    """The cheapest on-demand price of as many GPUs of the same kind; None when nobody rents them."""
    prices = [
        rent.usd_per_instance_hour[0] / other.gpus * pool.gpus
        for other in built.capacity.pools.values()
        if other.gpu == pool.gpu and not other.spot
        for rent in other.rents
    ]
    return min(prices, default=None)


def _pays_until(data: LpData, start_hours: float, term_hours: float, usd_per_hour: float, rent: float | None) -> str:
    """The day from which full use since the start has saved as much rent as the whole term costs; empty if never."""
    if rent is None or rent <= 0.0:
        return ""
    needed = term_hours * usd_per_hour / rent
    return _day(data, start_hours + needed) if needed <= term_hours + 1e-9 else ""


def _fall(usd_per_hour: float, rent: float | None, term_hours: float) -> float | None:
    if rent is None or rent <= usd_per_hour:
        return None
    return annual_fall_that_ends_its_worth(usd_per_hour, rent, term_hours / HOURS_PER_YEAR)
