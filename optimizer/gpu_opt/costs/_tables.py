"""The tables of this package, read once, as rows of strings."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Every row of `name`.csv beside this file."""
    with Path(__file__).with_name(f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def optional_float(text: str) -> float | None:
    """A number, or None where the cell is blank (unknown)."""
    return float(text) if text else None
