"""The plan from its parts, with every total taken from the cost lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gpu_opt.answer.allocations import choices_of, workload_plans
from gpu_opt.answer.calendar import scheduled_runs
from gpu_opt.answer.commitments import commitment_plans, purchase_plans
from gpu_opt.answer.evidence import evidence
from gpu_opt.answer.line import AFTER_HORIZON
from gpu_opt.answer.lines import cost_lines
from gpu_opt.answer.notices import notices
from gpu_opt.answer.uncertainty import cost_range_usd
from gpu_opt.candidates.build import Built
from gpu_opt.domain.option import Layout, Rejection, ReplicaOption
from gpu_opt.domain.plan import Binding, CostLine, FleetEntry, Plan, RunnerUp
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, GpuHours
from gpu_opt.lp.build import Program
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import Usage, measure, sources
from gpu_opt.lp.schedule import Placement
from gpu_opt.records import record
from gpu_opt.units import HOURS_PER_YEAR

MOST_REJECTED = 2000
_CENT_USD = 0.01


@record
class Solved:
    """A program with the decision taken and the calendar built from it; `bound_usd` is of the unrestricted program."""

    built: Built
    program: Program
    decision: Decision
    placements: tuple[Placement, ...]
    usage: Usage
    lines: tuple[CostLine, ...]
    bound_usd: float
    proved: bool

    @property
    def total_usd(self) -> float:
        """The sum of the cost lines."""
        return total(self.lines)


@record
class Stamp:
    """What identifies the inputs: hashes, dates, versions; and the gap asked for."""

    workload_sha256: str = ""
    prices_sha256: str = ""
    prices_as_of: str = ""
    prices_oldest_as_of: str = ""
    model_version: str = ""
    gap: float = 0.005
    coverage_gaps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def total(lines: Iterable[CostLine]) -> float:
    """Exact to the cent."""
    return sum(round(line.usd * 100) for line in lines) / 100


def settle(
    built: Built,
    program: Program,
    decision: Decision,
    placements: tuple[Placement, ...],
    bound_usd: float,
    proved: bool,
) -> Solved:
    """Books a calendar and prices it."""
    usage = measure(built.data, program.grid, decision, placements)
    lines = cost_lines(built.data, decision, usage, placements, member_shares(built))
    return Solved(
        built=built,
        program=program,
        decision=decision,
        placements=placements,
        usage=usage,
        lines=lines,
        bound_usd=bound_usd,
        proved=proved,
    )


def member_shares(built: Built) -> dict[str, dict[str, float]]:
    """How a merged service's cost falls on its members: by their share of the first block's load."""
    shares: dict[str, dict[str, float]] = {}
    for name, members in built.members.items():
        if len(members) > 1:
            peaks = {m.name: max((b.requests_per_second for b in m.blocks), default=0.0) for m in members}
            whole = sum(peaks.values())
            shares[name] = {m: (p / whole if whole else 1.0 / len(peaks)) for m, p in sorted(peaks.items())}
    return shares


def assemble(  # long: a plan has many fields, one a line
    question: Question,
    solved: Solved,
    stamp: Stamp,
    runner_up: RunnerUp | None,
    binding: tuple[Binding, ...],
    confirmed: Mapping[tuple[str, str, float, Layout], ReplicaOption],
) -> Plan:
    """The plan, not yet verified. `confirmed` are the options that a simulation confirmed."""
    built, data, decision = solved.built, solved.built.data, solved.decision
    shares = member_shares(built)
    choices = choices_of(data, decision, solved.placements, confirmed)
    workloads = workload_plans(question, built, solved.usage, choices, solved.lines, shares)
    objective = solved.total_usd
    bound, gap = _proof(solved)
    batches = [w.name for w in question.workloads if isinstance(w, BatchJob)]
    low, high = cost_range_usd(solved.lines, choices, objective)
    certified = solved.proved and gap <= stamp.gap + 1e-9
    return Plan(
        status="optimal" if certified else "feasible",
        certified=certified,
        objective_usd=objective,
        minimized_usd=objective,
        bound_usd=round(bound, 2),
        gap=round(max(0.0, gap), 9),
        gap_asked=stamp.gap,
        verified=False,
        solver_name=decision.solver,
        solver_version=decision.version,
        prices_sha256=stamp.prices_sha256,
        prices_as_of=stamp.prices_as_of,
        prices_oldest_as_of=stamp.prices_oldest_as_of,
        workload_sha256=stamp.workload_sha256,
        model_version=stamp.model_version,
        start=question.horizon.start.isoformat(),
        periods=tuple((p.name, p.hours) for p in question.horizon.periods),
        workloads=workloads,
        platform_usd=total(line for line in solved.lines if not line.workload),
        billed_usd=_billed_usd(data, decision, solved.lines),
        straight_line_usd=_straight_line_usd(data, decision, objective),
        low_usd=low,
        high_usd=high,
        schedule=scheduled_runs(data, solved.program.grid, decision, solved.placements, batches),
        fleet=_fleet(data, decision, solved.usage),
        purchases=purchase_plans(built, decision),
        commitments=commitment_plans(built, decision),
        cost_lines=solved.lines,
        unfunded=(),
        depends_on=_depends_on(data, solved.usage),
        binding=binding,
        rejections=dict(sorted(Counter(r.code for r in built.rejections).items())),
        rejected=_rejected(built.rejections),
        coverage_gaps=stamp.coverage_gaps,
        assumptions=(*_assumptions(question, built), *stamp.notes),
        warnings=(
            *question.warnings,
            *built.capacity.warnings,
            *notices(question, data, decision),
            *stamp.warnings,
        ),
        runner_up=runner_up,
        evidence=evidence(question, data, solved.program.grid, decision, solved.placements, shares),
    )


def _proof(solved: Solved) -> tuple[float, float]:
    """The bound, equal to the objective where only the rounding of lines to the cent lies between, and the gap."""
    objective = solved.total_usd
    bound = min(solved.bound_usd, objective)
    if objective - bound <= _CENT_USD * (len(solved.lines) + 1):
        bound = objective
    return bound, (objective - bound) / abs(objective) if objective else 0.0


def _billed_usd(data: LpData, decision: Decision, lines: Iterable[CostLine]) -> float:
    """Cash inside the horizon: billed lines, upfronts and purchase prices when they are paid."""
    cash = total(line for line in lines if line.billed and line.period != AFTER_HORIZON)
    for term in data.terms:
        for k in range(len(term.starts)):
            cash += decision.units.get((term.id, k), 0.0) * term.upfront_usd * data.support_ratio(term.provider)
    for purchase in data.purchases:
        for k in range(len(purchase.deliveries)):
            cash += decision.bought.get((purchase.id, k), 0) * purchase.capex_usd
    return round(cash, 2)


def _straight_line_usd(data: LpData, decision: Decision, objective: float) -> float:
    """The objective with purchases depreciated by straight line in place of their annuity."""
    moved = 0.0
    end = data.horizon.hours
    for purchase in data.purchases:
        for k, delivery in enumerate(purchase.deliveries):
            hours = max(0.0, min(end, delivery.end_hours) - delivery.start_hours)
            count = decision.bought.get((purchase.id, k), 0)
            moved += count * hours * (purchase.straight_line_usd_per_hour - purchase.annuity_usd_per_hour)
    return round(objective + moved, 2)


def _fleet(data: LpData, decision: Decision, usage: Usage) -> tuple[FleetEntry, ...]:
    users: dict[tuple[str, int], set[str]] = defaultdict(set)
    for (pool, index, workload), hours in usage.in_use.items():
        if hours > 0.0:
            users[pool, index].add(workload)
    found = []
    places = (
        {s.id: s.pool for s in data.standing}
        | {t.id: t.pool for t in data.terms}
        | {p.id: p.pool for p in data.purchases}
    )
    for p, period in enumerate(data.horizon.periods):
        standing: dict[str, float] = defaultdict(float)
        for name, start, end, count in sources(data, decision):
            if start < period.end_hours and end > period.start_hours:
                standing[name] += count
        for name, count in sorted(standing.items()):
            pool = places[name]
            gpu = data.pools[pool].gpu if pool else ""
            found.append(_entry(name, gpu, period.name, count, users[pool, p]))
        for pool in sorted(data.pools):
            rented = usage.rented_peak.get((pool, p), 0.0)
            if rented > 1e-9 and data.pools[pool].rents:
                offer = data.pools[pool].rents[0].offer.id
                found.append(_entry(offer, data.pools[pool].gpu, period.name, rented, users[pool, p]))
    return tuple(found)


def _entry(offer: str, gpu: str, period: str, count: float, users: Iterable[str]) -> FleetEntry:
    return FleetEntry(offer=offer, gpu=gpu, period=period, instances=round(count, 6), used_by=tuple(sorted(users)))


def _depends_on(data: LpData, usage: Usage) -> tuple[str, ...]:
    """Rented capacity that nobody has promised: the most at one time of each offer."""
    most: dict[str, float] = defaultdict(float)
    for (pool, _), count in usage.rented_peak.items():
        most[pool] = max(most[pool], count)
    return tuple(
        f"{data.pools[pool].rents[0].offer.id}: {count:g} at one time"
        for pool, count in sorted(most.items())
        if count > 1e-9 and data.pools[pool].rents and not data.pools[pool].rents[0].offer.holds_capacity
    )


def _rejected(rejections: Iterable[Rejection]) -> tuple[Mapping[str, str], ...]:
    distinct = sorted(
        {
            (r.workload, r.subject, r.code, r.reason)
            for r in rejections
            if r.code not in ("purchasable", "market", "scope")
        }
    )
    return tuple(
        {"workload": workload, "subject": subject, "code": code, "reason": reason}
        for workload, subject, code, reason in distinct[:MOST_REJECTED]
    )


def _assumptions(question: Question, built: Built) -> tuple[str, ...]:
    found = [
        f"cost of capital {question.cost_of_capital_fraction_per_year:.1%} a year; a year has {HOURS_PER_YEAR:,.0f} h",
        f"after the horizon recurring demand: {question.horizon.after}",
    ]
    for where, machine in sorted(built.capacity.machines.items()):
        found += [f"{where}: {a.name} = {a.value:g} {a.unit} ({a.source})" for a in machine.assumptions]
    if any(isinstance(w, GpuHours) for w in question.workloads):
        found.append("gpu_hours: what the hours are for is the asker's; no speed or memory was checked")
    return tuple(found)
