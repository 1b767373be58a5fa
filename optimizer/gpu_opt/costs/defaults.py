"""Every assumed number of an owned machine, with its range, unit, source and date (defaults.csv)."""

from __future__ import annotations

from functools import cache

from gpu_opt.costs._tables import optional_float, rows
from gpu_opt.records import record


@record
class Default:
    """One assumption. `low` and `high` span what is seen in practice; None where nobody says."""

    name: str
    value: float
    low: float | None
    high: float | None
    unit: str
    source: str
    date: str


@cache
def defaults() -> dict[str, Default]:
    """All assumptions by name."""
    return {
        row["parameter"]: Default(
            name=row["parameter"],
            value=float(row["value"]),
            low=optional_float(row["low"]),
            high=optional_float(row["high"]),
            unit=row["unit"],
            source=row["source"],
            date=row["date"],
        )
        for row in rows("defaults")
    }


def default(name: str) -> Default:
    """One assumption by its name."""
    return defaults()[name]


def value_of(name: str) -> float:
    """The number of one assumption."""
    return defaults()[name].value
