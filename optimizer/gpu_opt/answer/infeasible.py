"""Why no plan exists, in words, and the cheapest changes that would admit one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from gpu_opt.candidates.build import Built
from gpu_opt.domain.option import Rejection
from gpu_opt.domain.workload import Service
from gpu_opt.errors import Infeasible
from gpu_opt.lp.build import Program
from gpu_opt.lp.solver import Model, solve

_LIMIT_FAMILIES = ("C6_quota", "C8_", "C10_", "C11_providers", "C14_", "C7_")
_MOST_REPAIRS = 6


def workloads_without_candidates(built: Built) -> list[str]:
    """One sentence for each workload that nothing on offer can run, with the reason that came closest."""
    data = built.data
    conflicts = []
    for name, candidates in data.run_candidates.items():
        if not candidates:
            conflicts.append(_nothing_runs(built, name))
    for (name, key), units in data.fluid_candidates.items():
        if not units and any((d.workload, d.key) == (name, key) for d in data.fluids):
            conflicts.append(_nothing_runs(built, name, key))
    for name, replicas in data.replica_candidates.items():
        if not replicas and any(
            d.workload == name and any(b.requests_per_second > 0 for b in d.blocks) for d in data.services
        ):
            conflicts.append(_nothing_runs(built, name))
    return conflicts


_ORDER = (
    "latency",
    "deadline",
    "max-hours",
    "checkpoints",
    "memory",
    "network",
    "precision",
    "measured",
    "allow-list",
    "region",
    "spot",
)


def _nothing_runs(built: Built, name: str, key: str = "") -> str:
    members: tuple[Service, ...] = built.members.get(name, ())
    names = {name, *(m.name for m in members)}
    reasons: dict[str, list[Rejection]] = defaultdict(list)
    for rejection in built.rejections:
        if rejection.workload in names:
            reasons[rejection.code].append(rejection)
    what = f"{name}{f' ({key})' if key else ''}: nothing on offer can run it"
    for code in _ORDER:
        if reasons[code]:
            return f"{what}; the closest fails by {code}: {_closest(reasons[code])}"
    return f"{what}: no offer is in the scope and markets."


def _closest(rejections: list[Rejection]) -> str:
    """The reason that misses by least; where nobody measured by how much, the shortest sentence."""
    return min(rejections, key=lambda r: (r.shortfall_ratio or float("inf"), len(r.reason), r.reason)).reason


def later_deadlines(built: Built) -> dict[str, float]:
    """For each job that only its deadline keeps from running: the factor by which its window must grow."""
    factors: dict[str, float] = {}
    for name, candidates in built.data.run_candidates.items():
        missed = [r for r in built.rejections if r.workload == name and r.code == "deadline" and r.shortfall_ratio]
        if not candidates and missed:
            factors[name] = min(r.shortfall_ratio for r in missed if r.shortfall_ratio)
    return factors


def explain(program: Program, *, time_limit_seconds: float) -> Infeasible:
    """The limits that stand in each other's way, and for each the least change that admits a plan by itself."""
    families = _limits(program.run.model)
    stated = _stated(program)
    conflict = _conflict(program.run.model, families, time_limit_seconds)
    repairs: list[tuple[str, float]] = []
    for name in conflict[:_MOST_REPAIRS]:
        repair = _repair(program.run.model, families[name], name, stated, time_limit_seconds)
        if repair is not None:
            repairs.append(repair)
    if not repairs and conflict:
        together = _together(program.run.model, {name: families[name] for name in conflict}, stated, time_limit_seconds)
        repairs += [together] if together is not None else []
    words = [f"{name} can't be kept together with what is asked" for name in conflict]
    if not words:
        words = ["the workloads' windows can't be met together on the capacity that stands there"]
    return Infeasible(words, sorted(repairs, key=lambda r: (r[1], r[0])))


def _stated(program: Program) -> dict[str, float]:
    """Limits as the question states them; rows hold what is left of them beside what stands already."""
    data = program.data
    found = {_words("C6_quota", limit.id): limit.maximum for limit in data.limits}
    budget = data.budget
    sums = {"C14_total": budget.total_usd, "C14_period": budget.per_period_usd, "C14_hourly": budget.per_hour_usd}
    return found | {_words(family, ""): most for family, most in sums.items() if most is not None}


def _limits(model: Model) -> dict[str, list[int]]:
    """Rows of each limit: `C6_quota[name,3]` belongs to `C6_quota[name]`."""
    found: dict[str, list[int]] = defaultdict(list)
    for index, (name, _, _, high) in enumerate(model.rows):
        if name.startswith(_LIMIT_FAMILIES) and high != float("inf"):
            family, _, rest = name.partition("[")
            subject = rest.rstrip("]").rpartition(",")[0] or rest.rstrip("]")
            found[_words(family, subject)].append(index)
    return dict(found)


def _words(family: str, subject: str) -> str:
    return {
        "C6_quota": f"the quota {subject}",
        "C14_total": "the total budget",
        "C14_period": "the budget per period",
        "C14_hourly": "the budget per hour",
        "C14_capex": "the capital budget",
        "C11_providers": "the number of providers",
    }.get(family, f"the limit of {subject or family}")


def _elastic(model: Model, rows: dict[str, list[int]], weight: float) -> tuple[Model, dict[str, int]]:
    """The model with one slack a limit that all its rows share; slacks cost `weight`, everything else nothing."""
    relaxed = Model(
        list(model.names), list(model.lows), list(model.highs), list(model.integers), list(model.rows), {}, 0.0
    )
    slacks: dict[str, int] = {}
    for name, indices in rows.items():
        slack = relaxed.var(f"slack[{name}]")
        slacks[name] = slack
        for index in indices:
            label, terms, low, high = relaxed.rows[index]
            relaxed.rows[index] = (label, {**terms, slack: -1.0}, low, high)
        scale = max(1.0, max(abs(model.rows[index][3]) for index in indices))
        relaxed.cost({slack: weight / scale})
    return relaxed, slacks


def _conflict(model: Model, families: dict[str, list[int]], time_limit_seconds: float) -> list[str]:
    if not families:
        return []
    relaxed, slacks = _elastic(model, families, 1.0)
    result = solve(relaxed, gap=0.01, time_limit_seconds=time_limit_seconds)
    if not result.has_solution:
        return []
    return [name for name, var in sorted(slacks.items()) if result.values[var] > 1e-6]


def _together(
    model: Model, rows: dict[str, list[int]], stated: Mapping[str, float], time_limit_seconds: float
) -> tuple[str, float] | None:
    """The change of all the limits at once, where no single one is enough."""
    relaxed, slacks = _elastic(model, rows, 1.0)
    least = solve(relaxed, gap=0.0, time_limit_seconds=time_limit_seconds)
    if not least.has_solution:
        return None
    amounts = {name: _amount(least.values[slacks[name]], name) for name in rows}
    priced = relaxed.fixed({slacks[name]: amount for name, amount in amounts.items()})
    priced.costs, priced.constant = dict(model.costs), model.constant
    cost = solve(priced, gap=0.01, time_limit_seconds=time_limit_seconds)
    if not cost.has_solution:
        return None
    words = [_raised(model, rows[name], name, amount, stated) for name, amount in amounts.items() if amount > 0.0]
    return " and ".join(words), round(cost.objective, 2)


def _amount(slack: float, name: str) -> float:
    """What a limit is raised by: budgets by dollars and cents, everything else by whole units."""
    if "budget" in name:
        return -(-(slack - 1e-6) * 100 // 1) / 100 if slack > 1e-6 else 0.0
    return float(-(-(slack - 1e-6) // 1))


def _raised(model: Model, rows: list[int], name: str, amount: float, stated: Mapping[str, float]) -> str:
    limit = stated.get(name, max(model.rows[index][3] for index in rows))
    return f"raise {name} by {amount:,.2f} (to at most {limit + amount:,.2f})"


def _repair(
    model: Model, rows: list[int], name: str, stated: Mapping[str, float], time_limit_seconds: float
) -> tuple[str, float] | None:
    relaxed, slacks = _elastic(model, {name: rows}, 1.0)
    least = solve(relaxed, gap=0.0, time_limit_seconds=time_limit_seconds)
    if not least.has_solution:
        return None
    whole = _amount(least.values[slacks[name]], name)
    priced = relaxed.fixed({slacks[name]: whole})
    priced.costs = dict(model.costs)
    priced.constant = model.constant
    cost = solve(priced, gap=0.01, time_limit_seconds=time_limit_seconds)
    if not cost.has_solution:
        return None
    return _raised(model, rows, name, whole, stated), round(cost.objective, 2)
