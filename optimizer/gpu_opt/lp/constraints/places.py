"""Bringing data to a place costs once, however much runs there."""

from __future__ import annotations

from collections import defaultdict

from gpu_opt.lp.data import LpData
from gpu_opt.lp.variables import RunVars

Place = tuple[str, str, str]


def add_places(run: RunVars, data: LpData) -> None:
    """C16: a workload whose data moves pays the move to each provider's region that it uses, once."""
    users: dict[Place, dict[int, float]] = defaultdict(dict)
    usd: dict[Place, float] = {}

    def note(workload: str, pool_id: str, place_usd: float, var: int, most: float) -> None:
        if place_usd > 0.0:
            pool = data.pools[pool_id]
            place = (workload, pool.provider, pool.region)
            users[place][var] = most
            usd[place] = place_usd

    for (d, c, _), var in run.once.items():
        candidate = data.run_candidates[data.runs[d].workload][c]
        note(candidate.workload, candidate.pool, candidate.place_usd, var, 1.0)
    for (d, c), var in run.many.items():
        candidate = data.run_candidates[data.runs[d].workload][c]
        note(candidate.workload, candidate.pool, candidate.place_usd, var, float(data.runs[d].runs))
    for (d, c, _), var in run.fluid.items():
        demand = data.fluids[d]
        unit = data.fluid_candidates[demand.workload, demand.key][c]
        note(unit.workload, unit.pool, unit.place_usd, var, demand.work / unit.work_per_hour)
    for (d, c, b), var in run.replicas.items():
        service = data.services[d]
        replica = data.replica_candidates[service.workload][c]
        needed = data.replicas_needed(service.workload, c, service.blocks[b].requests_per_second)
        note(replica.workload, replica.pool, replica.place_usd, var, 4.0 * (needed + service.min_replicas + 1))
    for place, variables in sorted(users.items()):
        name = f"place[{'|'.join(place)}]"
        used = run.model.var(name, high=1.0, integer=True)
        run.named[name] = used
        run.charge(used, usd[place], 0, "")
        for var, most in variables.items():
            run.model.row(f"C16_place[{name},{var}]", {var: 1.0, used: -most}, high=0.0)
