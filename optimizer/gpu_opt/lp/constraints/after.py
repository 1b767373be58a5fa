"""The rest of terms beyond the horizon: what recurring demand would use is left to later periods."""

from __future__ import annotations

import itertools
from collections import defaultdict

from gpu_opt.lp.data import LpData
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.variables import AFTER, Expression, RunVars


def add_after_horizon(run: RunVars, data: LpData, grid: Grid) -> None:
    """C15: of a term's hours after the horizon, those that recurring demand would use aren't charged now."""
    for pool in sorted(grid.covered):
        sources = _sources(run, data, pool)
        if not sources or not data.after:
            continue
        for start, end, level_fraction in _stretches(data, sources):
            for low, high in _slices(grid, pool):
                _left(run, data, grid, pool, sources, (start, end, level_fraction), (low, high))
    for term in data.terms:
        if term.market.is_savings_plan:
            _plan_left(run, data, grid, term.id)


def _sources(run: RunVars, data: LpData, pool: str) -> list[tuple[str, str, float, list[tuple[int, float]]]]:
    """(name, provider, USD per hour of the rest, [(variable, end)]) of each source that reaches beyond the horizon."""
    end = data.horizon.hours
    found = []
    for term in data.terms:
        if term.pool == pool and not term.market.is_savings_plan:
            ends = [(run.units[term.id, k], s.end_hours) for k, s in enumerate(term.starts) if s.end_hours > end]
            if ends:
                found.append((term.id, term.provider, term.usd_per_unit_hour, ends))
    for purchase in data.purchases:
        if purchase.pool == pool:
            ends = [
                (run.bought[purchase.id, k], d.end_hours)
                for k, d in enumerate(purchase.deliveries)
                if d.end_hours > end
            ]
            if ends:
                found.append((purchase.id, "onprem", purchase.annuity_usd_per_hour, ends))
    return found


def _stretches(
    data: LpData, sources: list[tuple[str, str, float, list[tuple[int, float]]]]
) -> list[tuple[float, float, float]]:
    marks = {data.horizon.hours} | {e for _, _, _, ends in sources for _, e in ends}
    last = max(marks)
    stretches = []
    for after in data.after:
        inside = sorted(
            {after.start_hours, min(after.end_hours, last)}
            | {m for m in marks if after.start_hours < m < after.end_hours}
        )
        stretches += [(a, b, after.level_fraction) for a, b in itertools.pairwise(inside) if b > a]
    return stretches


def _slices(grid: Grid, pool: str) -> list[tuple[float, float]]:
    return sorted({(cell.low_fraction, cell.high_fraction) for cell in grid.cells[pool]})


def _left(
    run: RunVars,
    data: LpData,
    grid: Grid,
    pool: str,
    sources: list[tuple[str, str, float, list[tuple[int, float]]]],
    stretch: tuple[float, float, float],
    day: tuple[float, float],
) -> None:
    start, end, level_fraction = stretch
    hours = (end - start) * (day[1] - day[0])
    label = f"{pool},{start:.6g},{day[0]:.6g}"
    level = recurring_use(run, data, grid, pool, day, level_fraction, label)
    total: Expression = {}
    for name, provider, usd, ends in sources:
        alive = {var: -hours for var, last in ends if last >= end - 1e-9}
        if not alive:
            continue
        left = run.model.var(f"left[{name},{label}]")
        run.model.row(f"C15_alive[{name},{label}]", {left: 1.0, **alive}, high=0.0)
        run.charge(left, -usd, AFTER, provider)
        run.left.append((name, left))
        total[left] = 1.0
    if total:
        terms: Expression = dict(total)
        for var, value in level.items():
            terms[var] = terms.get(var, 0.0) - value * hours
        run.model.row(f"C15_level[{label}]", terms, high=0.0)


def recurring_use(
    run: RunVars, data: LpData, grid: Grid, pool: str, day: tuple[float, float], level_fraction: float, label: str
) -> Expression:
    """Instances that recurring demand uses on average in a slice of the day, at a level of the last period's."""
    last = len(data.horizon.periods) - 1
    period = data.horizon.periods[last]
    level: Expression = defaultdict(float)
    share = day[1] - day[0]
    middle = (day[0] + day[1]) / 2
    cells = list(enumerate(grid.cells[pool]))
    inside = {i for i, cell in cells if cell.period == last and cell.low_fraction <= middle < cell.high_fraction}
    for (d, c, index), var in run.fluid.items():
        demand = data.fluids[d]
        candidate = data.fluid_candidates[demand.workload, demand.key][c]
        if candidate.pool == pool and demand.recurring and demand.period == last and index in inside:
            level[var] += level_fraction * candidate.instances / (period.hours * share)
    for (d, c), var in run.many.items():
        candidate_run = data.run_candidates[data.runs[d].workload][c]
        if (
            candidate_run.pool == pool
            and data.runs[d].period == last
            and data.runs[d].latest_hours >= period.end_hours - 1e-9
        ):
            hours = candidate_run.instances * candidate_run.elapsed_hours
            level[var] += level_fraction * hours / period.hours
    _service_level(run, data, pool, middle, level_fraction, level, label)
    return dict(level)


def _service_level(
    run: RunVars, data: LpData, pool: str, middle: float, level_fraction: float, level: Expression, label: str
) -> None:
    last = len(data.horizon.periods) - 1
    end = data.horizon.hours
    for d, demand in enumerate(data.services):
        if demand.period != last or demand.to_hours < end - 1e-9:
            continue
        for b, block in enumerate(demand.blocks):
            if not block.low_fraction <= middle < block.high_fraction:
                continue
            kinds = data.replica_candidates[demand.workload]
            kept: Expression = {}
            for c, candidate in enumerate(kinds):
                if (d, c, b) not in run.replicas:
                    continue
                if level_fraction >= 1.0:
                    if candidate.pool == pool:
                        level[run.hosts[d, c, b]] += candidate.instances if candidate.per_instance == 1 else 1.0
                    continue
                if candidate.pool == pool:
                    later = _resized(run, data, d, b, c, level_fraction, label, kept)
                    level[later] += float(candidate.instances)
            if kept:
                run.model.row(f"C15_resized[{d},{b},{label}]", kept, high=1.0)


def _resized(
    run: RunVars, data: LpData, d: int, b: int, c: int, level_fraction: float, label: str, kept: Expression
) -> int:
    """Instances of one kind after the horizon: sized anew for the lower load, never above the last period's."""
    demand = data.services[d]
    candidate = data.replica_candidates[demand.workload][c]
    load = demand.blocks[b].requests_per_second * level_fraction
    needed = max(data.replicas_needed(demand.workload, c, load), demand.min_replicas)
    hosts = -(-needed // candidate.per_instance)
    later = run.model.var(f"later[{d},{b},{c},{label}]", high=float(hosts), integer=True)
    run.model.row(f"C15_later[{d},{b},{c},{label}]", {later: 1.0, run.hosts[d, c, b]: -1.0}, high=0.0)
    if hosts:
        kept[later] = 1.0 / hosts
    return later


def _plan_left(run: RunVars, data: LpData, grid: Grid, term_id: str) -> None:
    """A savings plan's rest: dollars that recurring demand would use at the plan's prices."""
    term = next(t for t in data.terms if t.id == term_id)
    end = data.horizon.hours
    ends = [(run.units[term.id, k], s.end_hours) for k, s in enumerate(term.starts) if s.end_hours > end]
    pools = [pool for pool in sorted(term.plan_rates) if pool in data.pools]
    if not ends or not pools or not data.after:
        return
    stretches = _stretches(data, [(term.id, term.provider, 1.0, ends)])
    for start, stop, level_fraction in stretches:
        for low, high in _slices(grid, pools[0]):
            hours = (stop - start) * (high - low)
            label = f"{term.id},{start:.6g},{low:.6g}"
            left = run.model.var(f"left[{label}]")
            alive = {var: -hours for var, last in ends if last >= stop - 1e-9}
            run.model.row(f"C15_alive[{label}]", {left: 1.0, **alive}, high=0.0)
            terms: Expression = {left: 1.0}
            for pool in pools:
                level = recurring_use(run, data, grid, pool, (low, high), level_fraction, f"{label},{pool}")
                for var, value in level.items():
                    terms[var] = terms.get(var, 0.0) - value * hours * term.plan_rates[pool]
            run.model.row(f"C15_level[{label}]", terms, high=0.0)
            run.charge(left, -term.usd_per_unit_hour, AFTER, term.provider)
            run.left.append((term.id, left))
