"""The evidence of a plan, indexed: pools, periods, what stands when, and who uses what in every period."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from gpu_opt.verify.form import TooLarge

TINY_HOURS = 1e-5
"""Shorter overlaps are rounding (36 ms)."""
_MOST_OVERLAPS = 5_000_000
_MOST_HOURS = 8760.0 * 200
_FIRST_YEAR, _LAST_YEAR = 1950, 2500
_KINDS = {"runs": ("pretrain", "finetune"), "work": ("batch", "gpu_hours"), "services": ("serve",)}

Json = Mapping[str, Any]


@dataclass(slots=True)
class Estate:
    """A document that has the right form, with what all checks look up. Times are hours from the horizon's start.

    `used` is instance-hours by (pool, period, workload), `busy` by (pool, period, workload, phase), with `owed` what
    rent charges for them (spot doesn't charge for instances that were taken away).
    """

    plan: Json
    evidence: Json
    names: list[str]
    starts: list[float]
    ends: list[float]
    horizon_hours: float
    pools: Json
    sources: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    by_pool: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    alive_hours: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    used: dict[tuple[str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    owed: dict[tuple[str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    busy: dict[tuple[str, int, str, str], float] = field(default_factory=lambda: defaultdict(float))
    jobs: set[str] = field(default_factory=set)
    group_of: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def pieces(self, start: float, end: float) -> list[tuple[int, float]]:
        """(period, hours) of a span, inside the horizon."""
        found = []
        p = max(0, bisect_right(self.starts, start) - 1)
        while p < len(self.names) and self.starts[p] < end:
            hours = min(end, self.ends[p]) - max(start, self.starts[p])
            if hours > 0.0:
                found.append((p, hours))
            p += 1
        return found

    def period_at(self, at_hours: float) -> int:
        """The period that a time falls in; the first or the last outside the horizon."""
        return min(max(0, bisect_right(self.starts, at_hours) - 1), len(self.names) - 1)

    def share(self, group: str, member: str) -> float:
        """The part of a group's cost that is a member's: all of it for a workload by itself."""
        parts: Json | None = self.evidence["shares"].get(group)
        return float(group == member) if parts is None else parts.get(member, 0.0)

    def instances_of(self, standing: Json) -> float:
        """Instances that replicas of one kind take."""
        return float(standing["hosts"] * (standing["instances"] if standing["per_instance"] == 1 else 1))


def read(plan: Json) -> Estate:
    """Indexes a document; `problems` name what doesn't fit together, and then the rest can't be checked."""
    evidence = plan["evidence"]
    periods = evidence["periods"]
    have = Estate(
        plan=plan,
        evidence=evidence,
        names=[p["name"] for p in periods],
        starts=[p["start_hours"] for p in periods],
        ends=[p["end_hours"] for p in periods],
        horizon_hours=evidence["horizon_hours"],
        pools=evidence["pools"],
    )
    have.problems += _periods(have)
    have.problems += _days(have)
    have.problems += _references(have)
    have.problems += _kinds(have)
    if have.problems:
        return have
    for group, parts in evidence["shares"].items():
        have.group_of.update(dict.fromkeys(parts, group))
    have.jobs = {r["workload"] for r in evidence["runs"]["asked"]} | {w["workload"] for w in evidence["work"]["asked"]}
    _size(have)
    for source in evidence["capacity"]:
        have.sources[source["id"]].append(source)
        if source["pool"]:
            have.by_pool[source["pool"]].append(source)
        for p, hours in have.pieces(source["start_hours"], source["end_hours"]):
            have.alive_hours[source["id"], p] += hours * source["instances"]
    _book_runs(have)
    _book_work(have)
    _book_services(have)
    return have


def _periods(have: Estate) -> Iterable[str]:
    if not have.names:
        yield "evidence.periods: there is none."
        return
    if len(set(have.names)) < len(have.names):
        yield "evidence.periods: two periods have the same name."
    edges = [0.0, *have.ends]
    for index, (start, end) in enumerate(zip(have.starts, have.ends, strict=True)):
        if abs(start - edges[index]) > TINY_HOURS or end <= start:
            yield f"evidence.periods[{index}]: {start:g} h to {end:g} h doesn't follow the period before it."
    if abs(have.ends[-1] - have.horizon_hours) > TINY_HOURS:
        yield f"evidence.horizon_hours: {have.horizon_hours:g} h, but the last period ends at {have.ends[-1]:g} h."
    shown = [(p["name"], p["hours"]) for p in have.plan["periods"]]
    if [name for name, _ in shown] != have.names:
        yield "periods: their names differ from those of the evidence."
        return
    for index, (name, hours) in enumerate(shown):
        if abs(hours - (have.ends[index] - have.starts[index])) > TINY_HOURS:
            yield f"periods[{index}]: {name} has {have.ends[index] - have.starts[index]:g} h, not {hours:g} h."


def _days(have: Estate) -> Iterable[str]:
    days = [("start", have.plan["start"])]
    days += [(f"evidence.credits[{i}].expires", c["expires"]) for i, c in enumerate(have.evidence["credits"])]
    for where, text in days:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            yield f"{where}: {text[:40]!r} is not a day."
        else:
            if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
                yield f"{where}: {day} is no day that a plan could have."
    if have.horizon_hours > _MOST_HOURS:
        yield f"evidence.horizon_hours: {have.horizon_hours:g} h are more than a plan could have."


def _kinds(have: Estate) -> Iterable[str]:
    """Workloads are asked for by their kind, and what recurs lies in its period."""
    kinds = {workload["name"]: workload["kind"] for workload in have.plan["workloads"]}
    evidence = have.evidence
    members = {group: list(parts) for group, parts in evidence["shares"].items()}
    for name, allowed in _KINDS.items():
        for index, demand in enumerate(evidence[name]["asked"]):
            where = f"evidence.{name}.asked[{index}]"
            for workload in members.get(demand["workload"], [demand["workload"]]):
                if kinds.get(workload) not in allowed:
                    yield f"{where}: {workload} isn't a workload of the kinds {', '.join(allowed)}."
            if name == "services":
                continue
            p = demand["period"]
            low, high = demand["from_hours"], demand["latest_hours" if name == "runs" else "to_hours"]
            if demand["recurring"] and p not in range(len(have.names)):
                yield f"{where}: it recurs, but {p:g} is no period."
            elif p >= 0 and (p >= len(have.names) or low < have.starts[int(p)] - TINY_HOURS):
                yield f"{where}: its window opens before its period."
            elif p >= 0 and high > have.ends[int(p)] + TINY_HOURS:
                yield f"{where}: its window closes after its period."
    for key, pool in have.pools.items():
        if pool["onprem"] != (pool["provider"] == "onprem"):
            yield f"evidence.pools[{key}]: `onprem` and its provider {pool['provider']} disagree."
        if pool["rents"] and pool["spot"] != all(rent["market"] == "spot" for rent in pool["rents"]):
            yield f"evidence.pools[{key}]: `spot` and the markets of its offers disagree."


def _references(have: Estate) -> Iterable[str]:
    """Every index and name points at something."""
    evidence, pools = have.evidence, have.pools
    periods = len(have.names)
    for key, pool in pools.items():
        for rent in pool["rents"]:
            if len(rent["usd_per_instance_hour"]) != periods:
                yield f"evidence.pools[{key}]: {rent['offer']} needs one price for each of {periods} periods."
    for name, entries in (("runs.placed", evidence["runs"]["placed"]), ("work.done", evidence["work"]["done"])):
        for index, entry in enumerate(entries):
            if entry["pool"] not in pools:
                yield f"evidence.{name}[{index}]: its pool {entry['pool']!r} isn't among the pools."
    for index, entry in enumerate(evidence["services"]["standing"]):
        if entry["pool"] not in pools:
            yield f"evidence.services.standing[{index}]: its pool {entry['pool']!r} isn't among the pools."
        if entry["per_instance"] < 1 or entry["instances"] < 1:
            yield f"evidence.services.standing[{index}]: an instance holds at least one replica, or a replica one."
        asked = evidence["services"]["asked"]
        if entry["demand"] >= len(asked) or entry["block"] >= len(asked[entry["demand"]]["blocks"]):
            yield f"evidence.services.standing[{index}]: no such demand or block was asked for."
    for index, entry in enumerate(evidence["services"]["asked"]):
        if entry["period"] >= periods:
            yield f"evidence.services.asked[{index}]: there is no period {entry['period']}."
    for index, entry in enumerate(evidence["work"]["done"]):
        asked = evidence["work"]["asked"]
        if entry["demand"] >= len(asked) or asked[entry["demand"]]["workload"] != entry["workload"]:
            yield f"evidence.work.done[{index}]: demand {entry['demand']} isn't one of {entry['workload']}."
    for index, source in enumerate(evidence["capacity"]):
        known = source["pool"] in pools if source["pool"] else bool(source["plan_rates"])
        if not known or any(pool not in pools for pool in source["plan_rates"]):
            yield f"evidence.capacity[{index}]: the pool of {source['id']} isn't among the pools."
        if any(source["lines"].get(label) != rate for label, rate in source["after"].items()):
            yield f"evidence.capacity[{index}]: {source['id']} costs something else after the horizon."
        if max(abs(source["start_hours"]), source["end_hours"]) > _MOST_HOURS:
            yield f"evidence.capacity[{index}]: {source['id']} stands for longer than anything could."
        if source["end_hours"] <= source["start_hours"]:
            yield f"evidence.capacity[{index}]: {source['id']} ends before it starts."


def _size(have: Estate) -> None:
    evidence = have.evidence
    spans = len(evidence["capacity"]) + len(evidence["runs"]["placed"])
    if spans * len(have.names) > _MOST_OVERLAPS:
        raise TooLarge(f"evidence: {spans:,} spans over {len(have.names):,} periods are more than can be checked.")


def _book(have: Estate, entry: Json, period: int, workload: str, hours: float, owed: float) -> None:
    have.used[entry["pool"], period, workload] += hours
    have.owed[entry["pool"], period, workload] += owed
    have.busy[entry["pool"], period, workload, entry["phase"]] += hours


def _book_runs(have: Estate) -> None:
    for run in have.evidence["runs"]["placed"]:
        paid = run["paid_hours"]
        if have.evidence["whole_hours"]:
            paid = -(-(paid - 1e-9 * max(1.0, paid)) // 1)
        ratio = paid / run["elapsed_hours"]
        for p, hours in have.pieces(run["start_hours"], run["end_hours"]):
            amount = hours * run["instances"]
            _book(have, run, p, run["workload"], amount, amount * ratio)


def _book_work(have: Estate) -> None:
    for done in have.evidence["work"]["done"]:
        hours = done["unit_hours"] * done["instances"]
        _book(have, done, have.period_at((done["start_hours"] + done["end_hours"]) / 2), done["workload"], hours, hours)


def _book_services(have: Estate) -> None:
    asked = have.evidence["services"]["asked"]
    for standing in have.evidence["services"]["standing"]:
        demand = asked[standing["demand"]]
        block = demand["blocks"][standing["block"]]
        share = block["high_fraction"] - block["low_fraction"]
        count = have.instances_of(standing)
        for p, hours in have.pieces(demand["from_hours"], demand["to_hours"]):
            amount = count * hours * share
            _book(have, standing, p, demand["workload"], amount, amount)
