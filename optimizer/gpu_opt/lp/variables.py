"""The program's variables, and what each of them uses and costs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gpu_opt.domain.program import RunCandidate, RunDemand
from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.grid import Cell, Grid
from gpu_opt.lp.solver import Model
from gpu_opt.records import record

AFTER = -1
_EARLY_USD = 0.002  # of starting everything as late as possible: below a cent in all, so that only ties are decided
Expression = dict[int, float]


@record
class CostTerm:
    """USD per unit of a variable, booked in a period (AFTER: after the horizon) with a provider."""

    var: int
    usd: float
    period: int
    provider: str


@dataclass(slots=True, kw_only=True)
class RunVars:
    """Variables by what they decide. Keys are indices of demands (d), candidates (c), starts (k), cells and blocks (b).

    `once` is 1 when run d takes candidate c at start k; `many` counts recurring runs of d on c, `lanes` are their
    gang-hours in a cell; `fluid` unit-hours of divisible work; `replicas` and the `hosts` that hold them; `rent` rented
    instance-hours, `plan` those under a savings plan; `units` commitments started, `bought` systems delivered.
    `uses` are instance-hours by pool and cell, `job_uses` those of jobs by workload; `left` (source, hours that later
    periods take over); `named` the few variables that are read by name.
    """

    model: Model = field(default_factory=Model)
    once: dict[tuple[int, int, int], int] = field(default_factory=dict)
    many: dict[tuple[int, int], int] = field(default_factory=dict)
    lanes: dict[tuple[int, int, int], int] = field(default_factory=dict)
    fluid: dict[tuple[int, int, int], int] = field(default_factory=dict)
    replicas: dict[tuple[int, int, int], int] = field(default_factory=dict)
    hosts: dict[tuple[int, int, int], int] = field(default_factory=dict)
    rent: dict[tuple[str, int, int], int] = field(default_factory=dict)
    plan: dict[tuple[str, str, int], int] = field(default_factory=dict)
    units: dict[tuple[str, int], int] = field(default_factory=dict)
    bought: dict[tuple[str, int], int] = field(default_factory=dict)
    uses: dict[tuple[str, int], Expression] = field(default_factory=lambda: defaultdict(dict))
    job_uses: dict[tuple[str, int], dict[str, Expression]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    costs: list[CostTerm] = field(default_factory=list)
    left: list[tuple[str, int]] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)

    def use(self, pool: str, cell: int, var: int, hours: float, workload: str, *, job: bool) -> None:
        """Books instance-hours of a variable in a cell."""
        expression = self.uses[pool, cell]
        expression[var] = expression.get(var, 0.0) + hours
        if job:
            own = self.job_uses[pool, cell][workload]
            own[var] = own.get(var, 0.0) + hours

    def charge(self, var: int, usd: float, period: int, provider: str) -> None:
        """Books USD per unit of a variable."""
        if usd:
            self.costs.append(CostTerm(var=var, usd=usd, period=period, provider=provider))


def make_variables(data: LpData, grid: Grid) -> RunVars:
    """All variables, in a fixed order."""
    run = RunVars()
    for d, demand in enumerate(data.runs):
        if demand.recurring:
            _recurring_runs(run, data, grid, d, demand)
        else:
            _single_runs(run, data, grid, d, demand)
    _fluid(run, data, grid)
    _services(run, data, grid)
    _capacity(run, data, grid)
    return run


def direct_price(data: LpData, grid: Grid, pool: str, period: int) -> float:
    """What an instance-hour costs where work is charged directly: 0 where rent variables carry the price.

    Without a period (-1) the lowest of all periods.
    """
    if pool in grid.covered:
        return 0.0
    rents = data.pools[pool].rents
    if rents and period < 0:
        return min(rents[0].usd_per_instance_hour)
    return rents[0].usd_per_instance_hour[period] if rents else 0.0


def spot_price(data: LpData, grid: Grid, pool: str, period: int) -> float:
    """What an hour costs on spot where rent variables carry the price of all hours that a run takes, though those in
    which it waits for an instance aren't paid for; elsewhere 0."""
    if pool not in grid.covered or not data.pools[pool].spot:
        return 0.0
    prices = data.pools[pool].rents[0].usd_per_instance_hour
    return max(prices) if period < 0 else prices[period]


def overlap_hours(start: float, end: float, low: float, high: float) -> float:
    """Hours that [start, end) and [low, high) share."""
    return max(0.0, min(end, high) - max(start, low))


def paid_ratio(data: LpData, candidate: RunCandidate) -> float:
    """Paid hours over elapsed hours of a run (below 1 on spot, where lost instances aren't paid for)."""
    paid = float(ceiling(candidate.paid_hours)) if data.whole_hours else candidate.paid_hours
    return paid / candidate.elapsed_hours


def _single_runs(run: RunVars, data: LpData, grid: Grid, d: int, demand: RunDemand) -> None:
    early = _EARLY_USD / (data.horizon.hours * len(data.runs))
    for c, candidate in enumerate(data.run_candidates[demand.workload]):
        pool = data.pools[candidate.pool]
        for k, start in enumerate(grid.starts.get((d, c), ())):
            var = run.model.var(f"run[{d},{c},{k}]", high=1.0, integer=True)
            run.once[d, c, k] = var
            run.model.cost({var: early * start})
            end = start + candidate.elapsed_hours
            for p, period in enumerate(data.horizon.periods):
                hours = overlap_hours(start, end, period.start_hours, period.end_hours)
                paid = hours * candidate.instances * paid_ratio(data, candidate)
                run.charge(
                    var, (paid - hours * candidate.instances) * spot_price(data, grid, pool.id, p), p, pool.provider
                )
                usd = direct_price(data, grid, pool.id, p) + pool.busy_usd_per_hour.get(candidate.phase, 0.0)
                run.charge(var, paid * usd, p, pool.provider)
            if demand.usd_per_hour_late is not None:
                late = max(0.0, end - demand.deadline_hours)
                run.charge(var, late * demand.usd_per_hour_late, data.period_at(end - 1e-6), "")
            if candidate.pool in grid.coupled:
                for index, cell in enumerate(grid.cells[candidate.pool]):
                    if start <= (cell.start_hours + cell.end_hours) / 2 < end:
                        run.use(pool.id, index, var, cell.hours * candidate.instances, demand.workload, job=True)


def _recurring_runs(run: RunVars, data: LpData, grid: Grid, d: int, demand: RunDemand) -> None:
    window = demand.latest_hours - demand.from_hours
    for c, candidate in enumerate(data.run_candidates[demand.workload]):
        if max(candidate.elapsed_hours, candidate.p95_hours) > window + 1e-9:
            continue
        pool = data.pools[candidate.pool]
        var = run.model.var(f"runs[{d},{c}]", high=float(demand.runs), integer=True)
        run.many[d, c] = var
        hours = candidate.instances * candidate.elapsed_hours * paid_ratio(data, candidate)
        waiting = hours - candidate.instances * candidate.elapsed_hours
        period = max(demand.period, 0)
        run.charge(var, waiting * spot_price(data, grid, pool.id, demand.period), period, pool.provider)
        usd = direct_price(data, grid, pool.id, demand.period) + pool.busy_usd_per_hour.get(candidate.phase, 0.0)
        run.charge(var, hours * usd, period, pool.provider)
        if candidate.pool not in grid.coupled:
            continue
        for index, cell in enumerate(grid.cells[candidate.pool]):
            if demand.from_hours - 1e-9 <= cell.start_hours and cell.end_hours <= demand.latest_hours + 1e-9:
                lane = run.model.var(f"lane[{d},{c},{index}]", high=cell.hours * demand.runs)
                run.lanes[d, c, index] = lane
                run.use(pool.id, index, lane, float(candidate.instances), demand.workload, job=True)


def _fluid(run: RunVars, data: LpData, grid: Grid) -> None:
    for d, demand in enumerate(data.fluids):
        for c, candidate in enumerate(data.fluid_candidates[demand.workload, demand.key]):
            pool = data.pools[candidate.pool]
            for index, cell in enumerate(grid.cells[candidate.pool]):
                if cell.start_hours < demand.from_hours - 1e-9 or cell.end_hours > demand.to_hours + 1e-9:
                    continue
                var = run.model.var(f"work[{d},{c},{index}]")
                run.fluid[d, c, index] = var
                usd = direct_price(data, grid, pool.id, cell.period) + pool.busy_usd_per_hour.get(candidate.phase, 0.0)
                run.charge(var, usd * candidate.instances, cell.period, pool.provider)
                run.use(pool.id, index, var, float(candidate.instances), demand.workload, job=True)


def _services(run: RunVars, data: LpData, grid: Grid) -> None:
    for d, demand in enumerate(data.services):
        for c, candidate in enumerate(data.replica_candidates[demand.workload]):
            pool = data.pools[candidate.pool]
            for b, block in enumerate(demand.blocks):
                key = (d, c, b)
                most = float(data.replicas_needed(demand.workload, c, block.requests_per_second) + demand.min_replicas)
                if demand.round_robin or demand.zone_share_fraction is not None:
                    most = float("inf")
                replicas = run.model.var(f"replicas[{d},{c},{b}]", high=most, integer=True)
                run.replicas[key] = replicas
                if candidate.per_instance > 1:
                    hosts = run.model.var(f"hosts[{d},{c},{b}]", integer=True)
                    held = {replicas: 1.0, hosts: -float(candidate.per_instance)}
                    run.model.row(f"C3_hosts[{d},{c},{b}]", held, low=1.0 - candidate.per_instance, high=0.0)
                    run.hosts[key], weight = hosts, 1.0
                else:
                    run.hosts[key], weight = replicas, float(candidate.instances)
                for index, cell in enumerate(grid.cells[candidate.pool]):
                    if not _in_block(cell, demand.from_hours, demand.to_hours, block.low_fraction, block.high_fraction):
                        continue
                    usd = direct_price(data, grid, pool.id, cell.period)
                    usd += pool.busy_usd_per_hour.get(candidate.phase, 0.0)
                    run.charge(run.hosts[key], usd * weight * cell.hours, cell.period, pool.provider)
                    run.use(pool.id, index, run.hosts[key], weight * cell.hours, demand.workload, job=False)


def _in_block(cell: Cell, start: float, end: float, low: float, high: float) -> bool:
    return (
        start - 1e-9 <= cell.start_hours
        and cell.end_hours <= end + 1e-9
        and low - 1e-9 <= cell.low_fraction
        and cell.high_fraction <= high + 1e-9
    )


def _capacity(run: RunVars, data: LpData, grid: Grid) -> None:
    for pool_id in sorted(grid.covered):
        pool = data.pools[pool_id]
        for index, cell in enumerate(grid.cells[pool_id]):
            if not run.uses.get((pool_id, index)):
                continue
            for r, rent in enumerate(pool.rents):
                most = cell.hours * rent.max_instances if rent.max_instances is not None else float("inf")
                if rent.from_hours > cell.start_hours + 1e-6:
                    most = 0.0
                var = run.model.var(f"rent[{pool_id},{r},{index}]", high=most)
                run.rent[pool_id, r, index] = var
                run.charge(var, rent.usd_per_instance_hour[cell.period], cell.period, pool.provider)
            for term in data.terms:
                if pool_id in term.plan_rates:
                    run.plan[term.id, pool_id, index] = run.model.var(f"plan[{term.id},{pool_id},{index}]")
    end = data.horizon.hours
    for term in data.terms:
        for k, start in enumerate(term.starts):
            most = float(term.max_units) if term.max_units is not None else float("inf")
            var = run.model.var(f"units[{term.id},{k}]", high=most, integer=not term.market.is_savings_plan)
            run.units[term.id, k] = var
            for p, period in enumerate(data.horizon.periods):
                hours = overlap_hours(
                    start.start_hours, min(start.end_hours, end), period.start_hours, period.end_hours
                )
                run.charge(var, hours * term.usd_per_unit_hour, p, term.provider)
            run.charge(var, max(0.0, start.end_hours - end) * term.usd_per_unit_hour, AFTER, term.provider)
    for purchase in data.purchases:
        running = purchase.annuity_usd_per_hour + sum(line.usd_per_instance_hour for line in purchase.lines)
        for k, delivery in enumerate(purchase.deliveries):
            most = float(purchase.max_instances) if purchase.max_instances is not None else float("inf")
            var = run.model.var(f"bought[{purchase.id},{k}]", high=most, integer=True)
            run.bought[purchase.id, k] = var
            for p, period in enumerate(data.horizon.periods):
                hours = overlap_hours(
                    delivery.start_hours, min(delivery.end_hours, end), period.start_hours, period.end_hours
                )
                run.charge(var, hours * running, p, "onprem")
            run.charge(var, max(0.0, delivery.end_hours - end) * purchase.annuity_usd_per_hour, AFTER, "onprem")
