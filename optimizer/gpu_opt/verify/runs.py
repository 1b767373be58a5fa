"""Runs: each one asked for is placed once, in its window, at its length, on a whole gang."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json

_RELATIVE = 1e-6
_SECONDS_PER_HOUR = 3600.0


def problems_of(have: Estate) -> list[str]:
    """What is wrong with the runs."""
    evidence = have.evidence["runs"]
    asked: dict[str, list[Json]] = defaultdict(list)
    for demand in evidence["asked"]:
        asked[demand["workload"]].append(demand)
    found: list[str] = []
    for demands in asked.values():
        demands.sort(key=lambda d: d["from_hours"])
    begins = {workload: [d["from_hours"] - TINY_HOURS for d in demands] for workload, demands in asked.items()}
    placed: dict[tuple[str, int], list[Json]] = defaultdict(list)
    seen: set[tuple[str, int]] = set()
    for index, run in enumerate(evidence["placed"]):
        where = f"evidence.runs.placed[{index}] ({run['workload']} run {run['run']})"
        if (run["workload"], run["run"]) in seen:
            found.append(f"{where}: the same run is placed twice.")
        seen.add((run["workload"], run["run"]))
        found += _alone(have, run, where)
        if run["workload"] not in asked:
            found.append(f"{where}: nobody asked for it.")
            continue
        k = max(0, bisect_right(begins[run["workload"]], run["start_hours"]) - 1)
        found += _in_window(have, run, asked[run["workload"]][k], where)
        placed[run["workload"], k].append(run)
    for workload, demands in asked.items():
        for k, demand in enumerate(demands):
            found += _all_placed(have, workload, demand, placed[workload, k])
    return found


def _alone(have: Estate, run: Json, where: str) -> Iterator[str]:
    """A run by itself: its length, its gang, its speed."""
    pool = have.pools[run["pool"]]
    length = run["end_hours"] - run["start_hours"]
    if abs(length - run["elapsed_hours"]) > TINY_HOURS + _RELATIVE * run["elapsed_hours"]:
        yield f"{where}: it stands for {length:g} h, but takes {run['elapsed_hours']:g} h."
    if abs(run["instances"] * pool["gpus"] - run["gpus"]) > _RELATIVE * run["gpus"]:
        yield f"{where}: {run['instances']} instances of {pool['gpus']:g} GPUs are not the {run['gpus']:g} of its gang."
    if run["p95_hours"] < run["elapsed_hours"] * (1.0 - _RELATIVE):
        yield f"{where}: its P95 of {run['p95_hours']:g} h is below the expected {run['elapsed_hours']:g} h."
    paid, elapsed = run["paid_hours"], run["elapsed_hours"]
    if paid > elapsed * (1.0 + _RELATIVE) or (not pool["spot"] and paid < elapsed * (1.0 - _RELATIVE)):
        yield f"{where}: {paid:g} h are paid of {elapsed:g} h."


def _in_window(have: Estate, run: Json, demand: Json, where: str) -> Iterator[str]:
    slack = TINY_HOURS + 1e-9 * have.horizon_hours
    if run["start_hours"] < demand["from_hours"] - slack:
        yield f"{where}: it starts at {run['start_hours']:g} h, before its window opens at {demand['from_hours']:g} h."
    if demand["usd_per_hour_late"] is None and demand["latest_hours"] > demand["deadline_hours"] + slack:
        hard, late = demand["deadline_hours"], demand["latest_hours"]
        yield f"{where}: its deadline at {hard:g} h is hard, yet {late:g} h is allowed."
    late = min(demand["latest_hours"], have.horizon_hours)
    if run["end_hours"] > late + slack:
        yield f"{where}: it ends at {run['end_hours']:g} h, after its deadline at {late:g} h."
    if have.pools[run["pool"]]["spot"] and run["start_hours"] + run["p95_hours"] > late + slack:
        end = run["start_hours"] + run["p95_hours"]
        yield f"{where}: on spot its P95 ends at {end:g} h, after its deadline at {late:g} h."
    least = demand["tokens"] / run["tokens_per_second"] / _SECONDS_PER_HOUR
    if run["elapsed_hours"] < least * (1.0 - _RELATIVE):
        speed = run["tokens_per_second"]
        yield f"{where}: {demand['tokens']:g} tokens at {speed:g}/s take {least:g} h, not {run['elapsed_hours']:g} h."


def _all_placed(have: Estate, workload: str, demand: Json, placed: list[Json]) -> Iterator[str]:
    where = f"{workload}, {demand['from_hours']:g} h to {demand['latest_hours']:g} h"
    if len(placed) != demand["runs"]:
        yield f"{where}: {len(placed)} runs are placed, {demand['runs']} are asked for."
    spot = sum(1 for run in placed if have.pools[run["pool"]]["spot"])
    if spot > demand["spot_share_fraction"] * demand["runs"] + _RELATIVE:
        share = demand["spot_share_fraction"]
        yield f"{where}: {spot} of {demand['runs']} runs are on spot, more than its share of {share:g}."
