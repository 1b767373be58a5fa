"""Divisible work: batches and GPU-hours are done in full, inside their windows, at the rates that their units have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json

_RELATIVE = 1e-6
_MUCH = 1e-4
_SECONDS_PER_HOUR = 3600.0


def problems_of(have: Estate) -> list[str]:
    """What is wrong with the divisible work."""
    evidence = have.evidence["work"]
    total: dict[int, float] = defaultdict(float)
    spot: dict[int, float] = defaultdict(float)
    found: list[str] = []
    for index, done in enumerate(evidence["done"]):
        where = f"evidence.work.done[{index}] ({done['workload']} on {done['pool']})"
        amount = done["unit_hours"] * done["work_per_hour"]
        total[done["demand"]] += amount
        if have.pools[done["pool"]]["spot"]:
            spot[done["demand"]] += amount
        found += _piece(have, done, evidence["asked"][done["demand"]], where)
    for d, demand in enumerate(evidence["asked"]):
        where = (
            f"{demand['workload']} {demand['key']}".strip()
            + f", {demand['from_hours']:g} h to {demand['to_hours']:g} h"
        )
        if total[d] < demand["work"] * (1.0 - _RELATIVE):
            found.append(f"{where}: {total[d]:,.6g} of the {demand['work']:,.6g} units of work asked for are done.")
        if total[d] > max(demand["work"], 0.0) * (1.0 + _MUCH) + _MUCH:
            found.append(f"{where}: {total[d]:,.6g} units of work are done, {demand['work']:,.6g} are asked for.")
        share = demand["spot_share_fraction"]
        if spot[d] > share * max(demand["work"], 0.0) * (1.0 + _RELATIVE) + _RELATIVE and share < 1.0:
            found.append(f"{where}: {spot[d]:,.6g} of {demand['work']:,.6g} units are on spot, its share is {share:g}.")
    return found


def _piece(have: Estate, done: Json, demand: Json, where: str) -> Iterator[str]:
    start, end = done["start_hours"], done["end_hours"]
    if end <= start or not 0.0 <= done["low_fraction"] < done["high_fraction"] <= 1.0:
        yield f"{where}: {start:g} h to {end:g} h is no stretch of time."
    if start < demand["from_hours"] - TINY_HOURS or end > demand["to_hours"] + TINY_HOURS:
        window = f"{demand['from_hours']:g} h to {demand['to_hours']:g} h"
        yield f"{where}: {start:g} h to {end:g} h lies outside its window, {window}."
    if len(have.pieces(start, end)) > 1 and any(h > TINY_HOURS for _, h in have.pieces(start, end)[1:]):
        yield f"{where}: {start:g} h to {end:g} h crosses the end of a period."
    pool = have.pools[done["pool"]]
    rate = done["work_per_hour"]
    if done["requests_per_second"] is None or done["gpus"] is None:
        ratio = 1.0 if pool["gpu"] == demand["key"] else demand["substitutes"].get(pool["gpu"], 0.0)
        most = pool["gpus"] * done["instances"] * ratio
        if abs(rate - most) > _RELATIVE * max(most, rate):
            yield f"{where}: an instance does {most:g} GPU-hours of {demand['key']} an hour, not {rate:g}."
        return
    replicas = int((pool["gpus"] * done["instances"] + 1e-9) // done["gpus"])
    most = done["requests_per_second"] * replicas * _SECONDS_PER_HOUR
    if rate > most * (1.0 + _RELATIVE):
        yield f"{where}: {replicas} replicas do at most {most:g} requests an hour, not {rate:g}."
