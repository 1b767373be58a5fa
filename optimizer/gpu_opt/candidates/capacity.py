"""Pools of instances, what may be committed or bought for them, and what stands there already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from gpu_opt import hardware
from gpu_opt.candidates.match import gpu_set, outside_scope
from gpu_opt.costs.finance import annuity_per_hour, price_path_multiplier
from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.program import FixedLine, Pool, Purchase, Rent, Standing, Term, TermStart
from gpu_opt.domain.question import ExistingCommitment, Horizon, Question
from gpu_opt.errors import InputError, Problem
from gpu_opt.units import HOURS_PER_YEAR

if TYPE_CHECKING:
    from gpu_opt.costs.machines import MachineCost

BLOCK_DAYS = (*range(1, 15), *range(21, 183, 7))  # what AWS sells: days up to 14, then weeks up to 182 (2026-07)


@dataclass(slots=True)
class Capacity:
    """Pools by id with their shapes, and everything that may stand in them. `closed` ones are paid for, and outside
    of what may be used."""

    pools: dict[str, Pool] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=list)
    standing: list[Standing] = field(default_factory=list)
    purchases: list[Purchase] = field(default_factory=list)
    machines: dict[str, MachineCost] = field(default_factory=dict)
    blocks: list[Offer] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)


def gather(question: Question, offers: Iterable[Offer]) -> Capacity:
    """All capacity of a question: rent and terms from offers, commitments and machines from the file."""
    capacity = Capacity()
    by_pool: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.quoted and not offer.term_months and offer.min_instances > 1:
            capacity.warnings.append(
                f"{offer.id}: left out: a least number of instances isn't supported yet for a quote without a term"
            )
            continue
        by_pool[pool_id(offer)].append(_agreed(question, offer))
    for key in sorted(by_pool):
        _add_pool(question, capacity, key, by_pool[key])
    _add_savings_plans(question, capacity, by_pool)
    for commitment in question.existing:
        _add_existing(question, capacity, commitment)
    if question.inventory or question.purchasable:
        from gpu_opt.candidates.machines import add_machines  # what machines cost is needed by few questions

        add_machines(question, capacity)
    return capacity


def _agreed(question: Question, offer: Offer) -> Offer:
    """The offer at what an agreement with its provider leaves of every price (contract, section 7.9)."""
    share = 1.0
    for agreement in question.agreements:
        if agreement.provider == offer.provider:
            share *= 1.0 - agreement.discount_fraction
    if share == 1.0:
        return offer
    return replace(
        offer, usd_per_instance_hour=offer.usd_per_instance_hour * share, upfront_usd=offer.upfront_usd * share
    )


def pool_id(offer: Offer) -> str:
    """`aws/us-east-1/p5.48xlarge`; spot and flex-start stand apart, each price by itself."""
    base = f"{offer.provider}/{offer.region}"
    if offer.market in (Market.SPOT, Market.FLEX_START):
        return offer.id
    return f"{base}/{offer.instance_type}"


def _add_pool(question: Question, capacity: Capacity, key: str, offers: list[Offer]) -> None:
    first = offers[0]
    shape = hardware.shape_of(
        first.provider,
        first.instance_type,
        first.gpu,
        first.gpu_count,
        first.gpu_memory_gib,
        first.vcpus,
        first.memory_gib,
    )
    rents = [
        Rent(
            offer=offer,
            usd_per_instance_hour=_path(question, offer),
            max_instances=offer.max_instances,
            from_hours=max(0.0, question.horizon.hours_at(offer.available_from)) if offer.available_from else 0.0,
        )
        for offer in sorted(offers, key=lambda o: (o.usd_per_instance_hour, o.id))
        if offer.market in (Market.ON_DEMAND, Market.SPOT, Market.FLEX_START)
        or (offer.market is Market.QUOTE and not offer.term_months)
    ]
    zones = {rent.offer.zone for rent in rents}
    capacity.pools[key] = Pool(
        id=key,
        provider=first.provider,
        region=first.region,
        zone=zones.pop() if len(zones) == 1 else "",
        instance_type=first.instance_type,
        gpu=first.gpu,
        gpus=first.gpu_count,
        vcpus=first.vcpus if first.vcpus is not None else shape.vcpus,
        rents=_undominated(rents, spot=first.market is Market.SPOT),
        spot=first.market is Market.SPOT,
    )
    capacity.shapes[key] = shape
    if first.market is Market.SPOT:  # a pool of its own, without terms
        return
    for offer in sorted(offers, key=lambda o: o.id):
        if offer.market in (Market.RESERVED_1Y, Market.RESERVED_3Y) or (
            offer.market is Market.QUOTE and offer.term_months
        ):
            capacity.terms.append(_term(question, offer, key))
        elif offer.market is Market.CAPACITY_BLOCK:
            capacity.blocks.append(offer)


def _undominated(rents: list[Rent], *, spot: bool) -> tuple[Rent, ...]:
    """From cheap to dear, up to the first that has no limit of its own: nobody pays more than that. Of spot one."""
    kept: list[Rent] = []
    for rent in rents:
        kept.append(rent)
        if spot or (rent.max_instances is None and rent.from_hours <= 0.0):
            break
    return tuple(kept)


def _path(question: Question, offer: Offer) -> tuple[float, ...]:
    prices = []
    for period in question.horizon.periods:
        price = offer.usd_per_instance_hour
        for path in question.price_paths:
            if offer.gpu in gpu_set((path.gpu,)):
                price *= price_path_multiplier(path.annual_change_fraction, period.start_hours / HOURS_PER_YEAR)
        prices.append(price)
    return tuple(prices)


def _term(question: Question, offer: Offer, pool: str) -> Term:
    horizon = question.horizon
    months = offer.term_months or {Market.RESERVED_1Y: 12, Market.RESERVED_3Y: 36}.get(offer.market, 12)
    annuity = annuity_per_hour(offer.upfront_usd, months, question.cost_of_capital_fraction_per_year)
    return Term(
        id=offer.id,
        market=offer.market,
        provider=offer.provider,
        pool=pool,
        usd_per_unit_hour=offer.usd_per_instance_hour + annuity,
        billed_usd_per_unit_hour=offer.usd_per_instance_hour,
        upfront_usd=offer.upfront_usd,
        starts=_term_starts(horizon, months, offer.available_from),
        min_units=offer.min_instances,
        max_units=offer.max_instances,
        offer=offer,
    )


def _term_starts(horizon: Horizon, months: int, available_from: date | None) -> tuple[TermStart, ...]:
    days = [horizon.date_at(period.start_hours) for period in horizon.periods]
    if available_from is not None and available_from > horizon.start:
        days = sorted({available_from} | {day for day in days if day > available_from})
    return tuple(
        TermStart(start_hours=horizon.hours_at(day), end_hours=horizon.hours_at(add_months(day, months)))
        for day in days
        if horizon.hours_at(day) < horizon.hours
    )


def add_months(day: date, months: int) -> date:
    """The same day some months later; the month's last day where it has no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    return date(year, month + 1, 28)


def _add_savings_plans(question: Question, capacity: Capacity, by_pool: Mapping[str, list[Offer]]) -> None:
    rates: dict[tuple[str, Market], dict[str, float]] = defaultdict(dict)
    for key, offers in sorted(by_pool.items()):
        for offer in offers:
            if offer.market.is_savings_plan:
                rates[offer.provider, offer.market][key] = offer.usd_per_instance_hour
    for (provider, market), plan_rates in sorted(rates.items()):
        months = 12 if market is Market.SAVINGS_PLAN_1Y else 36
        capacity.terms.append(
            Term(
                id=f"{provider}/{market}",
                market=market,
                provider=provider,
                pool="",
                usd_per_unit_hour=1.0,
                billed_usd_per_unit_hour=1.0,
                upfront_usd=0.0,
                starts=_term_starts(question.horizon, months, None),
                plan_rates=plan_rates,
                counts_in_quota=False,
            )
        )


def _add_existing(question: Question, capacity: Capacity, commitment: ExistingCommitment) -> None:
    key = f"{commitment.provider}/{commitment.region}/{commitment.instance_type}"
    if key not in capacity.pools:
        shape = _known_shape(commitment)
        capacity.pools[key] = Pool(
            id=key,
            provider=commitment.provider,
            region=commitment.region,
            zone="",
            instance_type=commitment.instance_type,
            gpu=shape.gpu,
            gpus=shape.gpus,
            vcpus=shape.vcpus,
        )
        capacity.shapes[key] = shape
        if outside_scope(question.scope, commitment.provider, commitment.region, shape.gpu):
            capacity.closed.add(key)
    if key in capacity.closed:
        capacity.warnings.append(f"{commitment.name}: outside the scope or data_residency: paid for, and not used")
    label = "commitment, already paid" if commitment.already_paid else "existing commitment"
    capacity.standing.append(
        Standing(
            id=commitment.name,
            pool=key,
            instances=commitment.instances,
            from_hours=0.0,
            to_hours=question.horizon.hours_at(commitment.ends) + 24.0,
            owned=False,
            lines=(FixedLine(label=label, usd_per_instance_hour=commitment.usd_per_instance_hour),),
        )
    )


def _known_shape(commitment: ExistingCommitment) -> Shape:
    for provider, instance_type, shape in hardware.shape_table():
        if (provider, instance_type.casefold()) == (commitment.provider, commitment.instance_type.casefold()):
            return shape
    what = f"nothing is known of {commitment.provider} {commitment.instance_type!r}."
    raise InputError(
        Problem(path=f"commitments.existing {commitment.name}", what=what, remedy="See `gpu-opt offers` for the types.")
    )
