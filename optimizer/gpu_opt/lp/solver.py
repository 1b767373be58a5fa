"""The one door to PuLP and HiGHS: variables, rows, an objective, and what the solver proved.

PuLP 3.3 (Python 3.11) and 4.x (3.12 and newer) differ in how expressions are made; `_expression` is the difference.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_opt.records import record

Terms = Mapping[int, float]
_COMPLETION_GAP = 0.05  # of the rest of a point to begin from
_COMPLETION_SECONDS = 5.0


@record
class SolveResult:
    """Two facts apart: `has_solution` (a feasible point came back) and `status` (what was proved).

    `status` is optimal, infeasible, unbounded, limit or error. `bound` is a lower bound of the minimum,
    -inf when there is none.
    """

    status: str
    has_solution: bool
    values: tuple[float, ...]
    objective: float
    bound: float
    seconds: float
    solver: str
    version: str


@dataclass(slots=True)
class Model:
    """A program to be minimised, kept as plain numbers until it is solved."""

    names: list[str] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    integers: list[bool] = field(default_factory=list)
    rows: list[tuple[str, dict[int, float], float, float]] = field(default_factory=list)
    costs: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    def var(self, name: str, *, low: float = 0.0, high: float = math.inf, integer: bool = False) -> int:
        """A new variable in [low, high]; the number that stands for it in rows."""
        self.names.append(name)
        self.lows.append(low)
        self.highs.append(high)
        self.integers.append(integer)
        return len(self.names) - 1

    def row(self, name: str, terms: Terms, *, low: float = -math.inf, high: float = math.inf) -> None:
        """low ≤ Σ terms ≤ high; a row without variables must hold by itself."""
        kept = {index: value for index, value in terms.items() if value != 0.0}
        self.rows.append((name, kept, low, high))

    def cost(self, terms: Terms) -> None:
        """Adds terms to the objective."""
        for index, value in terms.items():
            self.costs[index] = self.costs.get(index, 0.0) + value

    def fixed(self, values: Mapping[int, float]) -> Model:
        """The same program with some variables fixed."""
        lows, highs = list(self.lows), list(self.highs)
        for index, value in values.items():
            lows[index] = highs[index] = value
        return Model(self.names, lows, highs, self.integers, self.rows, self.costs, self.constant)


def _expression(pulp: Any, terms: Mapping[Any, float]) -> Any:
    """An affine expression in either PuLP."""
    if hasattr(pulp.LpAffineExpression, "from_dict"):
        return pulp.LpAffineExpression.from_dict(dict(terms))
    return pulp.LpAffineExpression(dict(terms))


def to_pulp(model: Model, *, relaxed: bool = False) -> tuple[Any, list[Any]]:
    """The PuLP problem of a model, and its variables in the model's order."""
    import pulp  # type: ignore[import-untyped]

    problem = pulp.LpProblem("gpu_opt", pulp.LpMinimize)
    variables = []
    for index, name in enumerate(model.names):
        category = "Integer" if model.integers[index] and not relaxed else "Continuous"
        low, high = model.lows[index], model.highs[index]
        variables.append(
            problem.add_variable(
                f"v{index:06d}_{name}",
                None if low == -math.inf else low,
                None if high == math.inf else high,
                category,
            )
        )
    objective = {variables[index]: value for index, value in model.costs.items() if value != 0.0}
    if not objective:
        objective = {variables[0]: 0.0} if variables else {}
    problem.setObjective(_expression(pulp, objective))
    for number, (name, terms, low, high) in enumerate(model.rows):
        expression = _expression(pulp, {variables[index]: value for index, value in terms.items()})
        label = f"r{number:06d}_{name}"
        if low == high:
            problem.addConstraint(expression == low, label)
            continue
        if low != -math.inf:
            problem.addConstraint(expression >= low, label + ("_low" if high != math.inf else ""))
        if high != math.inf:
            problem.addConstraint(expression <= high, label)
    return problem, variables


@contextlib.contextmanager
def _no_banner() -> Iterator[None]:
    """Keeps the banner that HiGHS 1.16 writes at start-up, past its own log switch, out of standard output."""
    try:
        kept = os.dup(1)
    except OSError:  # standard output is closed
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)


def _broken_empty_row(model: Model) -> bool:
    return any(not terms and not (low <= 1e-9 and high >= -1e-9) for _, terms, low, high in model.rows)


def solve(
    model: Model,
    *,
    gap: float = 0.0,
    time_limit_seconds: float = 60.0,
    relaxed: bool = False,
    start: Mapping[str, float] | None = None,
) -> SolveResult:
    """Solves a model with HiGHS: one thread and a fixed seed, so that equal input gives equal output.

    `gap` is the relative gap at which the solver may stop; `start` values by variable name to begin from, not
    necessarily of all. Nothing is read from a solve without a feasible point, and a result whose values don't add up
    to its objective is not believed: the model is then solved without a start.
    """
    import highspy
    import pulp

    started = time.perf_counter()
    if _broken_empty_row(model):
        return SolveResult(
            status="infeasible",
            has_solution=False,
            values=(),
            objective=math.inf,
            bound=math.inf,
            seconds=0.0,
            solver="HiGHS",
            version="",
        )
    filled = Model(
        model.names,
        model.lows,
        model.highs,
        model.integers,
        [row for row in model.rows if row[1]],
        model.costs,
        model.constant,
    )
    if not filled.names:
        filled.var("nothing", high=0.0)
    point = _completed(filled, start) if start else ()
    problem, variables = to_pulp(filled, relaxed=relaxed)
    backend = _backend(pulp, point)(
        mip=not relaxed,
        msg=False,
        gapRel=gap,
        gapAbs=1e-6,
        threads=1,
        timeLimit=time_limit_seconds,
        random_seed=0,
        mip_feasibility_tolerance=1e-7,
        primal_feasibility_tolerance=1e-8,
    )
    with _no_banner():
        problem.solve(backend)
    result = _read(problem.solverModel, highspy, filled, variables, time.perf_counter() - started, relaxed)
    if point and not _adds_up(filled, result):
        return solve(model, gap=gap, time_limit_seconds=time_limit_seconds, relaxed=relaxed)
    return result


def _completed(model: Model, start: Mapping[str, float]) -> tuple[float, ...]:
    """A whole feasible point with the integers of a start; empty where there is none.

    HiGHS 1.16 given a part of a point has reported objectives that its own values don't have.
    """
    known = {i: start[name] for i, name in enumerate(model.names) if name in start and model.integers[i]}
    rest = solve(model.fixed(known), gap=_COMPLETION_GAP, time_limit_seconds=_COMPLETION_SECONDS)
    return rest.values if rest.has_solution else ()


def _adds_up(model: Model, result: SolveResult) -> bool:
    if not result.has_solution:
        return False
    told = sum(cost * result.values[index] for index, cost in model.costs.items()) + model.constant
    return abs(told - result.objective) <= 1e-6 * max(1.0, abs(told))


def _backend(pulp: Any, point: tuple[float, ...]) -> Any:
    """PuLP's HiGHS, begun from a given point where there is one (PuLP 3.3 has no way to pass it)."""
    if not point:
        return pulp.HiGHS

    class Started(pulp.HiGHS):  # type: ignore[misc]
        def callSolver(self, lp: Any) -> None:
            lp.solverModel.setSolution(len(point), list(range(len(point))), list(point))
            lp.solverModel.run()

    return Started


def _read(highs: Any, highspy: Any, model: Model, variables: list[Any], seconds: float, relaxed: bool) -> SolveResult:
    info = highs.getInfo()
    state = highs.getModelStatus()
    kinds = highspy.HighsModelStatus
    status = {
        kinds.kOptimal: "optimal",
        kinds.kModelEmpty: "optimal",
        kinds.kInfeasible: "infeasible",
        kinds.kUnboundedOrInfeasible: "infeasible",
        kinds.kUnbounded: "unbounded",
        kinds.kTimeLimit: "limit",
        kinds.kIterationLimit: "limit",
        kinds.kInterrupt: "limit",
    }.get(state, "error")
    feasible = status in ("optimal", "limit") and (
        info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    integer = any(model.integers) and not relaxed and not math.isnan(info.mip_dual_bound)
    objective = float(info.objective_function_value) if feasible else math.inf
    bound = float(info.mip_dual_bound) if integer and math.isfinite(info.mip_dual_bound) else -math.inf
    if feasible and status == "optimal" and bound == -math.inf:
        bound = objective
    values = tuple(float(variable.varValue or 0.0) for variable in variables) if feasible else ()
    return SolveResult(
        status=status,
        has_solution=feasible,
        values=values,
        objective=objective + model.constant,
        bound=bound + model.constant,
        seconds=seconds,
        solver="HiGHS",
        version=str(highs.version()),
    )
