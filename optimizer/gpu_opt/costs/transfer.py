"""What it costs to move and keep data, by where it comes from and where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gpu_opt.costs._tables import optional_float, rows
from gpu_opt.costs.checks import Checks
from gpu_opt.costs.energy import continent_of
from gpu_opt.errors import InputError, Problem
from gpu_opt.hardware.regions import country_of, providers_with_region
from gpu_opt.records import record
from gpu_opt.units import GB_BYTES

ONPREM = "onprem"
GB_PER_TIB = 2**40 / GB_BYTES


@record
class Transfer:
    """One move: `gb` × `usd_per_gb` (a mean over the volume tiers) = `usd`. Charged by the origin; inbound is free.

    `assumed` marks an origin whose price list isn't known.
    """

    gb: float
    usd_per_gb: float
    usd: float
    route: str
    confidence: str
    source: str
    date: str
    assumed: bool


@cache
def _tiers() -> dict[tuple[str, str, str], tuple[dict[str, str], ...]]:
    found: dict[tuple[str, str, str], tuple[dict[str, str], ...]] = {}
    for row in rows("transfer"):
        key = (row["provider"], row["area"], row["route"])
        found[key] = (*found.get(key, ()), row)
    return found


def split_location(location: str, sites: Sequence[str] = ()) -> tuple[str, str]:
    """Provider and region of where data lies: `aws/us-east-1`, `aws:us-east-1`, `us-east-1`, or a site's name.

    A region's name alone must belong to one provider. InputError when the place can't be told.
    """
    if location in sites:
        return ONPREM, location
    for mark in ("/", ":") if "://" not in location else ():
        provider, found, region = location.partition(mark)
        if found and provider and region:
            return provider.lower(), region
    providers = providers_with_region(location)
    if len(providers) == 1:
        return providers[0], location
    what, remedy = f"{location!r} is no known place.", "Write provider/region, or a site's name."
    if providers:
        choices = " or ".join(f"{provider}/{location}" for provider in providers)
        what, remedy = f"{location!r} is a region of several providers.", f"Write {choices}."
    raise InputError(Problem(path="data.location", what=what, remedy=remedy))


def transfer(tib: float, from_provider: str, from_region: str, to_provider: str, to_region: str) -> Transfer:
    """The move of `tib` TiB within one month. In one region, or on one site, it is free.

    Volume tiers count this move alone, without what else the account moves in the month.
    """
    checks = Checks()
    checks.at_least("tib", tib, 0)
    checks.done()
    gb = tib * GB_PER_TIB
    if (from_provider, from_region) == (to_provider, to_region):
        return Transfer(
            gb=gb, usd_per_gb=0.0, usd=0.0, route="same_region", confidence="high",
            source="data stays in its region", date="", assumed=False,
        )  # fmt: skip
    area = continent_of(country_of(from_provider, from_region) or "")
    route = "internet"
    if from_provider == to_provider:
        there = continent_of(country_of(to_provider, to_region) or "")
        route = "same_continent" if area and area == there else "other_continent"
    tiers, assumed = _price_list(from_provider, area, route)
    usd = _tiered_usd(gb, tiers)
    return Transfer(
        gb=gb,
        usd_per_gb=usd / gb if gb else float(tiers[0]["usd_per_gb"]),
        usd=usd,
        route=route,
        confidence=tiers[0]["confidence"],
        source=tiers[0]["source"],
        date=tiers[0]["date"],
        assumed=assumed,
    )


def transfer_usd(tib: float, from_provider: str, from_region: str, to_provider: str, to_region: str) -> float:
    """USD for moving `tib` TiB."""
    return transfer(tib, from_provider, from_region, to_provider, to_region).usd


def storage_usd(tib: float, provider: str, months: float) -> float:
    """USD for keeping `tib` TiB at a cloud's list price; a site's storage is part of its machines."""
    checks = Checks()
    checks.at_least("tib", tib, 0)
    checks.at_least("months", months, 0)
    checks.done()
    if provider == ONPREM:
        return 0.0
    prices = {row["provider"]: float(row["usd_per_gb_month"]) for row in rows("storage")}
    return tib * GB_PER_TIB * months * prices.get(provider, prices["*"])


def _price_list(provider: str, area: str, route: str) -> tuple[tuple[dict[str, str], ...], bool]:
    """Tiers of the origin, most exact first: its area, anywhere, then as to the internet; else the assumed list."""
    for key in ((provider, area, route), (provider, "*", route), (provider, area, "internet")):
        if key in _tiers():
            return _tiers()[key], False
    if (provider, "*", "internet") in _tiers():
        return _tiers()[provider, "*", "internet"], False
    return _tiers()["*", "*", "internet"], True


def _tiered_usd(gb: float, tiers: Sequence[dict[str, str]]) -> float:
    usd, done_gb = 0.0, 0.0
    for tier in tiers:
        limit_gb = optional_float(tier["up_to_gb_a_month"])
        top_gb = gb if limit_gb is None else min(gb, limit_gb)
        usd += max(0.0, top_gb - done_gb) * float(tier["usd_per_gb"])
        done_gb = max(done_gb, top_gb)
    return usd
