"""Dropping what can't be part of a cheapest plan, so that the program stays small. Every rule here is exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import workload_admits
from gpu_opt.domain.offer import Offer
from gpu_opt.domain.program import FluidCandidate, Limit, Pool, ReplicaCandidate, RunCandidate, RunDemand
from gpu_opt.domain.question import Question
from gpu_opt.records import record


@record
class Sharing:
    """How pools stand to each other.

    In `shared` ones a workload's choice concerns others: limits, caps, paid capacity, terms, or anything that counts
    what is spent with a provider. `must` have capacity that is paid for already or may be bought, so no price says what
    they are worth. `free` ones are to be had in any number at their rent. `least_usd_per_hour` is the lowest price of
    an instance, terms included.
    """

    shared: frozenset[str]
    must: frozenset[str]
    free: frozenset[str]
    least_usd_per_hour: Mapping[str, float]


def sharing_of(question: Question, capacity: Capacity, limits: Sequence[Limit]) -> Sharing:
    """The standing of every pool."""
    everyone = frozenset(capacity.pools)
    limited = {pool for limit in limits for pool, _ in limit.rent_weight}
    must = {s.pool for s in capacity.standing} | {p.pool for p in capacity.purchases}
    termed = {t.pool for t in capacity.terms} | {pool for t in capacity.terms for pool in t.plan_rates}
    termed |= {_block_pool(offer) for offer in capacity.blocks}
    capped = {p.id for p in capacity.pools.values() if len(p.rents) != 1 or _has_rules(p)}
    by_provider = question.max_providers is not None or question.agreements or question.credits or question.overheads
    if question.budget.per_hour_usd is not None or question.price_paths or by_provider:
        return Sharing(shared=everyone, must=everyone, free=frozenset(), least_usd_per_hour={})
    return Sharing(
        shared=frozenset(limited | must | termed | capped),
        must=frozenset(must),
        free=frozenset(everyone - limited - capped),
        least_usd_per_hour=_least_prices(capacity),
    )


def _has_rules(pool: Pool) -> bool:
    """Whether a rented price has a limit or a first day of its own."""
    return any(rent.max_instances is not None or rent.from_hours > 0.0 for rent in pool.rents)


def _block_pool(offer: Offer) -> str:
    return f"{offer.provider}/{offer.region}/{offer.instance_type}"


def _least_prices(capacity: Capacity) -> dict[str, float]:
    prices = {p.id: [min(r.usd_per_instance_hour) for r in p.rents] for p in capacity.pools.values()}
    for term in capacity.terms:
        for pool, rate in (term.plan_rates or {term.pool: term.usd_per_unit_hour}).items():
            prices.setdefault(pool, []).append(rate)
    for offer in capacity.blocks:
        prices.setdefault(_block_pool(offer), []).append(offer.usd_per_instance_hour)
    return {pool: min(found) for pool, found in prices.items() if found}


def kept_pools(question: Question, capacity: Capacity, limits: Sequence[Limit]) -> list[str]:
    """Pools that no other pool dominates: the same hardware from the same provider, under the same limits, open to
    the same workloads, at no higher price in any way to pay. Pools with paid capacity or caps are always kept."""
    bound = {s.pool for s in capacity.standing} | {p.pool for p in capacity.purchases}
    bound |= {t.pool for t in capacity.terms if t.max_units is not None or t.min_units}
    touching: dict[str, list[str]] = defaultdict(list)
    for limit in limits:
        for name, _ in limit.rent_weight:
            touching[name].append(limit.id)
    ways = _ways_to_pay(capacity)
    best: dict[tuple[object, ...], list[tuple[tuple[float, ...], str]]] = defaultdict(list)
    kept: set[str] = set()
    for key, pool in sorted(capacity.pools.items()):
        if key in bound or len(pool.rents) > 1 or _has_rules(pool):
            kept.add(key)
            continue
        group = _group(question, capacity, pool, tuple(sorted(touching[key])))
        if not any(all(a <= b for a, b in zip(other, ways[key], strict=True)) for other, _ in best[group]):
            best[group] = [
                (other, name)
                for other, name in best[group]
                if any(a < b for a, b in zip(other, ways[key], strict=True))
            ] + [(ways[key], key)]
    return sorted(kept | {key for found in best.values() for _, key in found})


def _ways_to_pay(capacity: Capacity) -> dict[str, tuple[float, ...]]:
    """By pool the price of every way to pay, in one order for all; infinite where a way isn't offered."""
    by_market: dict[str, dict[str, float]] = defaultdict(dict)
    for pool in capacity.pools.values():
        for period, price in enumerate(pool.rents[0].usd_per_instance_hour if pool.rents else ()):
            by_market[f"rent {period}"][pool.id] = price
    for term in capacity.terms:
        for name, rate in (term.plan_rates or {term.pool: term.usd_per_unit_hour}).items():
            by_market[str(term.market)][name] = rate
    for offer in capacity.blocks:
        by_market["block"][_block_pool(offer)] = offer.usd_per_instance_hour
    order = sorted(by_market)
    return {pool: tuple(by_market[market].get(pool, float("inf")) for market in order) for pool in capacity.pools}


def _group(question: Question, capacity: Capacity, pool: Pool, limits: tuple[str, ...]) -> tuple[object, ...]:
    admitted = tuple(
        workload_admits(w, gpu=pool.gpu, region=pool.region, spot=pool.spot, onprem=False) for w in question.workloads
    )
    placed = pool.region if any(w.data for w in question.workloads) else ""
    zoned = pool.zone if any(getattr(w, "max_share_per_zone_fraction", None) for w in question.workloads) else ""
    spot_rate = pool.region if pool.spot else ""
    shape = capacity.shapes[pool.id]
    return (pool.provider, shape.name, pool.vcpus, pool.spot, limits, admitted, placed, zoned, spot_rate)


def in_time_hours(demands: Iterable[RunDemand]) -> float:
    """A run no longer than this ends before every deadline, however early it is."""
    return min((d.deadline_hours - d.from_hours for d in demands), default=0.0)


def kept_runs(
    candidates: Sequence[RunCandidate],
    pools: Mapping[str, Pool],
    shared: frozenset[str],
    demands: Iterable[RunDemand],
) -> tuple[RunCandidate, ...]:
    """In shared pools those that no gang of the pool beats in size, time and cost at once; elsewhere, where only money
    decides, the cheapest of each provider and GPU among those that are always in time."""
    window = in_time_hours(demands)
    by_pool: dict[str, list[RunCandidate]] = defaultdict(list)
    for candidate in candidates:
        by_pool[candidate.pool].append(candidate)
    kept: list[RunCandidate] = []
    cheapest: dict[tuple[str, str, bool], tuple[tuple[float, ...], RunCandidate]] = {}
    for key in sorted(by_pool):
        plain = [c for c in by_pool[key] if key not in shared and not c.place_usd and c.p95_hours <= window + 1e-9]
        if len(plain) < len(by_pool[key]):
            kept += _pareto_runs(by_pool[key])
            continue
        for candidate in plain:
            hours = candidate.paid_hours * candidate.instances
            cost = tuple(p * hours for p in pools[key].rents[0].usd_per_instance_hour)
            group = (pools[key].provider, pools[key].gpu, pools[key].spot)
            rank = (*cost, candidate.elapsed_hours)
            if group not in cheapest or rank < cheapest[group][0]:
                cheapest[group] = (rank, candidate)
    kept += [candidate for _, candidate in cheapest.values()]
    return tuple(sorted(kept, key=lambda c: (c.pool, c.instances)))


def _pareto_runs(candidates: Iterable[RunCandidate]) -> list[RunCandidate]:
    ordered = sorted(candidates, key=lambda c: (c.instances, c.elapsed_hours))
    kept: list[RunCandidate] = []
    for one in ordered:
        hours = one.instances * one.paid_hours
        beaten = any(
            other.instances <= one.instances
            and other.elapsed_hours <= one.elapsed_hours + 1e-9
            and other.p95_hours <= one.p95_hours + 1e-9
            and other.instances * other.paid_hours <= hours + 1e-9
            for other in kept
        )
        if not beaten:
            kept.append(one)
    return kept


def kept_replicas(
    candidates: Sequence[ReplicaCandidate], pools: Mapping[str, Pool], shared: frozenset[str]
) -> tuple[ReplicaCandidate, ...]:
    """In each shared pool, and among each provider's other pools, those that none beats in cost and rate at once."""
    groups: dict[object, list[ReplicaCandidate]] = defaultdict(list)
    for candidate in candidates:
        pool = pools[candidate.pool]
        key: object = (
            candidate.pool
            if candidate.pool in shared or candidate.place_usd
            else (pool.provider, pool.gpu, pool.spot, pool.zone)
        )
        groups[key].append(candidate)
    kept: list[ReplicaCandidate] = []
    for key in sorted(groups, key=str):
        kept += _pareto_replicas(groups[key], pools, by_price=not isinstance(key, str))
    return tuple(sorted(kept, key=lambda c: (c.pool, c.option.gpus, c.requests_per_second)))


def _pareto_replicas(
    candidates: Sequence[ReplicaCandidate], pools: Mapping[str, Pool], *, by_price: bool
) -> list[ReplicaCandidate]:
    def cost(candidate: ReplicaCandidate) -> float:
        price = pools[candidate.pool].rents[0].usd_per_instance_hour[0] if by_price else 1.0
        return price * candidate.instances / candidate.per_instance

    def whole(candidate: ReplicaCandidate) -> float:
        price = pools[candidate.pool].rents[0].usd_per_instance_hour[0] if by_price else 1.0
        return price * candidate.instances

    ordered = sorted(candidates, key=lambda c: (cost(c), whole(c), -c.requests_per_second, c.pool))
    kept: list[ReplicaCandidate] = []
    for one in ordered:
        beaten = any(
            cost(other) <= cost(one)
            and whole(other) <= whole(one)
            and other.requests_per_second >= one.requests_per_second
            and (by_price or other.option.gpus <= one.option.gpus)
            for other in kept
        )
        if not beaten:
            kept.append(one)
    return kept


def kept_fluids(
    candidates: Sequence[FluidCandidate], pools: Mapping[str, Pool], shared: frozenset[str]
) -> tuple[FluidCandidate, ...]:
    """The best rate of each shared pool and unit size; elsewhere the cheapest work of each provider and GPU."""
    best: dict[object, tuple[tuple[float, ...], FluidCandidate]] = {}
    for candidate in candidates:
        pool = pools[candidate.pool]
        if candidate.pool in shared or candidate.place_usd:
            key: object = (candidate.pool, candidate.instances)
            rank: tuple[float, ...] = (-candidate.work_per_hour,)
        else:
            key = (pool.provider, pool.gpu, pool.spot)
            rank = tuple(p * candidate.instances / candidate.work_per_hour for p in pool.rents[0].usd_per_instance_hour)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, candidate)
    return tuple(sorted((c for _, c in best.values()), key=lambda c: (c.pool, c.instances)))
