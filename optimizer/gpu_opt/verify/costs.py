"""Cost lines: each is quantity × rate, at the rates of its offer or source, and they are all that is owed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpu_opt.verify.estate import Estate, Json
from gpu_opt.verify.profile import Profile

AFTER = "after-horizon"
IDLE = ", idle"
AFTER_SUFFIX = ", after the horizon"
RELATIVE = 1e-6
SLACK_HOURS = 1e-4
_CENT = 0.005 + 1e-6
_NOT_BILLED = ("annuity", "upfront, as annuity", "block fee", "late")
_CHARGES = ("support", "fixed charge", "agreement shortfall", "late")
Rent = tuple[str, Json]


@dataclass(slots=True)
class Table:
    """Lines by what they pay for. Quantities by key, and where nothing else tells the rate, by rate too.

    `rent` by (pool, period, workload), `rent_offers` by (offer, period), `source` by (source, label, period, workload)
    with "" for idle hours, `energy` by (pool, period, workload, rate), `named` by (label, owner, period, workload).
    """

    rent: dict[tuple[str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    rent_offers: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    source: dict[tuple[str, str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    rest: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    energy: dict[tuple[str, int, str, float], float] = field(default_factory=lambda: defaultdict(float))
    named: dict[tuple[str, str, str, str], list[Json]] = field(default_factory=lambda: defaultdict(list))
    covered: dict[tuple[str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    planned: dict[tuple[str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    problems: list[str] = field(default_factory=list)


def near(value: float, expected: float, slack: float = SLACK_HOURS) -> bool:
    """Equal but for rounding."""
    return abs(value - expected) <= slack + RELATIVE * abs(expected)


def table_of(have: Estate) -> Table:
    """Sorts the lines by what they pay for; `problems` tells of lines that are wrong by themselves."""
    table = Table()
    rents = {rent["offer"]: (key, rent) for key, pool in have.pools.items() for rent in pool["rents"]}
    periods = {name: index for index, name in enumerate(have.names)}
    known = {workload["name"] for workload in have.plan["workloads"]} | {""}
    for index, line in enumerate(have.plan["cost_lines"]):
        where = f"cost_lines[{index}] ({line['label']}, {line['period']}, {line['workload'] or 'platform'})"
        exact = line["quantity"] * line["rate_usd"]
        if abs(exact - line["usd"]) > _CENT + 1e-9 * abs(exact):
            problem = f"{line['quantity']:g} × ${line['rate_usd']:g} is ${exact:,.2f}, not ${line['usd']:,.2f}."
            table.problems.append(f"{where}: {problem}")
        if line["quantity"] < 0.0:
            table.problems.append(f"{where}: its quantity of {line['quantity']:g} is below 0.")
        if line["workload"] not in known:
            table.problems.append(f"{where}: there is no such workload.")
        if line["period"] != AFTER and line["period"] not in periods:
            table.problems.append(f"{where}: there is no such period.")
            continue
        table.problems += _sort(have, table, line, where, rents, periods.get(line["period"], -1))
    for (source, label, p, workload), hours in table.source.items():
        entries = have.sources[source]
        if workload and entries[0]["pool"] and label == next(iter(entries[0]["lines"])):
            table.covered[entries[0]["pool"], p, workload] += hours
    _planned(have, table, periods)
    return table


def _sort(have: Estate, table: Table, line: Json, where: str, rents: Mapping[str, Rent], p: int) -> Iterator[str]:
    label, offer = line["label"], line["offer"]
    billed = p >= 0 and label.removesuffix(IDLE) not in _NOT_BILLED
    if line["billed"] != billed:
        yield f"{where}: it is {'' if billed else 'not '}paid in cash in that period, `billed` says otherwise."
    if label == "rent":
        yield from _rent(have, table, line, where, rents, p)
    elif label == "energy of work":
        yield from _energy(have, table, line, where, p)
    elif offer in have.sources and label not in _CHARGES:
        yield from _source(have, table, line, where, p)
    elif label in ("support", "fixed charge", "agreement shortfall", "late") or label.startswith(
        ("credit to ", "data to ")
    ):
        table.named[label, offer, line["period"], line["workload"]].append(line)
        if line["provider"] or line["market"]:
            yield f"{where}: it is paid to no provider's market, but names {line['provider'] or line['market']}."
    else:
        yield f"{where}: nothing in the evidence costs this."


def _paid_to(line: Json, provider: str, market: str, where: str) -> Iterator[str]:
    if (line["provider"], line["market"]) != (provider, market):
        yield f"{where}: it is paid to {provider} ({market}), not {line['provider']} ({line['market']})."


def _rate(line: Json, rate: float, where: str) -> Iterator[str]:
    if abs(line["rate_usd"] - rate) > 1e-9 * max(1.0, abs(rate)):
        yield f"{where}: the rate is ${rate:g}, not ${line['rate_usd']:g}."


def _rent(have: Estate, table: Table, line: Json, where: str, rents: Mapping[str, Rent], p: int) -> Iterator[str]:
    if line["offer"] not in rents or p < 0:
        yield f"{where}: {line['offer']} isn't rented by any pool in that period."
        return
    pool, rent = rents[line["offer"]]
    yield from _rate(line, rent["usd_per_instance_hour"][p], where)
    yield from _paid_to(line, have.pools[pool]["provider"], rent["market"], where)
    table.rent[pool, p, line["workload"]] += line["quantity"]
    table.rent_offers[line["offer"], p] += line["quantity"]
    if not line["workload"]:
        yield f"{where}: rent without a workload."


def _energy(have: Estate, table: Table, line: Json, where: str, p: int) -> Iterator[str]:
    pool = have.sources[line["offer"]][0]["pool"] if line["offer"] in have.sources else ""
    if not pool or p < 0:
        yield f"{where}: {line['offer']} isn't a machine that stands."
        return
    table.energy[pool, p, line["workload"], line["rate_usd"]] += line["quantity"]
    yield from _paid_to(line, have.pools[pool]["provider"], "owned", where)


def _source(have: Estate, table: Table, line: Json, where: str, p: int) -> Iterator[str]:
    source = have.sources[line["offer"]][0]
    suffix = AFTER_SUFFIX if p < 0 else "" if line["workload"] else IDLE
    label = line["label"].removesuffix(suffix)
    rates = source["after"] if p < 0 else source["lines"]
    if label + suffix != line["label"] or label not in rates:
        yield f"{where}: {source['id']} has no such cost."
        return
    yield from _rate(line, rates[label], where)
    provider = have.pools[source["pool"]]["provider"] if source["pool"] else source["id"].partition("/")[0]
    yield from _paid_to(line, provider, source["kind"], where)
    if p < 0:
        table.rest[source["id"], label] += line["quantity"]
    else:
        table.source[source["id"], label, p, line["workload"]] += line["quantity"]


def _planned(have: Estate, table: Table, periods: Mapping[str, int]) -> None:
    """Instance-hours under savings plans, as the workloads' allocations tell."""
    for workload in have.plan["workloads"]:
        for allocation in workload["allocations"]:
            pool, mark, _ = allocation["offer"].partition(" under a savings plan")
            if mark and pool in have.pools and allocation["period"] in periods:
                table.planned[pool, periods[allocation["period"]], workload["name"]] += allocation["instance_hours"]


def problems_of(have: Estate, table: Table, profiles: Mapping[str, Profile]) -> list[str]:
    """Whether the lines are all that is owed for what is used and what stands."""
    found = [*_use_paid(have, table), *_no_more_rent(have, table, profiles), *_caps(have, table)]
    found += [*_sources_paid(have, table), *_plans_paid(have, table), *_energy_paid(have, table)]
    return found


def _by_member(have: Estate, hours: Mapping[tuple[str, int, str], float]) -> dict[tuple[str, int, str], float]:
    """Hours of services that share replicas, split among their members."""
    split: dict[tuple[str, int, str], float] = defaultdict(float)
    for (pool, p, group), amount in hours.items():
        for member, share in have.evidence["shares"].get(group, {group: 1.0}).items():
            split[pool, p, member] += amount * share
    return split


def _use_paid(have: Estate, table: Table) -> Iterator[str]:
    """What each workload uses of a pool in a period is rented, covered or under a savings plan: all of it, once."""
    used, owed = _by_member(have, have.used), _by_member(have, have.owed)
    for key in sorted({*used, *table.rent, *table.covered, *table.planned}):
        pool, p, workload = key
        rent, covered, planned = table.rent.get(key, 0.0), table.covered.get(key, 0.0), table.planned.get(key, 0.0)
        paid = rent + covered + planned
        spot = have.pools[pool]["spot"]
        low = owed.get(key, 0.0) if spot else min(used.get(key, 0.0), owed.get(key, 0.0))
        high = owed.get(key, 0.0) if spot else max(used.get(key, 0.0), owed.get(key, 0.0))
        slack = SLACK_HOURS + RELATIVE * high
        if not low - slack <= paid <= high + slack:
            yield (
                f"{workload}, {have.names[p]}, {pool}: {high:,.6g} instance-hours are owed for,"
                f" {rent:,.6g} are rented, {covered:,.6g} covered, {planned:,.6g} under savings plans."
            )


def _no_more_rent(have: Estate, table: Table, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """Rent pays for exactly what is beyond the capacity that stands at that time. Where workloads of jobs share it,
    rent may pay for more, and they fill at most `occupancy` of its hours."""
    for pool, profile in profiles.items():
        entries = have.by_pool.get(pool, [])
        if not entries or any(not entry["lines"] for entry in entries):
            continue
        over: dict[int, float] = defaultdict(float)
        for cells in profile.cells.values():
            for cell in cells:
                over[cell.period] += cell.over + cell.divisible_over
        for p, name in enumerate(have.names):
            used = {w: h for (key, q, w), h in have.used.items() if (key, q) == (pool, p) and h > SLACK_HOURS}
            covered = {w: h for (key, q, w), h in table.covered.items() if (key, q) == (pool, p) and h > SLACK_HOURS}
            free = sum(used.values()) - over[p]
            total = sum(covered.values())
            if total > free + SLACK_HOURS + RELATIVE * sum(used.values()):
                yield f"{pool}, {name}: {total:,.6g} hours are booked on paid capacity, {free:,.6g} are free then."
            sharing = len(have.jobs & set(used)) > 1
            if total < free - 10 * SLACK_HOURS - RELATIVE * sum(used.values()) and not sharing:
                yield f"{pool}, {name}: {free - total:,.6g} hours are rented while paid capacity stands idle."
            paid = sum(have.alive_hours.get((key, p), 0.0) for key in {entry["id"] for entry in entries})
            jobs = {w: h for w, h in covered.items() if w in have.jobs}
            most = have.evidence["occupancy_fraction"] * paid
            if len(jobs) > 1 and sum(jobs.values()) > most * (1.0 + RELATIVE) + SLACK_HOURS:
                names = ", ".join(sorted(jobs))
                yield (
                    f"{pool}, {name}: {names} share paid capacity and fill {sum(jobs.values()):,.6g} of its"
                    f" {paid:,.6g} hours; occupancy allows {most:,.6g}."
                )


def _caps(have: Estate, table: Table) -> Iterator[str]:
    """No offer is rented for more hours than its instances have."""
    for key, pool in have.pools.items():
        for rent in pool["rents"]:
            for p, name in enumerate(have.names):
                hours = table.rent_offers.get((rent["offer"], p), 0.0)
                if rent["max_instances"] is not None and hours:
                    most = rent["max_instances"] * (have.ends[p] - have.starts[p])
                    if hours > most * (1.0 + RELATIVE) + SLACK_HOURS:
                        yield f"{key}, {name}: {rent['offer']} is rented for {hours:,.6g} h, it has {most:,.6g}."


def _sources_paid(have: Estate, table: Table) -> Iterator[str]:
    """Everything that stands is paid for all its hours, used or idle, line by line."""
    hours: dict[tuple[str, str, int], float] = defaultdict(float)
    by_user: dict[tuple[str, int, str], dict[str, float]] = defaultdict(dict)
    for (source, label, p, workload), amount in table.source.items():
        hours[source, label, p] += amount
        by_user[source, p, workload][label] = amount
    for source, entries in sorted(have.sources.items()):
        for p, name in enumerate(have.names):
            alive = have.alive_hours.get((source, p), 0.0)
            for label in entries[0]["lines"]:
                paid = hours.get((source, label, p), 0.0)
                if not near(paid, alive):
                    yield f"{source}, {name}, {label}: it stands for {alive:,.6g} hours, {paid:,.6g} are paid."
    for (source, p, workload), amounts in sorted(by_user.items()):
        labels = have.sources[source][0]["lines"]
        most = max(amounts.values())
        if any(not near(amounts.get(label, 0.0), most) for label in labels):
            yield f"{source}, {have.names[p]}, {workload or 'idle'}: its lines disagree about the hours."


def _plans_paid(have: Estate, table: Table) -> Iterator[str]:
    """Savings plans: the dollars that workloads use are their hours at the plan's prices."""
    plans = {key: entries[0]["plan_rates"] for key, entries in have.sources.items() if not entries[0]["pool"]}
    used: dict[tuple[int, str], float] = defaultdict(float)
    for (source, _, p, workload), amount in table.source.items():
        if source in plans and workload:
            used[p, workload] += amount
    low: dict[tuple[int, str], float] = defaultdict(float)
    high: dict[tuple[int, str], float] = defaultdict(float)
    for (pool, p, workload), amount in table.planned.items():
        rates = [rates[pool] for rates in plans.values() if pool in rates]
        if not rates:
            yield f"{workload}, {have.names[p]}: no savings plan of this plan covers {pool}."
            continue
        low[p, workload] += amount * min(rates)
        high[p, workload] += amount * max(rates)
    for p, workload in sorted({*used, *low}):
        paid, least, most = used.get((p, workload), 0.0), low.get((p, workload), 0.0), high.get((p, workload), 0.0)
        slack = SLACK_HOURS + RELATIVE * most
        if not least - slack <= paid <= most + slack:
            yield f"{workload}, {have.names[p]}: ${paid:,.2f} of savings plans are booked for hours worth ${most:,.2f}."


def _energy_paid(have: Estate, table: Table) -> Iterator[str]:
    """Work on owned machines pays the energy that it adds, by its kind."""
    owed: dict[tuple[str, int, str, float], float] = defaultdict(float)
    for (pool, p, group, phase), hours in have.busy.items():
        rate = have.pools[pool]["busy_usd_per_hour"].get(phase, 0.0)
        if rate > 0.0:
            for member, share in have.evidence["shares"].get(group, {group: 1.0}).items():
                owed[pool, p, member, rate] += hours * share
    for key in sorted({*owed, *table.energy}):
        pool, p, workload, rate = key
        if not near(table.energy.get(key, 0.0), owed.get(key, 0.0)):
            paid = table.energy.get(key, 0.0)
            yield (
                f"{workload}, {have.names[p]}, {pool}: {owed.get(key, 0.0):,.6g} busy hours at ${rate:g},"
                f" {paid:,.6g} are paid."
            )
