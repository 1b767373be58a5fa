"""Quotas and the hourly budget at every time, shared capacity's occupancy, and the number of providers."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json
from gpu_opt.verify.profile import Profile

_RELATIVE = 1e-6
_NOT_HOURLY = ("annuity", "upfront, as annuity", "block fee")
_ONPREM = "onprem"
Counted = Callable[[float, int], float]


def problems_of(have: Estate, profiles: Mapping[str, Profile]) -> list[str]:
    """What goes beyond a limit."""
    found: list[str] = []
    for limit in have.evidence["limits"]:
        found += _quota(have, profiles, limit)
    found += _hourly(have, profiles)
    found += _providers(have)
    return found


@dataclass(slots=True)
class Counter:
    """Something that is counted over time. `steps` are changes at a time, `spread` the edges between which divisible
    work may run at any time, so that only the average between them counts."""

    steps: list[tuple[float, float]] = field(default_factory=list)
    spread: set[float] = field(default_factory=set)

    def add(self, start: float, end: float, amount: float) -> None:
        """Counts an amount in [start, end)."""
        if amount and end > start:
            self.steps += [(start, amount), (end, -amount)]

    def most(self, horizon_hours: float) -> tuple[float, float]:
        """The highest count at one time, averaged where work is divisible, and when."""
        edges = sorted(self.spread)
        best, at, level, index = 0.0, 0.0, 0.0, 0
        steps = sorted(self.steps)
        sums = [0.0] * (len(edges) + 1)
        for i, (time, change) in enumerate(steps):
            level += change
            end = steps[i + 1][0] if i + 1 < len(steps) else horizon_hours
            start, end = max(time, 0.0), min(end, horizon_hours)
            if end - start <= 0.0:
                continue
            if not edges and end - start > TINY_HOURS and level > best:
                best, at = level, start
            index = bisect_right(edges, start) if edges else 0
            while edges:
                stop = min(end, edges[index]) if index < len(edges) else end
                sums[index] += level * max(0.0, stop - start)
                if stop >= end:
                    break
                start, index = stop, index + 1
        for k in range(1, len(edges)):
            span = edges[k] - edges[k - 1]
            if span > TINY_HOURS and sums[k] / span > best:
                best, at = sums[k] / span, edges[k - 1]
        return best, at


def _count(
    profiles: Iterable[Profile], middle: float, counted: dict[str, Counted], divisible: dict[str, Counted] | None
) -> Counter:
    """Rent of some pools over time in a slice of the day; with `divisible`, that of divisible work too."""
    counter = Counter()
    for profile in profiles:
        count = counted[profile.pool]
        for cell in profile.at(middle):
            for segment in cell.segments:
                if segment.over > 0.0:
                    counter.add(segment.start, segment.end, count(segment.over, cell.period))
            if divisible is not None and cell.divisible > 0.0:
                counter.spread |= {cell.start, cell.end}
                rate = cell.divisible_over / cell.hours
                if rate > 0.0:
                    counter.add(cell.start, cell.end, divisible[profile.pool](rate, cell.period))
    return counter


def _middles(profiles: Iterable[Profile]) -> list[float]:
    marks = sorted({mark for profile in profiles for low, high in profile.slices for mark in (low, high)})
    return [(low + high) / 2 for low, high in itertools.pairwise(marks) if high - low > 1e-9]


def _highest(
    have: Estate,
    profiles: list[Profile],
    counted: dict[str, Counted],
    divisible: dict[str, Counted],
    standing: list[tuple[float, float, float]],
) -> tuple[float, float]:
    """The most of something at one time, by runs and services alone and on average with divisible work."""
    best, at = 0.0, 0.0
    for middle in _middles(profiles) or [0.5]:
        for parts in (None, divisible):
            counter = _count(profiles, middle, counted, parts)
            if parts is not None and not counter.spread:
                continue
            for start, end, amount in standing:
                counter.add(max(start, 0.0), min(end, have.horizon_hours), amount)
            level, time = counter.most(have.horizon_hours)
            if level > best:
                best, at = level, time
    return best, at


def _quota(have: Estate, profiles: Mapping[str, Profile], limit: Json) -> Iterator[str]:
    weights = limit["rent_weight"]
    counted: dict[str, Counted] = {}
    for pool in {key.rpartition("|")[0] for key in weights}:
        if pool in profiles:
            counted[pool] = _weigher(have.pools[pool], pool, weights)
    standing = []
    for source in have.evidence["capacity"]:
        weight = limit["term_weight"].get(source["id"], 0.0) or limit["standing_weight"].get(source["id"], 0.0)
        if weight:
            standing.append((source["start_hours"], source["end_hours"], weight * source["instances"]))
    most, at = _highest(have, [profiles[p] for p in sorted(counted)], counted, counted, standing)
    fixed = max((_fixed(have, limit, source["start_hours"]) for source in have.evidence["capacity"]), default=0.0)
    maximum = max(_whole(limit), fixed)
    if most > maximum * (1.0 + _RELATIVE) + _RELATIVE:
        yield f"limit {limit['id']}: {most:g} {limit['unit']} at {at:g} h, at most {limit['maximum']:g} are allowed."


def _whole(limit: Json) -> float:
    """What whole instances can reach of a limit: of 12 GPUs, instances of 8 use 8 at one time."""
    kinds = ("rent_weight", "term_weight", "standing_weight")
    weights = {weight for kind in kinds for weight in limit[kind].values()}
    if not weights or any(weight != int(weight) or weight <= 0 for weight in weights):
        return float(limit["maximum"])
    step = math.gcd(*(int(weight) for weight in weights))
    return float(math.floor(limit["maximum"] / step + 1e-9) * step)


def _fixed(have: Estate, limit: Json, at: float) -> float:
    """What existing commitments alone count for at a time: nobody can help it when they exceed a quota."""
    weights: Mapping[str, float] = limit["standing_weight"]
    return float(
        sum(
            weights.get(s["id"], 0.0) * s["instances"]
            for s in have.evidence["capacity"]
            if s["start_hours"] <= at < s["end_hours"]
        )
    )


def _weigher(pool: Json, name: str, weights: Json) -> Counted:
    """What rent of so many instances counts for: offers that the limit doesn't count come first."""
    free = 0.0
    weight = 0.0
    for rent in pool["rents"]:
        own = weights.get(f"{name}|{rent['market']}", 0.0)
        weight = max(weight, own)
        if not own:
            free += float("inf") if rent["max_instances"] is None else rent["max_instances"]
    return lambda over, period: weight * max(0.0, over - free)


def _hourly(have: Estate, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """The highest hourly rate at one time, what is paid upfront left out."""
    most = have.evidence["budget"]["per_hour_usd"]
    if most is None:
        return
    dear = {pool: _pricer(have, pool) for pool in profiles}
    cheap = {pool: _cheapest(have, pool) for pool in profiles}
    standing = [
        (
            s["start_hours"],
            s["end_hours"],
            s["instances"] * sum(r for label, r in s["lines"].items() if label not in _NOT_HOURLY),
        )
        for s in have.evidence["capacity"]
    ]
    rate, at = _highest(have, list(profiles.values()), dear, cheap, standing)
    if rate > most * (1.0 + _RELATIVE) + 0.01:
        yield f"budget per_hour_usd: ${rate:,.2f} an hour are paid at {at:g} h, ${most:,.2f} are allowed."


def _hourly_rate(lines: Mapping[str, float]) -> float:
    return sum(rate for label, rate in lines.items() if label not in _NOT_HOURLY)


def _planned(have: Estate, pool: str) -> float:
    """The most instances of a pool that savings plans can pay for at one time."""
    plans = [s for s in have.evidence["capacity"] if pool in s["plan_rates"]]
    return float(sum(plan["instances"] / plan["plan_rates"][pool] for plan in plans))


def _pricer(have: Estate, pool: str) -> Counted:
    """USD an hour for so many rented instances: from the cheapest offer up to what each allows."""
    rents = have.pools[pool]["rents"]
    planned = _planned(have, pool)

    def price(over: float, period: int) -> float:
        left, usd = max(0.0, over - planned), 0.0
        for rent in sorted(rents, key=lambda r: r["usd_per_instance_hour"][period]):
            taken = left if rent["max_instances"] is None else min(left, rent["max_instances"])
            usd += taken * rent["usd_per_instance_hour"][period]
            left -= taken
        return usd

    return price


def _cheapest(have: Estate, pool: str) -> Counted:
    rents = have.pools[pool]["rents"]
    planned = _planned(have, pool)
    return lambda over, period: (
        max(0.0, over - planned) * min((r["usd_per_instance_hour"][period] for r in rents), default=0.0)
    )


def _providers(have: Estate) -> Iterator[str]:
    most = have.evidence["max_providers"]
    if most is None:
        return
    used = {have.pools[pool]["provider"] for (pool, _, _), hours in have.used.items() if hours > 0.0}
    for source in have.evidence["capacity"]:
        used.add(have.pools[source["pool"]]["provider"] if source["pool"] else source["id"].partition("/")[0])
    used.discard(_ONPREM)
    if len(used) > most:
        yield f"max_providers: {len(used)} providers are used ({', '.join(sorted(used))}), {most} are allowed."
