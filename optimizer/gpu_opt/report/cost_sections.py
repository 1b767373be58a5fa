"""The money: by workload and period, by what it is paid for, and what is committed to or bought."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpu_opt.domain.plan import Plan
from gpu_opt.report import money
from gpu_opt.report.answer import market_words
from gpu_opt.report.section import Section, table

AFTER_HORIZON = "after-horizon"
PLATFORM = "platform"


def cost_sections(plan: Plan) -> list[Section]:
    """All sections about money, in reading order; empty ones have no rows."""
    return [by_workload(plan), by_kind(plan), commitments(plan), purchases(plan), bases(plan)]


def cost_matrix(plan: Plan) -> tuple[list[str], list[tuple[str, list[float]]]]:
    """(periods, (workload, USD by period)), what no workload used last. Periods without cost inside stay."""
    periods = [name for name, _ in plan.periods]
    if any(line.period == AFTER_HORIZON for line in plan.cost_lines):
        periods.append(AFTER_HORIZON)
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for line in plan.cost_lines:
        sums[line.workload, line.period] += line.usd
    names = [workload.name for workload in plan.workloads]
    names += sorted({line.workload for line in plan.cost_lines} - {*names, ""})
    if any(line.workload == "" for line in plan.cost_lines):
        names.append("")
    return periods, [(name, [round(sums[name, period], 2) + 0.0 for period in periods]) for name in names]


def by_workload(plan: Plan) -> Section:
    """Cost by workload and period; rows and columns add up to the plan's cost."""
    periods, matrix = cost_matrix(plan)
    teams = {workload.name: workload.team for workload in plan.workloads}
    rows = [
        (name or PLATFORM, teams.get(name, ""), *map(money.usd, amounts), money.usd(sum(amounts)))
        for name, amounts in matrix
    ]
    sums = [sum(amounts[place] for _, amounts in matrix) for place in range(len(periods))]
    rows.append(("total", "", *map(money.usd, sums), money.usd(sum(sums))))
    columns = ("workload", "team", *(f">{name}" for name in periods), ">total")
    if len(periods) == 1:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    note = "Platform: paid for and used by no workload." if plan.platform_usd else ""
    return table("by_workload", "Cost by workload and period", columns, rows, has_total=True, note=note)


def by_kind(plan: Plan) -> Section:
    """Cost by what it is paid for and to whom."""
    sums: dict[tuple[str, str, str], float] = defaultdict(float)
    for line in plan.cost_lines:
        sums[line.label, line.provider, line.market] += line.usd
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    rows = [(label, provider, market_words(market), money.usd(amount)) for (label, provider, market), amount in ordered]
    rows.append(("total", "", "", money.usd(sum(sums.values()))))
    return table("by_kind", "Cost by kind", ("for", "to", "market", ">cost"), rows, has_total=True)


def commitments(plan: Plan) -> Section:
    """Commitments that the plan starts or keeps, and until when they pay."""
    rows = [
        (
            c.offer,
            "existing" if c.existing else "new",
            money.count(c.units),
            c.start,
            c.end,
            money.usd_rate(c.usd_per_unit_hour),
            money.usd(c.upfront_usd) if c.upfront_usd else "",
            *_pays(c.pays_if_used_until, c.stops_paying_if_prices_fall_annually, c.existing),
        )
        for c in plan.commitments
    ]
    columns = ("commitment", "", ">units", "from", "to", ">per unit and hour", ">upfront")
    return table("commitments", "Commitments", (*columns, "pays if used until", ">stops if rent falls"), rows)


def purchases(plan: Plan) -> Section:
    """Machines that the plan buys."""
    rows = [
        (
            p.system,
            p.site,
            str(p.instances),
            p.ordered,
            p.delivered,
            money.usd(p.capex_usd),
            money.usd_rate(p.annuity_usd_per_hour),
            *_pays(p.pays_if_used_until, p.stops_paying_if_prices_fall_annually, False),
        )
        for p in plan.purchases
    ]
    columns = ("system", "site", ">instances", "order by", "there on", ">price paid", ">annuity per hour")
    return table("purchases", "Purchases", (*columns, "pays if used until", ">stops if rent falls"), rows)


def bases(plan: Plan) -> Section:
    """The same plan as effective cost, as cash and in straight line."""
    amounts: Sequence[tuple[str, str, float]] = (
        ("effective", "what the plan minimises; terms charged by the hour", plan.objective_usd),
        ("billed", "cash out inside the horizon, upfronts included", plan.billed_usd),
        ("straight line", "purchases written off evenly", plan.straight_line_usd),
    )
    if all(abs(amount - plan.objective_usd) < 0.005 for _, _, amount in amounts):
        return Section(key="bases", title="Cost by basis")
    rows = [(name, what, money.usd(amount)) for name, what, amount in amounts]
    return table("bases", "Cost by basis", ("basis", "meaning", ">cost"), rows)


def _pays(until: str, fall: float | None, existing: bool) -> tuple[str, str]:
    if existing:
        return "", ""
    return until or "never beats rent", "" if fall is None else f"{money.percent(fall)} a year"
