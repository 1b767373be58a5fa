"""Checks of numbers that come from users: all problems at once, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gpu_opt.errors import InputError, Problem

_SHARE = "A share is a number from 0 to 1: write 0.1 for 10 %."


@dataclass(slots=True)
class Checks:
    """Collects problems; `done` raises them together. `where` is put before every name."""

    where: str = ""
    problems: list[Problem] = field(default_factory=list)

    def fail(self, name: str, what: str, remedy: str = "") -> None:
        """Note one problem."""
        path = f"{self.where}.{name}" if self.where and name else self.where or name
        self.problems.append(Problem(path=path, what=what, remedy=remedy))

    def number(self, name: str, value: object) -> bool:
        """Whether a value is a finite number; notes a problem when it isn't."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(name, f"{value!r} is not a number.", "Give a plain number.")
            return False
        if not math.isfinite(value):
            self.fail(name, f"{value!r} is not a finite number.", "Give a plain number.")
            return False
        return True

    def at_least(self, name: str, value: float, lowest: float, remedy: str = "") -> None:
        """The value is a number and not below `lowest`."""
        if self.number(name, value) and value < lowest:
            self.fail(name, f"{value:g} is below {lowest:g}.", remedy)

    def positive(self, name: str, value: float, remedy: str = "") -> None:
        """The value is a number above zero."""
        if self.number(name, value) and value <= 0:
            self.fail(name, f"{value:g} is not above zero.", remedy)

    def share(self, name: str, value: float, *, zero: bool = True) -> None:
        """The value is a number from 0 (or just above it) to 1."""
        if self.number(name, value) and not (0 <= value <= 1 and (zero or value > 0)):
            self.fail(name, f"{value:g} is not a share.", _SHARE if zero else f"{_SHARE} Here it must be above 0.")

    def rate(self, name: str, value: float) -> None:
        """The value is a yearly rate from 0 to below 1."""
        if self.number(name, value) and not 0 <= value < 1:
            self.fail(name, f"{value:g} is not a yearly rate.", _SHARE)

    def done(self) -> None:
        """Raise everything that was noted."""
        if self.problems:
            raise InputError(self.problems)
