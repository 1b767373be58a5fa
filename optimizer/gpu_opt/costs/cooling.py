"""PUE from the climate and the share of heat that leaves by liquid (K11, K12)."""

from __future__ import annotations

from functools import cache

from gpu_opt.costs._tables import rows
from gpu_opt.costs.checks import Checks
from gpu_opt.costs.defaults import value_of
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record


@record
class Climate:
    """A preset: the share of hours that need no chiller, and the chiller's coefficient of performance."""

    name: str
    free_cooling_hours_fraction: float
    mechanical_cop: float
    examples: str
    source: str


@cache
def climates() -> dict[str, Climate]:
    """All presets by name."""
    return {
        row["climate"]: Climate(
            name=row["climate"],
            free_cooling_hours_fraction=float(row["free_cooling_hours_fraction"]),
            mechanical_cop=float(row["mechanical_cop"]),
            examples=row["examples"],
            source=row["source"],
        )
        for row in rows("climates")
    }


def climate_named(name: str, *, where: str = "climate") -> Climate:
    """A preset by name; InputError names those that exist."""
    found = climates().get(name)
    if found is None:
        raise InputError(Problem(path=where, what=f"{name!r} is unknown.", remedy=f"Use {', '.join(climates())}."))
    return found


def air_cop(mechanical_cop: float, free_cooling_hours_fraction: float) -> float:
    """K12: a year's heat over its energy. Energy adds up, so it is the harmonic mean; a mean over time flatters it."""
    checks = Checks()
    checks.positive("mechanical_cop", mechanical_cop)
    checks.share("free_cooling_hours", free_cooling_hours_fraction)
    checks.done()
    free = free_cooling_hours_fraction
    return 1 / ((1 - free) / mechanical_cop + free / value_of("free_cooling_cop"))


def pue_ratio(*, mechanical_cop: float, free_cooling_hours_fraction: float, liquid_fraction: float = 0.0) -> float:
    """K11: all energy over IT energy, with `liquid_fraction` of the heat taken by liquid."""
    checks = Checks()
    checks.share("liquid_fraction", liquid_fraction)
    checks.done()
    air = 1 / air_cop(mechanical_cop, free_cooling_hours_fraction) + value_of("fan_overhead_ratio")
    liquid = 1 / value_of("liquid_cop") + value_of("pump_overhead_ratio")
    overhead = value_of("electrical_overhead_ratio") + value_of("other_overhead_ratio")
    return 1 + (1 - liquid_fraction) * air + liquid_fraction * liquid + overhead


def climate_pue_ratio(climate: Climate, liquid_fraction: float = 0.0) -> float:
    """K11 for a preset."""
    return pue_ratio(
        mechanical_cop=climate.mechanical_cop,
        free_cooling_hours_fraction=climate.free_cooling_hours_fraction,
        liquid_fraction=liquid_fraction,
    )
