"""Typed access to a configuration: every wrong value becomes a problem with its key path, collected for one error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_opt.errors import InputError, Problem

# No published model comes near these; beyond them a value is a slip or an attack, and counting would not end well.
MOST_LAYERS, MOST_SIZE, MOST_EXPERTS, MOST_POSITIONS = 10_000, 10_000_000, 100_000, 10**10


class ConfigValues:
    """One mapping of a configuration with its place in the file. Missing and `null` are the same.

    Nested mappings share the list of problems; `finish()` raises them all at once.
    """

    missing_remedy = "Add it, or give the sizes in the workload file."

    def __init__(
        self, values: Mapping[str, Any], file: str = "", prefix: str = "", problems: list[Problem] | None = None
    ) -> None:
        self.values = values
        self.file = file
        self.prefix = prefix
        self.problems: list[Problem] = [] if problems is None else problems

    def wrong(self, key: str, what: str, remedy: str = "") -> None:
        """Note a problem with a key."""
        path = f"{self.prefix}{key}"
        if not any(problem.path == path for problem in self.problems):
            self.problems.append(Problem(file=self.file, path=path, what=what, remedy=remedy))

    def finish(self) -> None:
        """InputError when anything was wrong."""
        if self.problems:
            raise InputError(self.problems)

    def has(self, *keys: str) -> bool:
        """Whether one of the keys has a value."""
        return any(self.values.get(key) is not None for key in keys)

    def nested(self, key: str) -> ConfigValues | None:
        """The mapping under a key, None where there is none."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.wrong(key, f"{_shown(value)} is no mapping.")
            return None
        return ConfigValues(value, self.file, f"{self.prefix}{key}.", self.problems)

    def integer(self, *keys: str, default: int = 0, least: int = 1, most: int = MOST_SIZE) -> int:
        """The first key with a value, as a whole number; the default when none has one, or when it is wrong."""
        for key in keys:
            value = self.values.get(key)
            if value is not None:
                return self._whole(key, value, default, least, most)
        return default

    def needed(self, *keys: str, default: int = 0, most: int = MOST_SIZE) -> int:
        """As `integer`, but a problem when no key has a value; returns 1 then, so that reading can go on."""
        if not self.has(*keys):
            if not default:
                others = f" (or {', '.join(keys[1:])})" if keys[1:] else ""
                self.wrong(keys[0], f"is missing{others}.", self.missing_remedy)
            return default or 1
        return self.integer(*keys, default=1, most=most)

    def _whole(self, key: str, value: object, default: int, least: int, most: int) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            self.wrong(key, f"{_shown(value)} is no whole number.")
            return default
        if value != int(value):
            self.wrong(key, f"{_shown(value)} is no whole number.")
            return default
        if not least <= value <= most:
            self.wrong(key, f"{_shown(value)} is outside {least:,} to {most:,}.")
            return default
        return int(value)

    def number(self, key: str, default: float = 0.0) -> float:
        """A finite number at least 0; the default without one, or when it is wrong."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            self.wrong(key, f"{_shown(value)} is no number at or above 0.")
            return default
        return float(value)

    def flag(self, *keys: str, default: bool = False) -> bool:
        """True or false of the first key with a value."""
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            if not isinstance(value, bool):
                self.wrong(key, f"{_shown(value)} is neither true nor false.")
                return default
            return value
        return default

    def text(self, *keys: str) -> str:
        """The text of the first key with a value, empty without one."""
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            if not isinstance(value, str):
                self.wrong(key, f"{_shown(value)} is no text.")
                return ""
            return value
        return ""

    def sequence(self, key: str) -> Sequence[Any]:
        """The list under a key, empty without one."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.wrong(key, f"{_shown(value)} is no list.")
            return ()
        return value


def _shown(value: object) -> str:
    """A value as an error may quote it: short, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    text = f"{value!r}"
    return text if len(text) <= 40 else f"{text[:37]}..."
