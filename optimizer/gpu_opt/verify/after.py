"""After the horizon: what later demand doesn't use of the rest of a term is charged now, and no more is left to it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.costs import RELATIVE, SLACK_HOURS, Table, near
from gpu_opt.verify.estate import TINY_HOURS, Estate

Use = dict[str, list[tuple[float, float, float, bool]]]
"""By pool: (from, to) of the day, instances, and whether they shrink in proportion to the demand's level: replicas of
services are sized anew, in whole ones and with spares, so that only their present number is a bound."""


def problems_of(have: Estate, table: Table) -> list[str]:
    """What is wrong with the rest of terms."""
    return [*_rest(have, table), *_left(have)]


def _rest(have: Estate, table: Table) -> Iterator[str]:
    end = have.horizon_hours
    for source, entries in sorted(have.sources.items()):
        if not entries[0]["after"]:
            continue
        rest = sum(e["instances"] * max(0.0, e["end_hours"] - max(e["start_hours"], end)) for e in entries)
        left = entries[0]["left_hours"]
        if any(e["left_hours"] != left for e in entries):
            yield f"{source}: its entries disagree about the hours that are left to later periods."
        if left > rest * (1.0 + RELATIVE) + SLACK_HOURS:
            yield f"{source}: {left:,.6g} h are left to later periods, it has {rest:,.6g} after the horizon."
        for label in entries[0]["after"]:
            paid = table.rest.get((source, label), 0.0)
            if not near(paid, max(0.0, rest - left), 2 * SLACK_HOURS):
                yield f"{source}, {label}, after the horizon: {rest - left:,.6g} h are unused, {paid:,.6g} are paid."


def _left(have: Estate) -> Iterator[str]:
    """Later periods take over at most what recurring demand uses in the last one, at its level then."""
    use = _recurring(have)
    pools: dict[str, dict[str, float]] = defaultdict(dict)
    for source, entries in have.sources.items():
        if not entries[0]["after"]:
            continue
        if entries[0]["pool"]:
            pools[entries[0]["pool"]][source] = entries[0]["left_hours"]
            continue
        rates = entries[0]["plan_rates"]
        stretches = [(a, b, n * rate, scales) for pool, rate in rates.items() for a, b, n, scales in use.get(pool, [])]
        most = _most(have, [source], stretches)
        if entries[0]["left_hours"] > most * (1.0 + RELATIVE) + SLACK_HOURS:
            yield f"{source}: ${entries[0]['left_hours']:,.2f} are left to later periods, they would use ${most:,.2f}."
    for pool, lefts in sorted(pools.items()):
        most = _most(have, list(lefts), use.get(pool, []))
        left = sum(lefts.values())
        if left > most * (1.0 + RELATIVE) + SLACK_HOURS:
            yield f"{pool}: {left:,.6g} h of terms are left to later periods, their demand would use {most:,.6g}."


def _recurring(have: Estate) -> Use:
    """Instances in use by demand that recurs, on average over the last period, by pool and slice of the day."""
    last = len(have.names) - 1
    start, end = have.starts[last], have.ends[last]
    hours = end - start
    use: Use = defaultdict(list)
    work = have.evidence["work"]
    for done in work["done"]:
        demand = work["asked"][done["demand"]]
        if demand["recurring"] and demand["period"] == last:
            low, high = done["low_fraction"], done["high_fraction"]
            amount = done["unit_hours"] * done["instances"] / (hours * max(high - low, 1e-9))
            use[done["pool"]].append((low, high, amount, True))
    again = {d["workload"] for d in have.evidence["runs"]["asked"] if d["recurring"] and d["period"] == last}
    for run in have.evidence["runs"]["placed"]:
        if run["workload"] in again and run["start_hours"] >= start - TINY_HOURS:
            use[run["pool"]].append((0.0, 1.0, run["instances"] * run["elapsed_hours"] / hours, True))
    asked = have.evidence["services"]["asked"]
    for standing in have.evidence["services"]["standing"]:
        demand = asked[standing["demand"]]
        if demand["period"] == last and demand["to_hours"] >= end - TINY_HOURS:
            block = demand["blocks"][standing["block"]]
            count = have.instances_of(standing)
            use[standing["pool"]].append((block["low_fraction"], block["high_fraction"], count, False))
    return use


def _most(have: Estate, sources: list[str], use: list[tuple[float, float, float, bool]]) -> float:
    """Hours after the horizon in which both the sources stand and demand uses them."""
    end = have.horizon_hours
    spans = [
        (e["start_hours"], e["end_hours"], e["instances"])
        for source in sources
        for e in have.sources[source]
        if e["end_hours"] > end
    ]
    day = sorted({0.0, 1.0} | {mark for low, high, _, _ in use for mark in (low, high)})
    total = 0.0
    for later in have.evidence["after"]:
        marks = {max(end, later["start_hours"]), later["end_hours"]}
        marks |= {e for _, e, _ in spans if later["start_hours"] < e < later["end_hours"]}
        times = sorted(marks)
        for start, stop in itertools.pairwise(times):
            alive = sum(count for s, e, count in spans if s <= start and e >= stop - TINY_HOURS)
            for low, high in itertools.pairwise(day):
                level = sum(
                    n * (later["level_fraction"] if scales else 1.0)
                    for a, b, n, scales in use
                    if a <= (low + high) / 2 < b
                )
                total += min(alive, level) * (stop - start) * (high - low)
    return total
