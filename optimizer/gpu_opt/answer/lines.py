"""Cost lines: every dollar of the plan as quantity × rate, to the cent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gpu_opt.answer.charges import after_lines, credit_lines, fixed_lines, shortfall_lines, support_lines
from gpu_opt.answer.line import make_line
from gpu_opt.answer.sources import sources_of
from gpu_opt.domain.plan import CostLine
from gpu_opt.domain.program import FluidCandidate, ReplicaCandidate, RunCandidate
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import Usage
from gpu_opt.lp.schedule import Placement

_LEAST_QUANTITY = 1e-9


def cost_lines(
    data: LpData,
    decision: Decision,
    usage: Usage,
    placements: Iterable[Placement],
    shares: Mapping[str, Mapping[str, float]],
) -> tuple[CostLine, ...]:
    """All lines of a plan. `shares` splits a merged service's lines among its members."""
    lines = _rent_lines(data, usage) + _source_lines(data, usage) + _energy_lines(data, usage)
    lines += _place_lines(data, decision) + _late_lines(data, decision, placements)
    lines = [part for line in lines for part in _split(line, shares)]
    lines += support_lines(data, lines) + fixed_lines(data, decision, lines)
    lines += shortfall_lines(data, lines)
    lines += credit_lines(data, lines)
    lines += after_lines(data, decision)
    return tuple(line for line in lines if line.usd != 0.0 or line.quantity > _LEAST_QUANTITY)


def _name(data: LpData, period: int) -> str:
    return data.horizon.periods[period].name


def _rent_lines(data: LpData, usage: Usage) -> list[CostLine]:
    lines = []
    for (pool, r, period, workload), hours in sorted(usage.rented.items()):
        if hours > _LEAST_QUANTITY and data.pools[pool].rents:
            rent = data.pools[pool].rents[r]
            lines.append(
                make_line(
                    "rent",
                    _name(data, period),
                    workload,
                    hours,
                    "instance-hour",
                    rent.usd_per_instance_hour[period],
                    provider=rent.offer.provider,
                    market=str(rent.offer.market),
                    offer=rent.offer.id,
                )
            )
    return lines


def _source_lines(data: LpData, usage: Usage) -> list[CostLine]:
    """Paid capacity: what workloads used of it is theirs, the rest is idle and the platform's."""
    table = sources_of(data)
    used: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for (source, period, workload), hours in (*usage.used.items(), *usage.planned.items()):
        used[source, period][workload] = used[source, period].get(workload, 0.0) + hours
    lines = []
    for (source, period, _), hours in sorted(usage.alive.items()):
        shares = dict(sorted(used[source, period].items()))
        idle = hours - sum(shares.values())
        if idle > 1e-6:
            shares[""] = idle
        for workload, quantity in shares.items():
            for fixed in table[source].lines:
                label = fixed.label if workload else f"{fixed.label}, idle"
                lines.append(
                    make_line(
                        label,
                        _name(data, period),
                        workload,
                        quantity,
                        table[source].unit,
                        fixed.usd_per_instance_hour,
                        provider=table[source].provider,
                        market=table[source].market,
                        offer=source,
                        billed=fixed.label not in ("annuity", "upfront, as annuity", "block fee"),
                    )
                )
    return lines


def _energy_lines(data: LpData, usage: Usage) -> list[CostLine]:
    """What work adds to the draw of owned machines, booked on the machines that ran it."""
    lines = []
    for (pool, phase, period, workload), hours in sorted(usage.busy.items()):
        rate = data.pools[pool].busy_usd_per_hour.get(phase, 0.0)
        if rate <= 0.0:
            continue
        names = [s.id for s in data.standing if s.pool == pool] + [p.id for p in data.purchases if p.pool == pool]
        used = {name: usage.used.get((name, period, workload), 0.0) for name in names}
        total = sum(used.values())
        for name, part in used.items():
            if part > 0.0:
                lines.append(
                    make_line(
                        "energy of work",
                        _name(data, period),
                        workload,
                        hours * part / total,
                        "instance-hour",
                        rate,
                        provider=data.pools[pool].provider,
                        market="owned",
                        offer=name,
                    )
                )
    return lines


def _place_lines(data: LpData, decision: Decision) -> list[CostLine]:
    costs: dict[tuple[str, str, str], float] = {}
    groups: list[tuple[RunCandidate | FluidCandidate | ReplicaCandidate, ...]] = [
        *data.run_candidates.values(),
        *data.fluid_candidates.values(),
        *data.replica_candidates.values(),
    ]
    for group in groups:
        for candidate in group:
            pool = data.pools[candidate.pool]
            costs[candidate.workload, pool.provider, pool.region] = candidate.place_usd
    lines = []
    for place, usd in sorted(costs.items()):
        if usd > 0.0 and round(decision.flags.get(f"place[{'|'.join(place)}]", 0.0)):
            label = f"data to {place[1]}/{place[2]}"
            lines.append(make_line(label, _name(data, 0), place[0], 1.0, "place", usd, provider=""))
    return lines


def _late_lines(data: LpData, decision: Decision, placements: Iterable[Placement]) -> list[CostLine]:
    rules = {demand.workload: demand for demand in data.runs if demand.usd_per_hour_late is not None}
    lines = []
    for placement in placements:
        rule = rules.get(placement.workload)
        if rule is None or rule.usd_per_hour_late is None:
            continue
        late = placement.end_hours - rule.deadline_hours
        if late > 1e-6:
            period = _name(data, data.period_at(placement.end_hours - 1e-9))
            lines.append(
                make_line("late", period, placement.workload, late, "hour", rule.usd_per_hour_late, billed=False)
            )
    return lines


def _split(line: CostLine, shares: Mapping[str, Mapping[str, float]]) -> list[CostLine]:
    parts = shares.get(line.workload)
    if not parts:
        return [line]
    return [
        make_line(
            line.label,
            line.period,
            member,
            line.quantity * share,
            line.unit,
            line.rate_usd,
            provider=line.provider,
            market=line.market,
            offer=line.offer,
            billed=line.billed,
        )
        for member, share in parts.items()
    ]
