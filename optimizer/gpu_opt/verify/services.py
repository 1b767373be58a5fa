"""Services: in every block the replicas carry the load, with spares, least replicas, zone and spot shares."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json

_RELATIVE = 1e-6
_WHOLE = 1e-9
_MOST_BINOMIAL = 200_000


def problems_of(have: Estate) -> list[str]:
    """What is wrong with the services."""
    evidence = have.evidence["services"]
    standing: dict[tuple[int, int], list[Json]] = defaultdict(list)
    found: list[str] = []
    for index, entry in enumerate(evidence["standing"]):
        standing[entry["demand"], entry["block"]].append(entry)
        found += _packing(have, entry, f"evidence.services.standing[{index}] ({entry['pool']})")
    for d, demand in enumerate(evidence["asked"]):
        period = demand["period"]
        outside = demand["from_hours"] < have.starts[period] - TINY_HOURS
        if outside or demand["to_hours"] > have.ends[period] + TINY_HOURS:
            found.append(f"evidence.services.asked[{d}]: {demand['workload']} reaches beyond {have.names[period]}.")
        at = 0.0
        for b, block in sorted(enumerate(demand["blocks"]), key=lambda item: item[1]["low_fraction"]):
            where = f"{demand['workload']}, {have.names[period]}, block {block['name']}"
            if block["low_fraction"] < at - _WHOLE or not block["low_fraction"] <= block["high_fraction"] <= 1 + _WHOLE:
                found.append(f"{where}: its part of the day overlaps another's or leaves the day.")
            at = block["high_fraction"]
            found += _block(have, demand, block, standing[d, b], where)
    return found


def _packing(have: Estate, entry: Json, where: str) -> Iterator[str]:
    pool = have.pools[entry["pool"]]
    if entry["per_instance"] > 1 and entry["instances"] > 1:
        yield f"{where}: a replica takes whole instances, or an instance holds several; not both."
    held = entry["per_instance"] * entry["hosts"] if entry["per_instance"] > 1 else entry["hosts"]
    if held < entry["replicas"]:
        yield f"{where}: {entry['hosts']} hosts hold {held} replicas, fewer than {entry['replicas']}."
    room = pool["gpus"] * entry["instances"]
    if entry["per_instance"] * entry["gpus"] > room * (1.0 + _WHOLE):
        yield f"{where}: {entry['per_instance']} replicas of {entry['gpus']:g} GPUs don't fit {room:g} GPUs."


def _block(have: Estate, demand: Json, block: Json, standing: list[Json], where: str) -> Iterator[str]:
    load = block["requests_per_second"]
    replicas = sum(entry["replicas"] for entry in standing)
    rate = sum(entry["replicas"] * entry["requests_per_second"] for entry in standing)
    if rate < load * (1.0 - _RELATIVE):
        yield f"{where}: {replicas} replicas do {rate:g} requests/s, the load is {load:g}."
    if replicas < demand["min_replicas"]:
        yield f"{where}: {replicas} replicas stand, {demand['min_replicas']} are asked for at least."
    if demand["round_robin"] and standing:
        slowest = min(entry["requests_per_second"] for entry in standing)
        if replicas * slowest < load * (1.0 - _RELATIVE):
            carried = replicas * slowest
            yield f"{where}: under round robin {replicas} replicas carry {carried:g} requests/s, the load is {load:g}."
    if demand["availability_fraction"] is not None and load > 0.0:
        yield from _spares(demand, load, standing, replicas, where)
    spot = sum(entry["replicas"] for entry in standing if have.pools[entry["pool"]]["spot"])
    if spot > demand["spot_share_fraction"] * replicas + _RELATIVE:
        share = demand["spot_share_fraction"]
        yield f"{where}: {spot} of {replicas} replicas are on spot, more than its share of {share:g}."
    if demand["zone_share_fraction"] is not None:
        zones: dict[tuple[str, str, str], int] = defaultdict(int)
        for entry in standing:
            pool = have.pools[entry["pool"]]
            if pool["zone"]:
                zones[pool["provider"], pool["region"], pool["zone"]] += entry["replicas"]
        for (_, _, zone), count in sorted(zones.items()):
            if count > demand["zone_share_fraction"] * replicas + _RELATIVE:
                share = demand["zone_share_fraction"]
                yield f"{where}: zone {zone} holds {count} of {replicas} replicas, more than its share of {share:g}."


def _spares(demand: Json, load: float, standing: list[Json], replicas: int, where: str) -> Iterator[str]:
    """Enough replicas that those which carry the load are up as often as asked: the worst kind counts for all."""
    if not standing:
        return
    slowest = min(entry["requests_per_second"] for entry in standing)
    needed = max(math.ceil(load / slowest - _WHOLE * max(1.0, load / slowest)), demand["min_replicas"])
    up = min(entry["mtti_hours"] / (entry["mtti_hours"] + entry["repair_hours"]) for entry in standing)
    chance = at_least(needed, replicas, up)
    if chance < demand["availability_fraction"] - _WHOLE:
        asked = demand["availability_fraction"]
        yield f"{where}: {needed} of {replicas} replicas are up {chance:.6%} of the time, {asked:.6%} is asked for."


def at_least(needed: int, replicas: int, up_fraction: float) -> float:
    """P(Binomial(replicas, A) ≥ needed)."""
    if replicas < needed:
        return 0.0
    if up_fraction >= 1.0 or needed <= 0:
        return 1.0
    if replicas - needed > _MOST_BINOMIAL:
        return 1.0
    log_up, log_down = math.log(up_fraction), math.log1p(-up_fraction)
    whole = math.lgamma(replicas + 1)
    return math.fsum(
        math.exp(
            whole - math.lgamma(up + 1) - math.lgamma(replicas - up + 1) + up * log_up + (replicas - up) * log_down
        )
        for up in range(needed, replicas + 1)
    )
