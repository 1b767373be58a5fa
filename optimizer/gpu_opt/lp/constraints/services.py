"""Services meet their load in every block."""

from __future__ import annotations

from gpu_opt.domain.program import BlockLoad, ServiceDemand
from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.variables import RunVars

_SPARE = 1e-4  # of a replica's rate: what the load must be missed by without it, well above the solver's tolerance


def add_services_met(run: RunVars, data: LpData) -> None:
    """C3: in each block the replicas' rates add up to the load; spares, least replicas and zones hold too."""
    for d, demand in enumerate(data.services):
        for b, block in enumerate(demand.blocks):
            replicas = {c: var for (dd, c, bb), var in run.replicas.items() if (dd, bb) == (d, b)}
            _load(run, data, d, b, demand, block, replicas)
            if demand.min_replicas:
                run.model.row(
                    f"C3_least[{d},{b}]", dict.fromkeys(replicas.values(), 1.0), low=float(demand.min_replicas)
                )
            if demand.zone_share_fraction is not None:
                _zones(run, data, d, b, demand, replicas)
            if demand.period == len(data.horizon.periods) - 1 and data.after:
                _none_to_spare(run, data, d, b, demand, block, replicas)


def _load(
    run: RunVars, data: LpData, d: int, b: int, demand: ServiceDemand, block: BlockLoad, replicas: dict[int, int]
) -> None:
    load = block.requests_per_second
    if load <= 0.0:
        return
    candidates = data.replica_candidates[demand.workload]
    if demand.availability_fraction is not None or demand.round_robin:
        _one_kind(run, data, d, b, demand, block, replicas)
        return
    terms = {var: candidates[c].requests_per_second / load for c, var in replicas.items()}
    run.model.row(f"C3_load[{d},{b}]", terms, low=1.0)


def _one_kind(
    run: RunVars, data: LpData, d: int, b: int, demand: ServiceDemand, block: BlockLoad, replicas: dict[int, int]
) -> None:
    """Spares are counted for replicas of one kind, so a service with an availability target has one kind.

    Under round robin each replica gets the same share, so the slowest kind used rules: with kinds chosen, all
    replicas together must carry the load at that kind's rate.
    """
    candidates = data.replica_candidates[demand.workload]
    load = block.requests_per_second
    chosen = {c: run.model.var(f"kind[{d},{b},{c}]", high=1.0, integer=True) for c in replicas}
    most = {c: float(data.replicas_needed(demand.workload, c, load) + demand.min_replicas) for c in replicas}
    ceiling = sum(most.values())
    for c, var in replicas.items():
        run.model.row(f"C3_kind[{d},{b},{c}]", {var: 1.0, chosen[c]: -ceiling}, high=0.0)
    if demand.availability_fraction is not None:
        run.model.row(f"C3_one_kind[{d},{b}]", dict.fromkeys(chosen.values(), 1.0), low=1.0, high=1.0)
        terms = {replicas[c]: 1.0 / data.replicas_needed(demand.workload, c, load) for c in replicas}
        run.model.row(f"C3_load[{d},{b}]", terms, low=1.0)
        return
    for c in replicas:
        needed = data.replicas_needed(demand.workload, c, load)
        terms = dict.fromkeys(replicas.values(), 1.0)
        terms[chosen[c]] = -float(needed)
        run.model.row(f"C3_round_robin[{d},{b},{c}]", terms, low=0.0)
    terms = {var: candidates[c].requests_per_second / load for c, var in replicas.items()}
    run.model.row(f"C3_load[{d},{b}]", terms, low=1.0)


def _none_to_spare(
    run: RunVars, data: LpData, d: int, b: int, demand: ServiceDemand, block: BlockLoad, replicas: dict[int, int]
) -> None:
    """C3: what the last period uses is left the rest of terms, so there no replica on a term may be one too many:
    without any of them the load or the least number isn't met."""
    mixed = demand.round_robin or demand.zone_share_fraction is not None or demand.spot_share_fraction < 1.0
    kinds = data.replica_candidates[demand.workload]
    termed = {t.pool for t in data.terms} | {pool for t in data.terms for pool in t.plan_rates}
    termed |= {p.pool for p in data.purchases}
    asked = {c: var for c, var in replicas.items() if kinds[c].pool in termed}
    if mixed or not asked:
        return
    load, least = block.requests_per_second, demand.min_replicas
    most = {c: float(max(data.replicas_needed(demand.workload, c, load), least)) for c in replicas}
    for c, var in asked.items():
        run.model.row(f"C3_most[{d},{b},{c}]", {var: 1.0}, high=most[c])
    if demand.availability_fraction is not None or len(replicas) < 2:
        return
    whole = sum(most[c] * kinds[c].requests_per_second for c in replicas)
    rates = {var: kinds[c].requests_per_second for c, var in replicas.items()}
    few = run.model.var(f"few[{d},{b}]", high=1.0, integer=True)
    numbers: dict[int, float] = dict.fromkeys(replicas.values(), 1.0)
    run.model.row(f"C3_few[{d},{b}]", {**numbers, few: sum(most.values())}, high=least + sum(most.values()))
    for c, var in asked.items():
        used = run.model.var(f"stands[{d},{b},{c}]", high=1.0, integer=True)
        run.model.row(f"C3_stands[{d},{b},{c}]", {var: 1.0, used: -most[c]}, high=0.0)
        rate = kinds[c].requests_per_second
        alone = ceiling(load / rate) * rate - load  # beyond the load with this kind alone, which must stay possible
        highest = load + max(rate * (1.0 - _SPARE), (rate + alone) / 2.0) + whole
        run.model.row(f"C3_spare[{d},{b},{c}]", {**rates, used: whole, few: -whole}, high=highest)


def _zones(run: RunVars, data: LpData, d: int, b: int, demand: ServiceDemand, replicas: dict[int, int]) -> None:
    share = demand.zone_share_fraction
    if share is None:
        return
    zones: dict[tuple[str, str, str], list[int]] = {}
    for c, var in replicas.items():
        pool = data.pools[data.replica_candidates[demand.workload][c].pool]
        if pool.zone:
            zones.setdefault((pool.provider, pool.region, pool.zone), []).append(var)
    for zone, members in sorted(zones.items()):
        terms = {var: (1.0 - share if var in members else -share) for var in replicas.values()}
        run.model.row(f"C3_zone[{d},{b},{zone[2]}]", terms, high=0.0)
