"""What is used stands there: at every time, on rent that is to be had or on capacity that is paid for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from gpu_opt.verify.estate import TINY_HOURS, Estate, Json
from gpu_opt.verify.profile import Cell, Profile

_RELATIVE = 1e-6
_DAY_HOURS = 24.0
_TERM_DAYS = {
    "reserved_1y": (365, 366),
    "savings_plan_1y": (365, 366),
    "reserved_3y": (1095, 1096),
    "savings_plan_3y": (1095, 1096),
}


def problems_of(have: Estate, profiles: Mapping[str, Profile]) -> list[str]:
    """What is wrong with capacity: more used than stands, terms outside their bounds, sites overfilled."""
    found: list[str] = []
    for profile in profiles.values():
        found += _pool(have, profile)
    for name, entries in sorted(have.sources.items()):
        found += _units(name, entries)
    found += _sites(have)
    return found


def rentable(pool: Json) -> float:
    """Instances that may be rented at one time: the sum of the offers' own limits; infinite where one has none."""
    caps = [rent["max_instances"] for rent in pool["rents"]]
    return float("inf") if None in caps else float(sum(caps))


def _pool(have: Estate, profile: Profile) -> Iterator[str]:
    most = rentable(have.pools[profile.pool])
    for cells in profile.cells.values():
        for cell in cells:
            yield from _cell(profile.pool, cell, most)


def _cell(pool: str, cell: Cell, most: float) -> Iterator[str]:
    worst, at = 0.0, cell.start
    room = 0.0
    for segment in cell.segments:
        if segment.end - segment.start > TINY_HOURS and segment.over - most > worst:
            worst, at = segment.over - most, segment.start
        room += max(0.0, segment.alive + most - segment.fixed) * (segment.end - segment.start) * cell.share
    if worst > _RELATIVE * max(1.0, most):
        held = "none may be rented" if most == 0.0 else f"{most:g} may be rented"
        yield f"{pool}: at {at:g} h {worst + most:g} instances more are used than are paid for, {held}."
    elif cell.divisible > room * (1.0 + _RELATIVE) + TINY_HOURS:
        yield (
            f"{pool}: from {cell.start:g} h to {cell.end:g} h divisible work takes {cell.divisible:,.6g}"
            f" instance-hours, {room:,.6g} are free."
        )


def _units(name: str, entries: list[Json]) -> Iterator[str]:
    """A term's numbers at one time, its length, and whole instances."""
    first = entries[0]
    for entry in entries:
        whole = bool(entry["pool"])
        if whole and abs(entry["instances"] - round(entry["instances"])) > _RELATIVE:
            yield f"{name}: {entry['instances']:g} instances are not a whole number."
        days = (entry["end_hours"] - entry["start_hours"]) / _DAY_HOURS
        least, most = _TERM_DAYS.get(entry["kind"], (0, float("inf")))
        if entry["kind"] in _TERM_DAYS and not least - 0.01 <= days <= most + 0.01:
            yield f"{name}: stands for {days:g} days, its term has {least}."
    total_only = first["kind"] == "purchase"
    for entry in entries:
        at = entry["start_hours"]
        alive = sum(e["instances"] for e in entries if total_only or e["start_hours"] <= at < e["end_hours"])
        if first["max_units"] is not None and alive > first["max_units"] * (1.0 + _RELATIVE):
            yield f"{name}: {alive:g} stand at {at:g} h, at most {first['max_units']:g} are to be had."
            break
        if alive < first["min_units"] * (1.0 - _RELATIVE):
            yield f"{name}: {alive:g} stand at {at:g} h, at least {first['min_units']:g} must be taken."
            break


def _sites(have: Estate) -> Iterator[str]:
    kw: dict[str, float] = defaultdict(float)
    racks: dict[str, float] = defaultdict(float)
    for source in have.evidence["capacity"]:
        if source["kind"] == "purchase":
            kw[source["site"]] += source["kw_per_instance"] * source["instances"]
            racks[source["site"]] += source["racks_per_instance"] * source["instances"]
    for site in have.evidence["sites"]:
        for used, most, what in (
            (kw[site["name"]], site["power_kw_free"], "kW"),
            (racks[site["name"]], site["racks_free"], "racks"),
        ):
            if most is not None and used > most * (1.0 + _RELATIVE):
                yield f"site {site['name']}: what is bought takes {used:,.6g} {what}, {most:,.6g} are free."
