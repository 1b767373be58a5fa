"""Candidates that can't win once all speeds are known: others, to be had in any number at their rent, do the same for
less than this one costs at the lowest price that its pool has, terms included. Every rule here is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.candidates.bounds import KEPT_BEYOND_BEST
from gpu_opt.candidates.prune import Sharing, in_time_hours
from gpu_opt.domain.program import FluidCandidate, Pool, ReplicaCandidate, RunCandidate, RunDemand
from gpu_opt.lp.data import ceiling


def _rent(pool: Pool) -> float:
    return max(pool.rents[0].usd_per_instance_hour)


def undominated_runs(
    candidates: Sequence[RunCandidate], demands: Iterable[RunDemand], pools: Mapping[str, Pool], sharing: Sharing
) -> tuple[RunCandidate, ...]:
    """Runs that enough cheaper ones don't replace in every window. Spot replaces only spot, whose share is limited."""
    demands = tuple(demands)
    window = in_time_hours(demands)
    once = sum(d.runs for d in demands) == 1  # several runs share the cost of a place
    free = [(c, _rent(pools[c.pool]) * c.instances * c.paid_hours) for c in candidates if _is_free(c, pools, sharing)]

    def beaten(one: RunCandidate) -> bool:
        if one.pool in sharing.must:
            return False
        least = sharing.least_usd_per_hour.get(one.pool, 0.0) * one.instances * one.paid_hours
        least += one.place_usd if once else 0.0
        better = 0
        for other, usd in free:
            if usd >= least or (pools[other.pool].spot and not pools[one.pool].spot):
                continue
            better += other.p95_hours <= window or other.p95_hours <= one.p95_hours
        return better >= KEPT_BEYOND_BEST

    return tuple(one for one in candidates if not beaten(one))


def shortest_recurring(
    candidates: Sequence[RunCandidate], pools: Mapping[str, Pool], sharing: Sharing, demands: Iterable[RunDemand]
) -> tuple[RunCandidate, ...]:
    """For runs that recur, where only instance-hours matter (no limit, nothing owned): the gang that takes fewest."""
    window = in_time_hours(demands)
    best: dict[str, tuple[float, RunCandidate]] = {}
    kept: list[RunCandidate] = []
    for one in candidates:
        fits = one.p95_hours <= window
        if one.pool in sharing.must or one.pool not in sharing.free or not fits:
            kept.append(one)
            continue
        hours = one.instances * one.paid_hours
        if one.pool not in best or hours < best[one.pool][0]:
            best[one.pool] = (hours, one)
    return tuple(sorted([*kept, *(c for _, c in best.values())], key=lambda c: (c.pool, c.instances)))


def _is_free(
    candidate: RunCandidate | ReplicaCandidate | FluidCandidate, pools: Mapping[str, Pool], sharing: Sharing
) -> bool:
    return candidate.pool in sharing.free and bool(pools[candidate.pool].rents) and candidate.place_usd == 0.0


def undominated_replicas(
    candidates: Sequence[ReplicaCandidate], pools: Mapping[str, Pool], sharing: Sharing
) -> tuple[ReplicaCandidate, ...]:
    """Replicas whose instance no whole instances of enough others, with no fewer replicas, replace for less."""
    free = [
        (
            _rent(pools[c.pool]) * c.instances,
            c.requests_per_second * c.per_instance,
            c.per_instance,
            pools[c.pool].spot,
        )
        for c in candidates
        if _is_free(c, pools, sharing)
    ]

    def beaten(one: ReplicaCandidate) -> bool:
        if one.pool in sharing.must:
            return False
        least = sharing.least_usd_per_hour.get(one.pool, 0.0) * one.instances
        rate = one.requests_per_second * one.per_instance
        better = [
            usd
            for usd, other, held, spot in free
            if max(ceiling(rate / other), ceiling(one.per_instance / held)) * usd < least
            and (pools[one.pool].spot or not spot)
        ]
        return len(better) >= KEPT_BEYOND_BEST

    return tuple(one for one in candidates if not beaten(one))


def undominated_fluids(
    candidates: Sequence[FluidCandidate], pools: Mapping[str, Pool], sharing: Sharing
) -> tuple[FluidCandidate, ...]:
    """Units of divisible work that enough others don't do for less."""
    free = [
        (_rent(pools[c.pool]) * c.instances / c.work_per_hour, pools[c.pool].spot)
        for c in candidates
        if _is_free(c, pools, sharing)
    ]

    def beaten(one: FluidCandidate) -> bool:
        if one.pool in sharing.must:
            return False
        least = sharing.least_usd_per_hour.get(one.pool, 0.0) * one.instances / one.work_per_hour
        return sum(1 for usd, spot in free if usd < least and (pools[one.pool].spot or not spot)) >= KEPT_BEYOND_BEST

    return tuple(one for one in candidates if not beaten(one))
