"""Cost lines: every dollar of the plan as quantity × rate, to the cent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpu_opt.domain.plan import CostLine
from gpu_opt.domain.program import FixedLine, FluidCandidate, ReplicaCandidate, RunCandidate, Term
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import Usage, sources
from gpu_opt.lp.schedule import Placement
from gpu_opt.units import HOURS_PER_YEAR

AFTER_HORIZON = "after-horizon"
_LEAST_QUANTITY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a source of paid capacity costs by the instance-hour, line by line, and whom it is paid to."""

    id: str
    provider: str
    market: str
    unit: str
    lines: tuple[FixedLine, ...]
    after: tuple[FixedLine, ...]


def cents(quantity: float, rate_usd: float) -> float:
    """Quantity × rate, to the cent."""
    return round(quantity * rate_usd, 2) + 0.0


def make_line(
    label: str,
    period: str,
    workload: str,
    quantity: float,
    unit: str,
    rate_usd: float,
    *,
    provider: str = "",
    market: str = "",
    offer: str = "",
    billed: bool = True,
) -> CostLine:
    """One line; quantities keep nine decimals so that the file reads well and multiplies out."""
    quantity = round(quantity, 9)
    return CostLine(
        label=label,
        period=period,
        workload=workload,
        quantity=quantity,
        unit=unit,
        rate_usd=rate_usd,
        usd=cents(quantity, rate_usd),
        provider=provider,
        market=market,
        offer=offer,
        billed=billed,
    )


def sources_of(data: LpData) -> dict[str, Source]:
    """Standing capacity, terms and purchases by id."""
    found: dict[str, Source] = {}
    for standing in data.standing:
        provider = data.pools[standing.pool].provider
        market = "owned" if standing.owned else "existing"
        found[standing.id] = Source(
            id=standing.id, provider=provider, market=market, unit="instance-hour", lines=standing.lines, after=()
        )
    for term in data.terms:
        lines = _term_lines(term)
        unit = "USD/h of commitment × h" if term.market.is_savings_plan else "instance-hour"
        found[term.id] = Source(
            id=term.id, provider=term.provider, market=str(term.market), unit=unit, lines=lines, after=lines
        )
    for purchase in data.purchases:
        annuity = FixedLine(label="annuity", usd_per_instance_hour=purchase.annuity_usd_per_hour)
        found[purchase.id] = Source(
            id=purchase.id,
            provider="onprem",
            market="purchase",
            unit="instance-hour",
            lines=(annuity, *purchase.lines),
            after=(annuity,),
        )
    return found


def _term_lines(term: Term) -> tuple[FixedLine, ...]:
    recurring, upfront = term.billed_usd_per_unit_hour, term.usd_per_unit_hour - term.billed_usd_per_unit_hour
    lines = []
    if recurring > 0.0:
        lines.append(FixedLine(label="committed", usd_per_instance_hour=recurring))
    if upfront > 1e-12:
        label = "block fee" if term.market == "capacity_block" else "upfront, as annuity"
        lines.append(FixedLine(label=label, usd_per_instance_hour=upfront))
    return tuple(lines)


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
    lines += _support_lines(data, lines) + _fixed_lines(data, decision, lines)
    lines += _shortfall_lines(data, lines)
    lines += _credit_lines(data, lines)
    lines += _after_lines(data, decision)
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


def _support_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
    fractions = {o.provider: o.support_fraction for o in data.overheads if o.support_fraction > 0.0}
    sums: dict[tuple[str, str, str], float] = defaultdict(float)
    for line in lines:
        if line.provider in fractions:
            sums[line.provider, line.period, line.workload] += line.usd
    return [
        make_line("support", period, workload, round(usd, 2), "USD", fractions[provider], provider="", offer=provider)
        for (provider, period, workload), usd in sorted(sums.items())
    ]


def _fixed_lines(data: LpData, decision: Decision, lines: Iterable[CostLine]) -> list[CostLine]:
    used = {line.provider for line in lines}
    return [
        make_line("fixed charge", period.name, "", 1.0, "period", o.fixed_usd_per_period, offer=o.provider)
        for o in data.overheads
        if o.fixed_usd_per_period > 0.0 and o.provider in used
        for period in data.horizon.periods
    ]


def _shortfall_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
    share = data.horizon.hours / HOURS_PER_YEAR
    found = []
    for agreement in data.agreements:
        spent = sum(line.usd for line in lines if line.provider == agreement.provider)
        least = (agreement.min_spend_usd_per_year - agreement.other_spend_usd_per_year) * share
        missing = round(least - spent, 2)
        if missing > 0.0:
            last = data.horizon.periods[-1].name
            found.append(make_line("agreement shortfall", last, "", missing, "USD", 1.0, offer=agreement.provider))
    return found


def _credit_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
    """Credits pay their provider's lines, those that expire first before the others."""
    open_usd: dict[tuple[str, str], float] = defaultdict(float)
    for line in lines:
        owner = line.provider or (line.offer if line.label == "support" else "")
        open_usd[owner, line.period] += line.usd
    found = []
    for credit in data.credits:
        left = credit.usd
        last = data.horizon.hours_at(credit.expires) + 24.0
        for period in data.horizon.periods:
            if period.end_hours > last + 1e-9:
                break
            paid = round(min(left, max(0.0, open_usd[credit.provider, period.name])), 2)
            if paid > 0.0:
                left -= paid
                open_usd[credit.provider, period.name] -= paid
                found.append(
                    make_line(f"credit to {credit.expires}", period.name, "", paid, "USD", -1.0, offer=credit.provider)
                )
    return found


def _after_lines(data: LpData, decision: Decision) -> list[CostLine]:
    """The rest of terms that no later demand would use, charged now."""
    table = sources_of(data)
    rest: dict[str, float] = defaultdict(float)
    end = data.horizon.hours
    for source, start, stop, count in sources(data, decision):
        if table[source].after:
            rest[source] += count * max(0.0, stop - max(start, end))
    lines = []
    for source, hours in sorted(rest.items()):
        unused = hours - decision.left_hours.get(source, 0.0)
        if unused <= 1e-6:
            continue
        lines += [
            make_line(
                f"{fixed.label}, after the horizon",
                AFTER_HORIZON,
                "",
                unused,
                table[source].unit,
                fixed.usd_per_instance_hour,
                provider=table[source].provider,
                market=table[source].market,
                offer=source,
                billed=False,
            )
            for fixed in table[source].after
        ]
    fractions = {o.provider: o.support_fraction for o in data.overheads if o.support_fraction > 0.0}
    support = [
        make_line(
            "support", AFTER_HORIZON, "", line.usd, "USD", fractions[line.provider], offer=line.provider, billed=False
        )
        for line in lines
        if line.provider in fractions
    ]
    return lines + support
