"""What a calendar costs: coverage by paid capacity, rent for the rest, every hour booked once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.grid import Cell, Grid
from gpu_opt.lp.schedule import Placement, Room, standing_room
from gpu_opt.lp.variables import overlap_hours, paid_ratio

Hours = dict[tuple[str, int, str], float]


@dataclass(slots=True, kw_only=True)
class Usage:
    """Instance-hours. A source is a standing group, a term or a purchase.

    `alive` by (source, period, ""), `used` by (source, period, workload); `rented` by (pool, rent, period, workload);
    `planned` USD-hours of savings plans by (term, period, workload), `plan_hours` their instance-hours by pool;
    `busy` by (pool, phase, period, workload); `in_use` by (pool, period, workload); `peak` instances in use, and
    `rented_peak` of them rented, by (pool, period).
    """

    alive: Hours = field(default_factory=lambda: defaultdict(float))
    used: Hours = field(default_factory=lambda: defaultdict(float))
    rented: dict[tuple[str, int, int, str], float] = field(default_factory=lambda: defaultdict(float))
    planned: Hours = field(default_factory=lambda: defaultdict(float))
    plan_hours: Hours = field(default_factory=lambda: defaultdict(float))
    busy: dict[tuple[str, str, int, str], float] = field(default_factory=lambda: defaultdict(float))
    in_use: Hours = field(default_factory=lambda: defaultdict(float))
    peak: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    rented_peak: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))


def measure(data: LpData, grid: Grid, decision: Decision, placements: tuple[Placement, ...]) -> Usage:
    """Books every instance-hour of a calendar, pool by pool."""
    usage = Usage()
    room = standing_room(data, decision)
    budget = dict(decision.covered_hours)
    _alive(data, decision, usage)
    for pool in sorted(data.pools):
        mine = [p for p in placements if p.pool == pool]
        if data.pools[pool].spot or pool not in grid.covered:
            _rent_directly(data, grid, decision, pool, mine, usage)
        else:
            _cover(data, grid, decision, pool, mine, room, budget, usage)
        _peaks(data, grid, decision, pool, mine, room, usage)
    return usage


def overfull(data: LpData, usage: Usage) -> frozenset[tuple[str, int]]:
    """(pool, period) pairs in which two or more workloads of jobs fill more than `occupancy` of the paid hours."""
    places = (
        {s.id: s.pool for s in data.standing}
        | {t.id: t.pool for t in data.terms}
        | {p.id: p.pool for p in data.purchases}
    )
    jobs = {d.workload for d in data.runs} | {d.workload for d in data.fluids}
    paid: dict[tuple[str, int], float] = defaultdict(float)
    used: dict[tuple[str, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (source, period, _), hours in usage.alive.items():
        paid[places[source], period] += hours
    for (source, period, workload), hours in usage.used.items():
        if workload in jobs and hours > 1e-6:
            used[places[source], period][workload] += hours
    return frozenset(
        key
        for key, by_workload in used.items()
        if len(by_workload) > 1 and sum(by_workload.values()) > data.occupancy_fraction * paid[key] + 1e-6 * paid[key]
    )


def _alive(data: LpData, decision: Decision, usage: Usage) -> None:
    for source, start, end, count in sources(data, decision):
        for p, period in enumerate(data.horizon.periods):
            hours = overlap_hours(start, end, period.start_hours, period.end_hours)
            if hours:
                usage.alive[source, p, ""] += hours * count


def sources(data: LpData, decision: Decision) -> list[tuple[str, float, float, float]]:
    """(source, start, end, instances) of everything that is paid for whether used or not, savings plans included."""
    found: list[tuple[str, float, float, float]] = []
    for s in data.standing:
        found.append((s.id, s.from_hours, s.to_hours, float(s.instances)))
    for term in data.terms:
        for k, start in enumerate(term.starts):
            units = decision.units.get((term.id, k), 0.0)
            if units:
                found.append((term.id, start.start_hours, start.end_hours, units))
    for purchase in data.purchases:
        for k, delivery in enumerate(purchase.deliveries):
            bought = decision.bought.get((purchase.id, k), 0)
            if bought:
                found.append((purchase.id, delivery.start_hours, delivery.end_hours, float(bought)))
    return found


def service_instances(data: LpData, decision: Decision, d: int, c: int, b: int) -> float:
    """Instances that a service's replicas of one kind take in a block."""
    candidate = data.replica_candidates[data.services[d].workload][c]
    return float(decision.hosts.get((d, c, b), 0) * (candidate.instances if candidate.per_instance == 1 else 1))


def _standing_use(
    data: LpData, decision: Decision, pool: str, cell: Cell, mine: list[Placement]
) -> dict[tuple[str, str, bool], float]:
    """Instances in use all through a cell, by (workload, phase, is a job)."""
    middle = (cell.start_hours + cell.end_hours) / 2
    use: dict[tuple[str, str, bool], float] = defaultdict(float)
    for placement in mine:
        if placement.start_hours <= middle < placement.end_hours:
            use[placement.workload, placement.candidate.phase, True] += placement.instances
    share = (cell.low_fraction + cell.high_fraction) / 2
    for d, c, b in decision.hosts:
        demand = data.services[d]
        candidate = data.replica_candidates[demand.workload][c]
        block = demand.blocks[b]
        inside = demand.from_hours <= middle < demand.to_hours and block.low_fraction <= share < block.high_fraction
        if candidate.pool == pool and inside:
            use[demand.workload, candidate.phase, False] += service_instances(data, decision, d, c, b)
    return use


def _fine(data: LpData, cells: tuple[Cell, ...], mine: list[Placement]) -> list[tuple[int, Cell]]:
    """Cells cut further at every start and end, each with the index of the cell that it came from."""
    marks = sorted({t for p in mine for t in (p.start_hours, p.end_hours)})
    found = []
    for index, cell in enumerate(cells):
        inside = [t for t in marks if cell.start_hours + 1e-6 < t < cell.end_hours - 1e-6]
        times = [cell.start_hours, *inside, cell.end_hours]
        for start, end in itertools.pairwise(times):
            found.append(
                (
                    index,
                    Cell(
                        start_hours=start,
                        end_hours=end,
                        period=cell.period,
                        low_fraction=cell.low_fraction,
                        high_fraction=cell.high_fraction,
                    ),
                )
            )
    return found


def _rent_directly(
    data: LpData, grid: Grid, decision: Decision, pool: str, mine: list[Placement], usage: Usage
) -> None:
    """Nothing is shared: each workload rents what it runs."""
    for placement in mine:
        ratio = paid_ratio(data, placement.candidate)
        for p, period in enumerate(data.horizon.periods):
            hours = overlap_hours(placement.start_hours, placement.end_hours, period.start_hours, period.end_hours)
            _book(usage, pool, 0, p, placement.workload, placement.candidate.phase, hours * placement.instances * ratio)
    for (d, c, index), hours in decision.fluid.items():
        demand = data.fluids[d]
        unit = data.fluid_candidates[demand.workload, demand.key][c]
        if unit.pool == pool:
            cell = grid.cells[pool][index]
            _book(usage, pool, 0, cell.period, demand.workload, unit.phase, hours * unit.instances)
    for cell in grid.cells[pool]:
        for (workload, phase, job), count in _standing_use(data, decision, pool, cell, []).items():
            if not job:
                _book(usage, pool, 0, cell.period, workload, phase, count * cell.hours)


def _book(usage: Usage, pool: str, rent: int, period: int, workload: str, phase: str, hours: float) -> None:
    if hours > 0.0:
        usage.rented[pool, rent, period, workload] += hours
        usage.in_use[pool, period, workload] += hours
        usage.busy[pool, phase, period, workload] += hours


def _cover(
    data: LpData,
    grid: Grid,
    decision: Decision,
    pool: str,
    mine: list[Placement],
    room: Room,
    budget: dict[tuple[str, int, str], float],
    usage: Usage,
) -> None:
    cells = grid.cells[pool]
    rent: dict[tuple[int, str], float] = defaultdict(float)
    free: dict[int, float] = defaultdict(float)
    taken: dict[tuple[int, str], float] = defaultdict(float)
    for index, cell in _fine(data, cells, mine):
        middle = (cell.start_hours + cell.end_hours) / 2
        left = room.at(room.alive[pool], middle) * cell.hours
        use = _standing_use(data, decision, pool, cell, mine)
        for (workload, phase, job), count in sorted(use.items(), key=lambda item: (item[0][2], item[0])):
            hours = count * cell.hours
            usage.in_use[pool, cell.period, workload] += hours
            usage.busy[pool, phase, cell.period, workload] += hours
            covered = min(hours, left, _allowed(budget, pool, cell.period, workload, job))
            left -= covered
            _spend(budget, pool, cell.period, workload, covered)
            taken[index, workload] += covered
            rent[index, workload] += hours - covered
        free[index] += left
    for (d, c, index), unit_hours in sorted(decision.fluid.items()):
        demand = data.fluids[d]
        unit = data.fluid_candidates[demand.workload, demand.key][c]
        if unit.pool != pool:
            continue
        hours, period = unit_hours * unit.instances, cells[index].period
        usage.in_use[pool, period, demand.workload] += hours
        usage.busy[pool, unit.phase, period, demand.workload] += hours
        covered = min(hours, free[index], _allowed(budget, pool, period, demand.workload, True))
        free[index] -= covered
        _spend(budget, pool, period, demand.workload, covered)
        taken[index, demand.workload] += covered
        rent[index, demand.workload] += hours - covered
    _book_rent(data, decision, pool, cells, rent, usage)
    _book_covered(data, decision, pool, cells, taken, usage)


def _allowed(budget: Mapping[tuple[str, int, str], float], pool: str, period: int, workload: str, job: bool) -> float:
    return max(0.0, budget.get((pool, period, workload), float("inf"))) if job else float("inf")


def _spend(budget: dict[tuple[str, int, str], float], pool: str, period: int, workload: str, hours: float) -> None:
    if (pool, period, workload) in budget:
        budget[pool, period, workload] -= hours


def _book_rent(
    data: LpData,
    decision: Decision,
    pool: str,
    cells: tuple[Cell, ...],
    rent: Mapping[tuple[int, str], float],
    usage: Usage,
) -> None:
    """Rented hours of each cell: savings plans first, then offers from the cheapest up to what each allows."""
    rents = data.pools[pool].rents
    for index, cell in enumerate(cells):
        wanted = {w: h for (i, w), h in sorted(rent.items()) if i == index and h > 1e-9}
        total = sum(wanted.values())
        if total <= 0.0:
            continue
        left = total
        for (term_id, p, i), hours in sorted(decision.plan.items()):
            if (p, i) == (pool, index):
                rate = next(t for t in data.terms if t.id == term_id).plan_rates[pool]
                planned = min(hours, left)
                left -= planned
                for workload, share in wanted.items():
                    usage.planned[term_id, cell.period, workload] += planned * rate * share / total
                    usage.plan_hours[pool, cell.period, workload] += planned * share / total
        here = [r for r, rent in enumerate(rents) if rent.from_hours <= cell.start_hours + 1e-6]
        order = sorted(here, key=lambda r: (rents[r].usd_per_instance_hour[cell.period], r))
        for number, r in enumerate(order):
            cap = rents[r].max_instances
            last = number == len(order) - 1
            hours = left if cap is None or last else min(left, cap * cell.hours)
            left -= hours
            for workload, share in wanted.items():
                if hours > 1e-12:
                    usage.rented[pool, r, cell.period, workload] += hours * share / total


def _book_covered(
    data: LpData,
    decision: Decision,
    pool: str,
    cells: tuple[Cell, ...],
    taken: Mapping[tuple[int, str], float],
    usage: Usage,
) -> None:
    """Covered hours of each cell go to the sources that stand there, in proportion to what each has."""
    owned = {s.id for s in data.standing if s.pool == pool} | {p.id for p in data.purchases if p.pool == pool}
    owned |= {t.id for t in data.terms if t.pool == pool and not t.market.is_savings_plan}
    mine = [source for source in sources(data, decision) if source[0] in owned]
    for (index, workload), hours in sorted(taken.items()):
        cell = cells[index]
        middle = (cell.start_hours + cell.end_hours) / 2
        here = [(name, count) for name, start, end, count in mine if start <= middle < end]
        total = sum(count for _, count in here)
        for name, count in here:
            if hours > 0.0:
                usage.used[name, cell.period, workload] += hours * count / total


def _peaks(
    data: LpData, grid: Grid, decision: Decision, pool: str, mine: list[Placement], room: Room, usage: Usage
) -> None:
    fluid: dict[int, float] = defaultdict(float)
    for (d, c, index), hours in decision.fluid.items():
        demand = data.fluids[d]
        unit = data.fluid_candidates[demand.workload, demand.key][c]
        if unit.pool == pool:
            fluid[index] += hours * unit.instances
    for index, cell in _fine(data, grid.cells[pool], mine):
        count = sum(_standing_use(data, decision, pool, cell, mine).values())
        if fluid[index] > 0.0:
            count += ceiling(fluid[index] / grid.cells[pool][index].hours)
        key = (pool, cell.period)
        usage.peak[key] = max(usage.peak[key], count)
        alive = room.at(room.alive[pool], (cell.start_hours + cell.end_hours) / 2)
        usage.rented_peak[key] = max(usage.rented_peak[key], count - alive)
