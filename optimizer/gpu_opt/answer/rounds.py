"""Solving in rounds: a calendar is built from each solution, and what it teaches goes back into the program."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_opt.answer.assemble import Solved, settle
from gpu_opt.answer.infeasible import explain
from gpu_opt.answer.narrow import narrowed
from gpu_opt.candidates.build import Built
from gpu_opt.errors import GpuOptError, Infeasible, NoPlanInTime
from gpu_opt.lp.build import Program, build
from gpu_opt.lp.constraints.capacity import Crowded
from gpu_opt.lp.data import without_calendar
from gpu_opt.lp.decision import Decision, decide
from gpu_opt.lp.dedicated import dedicated_start
from gpu_opt.lp.evaluate import measure, overfull
from gpu_opt.lp.grid import make_grid
from gpu_opt.lp.refit import around_calendar
from gpu_opt.lp.schedule import Unplaced, make_schedule

_MOST_ROUNDS = 12
_LEAST_SECONDS = 5.0
_FIRST_SHARE = 0.5  # of the time, kept for the program before anything was learned: its bound is the proof
_EXPLAIN_SECONDS = 10.0
_SMALL_PROGRAM = 200  # integers up to which the solver needs no plan to begin from
_HINTS = ("replicas[", "hosts[", "units[", "bought[")  # what a plan without a calendar tells one with a calendar
_RELAXED_SHARE = 0.4  # of the time, for the bound where the calendar can't be complete
_NO_CALENDAR = "no calendar was found that holds all recurring runs; allow more instances or a longer window."
_NO_START = (
    "no calendar was found that holds all runs, and none was ruled out; allow more instances or a longer window."
)


@dataclass(slots=True)
class _Search:
    """One question's rounds: the time left, the best bound, what was learned."""

    built: Built
    gap: float
    deadline: float
    clock: Callable[[], float]
    bound_usd: float = float("-inf")
    proved: bool = False
    pairs: frozenset[tuple[str, int]] = frozenset()
    missed: list[Unplaced] = field(default_factory=list)
    relaxed: set[bool] = field(default_factory=set)
    chosen: Decision | None = None
    whole: Built | None = None
    hint: dict[str, float] = field(default_factory=dict)

    def left_seconds(self) -> float:
        return max(_LEAST_SECONDS, self.deadline - self.clock())

    def learn_bound(self, program: Program, decision: Decision, *, exact: bool) -> None:
        """Bounds of programs that nothing restricts hold for the question itself; the highest is the best."""
        if self.missed:
            return
        if program.grid.complete and self.whole is None:
            self.bound_usd = max(self.bound_usd, decision.bound_usd)
        elif exact not in self.relaxed:
            self.bound_usd = max(self.bound_usd, self.relaxed_bound(exact=exact))
        self.proved = self.bound_usd > float("-inf")

    def relaxed_bound(self, *, exact: bool) -> float:
        """The bound where the calendar doesn't count, -inf where none is known. Infeasible when not even that is."""
        self.relaxed.add(exact)
        data = without_calendar((self.whole or self.built).data)
        if data is None:
            return float("-inf")
        program = build(data, Crowded(pairs=self.pairs, exact=True) if exact else None)
        start = dedicated_start(program)
        seconds = max(_LEAST_SECONDS, (self.deadline - self.clock()) * _RELAXED_SHARE)
        result, decision = decide(program, gap=self.gap / 2, time_limit_seconds=seconds, start=start)
        if result.status == "infeasible":
            raise explain(program, time_limit_seconds=_EXPLAIN_SECONDS)
        self.chosen = decision
        if decision is not None:
            names = program.run.model.names
            named = zip(names, decision.values, strict=True)
            self.hint = {name: round(value) for name, value in named if name.startswith(_HINTS)}
        return float("-inf") if decision is None else decision.bound_usd


def solve_rounds(built: Built, *, gap: float, time_limit_seconds: float) -> Solved:
    """The best calendar found, with a bound of the question itself.

    First without the occupancy rule; where its calendar breaks it, with those pools taken to be shared; and where that
    costs more than the gap allows, with the rule as it is. Recurring runs that find no room are limited in number.
    Infeasible and NoPlanInTime as their names say.
    """
    search = _Search(built, gap, time.monotonic() + time_limit_seconds, time.monotonic)
    solved = _first(search, max(_LEAST_SECONDS, time_limit_seconds * _FIRST_SHARE))
    if search.pairs and _gap(solved, search.bound_usd) > gap:
        try:
            start = _values(solved)
            exact = _settled(search, exact=True, seconds=search.left_seconds(), start=start)
        except NoPlanInTime:
            return _with_bound(solved, search)
        solved = min(exact, solved, key=lambda s: s.total_usd)
    return _with_bound(solved, search)


def _first(search: _Search, seconds: float) -> Solved:
    """The first calendar. Where one of all candidates can't be complete, first of a few, and of all if that isn't near
    enough to their bound."""
    if make_grid(search.built.data).complete:
        return _settled(search, exact=False, seconds=seconds, start=None)
    search.bound_usd = search.relaxed_bound(exact=False)
    if search.chosen is None:
        return _settled(search, exact=False, seconds=seconds, start=None)
    search.whole = search.built
    search.built = narrowed(search.whole, search.chosen)
    few = None
    with contextlib.suppress(Infeasible, NoPlanInTime):
        few = _settled(search, exact=False, seconds=seconds, start=search.hint)
    if few is not None and (_gap(few, search.bound_usd) <= search.gap or search.clock() >= search.deadline):
        return few
    kept = search.pairs, search.missed
    search.built, search.pairs, search.missed = search.whole, frozenset(), []
    every = None
    try:
        every = _settled(search, exact=False, seconds=search.left_seconds(), start=search.hint)
    except NoPlanInTime:
        if few is None:
            raise
    if every is not None and (few is None or every.total_usd < few.total_usd):
        return every
    if few is None:
        raise NoPlanInTime(_NO_START)
    search.built, (search.pairs, search.missed) = few.built, kept
    return few


def _gap(solved: Solved, bound_usd: float) -> float:
    return (solved.total_usd - bound_usd) / abs(solved.total_usd) if solved.total_usd else 0.0


def _values(solved: Solved) -> dict[str, float]:
    return dict(zip(solved.program.run.model.names, solved.decision.values, strict=True))


def _with_bound(solved: Solved, search: _Search) -> Solved:
    return settle(solved.built, solved.program, solved.decision, solved.placements, search.bound_usd, search.proved)


def _settled(search: _Search, *, exact: bool, seconds: float, start: dict[str, float] | None) -> Solved:
    """Rounds until a calendar keeps every rule."""
    built = search.built
    for number in range(_MOST_ROUNDS):
        program = build(built.data, Crowded(pairs=search.pairs, exact=exact))
        _forbid(program, search.missed)
        decision = _decide(search, program, seconds if number == 0 else search.left_seconds(), start)
        if exact or not search.pairs:
            search.learn_bound(program, decision, exact=exact)
        placements, unplaced = make_schedule(built.data, program.grid, decision)
        search.missed += unplaced
        if unplaced:
            continue
        fitted = around_calendar(program, decision, placements)
        if fitted is None:
            search.missed += _one_fewer(decision)
            continue
        decision = fitted
        found = overfull(built.data, measure(built.data, program.grid, decision, placements)) - search.pairs
        if not found:
            return settle(built, program, decision, placements, search.bound_usd, search.proved)
        search.pairs |= found
        start = dict(zip(program.run.model.names, decision.values, strict=True)) if exact else None
    raise NoPlanInTime(_NO_CALENDAR)


def _one_fewer(decision: Decision) -> list[Unplaced]:
    """Of the recurring runs that stand where others must work, the largest group may hold one fewer."""
    many = max(decision.many, key=lambda key: (decision.many[key], key))
    count = decision.many[many]
    return [Unplaced(demand=many[0], candidate=many[1], placed=count - 1, asked=count)]


def _decide(search: _Search, program: Program, seconds: float, start: dict[str, float] | None) -> Decision:
    if sum(program.run.model.integers) > _SMALL_PROGRAM:
        start = {**dedicated_start(program), **start} if start else dedicated_start(program)
    result, decision = decide(program, gap=search.gap, time_limit_seconds=seconds, start=start)
    if decision is not None:
        return decision
    if result.status == "infeasible":
        if search.missed:
            raise NoPlanInTime(_NO_CALENDAR)
        if not program.grid.complete:
            search.relaxed_bound(exact=False)
            if program.data.budget.per_period_usd is None:
                raise NoPlanInTime(_NO_START)
        raise explain(program, time_limit_seconds=_EXPLAIN_SECONDS)
    if result.status == "limit":
        raise NoPlanInTime(f"no plan was found within {seconds:.0f} s. Raise --time-limit, or narrow the scope.")
    raise GpuOptError(f"the solver stopped with status {result.status!r}")


def _forbid(program: Program, missed: list[Unplaced]) -> None:
    """C17: a candidate takes no more recurring runs of a period than its calendar has room for."""
    for miss in missed:
        var = program.run.many.get((miss.demand, miss.candidate))
        if var is not None:
            name = f"C17_calendar[{miss.demand},{miss.candidate}]"
            program.run.model.row(name, {var: 1.0}, high=float(miss.placed))
