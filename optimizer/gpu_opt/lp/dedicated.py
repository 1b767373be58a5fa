"""A plan to begin from: every workload by itself on what is cheapest to rent, nothing committed and nothing bought."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_opt.lp.build import Program
from gpu_opt.lp.data import ceiling


def dedicated_start(program: Program) -> dict[str, float]:
    """Values by variable name. Pools that no limit touches are preferred, so that the plan is likely to hold."""
    data, run = program.data, program.run
    names = run.model.names
    limited = {pool for limit in data.limits for pool, _ in limit.rent_weight}
    chosen: dict[int, float] = dict.fromkeys((*run.once.values(), *run.many.values(), *run.replicas.values()), 0.0)
    chosen |= dict.fromkeys((*run.hosts.values(), *run.units.values(), *run.bought.values()), 0.0)

    def price(pool: str) -> float:
        rents = data.pools[pool].rents
        return rents[0].usd_per_instance_hour[0] if rents else float("inf")

    def best(options: Iterable[tuple[float, str, int]]) -> int | None:
        found = [(pool in limited, usd, key) for usd, pool, key in options if usd < float("inf")]
        return min(found)[2] if found else None

    for d, demand in enumerate(data.runs):
        options = [
            (price(k.pool) * k.instances * k.paid_hours, k.pool, c)
            for c, k in enumerate(data.run_candidates[demand.workload])
            if (d, c) in run.many or (d, c, 0) in run.once
        ]
        c = best(options)
        if c is not None and demand.recurring:
            chosen[run.many[d, c]] = float(demand.runs)
        elif c is not None:
            chosen[run.once[d, c, 0]] = 1.0
    for d, service in enumerate(data.services):
        kinds = data.replica_candidates[service.workload]
        peak = max((block.requests_per_second for block in service.blocks), default=0.0)
        needs = [max(data.replicas_needed(service.workload, c, peak), service.min_replicas) for c in range(len(kinds))]
        c = best(
            (price(k.pool) * k.instances * ceiling(needs[i] / k.per_instance), k.pool, i) for i, k in enumerate(kinds)
        )
        for b, block in enumerate(service.blocks if c is not None else ()):
            if c is not None and (d, c, b) in run.replicas:
                need = max(data.replicas_needed(service.workload, c, block.requests_per_second), service.min_replicas)
                chosen[run.replicas[d, c, b]] = float(need)
                chosen[run.hosts[d, c, b]] = float(ceiling(need / kinds[c].per_instance))
    return {names[var]: value for var, value in chosen.items()}
