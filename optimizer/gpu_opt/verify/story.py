"""What the plan tells in dates and numbers of machines agrees with the evidence: schedule, fleet, commitments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json
from gpu_opt.verify.profile import Profile

_SECONDS_PER_HOUR = 3600.0
_ROUNDED = 2e-6
_CENT = 0.006
_BATCH = "batch"


def problems_of(have: Estate, profiles: Mapping[str, Profile]) -> list[str]:
    """What is told otherwise than it is."""
    start = datetime.combine(date.fromisoformat(have.plan["start"]), time(), tzinfo=UTC)
    found = [*_schedule(have, start), *_batches(have), *_fleet(have, profiles)]
    return [*found, *_commitments(have, start), *_purchases(have, start)]


def _moment(start: datetime, at_hours: float) -> str:
    return (start + timedelta(seconds=round(at_hours * _SECONDS_PER_HOUR))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(start: datetime, at_hours: float) -> str:
    return (start + timedelta(hours=at_hours)).date().isoformat()


def _batch_names(have: Estate) -> set[str]:
    return {workload["name"] for workload in have.plan["workloads"] if workload["kind"] == _BATCH}


def _schedule(have: Estate, start: datetime) -> Iterator[str]:
    batches = _batch_names(have)
    placed = {(run["workload"], run["run"]): run for run in have.evidence["runs"]["placed"]}
    told: Counter[tuple[str, int]] = Counter()
    for index, entry in enumerate(have.plan["schedule"]):
        where = f"schedule[{index}] ({entry['workload']} run {entry['run']})"
        for name in ("start", "end"):
            moment = _moment(start, entry[f"{name}_hours"])
            if entry[name] != moment:
                yield f"{where}: {name} is {moment}, not {entry[name][:40]}."
        if entry["workload"] in batches:
            continue
        key = (entry["workload"], entry["run"])
        told[key] += 1
        run = placed.get(key)
        if run is None:
            yield f"{where}: no such run was placed."
        elif (entry["offer"], entry["instances"]) != (run["pool"], run["instances"]):
            told_as = f"{entry['instances']:g} × {entry['offer']}"
            yield f"{where}: it runs on {run['instances']} × {run['pool']}, not {told_as}."
        else:
            for name in ("start_hours", "end_hours"):
                if abs(entry[name] - run[name]) > TINY_HOURS:
                    yield f"{where}: {name} is {run[name]:g}, not {entry[name]:g}."
    for key in placed:
        if told[key] != 1:
            yield f"schedule: {key[0]} run {key[1]} is told {told[key]} times."


def _batches(have: Estate) -> Iterator[str]:
    """Stretches of batch work hold the hours that are done in them."""
    batches = _batch_names(have)
    done: dict[tuple[str, str], float] = defaultdict(float)
    for entry in have.evidence["work"]["done"]:
        if entry["workload"] in batches:
            amount = entry["unit_hours"] * entry["instances"]
            share = entry["high_fraction"] - entry["low_fraction"]
            done[entry["workload"], entry["pool"]] += amount / share if share > 0.0 else 0.0
    told: dict[tuple[str, str], float] = defaultdict(float)
    for entry in have.plan["schedule"]:
        if entry["workload"] in batches:
            amount = entry["instances"] * (entry["end_hours"] - entry["start_hours"])
            told[entry["workload"], entry["offer"]] += amount
    for key in sorted({*done, *told}):
        if abs(done[key] - told[key]) > 1e-4 + 1e-6 * done[key]:
            yield (f"schedule: {key[0]} on {key[1]} has {told[key]:,.6g} instance-hours, {done[key]:,.6g} are done.")


def _peaks(have: Estate, profile: Profile) -> dict[int, float]:
    """The most instances rented at one time in each period; divisible work takes whole ones."""
    peaks: dict[int, float] = defaultdict(float)
    for cells in profile.cells.values():
        for cell in cells:
            whole = 0
            if cell.divisible > 0.0 and cell.hours > 0.0:
                count = cell.divisible / cell.hours
                whole = round(count) if abs(count - round(count)) <= 1e-9 * max(1.0, count) else int(-(-count // 1))
            for segment in cell.segments:
                if segment.end - segment.start > TINY_HOURS:
                    over = segment.fixed + whole - segment.alive
                    peaks[cell.period] = max(peaks[cell.period], over)
    return peaks


def _fleet(have: Estate, profiles: Mapping[str, Profile]) -> Iterator[str]:
    expected: dict[tuple[str, str], tuple[float, str]] = {}
    users: dict[tuple[str, int], set[str]] = defaultdict(set)
    for (pool, p, workload), hours in have.used.items():
        if hours > 0.0:
            users[pool, p].add(workload)
    for p, name in enumerate(have.names):
        for source, entries in have.sources.items():
            count = sum(
                e["instances"] for e in entries if e["start_hours"] < have.ends[p] and e["end_hours"] > have.starts[p]
            )
            if count:
                expected[source, name] = (count, entries[0]["pool"])
    for pool, profile in profiles.items():
        rents = have.pools[pool]["rents"]
        for p, peak in _peaks(have, profile).items():
            if peak > 1e-9 and rents:
                expected[rents[0]["offer"], have.names[p]] = (peak, pool)
    told: dict[tuple[str, str], float] = defaultdict(float)
    for index, entry in enumerate(have.plan["fleet"]):
        key = (entry["offer"], entry["period"])
        told[key] += entry["instances"]
        pool = expected[key][1] if key in expected else ""
        if key in expected and entry["gpu"] != (have.pools[pool]["gpu"] if pool else ""):
            yield f"fleet[{index}] ({key[0]}, {key[1]}): it isn't made of {entry['gpu']}."
        if pool and entry["used_by"] != sorted(users[pool, have.names.index(entry["period"])]):
            yield f"fleet[{index}] ({key[0]}, {key[1]}): it is used by others than {', '.join(entry['used_by'])[:200]}."
    for key in sorted({*expected, *told}):
        count = expected[key][0] if key in expected else 0.0
        if abs(told.get(key, 0.0) - count) > _ROUNDED + 1e-6 * count:
            yield f"fleet: {key[0]}, {key[1]}: {count:,.6g} stand at the peak, not {told.get(key, 0.0):,.6g}."


def _commitments(have: Estate, start: datetime) -> Iterator[str]:
    """Every commitment is told once, with its dates and its price."""
    expected: Counter[tuple[str, str, str]] = Counter()
    facts: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    for source in have.evidence["capacity"]:
        if source["kind"] not in ("owned", "purchase"):
            key = (source["id"], _day(start, source["start_hours"]), _day(start, source["end_hours"]))
            expected[key] += 1
            rate = sum(source["lines"].values())
            facts[key] = (source["instances"], rate, source["upfront_usd"] * source["instances"])
    told = Counter((c["offer"], c["start"], c["end"]) for c in have.plan["commitments"])
    for key in sorted({*expected, *told}):
        if expected[key] != told[key]:
            span = f"{key[0]}, {key[1]} to {key[2]}"
            yield f"commitments: {span}: told {told[key]} times, it stands {expected[key]} times."
    for index, entry in enumerate(have.plan["commitments"]):
        fact = facts.get((entry["offer"], entry["start"], entry["end"]))
        if fact is None:
            continue
        units, rate, upfront = fact
        where = f"commitments[{index}] ({entry['offer']})"
        source = have.sources[entry["offer"]][0]
        provider = have.pools[source["pool"]]["provider"] if source["pool"] else source["id"].partition("/")[0]
        if (entry["provider"], entry["market"], entry["existing"]) != (
            provider,
            source["kind"],
            source["kind"] == "existing",
        ):
            yield f"{where}: it is {source['kind']} of {provider}, and told otherwise."
        if abs(entry["units"] - units) > _ROUNDED + 1e-6 * units:
            yield f"{where}: {units:g} units stand, not {entry['units']:g}."
        if abs(entry["usd_per_unit_hour"] - rate) > 1e-9 * max(1.0, rate):
            yield f"{where}: an hour costs ${rate:g}, not ${entry['usd_per_unit_hour']:g}."
        if abs(entry["upfront_usd"] - upfront) > _CENT:
            yield f"{where}: ${upfront:,.2f} are paid upfront, not ${entry['upfront_usd']:,.2f}."


def _purchases(have: Estate, start: datetime) -> Iterator[str]:
    expected: Counter[tuple[str, str, str, float, float]] = Counter()
    for source in have.evidence["capacity"]:
        if source["kind"] == "purchase":
            expected[_bought(have, source, start)] += 1
    told = Counter(
        (p["system"], p["site"], p["delivered"], p["instances"], round(p["capex_usd"], 2))
        for p in have.plan["purchases"]
    )
    for key in sorted({*expected, *told}):
        if expected[key] != told[key]:
            system, site, day, count, usd = key
            yield (
                f"purchases: {count:g} × {system} for {site} on {day} at ${usd:,.2f}:"
                f" told {told[key]} times, bought {expected[key]} times."
            )


def _bought(have: Estate, source: Json, start: datetime) -> tuple[str, str, str, float, float]:
    system = have.pools[source["pool"]]["instance_type"] if source["pool"] else ""
    usd = round(source["capex_usd"] * source["instances"], 2)
    return system, source["site"], _day(start, source["start_hours"]), round(source["instances"]), usd
