"""What a kWh costs and emits, by country, US state and cloud region. What nobody publishes is `Unknown`, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpu_opt.costs._tables import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Electricity:
    """A price of energy, demand charges included where the source is an average of bills.

    `fallback` marks the average of a bloc, a continent or the world where the place itself has none.
    """

    usd_per_kwh: float
    region: str
    confidence: str
    source: str
    date: str
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Carbon:
    """Location-based carbon of the grid, without that of building the machines.

    `fallback` marks a country's average where the region itself has no figure.
    """

    g_per_kwh: float
    region: str
    source: str
    date: str
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """No source tells: what was asked, and why there is no answer."""

    subject: str
    reason: str


@cache
def _energy() -> dict[str, dict[str, str]]:
    return {row["region"]: row for row in rows("energy")}


@cache
def _countries() -> dict[str, dict[str, str]]:
    return {row["country"]: row for row in rows("countries")}


@cache
def _iso3() -> dict[str, str]:
    return {row["iso3"]: row["country"] for row in rows("countries")}


@cache
def _cloud_regions() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["provider"], row["region"]): row for row in rows("regions")}


@cache
def _providers_of_region() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for provider, region in _cloud_regions():
        found[region] = (*found.get(region, ()), provider)
    return found


def country_of(provider: str, region: str) -> str:
    """The ISO 3166 alpha-2 country of a cloud region, empty when unknown. A region may be a country itself."""
    row = _cloud_regions().get((provider, region))
    if row is not None:
        return row["country"]
    return region.upper() if region.upper() in _countries() else ""


def continent_of(country: str) -> str:
    """The continent of a country, empty when unknown."""
    row = _countries().get(_code(country))
    return row["continent"] if row else ""


def providers_with_region(region: str) -> tuple[str, ...]:
    """The cloud providers that have a region of this name."""
    return _providers_of_region().get(region, ())


def electricity(place: str) -> Electricity:
    """The price in a country (`DE`, `DEU`), a US state (`US-TX`), or a wider average, marked as a fallback."""
    code = _code(place)
    country = code.partition("-")[0]
    row = _countries().get(country)
    wider = (row["price_bloc"], row["continent"]) if row else ()
    priced = (region for region in (code, country, *wider) if _energy().get(region, {}).get("usd_per_kwh"))
    region = next(priced, "World")
    found = _energy()[region]
    return Electricity(
        usd_per_kwh=float(found["usd_per_kwh"]),
        region=region,
        confidence=found["price_confidence"] if region == code else "low",
        source=found["price_source"],
        date=found["price_date"],
        fallback=region != code,
    )


def grid_carbon(place: str) -> Carbon | Unknown:
    """Carbon of a country's or US state's grid; a state without a figure falls back on its country."""
    code = _code(place)
    for region in (code, code.partition("-")[0]):
        found = _energy().get(region)
        if found is not None and found["carbon_g_per_kwh"]:
            return Carbon(
                g_per_kwh=float(found["carbon_g_per_kwh"]),
                region=region,
                source=found["carbon_source"],
                date=found["carbon_date"],
                fallback=region != code,
            )
    return Unknown(subject=f"carbon of the grid in {place or 'an unnamed country'}", reason="no source gives a figure")


def carbon_g_per_kwh(provider: str, region: str) -> Carbon | Unknown:
    """Carbon of a cloud region: the provider's own figure, else its US state's or country's grid."""
    row = _cloud_regions().get((provider, region))
    if row is None:
        country = country_of(provider, region)
        if country:
            return grid_carbon(country)
        return Unknown(subject=f"carbon of {provider}/{region}", reason="the region's country is not known")
    if row["carbon_g_per_kwh"]:
        return Carbon(
            g_per_kwh=float(row["carbon_g_per_kwh"]),
            region=f"{provider}/{region}",
            source=row["carbon_source"],
            date=row["carbon_date"],
        )
    found = grid_carbon(row["us_state"] or row["country"])
    if isinstance(found, Unknown):
        return found
    return Carbon(g_per_kwh=found.g_per_kwh, region=found.region, source=found.source, date=found.date, fallback=True)


def _code(place: str) -> str:
    code = place.strip().upper()
    return _iso3().get(code, code)
