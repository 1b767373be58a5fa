"""What a kWh costs and emits, by country, US state and cloud region. What nobody publishes is `Unknown`, never zero."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpu_opt.costs._tables import rows
from gpu_opt.hardware.regions import countries_in, country_of
from gpu_opt.records import record

_SAME_COUNTRY = {"UK": "GB", "EL": "GR"}  # ISO 3166 reserves both for these countries


@record
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


@record
class Carbon:
    """Location-based carbon of the grid, without that of building the machines.

    `fallback` marks a country's average where the region itself has no figure.
    """

    g_per_kwh: float
    region: str
    source: str
    date: str
    fallback: bool = False


@record
class Unknown:
    """No source tells: what was asked, and why there is no answer."""

    subject: str
    reason: str


@cache
def _energy() -> dict[str, dict[str, str]]:
    return {row["region"]: row for row in rows("energy")}


@cache
def _continents() -> dict[str, str]:
    return {row["country"]: row["continent"] for row in rows("continents")}


@cache
def _iso3() -> dict[str, str]:
    return {row["iso3"]: row["country"] for row in rows("continents")}


@cache
def _cloud_grids() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["provider"], row["region"]): row for row in rows("cloud_grids")}


def continent_of(country: str) -> str:
    """The continent of a country, empty when unknown."""
    return _continents().get(_code(country), "")


def electricity(place: str) -> Electricity:
    """The price in a country (`DE`, `DEU`), a US state (`US-TX`), or a wider average, marked as a fallback."""
    code = _code(place)
    country = code.partition("-")[0]
    bloc = "EU" if country in countries_in("EU") else ""
    priced = (
        region
        for region in (code, country, bloc, continent_of(country))
        if _energy().get(region, {}).get("usd_per_kwh")
    )
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
    row = _cloud_grids().get((provider, region), {})
    if row.get("carbon_g_per_kwh"):
        return Carbon(
            g_per_kwh=float(row["carbon_g_per_kwh"]),
            region=f"{provider}/{region}",
            source=row["source"],
            date=row["date"],
        )
    place = row.get("us_state") or country_of(provider, region)
    if not place:
        return Unknown(subject=f"carbon of {provider}/{region}", reason="the region's country is not known")
    found = grid_carbon(place)
    return found if isinstance(found, Unknown) else replace(found, fallback=True)


def _code(place: str) -> str:
    code = place.strip().upper()
    return _iso3().get(code) or _SAME_COUNTRY.get(code, code)
