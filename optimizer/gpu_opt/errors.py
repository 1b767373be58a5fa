"""Errors that reach a user: what is wrong, where, and what to do next.

GpuOptError                exit 1
├── InputError             exit 2   one or more Problems in what the user wrote
├── Infeasible             exit 3   no plan exists; carries the conflict and its repairs
├── NoPlanInTime           exit 4   the solver found no plan within the time limit
├── CheckFailed            exit 5   a plan or a gate does not hold
├── PriceDataError         exit 6   price data missing, unusable or too old
└── ProviderError          exit 7   a provider has no usable rows at all, new or kept
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_opt.records import record


@record
class Problem:
    """One thing wrong with an input: where it stands, what it is, what to do.

    `file` is empty for a command-line option, `line` is 0 where there is none.
    """

    file: str = ""
    line: int = 0
    path: str = ""
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        path = f"{self.path}: " if self.path else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{place}{path}{self.what}{remedy}"


class GpuOptError(Exception):
    """Anything that a user should read as a message, not as a traceback."""

    exit_code = 1


class InputError(GpuOptError):
    """Everything wrong with the input, at once."""

    exit_code = 2

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Infeasible(GpuOptError):
    """No plan meets every requirement: `conflict` in words, `repairs` as (change, extra USD)."""

    exit_code = 3

    def __init__(self, conflict: Iterable[str], repairs: Iterable[tuple[str, float]] = ()) -> None:
        self.conflict = tuple(conflict)
        self.repairs = tuple(repairs)
        super().__init__("\n".join(self.conflict))


class NoPlanInTime(GpuOptError):
    """The solver stopped at its time limit without a plan."""

    exit_code = 4


class CheckFailed(GpuOptError):
    """A plan or a policy does not hold."""

    exit_code = 5


class PriceDataError(GpuOptError):
    """Price data is missing, unusable or too old."""

    exit_code = 6


class ProviderError(GpuOptError):
    """A provider has no usable rows at all, new or kept."""

    exit_code = 7
