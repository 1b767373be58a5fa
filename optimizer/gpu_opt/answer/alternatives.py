"""The runner-up and its switch price, and what one more unit of a limit is worth: each by solving again."""

from __future__ import annotations

from dataclasses import replace

from gpu_opt.answer.assemble import Solved
from gpu_opt.candidates.build import Built
from gpu_opt.domain.plan import Binding, RunnerUp
from gpu_opt.lp.data import LpData
from gpu_opt.lp.solver import solve

_MOST_BINDING = 3


def without_choice(built: Built, workload: str, banned: frozenset[tuple[str, str]]) -> LpData | None:
    """The same data where a workload may not use some (provider, instance type); None when nothing else is left."""
    data = built.data

    def kept(candidates: tuple) -> tuple:  # type: ignore[type-arg]
        pools = data.pools
        return tuple(c for c in candidates if (pools[c.pool].provider, pools[c.pool].instance_type) not in banned)

    if workload in data.run_candidates:
        left = kept(data.run_candidates[workload])
        return replace(data, run_candidates={**data.run_candidates, workload: left}) if left else None
    if workload in data.replica_candidates:
        before = data.replica_candidates[workload]
        left = kept(before)
        if not left:
            return None
        moved = {before.index(c): i for i, c in enumerate(left)}
        needed = {
            (name, moved[i] if name == workload else i, load): n
            for (name, i, load), n in data.needed.items()
            if name != workload or i in moved
        }
        return replace(data, replica_candidates={**data.replica_candidates, workload: left}, needed=needed)
    units = {key: kept(group) if key[0] == workload else group for key, group in data.fluid_candidates.items()}
    return replace(data, fluid_candidates=units) if all(units.values()) else None


def describe_runner_up(first: Solved, second: Solved, workload: str) -> RunnerUp:
    """What the second plan uses for the workload, what it costs more, and below which price it would win."""
    offers = {offer: (hours, rate) for offer, hours, rate in _rent_of(second, workload)}
    before = [offer for offer, _, _ in _rent_of(first, workload)]
    name = max(offers, key=lambda o: (offers[o][0] * offers[o][1], o)) if offers else ""
    extra = round(second.total_usd - first.total_usd, 2)
    price = offers[name][1] if name else None
    wins = None
    if name and price is not None and offers[name][0] > 0.0:
        below = price - extra / offers[name][0]
        wins = below if below > 0.0 else None
    return RunnerUp(
        workload=workload,
        instead_of=", ".join(before[:2]),
        offer=name,
        total_usd=second.total_usd,
        extra_usd=extra,
        usd_per_instance_hour=price,
        wins_below_usd_per_instance_hour=wins,
    )


def _rent_of(solved: Solved, workload: str) -> list[tuple[str, float, float]]:
    """(offer, instance-hours, mean USD per instance-hour) of a workload, dearest first."""
    hours: dict[str, float] = {}
    usd: dict[str, float] = {}
    for line in solved.lines:
        if line.workload == workload and line.unit == "instance-hour" and line.offer:
            counts = line.label in ("rent", "committed", "annuity") or line.label.startswith(("existing", "commitment"))
            hours[line.offer] = hours.get(line.offer, 0.0) + (line.quantity if counts else 0.0)
            usd[line.offer] = usd.get(line.offer, 0.0) + line.usd
    found = [(o, hours[o], usd[o] / hours[o]) for o in usd if hours.get(o, 0.0) > 0.0]
    return sorted(found, key=lambda item: (-item[1] * item[2], item[0]))


def binding_limits(solved: Solved, *, worth: bool, time_limit_seconds: float) -> tuple[Binding, ...]:
    """Quotas and budgets that the plan touches; for a few of them what one more unit would save."""
    model = solved.program.run.model
    values = _values(solved)
    touched: dict[str, list[int]] = {}
    for index, (name, terms, _, high) in enumerate(model.rows):
        if not name.startswith(("C6_quota", "C14_total", "C14_period", "C14_capex")) or high == float("inf"):
            continue
        level = sum(values[var] * weight for var, weight in terms.items())
        if terms and level >= high - 1e-6 * max(1.0, abs(high)):
            label = name.partition("[")[2].rstrip("]").rpartition(",")[0] or name.partition("[")[0]
            touched.setdefault(label, []).append(index)
    found = []
    for number, (label, rows) in enumerate(sorted(touched.items())):
        value = _worth(solved, rows, time_limit_seconds) if worth and number < _MOST_BINDING else None
        found.append(Binding(limit=_limit_words(label), value_of_one_more_usd=value))
    return tuple(found)


def _limit_words(label: str) -> str:
    return {"C14_total": "total budget", "C14_capex": "capital budget", "C14_period": "budget per period"}.get(
        label, label
    )


def _values(solved: Solved) -> list[float]:
    return list(solved.decision.values)


def _worth(solved: Solved, rows: list[int], time_limit_seconds: float) -> float | None:
    """The saving of one more unit: the same program with the limit one higher."""
    model = solved.program.run.model
    raised = replace(
        model,
        rows=[
            (name, terms, low, high + 1.0 if index in rows else high)
            for index, (name, terms, low, high) in enumerate(model.rows)
        ],
    )
    result = solve(raised, gap=0.0005, time_limit_seconds=time_limit_seconds)
    if not result.has_solution:
        return None
    return round(max(0.0, solved.decision.minimized_usd - result.objective), 2)
