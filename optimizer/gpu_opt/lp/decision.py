"""A solution in the planner's words: who runs what where, what is committed and bought. No solver in sight."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from gpu_opt.lp.build import Program
from gpu_opt.lp.peaks import evened
from gpu_opt.lp.solver import SolveResult, solve
from gpu_opt.records import record

K = TypeVar("K", bound=Hashable)


@record
class Decision:
    """Values by the keys of `RunVars`: `once` is the set that is 1, hours and counts elsewhere are positive.

    `covered_hours` is what a workload of jobs may take of a pool's paid capacity in a period, where that is limited.
    """

    once: tuple[tuple[int, int, int], ...]
    many: Mapping[tuple[int, int], int]
    fluid: Mapping[tuple[int, int, int], float]
    replicas: Mapping[tuple[int, int, int], int]
    hosts: Mapping[tuple[int, int, int], int]
    plan: Mapping[tuple[str, str, int], float]
    units: Mapping[tuple[str, int], float]
    bought: Mapping[tuple[str, int], int]
    covered_hours: Mapping[tuple[str, int, str], float]
    credits_usd: Mapping[tuple[int, int], float]
    left_hours: Mapping[str, float]
    flags: Mapping[str, float]
    cell_periods: Mapping[str, tuple[int, ...]]
    cell_hours: Mapping[str, tuple[float, ...]]
    values: tuple[float, ...]
    minimized_usd: float
    bound_usd: float
    status: str
    solver: str
    version: str


_LEAST_PLAN_HOURS = 1e-5  # under a savings plan; less is the solver's noise


def _clean(value: float) -> float:
    return 0.0 if abs(value) < 1e-7 else value


def decide(
    program: Program, *, gap: float, time_limit_seconds: float, start: Mapping[str, float] | None = None
) -> tuple[SolveResult, Decision | None]:
    """Solves, rounds the integers, solves the rest once more with them fixed, evens out peaks, and reads the result.

    `start` are values by variable name of a plan to begin from.
    Without a feasible point the second part is None, and the first tells why.
    """
    first = solve(program.run.model, gap=gap, time_limit_seconds=time_limit_seconds, start=start)
    if not first.has_solution:
        return first, None
    model = program.run.model
    fixed = {i: float(round(v)) for i, v in enumerate(first.values) if model.integers[i]}
    polished = evened(program, model.fixed(fixed))
    values = polished.values if polished.has_solution else first.values
    return first, read_values(program, first, list(values))


def read_values(program: Program, result: SolveResult, values: list[float]) -> Decision:
    """A solution's values in the planner's words."""
    run = program.run

    def counts(table: Mapping[K, int]) -> dict[K, int]:
        return {key: round(values[var]) for key, var in table.items() if round(values[var])}

    def hours(table: Mapping[K, int]) -> dict[K, float]:
        return {key: values[var] for key, var in table.items() if _clean(values[var])}

    names = run.named
    units = {k: v if _is_plan(program, k[0]) else round(v) for k, v in hours(run.units).items()}
    held = {term for (term, _), count in units.items() if count}
    return Decision(
        once=tuple(sorted(key for key, var in run.once.items() if round(values[var]))),
        many=counts(run.many),
        fluid=hours(run.fluid),
        replicas=counts(run.replicas),
        hosts=counts(run.hosts),
        plan={key: value for key, value in hours(run.plan).items() if key[0] in held and value > _LEAST_PLAN_HOURS},
        units=units,
        bought=counts(run.bought),
        covered_hours=_covered_hours(program, names, values),
        credits_usd=_credits(program, names, values),
        left_hours=_left(program, values),
        flags={name: values[var] for name, var in sorted(run.named.items())},
        cell_periods={pool: tuple(cell.period for cell in cells) for pool, cells in program.grid.cells.items()},
        cell_hours={pool: tuple(cell.hours for cell in cells) for pool, cells in program.grid.cells.items()},
        values=tuple(values),
        minimized_usd=result.objective,
        bound_usd=result.bound,
        status=result.status,
        solver=result.solver,
        version=result.version,
    )


def _left(program: Program, values: list[float]) -> dict[str, float]:
    """Hours of each source after the horizon that later periods' demand takes over."""
    hours: dict[str, float] = {}
    for source, var in program.run.left:
        hours[source] = hours.get(source, 0.0) + _clean(values[var])
    return hours


def _is_plan(program: Program, term_id: str) -> bool:
    return any(term.id == term_id and term.market.is_savings_plan for term in program.data.terms)


def _covered_hours(
    program: Program, names: Mapping[str, int], values: list[float]
) -> dict[tuple[str, int, str], float]:
    """Job hours on paid capacity by (pool, period, workload), where the occupancy rule is written out."""
    found: dict[tuple[str, int, str], float] = {}
    for (pool, index), by_workload in program.run.job_uses.items():
        period = program.grid.cells[pool][index].period
        for workload, expression in by_workload.items():
            if f"job_rent[{pool},{period},{workload}]" in names:
                key = (pool, period, workload)
                found[key] = found.get(key, 0.0) + sum(values[v] * h for v, h in expression.items())
    for pool, period, workload in found:
        rented = values[names[f"job_rent[{pool},{period},{workload}]"]]
        found[pool, period, workload] = max(0.0, found[pool, period, workload] - rented)
    return found


def _credits(program: Program, names: Mapping[str, int], values: list[float]) -> dict[tuple[int, int], float]:
    periods = range(len(program.data.horizon.periods))
    keys = [(i, p) for i in range(len(program.data.credits)) for p in periods]
    return {k: values[names[f"credit[{k[0]},{k[1]}]"]] for k in keys if f"credit[{k[0]},{k[1]}]" in names}
