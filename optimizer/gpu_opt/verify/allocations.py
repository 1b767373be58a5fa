"""What the plan tells of each workload agrees with its use and its cost lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.costs import AFTER, SLACK_HOURS, Table, near
from gpu_opt.verify.estate import Estate

_CENT = 0.006
_ROUNDED = 1e-5
_PLAN = " under a savings plan"


def problems_of(have: Estate, table: Table) -> list[str]:
    """What is wrong with the allocations."""
    hours, usd = _by_offer(have, table)
    offers = _pools_of_offers(have)
    found: list[str] = []
    seen: dict[tuple[str, str, str], float] = defaultdict(float)
    for workload in have.plan["workloads"]:
        name = workload["name"]
        for index, entry in enumerate(workload["allocations"]):
            where = f"workload {name}, allocation {index} ({entry['offer']}, {entry['period']})"
            pool = offers.get(entry["offer"].removesuffix(_PLAN))
            if pool is None or entry["period"] not in have.names:
                found.append(f"{where}: there is no such offer or period.")
                continue
            key = (name, entry["offer"], entry["period"])
            seen[key] += entry["instance_hours"]
            gpus = have.pools[pool]["gpus"]
            if not near(entry["gpu_hours"], entry["instance_hours"] * gpus, _ROUNDED * (1.0 + gpus)):
                found.append(
                    f"{where}: {entry['instance_hours']:,.6g} instance-hours of {gpus:g} GPUs aren't"
                    f" {entry['gpu_hours']:,.6g} GPU-hours."
                )
            if abs(entry["usd"] - usd.get(key, 0.0)) > _CENT:
                found.append(f"{where}: its lines add up to ${usd.get(key, 0.0):,.2f}, not ${entry['usd']:,.2f}.")
            for field in ("provider", "region", "instance_type", "gpu"):
                if entry[field] != have.pools[pool][field]:
                    found.append(f"{where}: its {field} is {have.pools[pool][field]}, not {entry[field][:80]}.")
        total = sum(entry["gpu_hours"] for entry in workload["allocations"])
        if not near(workload["gpu_hours"], total, _ROUNDED):
            found.append(
                f"workload {name}: its allocations hold {total:,.6g} GPU-hours, not {workload['gpu_hours']:,.6g}."
            )
    return [*found, *_as_used(hours, seen)]


def _as_used(hours: dict[tuple[str, str, str], float], seen: dict[tuple[str, str, str], float]) -> Iterator[str]:
    for key in sorted({*hours, *seen}):
        if _PLAN in key[1]:
            continue
        told, booked = seen.get(key, 0.0), hours.get(key, 0.0)
        if not near(told, booked, 2 * SLACK_HOURS):
            yield f"workload {key[0]}, {key[1]}, {key[2]}: {told:,.6g} instance-hours, the lines have {booked:,.6g}."


def _pools_of_offers(have: Estate) -> dict[str, str]:
    pools = {rent["offer"]: key for key, pool in have.pools.items() for rent in pool["rents"]}
    pools |= {source["id"]: source["pool"] for source in have.evidence["capacity"] if source["pool"]}
    return pools | {key: key for key in have.pools}


def _by_offer(
    have: Estate, table: Table
) -> tuple[dict[tuple[str, str, str], float], dict[tuple[str, str, str], float]]:
    """Instance-hours and USD of the cost lines by (workload, offer, period)."""
    hours: dict[tuple[str, str, str], float] = defaultdict(float)
    usd: dict[tuple[str, str, str], float] = defaultdict(float)
    for line in have.plan["cost_lines"]:
        if line["workload"] and line["period"] != AFTER:
            key = (line["workload"], line["offer"], line["period"])
            usd[key] += line["usd"]
            if line["label"] == "rent":
                hours[key] += line["quantity"]
    for (source, label, p, workload), amount in table.source.items():
        first = have.sources[source][0]
        if workload and first["pool"] and label == next(iter(first["lines"])):
            hours[workload, source, have.names[p]] += amount
    return hours, usd
