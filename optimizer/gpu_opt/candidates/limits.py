"""Quotas and what one can really get, as weights over pools and terms."""

from __future__ import annotations

from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import gpu_set, matches
from gpu_opt.domain.offer import Market
from gpu_opt.domain.program import Limit, Pool
from gpu_opt.domain.question import Question, Quota
from gpu_opt.errors import InputError, Problem


def limits_of(question: Question, capacity: Capacity) -> tuple[Limit, ...]:
    """Each quota as one limit a unit (instances, GPUs, vCPUs); those that nothing falls under are left out."""
    found: list[Limit] = []
    for quota in question.quotas:
        for unit, most in (("instances", quota.max_instances), ("GPUs", quota.max_gpus), ("vCPUs", quota.max_vcpus)):
            if most is not None:
                limit = _limit(quota, unit, float(most), capacity)
                if limit.rent_weight or limit.term_weight or limit.standing_weight:
                    found.append(limit)
    return tuple(found)


def _limit(quota: Quota, unit: str, most: float, capacity: Capacity) -> Limit:
    gpus = gpu_set((quota.gpu,)) if quota.gpu else frozenset()
    covered = {pool.id: _weight(pool, unit, quota) for pool in capacity.pools.values() if _counts(quota, gpus, pool)}
    rent = {
        (pool, str(rent.offer.market)): weight
        for pool, weight in covered.items()
        for rent in capacity.pools[pool].rents
        if not quota.market or quota.market == rent.offer.market
    }
    terms = {
        term.id: covered[term.pool]
        for term in capacity.terms
        if term.counts_in_quota
        and term.pool in covered
        and term.market is not Market.CAPACITY_BLOCK
        and (not quota.market or quota.market == term.market)
    }
    standing = {s.id: covered[s.pool] for s in capacity.standing if s.pool in covered and not quota.market}
    return Limit(
        id=f"{quota.name} ({unit})" if quota.name else unit,
        maximum=most,
        unit=unit,
        rent_weight=rent,
        term_weight=terms,
        standing_weight=standing,
        obtainable=quota.obtainable,
    )


def _counts(quota: Quota, gpus: frozenset[str], pool: Pool) -> bool:
    return (
        not pool.onprem
        and (not quota.provider or quota.provider == pool.provider)
        and (not quota.region or matches(pool.region, (quota.region,)))
        and matches(pool.instance_type, quota.instance_types)
        and (not gpus or pool.gpu in gpus)
    )


def _weight(pool: Pool, unit: str, quota: Quota) -> float:
    if unit == "instances":
        return 1.0
    if unit == "GPUs":
        return pool.gpus
    if pool.vcpus is None:
        what = f"the vCPUs of {pool.provider} {pool.instance_type} aren't known, so a quota in vCPUs can't count it."
        raise InputError(
            Problem(path=f"limits.quotas {quota.name}", what=what, remedy="Limit instances or GPUs instead.")
        )
    return pool.vcpus
