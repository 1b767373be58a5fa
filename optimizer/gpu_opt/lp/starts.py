"""When runs that happen once may start: at dates that matter, and behind or before each other.

Some cheapest calendar has every run begin at a date, or right after runs that follow each other from one; where prices
or capacity change over time, or end right before runs that lead up to one. All such starts are tried where they are few
enough.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpu_opt.domain.program import RunCandidate, RunDemand
from gpu_opt.lp.data import LpData
from gpu_opt.records import record

MOST_STARTS = 64  # of one run on one candidate
_LEAST_STARTS = 12
_MOST_VARIABLES = 6000
_MOST_SUMS = 512
_MOST_LANES = 4
TINY_HOURS = 1e-6
Starts = dict[tuple[int, int], tuple[float, ...]]


@record
class Times:
    """`dates` by pool, those of everyone under the empty key; `coupled` pools share something, and `groups` of them
    compete with each other; in `covered` ones and where prices are `timed`, late may be better than early."""

    dates: Mapping[str, frozenset[float]]
    coupled: frozenset[str]
    covered: frozenset[str]
    groups: Sequence[Sequence[str]]


@record
class _User:
    d: int
    c: int
    demand: RunDemand
    candidate: RunCandidate


def starts_of(data: LpData, times: Times) -> tuple[Starts, bool]:
    """Starts of each (run, candidate), and whether none that could matter was left out."""
    users = [
        _User(d=d, c=c, demand=demand, candidate=candidate)
        for d, demand in enumerate(data.runs)
        if not demand.recurring
        for c, candidate in enumerate(data.run_candidates[demand.workload])
    ]
    found: Starts = {}
    complete = True
    shared = times.dates.get("", frozenset())
    for user in users:
        if user.candidate.pool not in times.coupled:
            timed = _timed_prices(data, user.candidate.pool)
            own = _own(user, shared) | _straddling(data, user) if timed else {user.demand.from_hours}
            found[user.d, user.c] = _fitting(user, own)
            complete = complete and (len(own) == 1 or data.budget.per_period_usd is None)
    most = max(_LEAST_STARTS, min(MOST_STARTS, _MOST_VARIABLES // max(1, len(users))))
    for group in times.groups:
        members = set(group) & times.coupled
        inside = [user for user in users if user.candidate.pool in members]
        for user, kept, whole in _of_group(data, times, group, inside, most):
            found[user.d, user.c] = kept
            complete = complete and whole
    return found, complete


def _of_group(
    data: LpData, times: Times, group: Sequence[str], users: Sequence[_User], most: int
) -> Iterable[tuple[_User, tuple[float, ...], bool]]:
    marks = set(times.dates.get("", frozenset())) | _windows(data, set(group))
    for pool in group:
        marks |= times.dates.get(pool, frozenset())
    late = any(user.candidate.pool in times.covered or _timed_prices(data, user.candidate.pool) for user in users)
    queues = _queues(users)
    for user in users:
        others = _lengths(users, user.d)
        chains, whole = _chains(others, user.demand.latest_hours - user.demand.from_hours)
        begins = marks | {u.demand.from_hours for u in users}
        tried = {b + s for b in begins for s in chains}
        if late:
            ends = marks | {u.demand.latest_hours for u in users} | {u.demand.deadline_hours for u in users}
            tried |= {e - s - user.candidate.elapsed_hours for e in ends for s in chains}
        first = queues[user.d, user.c] | _own(user, marks) | _straddling(data, user)
        kept = _fitting(user, tried | first)
        if len(kept) > most:
            whole = False
            kept = _some(_fitting(user, first), kept, most)
        whole = whole and data.budget.per_period_usd is None
        yield user, kept, whole


def _timed_prices(data: LpData, pool: str) -> bool:
    """Whether it matters when a run on this pool starts, though it shares nothing with others."""
    moving = any(len(set(rent.usd_per_instance_hour)) > 1 for rent in data.pools[pool].rents)
    return moving or data.budget.per_period_usd is not None or bool(data.credits)


def _own(user: _User, marks: Iterable[float]) -> set[float]:
    """Starts of a run by itself: it begins or ends at a date, or ends as late as it may."""
    length, demand = user.candidate.elapsed_hours, user.demand
    ends = {demand.latest_hours - length, demand.deadline_hours - length}
    return {demand.from_hours} | {t for mark in marks for t in (mark, mark - length)} | ends


def _straddling(data: LpData, user: _User) -> set[float]:
    """Where a budget limits each period: starts that put an eighth, a quarter … of the run, or just as much as the
    budget pays for by itself, before or behind a period's end."""
    most_usd = data.budget.per_period_usd
    if most_usd is None:
        return set()
    length, candidate = user.candidate.elapsed_hours, user.candidate
    parts = {length * eighth / 8 for eighth in range(1, 8)}
    for rent in data.pools[candidate.pool].rents[:1]:
        paid = candidate.paid_hours / length * candidate.instances * data.support_ratio(rent.offer.provider)
        parts |= {most_usd / (usd * paid) for usd in rent.usd_per_instance_hour}
    inner = [period.end_hours for period in data.horizon.periods[:-1]]
    return {end - before for end in inner for part in parts if part < length for before in (part, length - part)}


def _windows(data: LpData, pools: set[str]) -> set[float]:
    """When other work of these pools begins and ends."""
    found: set[float] = set()
    for service in data.services:
        if any(k.pool in pools for k in data.replica_candidates[service.workload]):
            found |= {service.from_hours, service.to_hours}
    for work in data.fluids:
        if any(k.pool in pools for k in data.fluid_candidates[work.workload, work.key]):
            found |= {work.from_hours, work.to_hours}
    for run in data.runs:
        if run.recurring and any(k.pool in pools for k in data.run_candidates[run.workload]):
            found |= {run.from_hours, run.latest_hours}
    return found


def _lengths(users: Sequence[_User], without: int) -> list[tuple[float, ...]]:
    """How long each other run may take, on one candidate or another."""
    by_run: dict[int, set[float]] = defaultdict(set)
    for user in users:
        if user.d != without:
            by_run[user.d].add(round(user.candidate.elapsed_hours, 9))
    return sorted(tuple(sorted(lengths)) for lengths in by_run.values())


def _chains(lengths: Sequence[tuple[float, ...]], window_hours: float) -> tuple[list[float], bool]:
    """Sums of the lengths of any runs that fit a window one after the other, each run at most once; where there are
    too many, those of the shortest chains, and False."""
    sums = {0.0: 0.0}
    for options in lengths:
        more = {s + e for s in sums.values() for e in options if s + e <= window_hours + TINY_HOURS}
        sums.update({round(s, 6): s for s in sorted(more) if round(s, 6) not in sums})
        if len(sums) > _MOST_SUMS:
            singles = {e for each in lengths for e in each}
            pairs = {a + b for a, b in itertools.combinations(sorted(singles), 2)} if len(singles) <= 24 else set()
            return sorted({0.0} | singles | pairs), False
    return sorted(sums.values()), True


def _queues(users: Sequence[_User]) -> dict[tuple[int, int], set[float]]:
    """Starts in a few plain queues: by deadline, longest and shortest first, on one to four lanes. Whatever else is
    left out, these stay, so that some calendar fits where a plain queue does."""
    quickest: dict[int, _User] = {}
    for user in users:
        if user.d not in quickest or user.candidate.elapsed_hours < quickest[user.d].candidate.elapsed_hours:
            quickest[user.d] = user
    firsts = list(quickest.values())
    orders = (
        sorted(firsts, key=lambda u: (u.demand.deadline_hours, u.d)),
        sorted(firsts, key=lambda u: (-u.candidate.elapsed_hours, u.d)),
        sorted(firsts, key=lambda u: (u.candidate.elapsed_hours, u.d)),
    )
    begins: dict[int, set[float]] = defaultdict(set)
    for order, lanes in itertools.product(orders, range(1, _MOST_LANES + 1)):
        free = [0.0] * lanes
        for user in order:
            lane = free.index(min(free))
            start = max(free[lane], user.demand.from_hours)
            begins[user.d].add(start)
            free[lane] = start + user.candidate.elapsed_hours
    return {(user.d, user.c): begins[user.d] for user in users}


def _fitting(user: _User, times: Iterable[float]) -> tuple[float, ...]:
    demand, candidate = user.demand, user.candidate
    last = demand.latest_hours - max(candidate.elapsed_hours, candidate.p95_hours)
    inside = sorted(t for t in times if demand.from_hours - TINY_HOURS <= t <= last + TINY_HOURS)
    kept: list[float] = []
    for time in inside:
        clipped = min(max(time, demand.from_hours), max(last, demand.from_hours))
        if not kept or clipped - kept[-1] > TINY_HOURS:
            kept.append(clipped)
    return tuple(kept)


def _some(first: Sequence[float], times: Sequence[float], most: int) -> tuple[float, ...]:
    """At most so many of the times, the first ones before the others, which are taken evenly."""
    kept = set(_spread(first, most))
    others = [t for t in times if t not in kept]
    return tuple(sorted(kept | set(_spread(others, most - len(kept)))))


def _spread(times: Sequence[float], most: int) -> tuple[float, ...]:
    if len(times) <= most:
        return tuple(times)
    if most < 2:
        return tuple(times[:most])
    step = (len(times) - 1) / (most - 1)
    return tuple(times[round(index * step)] for index in range(most))
