"""Calendar time: the horizon's periods, and days and durations as hours from its start."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from gpu_opt.domain.question import Horizon, NamedBlock, Period
from gpu_opt.errors import InputError, Problem
from gpu_opt.units import HOURS_PER_DAY, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile
    from gpu_opt.workload_file.yaml_lines import KeyPath

MONTHS = {"month": 1, "quarter": 3, "year": 12}
MAX_DEFAULT_PERIODS = 80


def add_months(day: date, months: int) -> date:
    """The same day of a later month; days up to 28 exist in all of them."""
    index = day.year * 12 + day.month - 1 + months
    return day.replace(year=index // 12, month=index % 12 + 1)


def next_start(after: date, kind: str) -> date:
    """The first day of the calendar period after the one that holds a day."""
    months = MONTHS[kind]
    first = date(after.year, (after.month - 1) // months * months + 1, 1)
    return add_months(first, months)


def period_name(start: date, kind: str) -> str:
    """`2027`, `2027-Q1` or `2027-01`; one that isn't a calendar period is named by its first and last day."""
    months = MONTHS[kind]
    if start.day == 1 and (start.month - 1) % months == 0:
        if kind == "year":
            return f"{start.year}"
        return f"{start.year}-Q{(start.month + 2) // 3}" if kind == "quarter" else f"{start.year}-{start.month:02d}"
    return f"{start}..{add_months(start, months) - timedelta(days=1)}"


def build_periods(start: date, kind: str, count: int) -> tuple[Period, ...]:
    """Periods one after another, with their calendar hours."""
    starts = [add_months(start, MONTHS[kind] * index) for index in range(count + 1)]
    edges = [(day - start).days * HOURS_PER_DAY for day in starts]
    return tuple(
        Period(name=period_name(starts[index], kind), start_hours=edges[index], end_hours=edges[index + 1])
        for index in range(count)
    )


def horizon_of(file: WorkloadFile, newest_as_of: date) -> Horizon:
    """The file's horizon, or as many calendar periods as the latest deadline needs from the prices' newest day on."""
    section = file.horizon
    kind = section.period
    start = section.start or next_start(newest_as_of, kind)
    count = section.periods or _periods_needed(file, start, kind)
    after = section.after.demand
    decline = 0.0 if isinstance(after, str) else after
    return Horizon(
        start=start,
        period_kind=kind,
        periods=build_periods(start, kind, count),
        blocks=tuple(NamedBlock(name=b.name, hours_share_fraction=b.hours_share) for b in section.blocks),
        after=after if isinstance(after, str) else "decline",
        decline_per_year_fraction=decline,
    )


def _periods_needed(file: WorkloadFile, start: date, kind: str) -> int:
    """Periods up to the latest deadline, and for explicit hours of each period; at least one."""
    count = 1
    for index, entry in enumerate(file.workloads):
        keys: Any = entry
        latest = _latest_hours(keys, start)
        while latest > build_periods(start, kind, count)[-1].end_hours:
            count += 1
            if count > MAX_DEFAULT_PERIODS:
                path = ("workloads", index, "deadline")
                what = f"it is more than {MAX_DEFAULT_PERIODS} periods away."
                raise InputError(file.problem(path, what, "Give `horizon.periods`, or check the date."))
        demand = getattr(keys, "demand", None) or {}
        count = max([count, *(len(values) for values in demand.values())])
    return count


def _latest_hours(keys: Any, start: date) -> float:
    """When a job must have ended, or may start at the earliest; 0 for what has neither."""
    earliest = hours_from(getattr(keys, "earliest", None), start)
    deadline = getattr(keys, "deadline", None)
    if deadline is not None:
        return hours_from(deadline.by, start, base_hours=earliest or 0.0, ends=True) or 0.0
    return (earliest or 0.0) + HOURS_PER_DAY if earliest else 0.0


def hours_from(
    moment: date | timedelta | None, start: date, *, base_hours: float = 0.0, ends: bool = False
) -> float | None:
    """Hours from the start of the horizon: a day counts from its beginning (to its end with `ends`), a duration
    from `base_hours`. None stays None."""
    if moment is None:
        return None
    if isinstance(moment, timedelta):
        return base_hours + moment.total_seconds() / SECONDS_PER_HOUR
    return ((moment - start).days + (1 if ends else 0)) * HOURS_PER_DAY


def window_of(
    file: WorkloadFile, path: KeyPath, keys: Any, horizon: Horizon, problems: list[Problem]
) -> tuple[float, float]:
    """(from, to) in hours of a job: earliest and deadline, cut to the horizon and to `active`.

    A deadline before the horizon's start, and an empty window, are problems.
    """
    earliest = hours_from(keys.earliest, horizon.start)
    active_from, active_to = active_of(file, path, keys, horizon, problems)
    deadline = None
    if keys.deadline is not None:
        deadline = hours_from(keys.deadline.by, horizon.start, base_hours=earliest or 0.0, ends=True)
    if deadline is not None and deadline <= 0:
        what = f"it lies before the horizon's start, {horizon.start}."
        problems.append(file.problem((*path, "deadline"), what, "Move the deadline, or `horizon.start`."))
        return 0.0, horizon.hours
    begin = max(earliest or 0.0, active_from)
    end = min(horizon.hours if deadline is None else deadline, active_to)
    if begin >= end:
        key = "earliest" if keys.earliest is not None else "deadline" if keys.deadline is not None else "active"
        what = f"no time is left between {horizon.date_at(begin)} and {_last_day(horizon, end)}."
        problems.append(file.problem((*path, key), what, "Check earliest, deadline, active and the horizon."))
    return begin, end


def _last_day(horizon: Horizon, end_hours: float) -> date:
    return horizon.start + timedelta(hours=end_hours) - timedelta(days=1)


def active_of(
    file: WorkloadFile, path: KeyPath, keys: Any, horizon: Horizon, problems: list[Problem]
) -> tuple[float, float]:
    """(from, to) in hours inside the horizon in which a workload is active; `to` includes its day."""
    if keys.active is None:
        return 0.0, horizon.hours
    begin = max(0.0, hours_from(keys.active.since, horizon.start) or 0.0)
    end = hours_from(keys.active.until, horizon.start, ends=True)
    end = horizon.hours if end is None else min(end, horizon.hours)
    if begin >= end:
        last = horizon.start + timedelta(hours=horizon.hours - HOURS_PER_DAY)
        what = f"it is never active between {horizon.start} and {last}."
        problems.append(file.problem((*path, "active"), what, "Check `active` and the horizon."))
        return 0.0, horizon.hours
    return begin, end
