"""The fitted constants: each slot of the formulas is a base value times factors by engine, part, link and so on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from types import MappingProxyType

from gpu_opt.records import record
from gpu_opt.throughput.serving.tables import read_rows


@record
class Constants:
    """Values by (slot, key); the key `base` carries the unit, every other key is a factor without one.

    A factor that the table lacks is 1: a part that was never measured keeps the base value of its kind.
    `origin` is `model`, or `calibrated` after a refit to a user's own points.
    """

    value: Mapping[tuple[str, str], float]
    origin: str = "model"
    _cache: dict[tuple[str, tuple[str, ...]], float] = field(default_factory=dict, compare=False, repr=False)

    def resolve(self, slot: str, keys: Iterable[str]) -> float:
        """The product of the slot's values under these keys, `base` among them."""
        wanted = (slot, tuple(keys))
        if wanted not in self._cache:
            self._cache[wanted] = math.prod(self.value.get((slot, key), 1.0) for key in wanted[1])
        return self._cache[wanted]

    def scaled(self, factors: Mapping[tuple[str, str], float], origin: str = "calibrated") -> Constants:
        """A copy with some values multiplied; a factor that isn't there yet starts at 1."""
        value = dict(self.value)
        for place, factor in factors.items():
            value[place] = value.get(place, 1.0) * factor
        return Constants(value=MappingProxyType(value), origin=origin)


@cache
def load_constants() -> Constants:
    """The constants that ship with the tool."""
    value = {(row["slot"], row["key"]): float(row["value"]) for row in read_rows("serving_constants.csv")}
    return Constants(value=MappingProxyType(value))
