"""From a question and offers to the program's data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from gpu_opt.candidates.capacity import BLOCK_DAYS, Capacity, gather
from gpu_opt.candidates.divisible import batch_candidates, batch_demands, gpu_hour_candidates, gpu_hour_demands
from gpu_opt.candidates.dominance import (
    shortest_recurring,
    undominated_fluids,
    undominated_replicas,
    undominated_runs,
)
from gpu_opt.candidates.limits import limits_of
from gpu_opt.candidates.match import admitted_offers
from gpu_opt.candidates.prune import Sharing, kept_fluids, kept_pools, kept_replicas, kept_runs, sharing_of
from gpu_opt.candidates.runs import run_candidates, run_demands
from gpu_opt.candidates.serving import may_be_replaced, replica_candidates, replicas_with_spares, service_demands
from gpu_opt.candidates.shared_service import merged_services
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.option import Rejection
from gpu_opt.domain.program import (
    AfterPeriod,
    FluidCandidate,
    FluidDemand,
    ReplicaCandidate,
    RunCandidate,
    RunDemand,
    ServiceDemand,
    Term,
    TermStart,
)
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, GpuHours, Service, TrainJob, Workload
from gpu_opt.lp.data import LpData
from gpu_opt.units import HOURS_PER_DAY, HOURS_PER_YEAR


@dataclass(slots=True)
class Built:
    """The program's data, and everything about it that the report tells. `members` of a shared pool of services."""

    data: LpData
    capacity: Capacity
    sizing: Sizing
    rejections: list[Rejection]
    members: dict[str, tuple[Service, ...]] = field(default_factory=dict)


def build_data(question: Question, offers: Iterable[Offer], sizing: Sizing) -> Built:
    """Candidates of every workload on every pool worth trying, and all the limits between them."""
    kept, rejections = admitted_offers(question, offers)
    capacity = gather(question, kept)
    limits = limits_of(question, capacity)
    keys = [key for key in kept_pools(question, capacity, limits) if key not in capacity.closed]
    sharing = sharing_of(question, capacity, limits)
    parts = _Parts()
    for workload in question.workloads:
        if not isinstance(workload, Service):
            _add(parts, question, capacity, sizing, workload, keys, sharing, rejections)
    groups = merged_services(question.workloads)
    for group in groups:
        _add_service(parts, question, capacity, sizing, group.name, group.members, keys, sharing, rejections)
    capacity.terms += _block_terms(question, capacity, parts)
    used = _used_pools(parts, capacity)
    pools = {key: capacity.pools[key] for key in sorted(used)}
    terms = tuple(
        replace(t, plan_rates={p: r for p, r in t.plan_rates.items() if p in used})
        for t in capacity.terms
        if t.pool in used or any(p in used for p in t.plan_rates)
    )
    data = LpData(
        horizon=question.horizon,
        pools=pools,
        runs=tuple(parts.runs),
        run_candidates=parts.run_candidates,
        fluids=tuple(parts.fluids),
        fluid_candidates=parts.fluid_candidates,
        services=tuple(parts.services),
        replica_candidates=parts.replica_candidates,
        needed=parts.needed,
        terms=terms,
        standing=tuple(capacity.standing),
        purchases=tuple(p for p in capacity.purchases if p.pool in used),
        after=_after(question, capacity),
        limits=tuple(_narrowed(limits, used)),
        budget=question.budget,
        agreements=question.agreements,
        credits=tuple(sorted(question.credits, key=lambda c: (c.expires, c.provider))),
        overheads=question.overheads,
        sites=question.sites,
        max_providers=question.max_providers,
        occupancy_fraction=question.occupancy_fraction,
        whole_hours=question.whole_hours,
    )
    members = {group.name: group.members for group in groups}
    return Built(data=data, capacity=capacity, sizing=sizing, rejections=rejections, members=members)


@dataclass(slots=True)
class _Parts:
    runs: list[RunDemand] = field(default_factory=list)
    run_candidates: dict[str, tuple[RunCandidate, ...]] = field(default_factory=dict)
    fluids: list[FluidDemand] = field(default_factory=list)
    fluid_candidates: dict[tuple[str, str], tuple[FluidCandidate, ...]] = field(default_factory=dict)
    services: list[ServiceDemand] = field(default_factory=list)
    replica_candidates: dict[str, tuple[ReplicaCandidate, ...]] = field(default_factory=dict)
    needed: dict[tuple[str, int, float], int] = field(default_factory=dict)


def _add(
    parts: _Parts,
    question: Question,
    capacity: Capacity,
    sizing: Sizing,
    workload: Workload,
    keys: list[str],
    sharing: Sharing,
    rejections: list[Rejection],
) -> None:
    name = workload.name
    if isinstance(workload, TrainJob):
        runs, why = run_candidates(question, capacity, sizing, workload, keys, sharing)
        demands = run_demands(workload, question.horizon)
        kept = kept_runs(runs, capacity.pools, sharing.shared, demands)
        if workload.runs_per_period:
            kept = shortest_recurring(kept, capacity.pools, sharing, demands)
        parts.run_candidates[name] = undominated_runs(kept, demands, capacity.pools, sharing)
        parts.runs += demands
        rejections += why
    elif isinstance(workload, BatchJob):
        units, why = batch_candidates(question, capacity, sizing, workload, keys, sharing)
        found = kept_fluids(units, capacity.pools, sharing.shared)
        parts.fluid_candidates[name, ""] = undominated_fluids(found, capacity.pools, sharing)
        parts.fluids += batch_demands(workload, question.horizon)
        rejections += why
    elif isinstance(workload, GpuHours):
        for gpu in sorted(workload.demand_gpu_hours):
            units = gpu_hour_candidates(question, capacity, workload, gpu, keys)
            found = kept_fluids(units, capacity.pools, sharing.shared)
            parts.fluid_candidates[name, gpu] = undominated_fluids(found, capacity.pools, sharing)
        parts.fluids += gpu_hour_demands(workload, question.horizon)


def _add_service(
    parts: _Parts,
    question: Question,
    capacity: Capacity,
    sizing: Sizing,
    name: str,
    members: tuple[Service, ...],
    keys: list[str],
    sharing: Sharing,
    rejections: list[Rejection],
) -> None:
    from gpu_opt.candidates.shared_service import merge_candidates, merge_demands, strictest_availability

    found = []
    for member in members:
        candidates, why = replica_candidates(question, capacity, sizing, member, keys, sharing)
        found.append(candidates)
        rejections += why
    demands = merge_demands(name, members, [service_demands(m, question.horizon) for m in members])
    merged = merge_candidates(name, members, found, demands.shares)
    kept = kept_replicas(merged, capacity.pools, sharing.shared)
    if all(may_be_replaced(member) for member in members):
        kept = undominated_replicas(kept, capacity.pools, sharing)
    parts.replica_candidates[name] = kept
    parts.services += _cut(demands.demands, capacity)
    owned = [capacity.pools[c.pool].onprem for c in kept]
    levels = [a.level_fraction for a in _after(question, capacity)]
    spare = replace(
        members[0],
        name=name,
        availability_fraction=strictest_availability(members),
        min_replicas=max(member.min_replicas for member in members),
    )
    parts.needed.update(replicas_with_spares(spare, kept, demands.demands, owned, levels))


def _cut(demands: Iterable[ServiceDemand], capacity: Capacity) -> list[ServiceDemand]:
    """Services may change machines where what stands changes inside a period: at deliveries, starts and ends."""
    dates = {t for s in capacity.standing for t in (s.from_hours, s.to_hours)}
    dates |= {d.start_hours for p in capacity.purchases for d in p.deliveries}
    dates |= {t for term in capacity.terms for s in term.starts for t in (s.start_hours, s.end_hours)}
    found = []
    for demand in demands:
        marks = sorted(t for t in dates if demand.from_hours + 1e-6 < t < demand.to_hours - 1e-6)
        times = [demand.from_hours, *marks, demand.to_hours]
        found += [replace(demand, from_hours=a, to_hours=b) for a, b in pairwise(times)]
    return found


def _used_pools(parts: _Parts, capacity: Capacity) -> set[str]:
    used = {c.pool for group in parts.run_candidates.values() for c in group}
    used |= {c.pool for units in parts.fluid_candidates.values() for c in units}
    used |= {c.pool for replicas in parts.replica_candidates.values() for c in replicas}
    return used | {s.pool for s in capacity.standing}


def _narrowed(limits: Iterable, used: set[str]) -> list:  # type: ignore[type-arg]
    return [
        replace(limit, rent_weight={k: w for k, w in limit.rent_weight.items() if k[0] in used}) for limit in limits
    ]


def _after(question: Question, capacity: Capacity) -> tuple[AfterPeriod, ...]:
    """Time after the horizon in steps of a period, at the level of the last period's demand that still recurs.

    A decline compounds by the start of each later period, from the start of the last one planned.
    """
    horizon = question.horizon
    ends = [s.end_hours for t in capacity.terms for s in t.starts]
    ends += [d.end_hours for p in capacity.purchases for d in p.deliveries]
    last = max(ends, default=0.0)
    if last <= horizon.hours or horizon.after == "none":
        return ()
    if horizon.after == "hold":
        return (AfterPeriod(start_hours=horizon.hours, end_hours=last, level_fraction=1.0),)
    final = horizon.periods[-1]
    step = HOURS_PER_YEAR * {"month": 1, "quarter": 3, "year": 12}[horizon.period_kind] / 12.0
    found, start = [], horizon.hours
    while start < last:
        years = (start - final.start_hours) / HOURS_PER_YEAR
        level = (1.0 - horizon.decline_per_year_fraction) ** years
        found.append(AfterPeriod(start_hours=start, end_hours=min(start + step, last), level_fraction=level))
        start += step
    return tuple(found)


def _block_terms(question: Question, capacity: Capacity, parts: _Parts) -> list[Term]:
    """Capacity blocks for runs: the shortest length on sale that holds the run, at its earliest or latest day."""
    terms: list[Term] = []
    for offer in capacity.blocks:
        key = f"{offer.provider}/{offer.region}/{offer.instance_type}"
        spans: dict[int, set[float]] = {}
        for demand in parts.runs:
            for candidate in parts.run_candidates[demand.workload]:
                if candidate.pool == key:
                    _block_spans(spans, demand, candidate)
        for days, starts in sorted(spans.items()):
            kept = sorted(s for s in starts if 0.0 <= s < question.horizon.hours)
            if kept:
                terms.append(_block_term(offer, key, days, kept))
    return terms


def _block_spans(spans: dict[int, set[float]], demand: RunDemand, candidate: RunCandidate) -> None:
    for days in BLOCK_DAYS:
        if days * HOURS_PER_DAY >= candidate.elapsed_hours:
            early = demand.from_hours // HOURS_PER_DAY * HOURS_PER_DAY
            late = -(-demand.latest_hours // HOURS_PER_DAY) * HOURS_PER_DAY - days * HOURS_PER_DAY
            spans.setdefault(days, set()).update({early, max(late, early)})
            if demand.from_hours + candidate.elapsed_hours <= early + days * HOURS_PER_DAY:
                return


def _block_term(offer: Offer, pool: str, days: int, starts: list[float]) -> Term:
    length = days * HOURS_PER_DAY
    return Term(
        id=f"{offer.id}_{days}d",
        market=Market.CAPACITY_BLOCK,
        provider=offer.provider,
        pool=pool,
        usd_per_unit_hour=offer.usd_per_instance_hour,
        billed_usd_per_unit_hour=0.0,
        upfront_usd=offer.usd_per_instance_hour * length,
        starts=tuple(TermStart(start_hours=s, end_hours=s + length) for s in starts),
        max_units=offer.max_instances,
        counts_in_quota=False,
        recurring=False,
        offer=offer,
    )
