"""Which country a provider's region lies in, for data residency."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpu_opt.domain.names import UnknownName, nearest
from gpu_opt.hardware._tables import rows

_OTHER_CODES = {"UK": "GB", "EL": "GR"}  # ISO 3166 reserves them for the same countries


@cache
def _countries() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    return {row["code"]: (row["name"], tuple(row["groups"].split())) for row in rows("countries.csv")}


@cache
def _country_by_region() -> Mapping[tuple[str, str], str]:
    return {(row["provider"], row["region"]): row["country"] for row in rows("regions.csv")}


def known_places() -> tuple[tuple[str, str], ...]:
    """Every (provider, region) of the table."""
    return tuple(_country_by_region())


def country_of(provider: str, region: str) -> str | None:
    """ISO 3166 code of the country that a region lies in; None when nobody says (a marketplace's `global`).

    Never guessed from a parent region: some local zones lie abroad. Marketplaces name regions by country code.
    """
    known = _country_by_region().get((provider, region))
    if known:
        return known
    return region if region in _countries() else None


@cache
def providers_with_region(region: str) -> tuple[str, ...]:
    """Every provider that has a region of this name, sorted."""
    return tuple(sorted(provider for provider, name in _country_by_region() if name == region))


@cache
def countries_in(code: str) -> frozenset[str]:
    """Country codes that `EU`, `EEA` or one ISO code stands for; UnknownName for anything else."""
    wanted = code.strip().upper()
    wanted = _OTHER_CODES.get(wanted, wanted)
    if wanted in ("EU", "EEA"):
        return frozenset(country for country, (_, groups) in _countries().items() if wanted in groups)
    if wanted in _countries():
        return frozenset((wanted,))
    by_name = {name: country for country, (name, _) in _countries().items()}
    closest = nearest(code, by_name)
    raise UnknownName("country", code, by_name.get(closest, ""))
