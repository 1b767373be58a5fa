"""What is paid beside capacity itself: support, fixed charges, shortfalls, credits, and the rest of terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gpu_opt.answer.line import AFTER_HORIZON, make_line
from gpu_opt.answer.sources import sources_of
from gpu_opt.domain.plan import CostLine
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import sources
from gpu_opt.units import HOURS_PER_YEAR


def support_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
    fractions = {o.provider: o.support_fraction for o in data.overheads if o.support_fraction > 0.0}
    sums: dict[tuple[str, str, str], float] = defaultdict(float)
    for line in lines:
        if line.provider in fractions:
            sums[line.provider, line.period, line.workload] += line.usd
    return [
        make_line("support", period, workload, round(usd, 2), "USD", fractions[provider], provider="", offer=provider)
        for (provider, period, workload), usd in sorted(sums.items())
    ]


def fixed_lines(data: LpData, decision: Decision, lines: Iterable[CostLine]) -> list[CostLine]:
    used = {line.provider for line in lines}
    return [
        make_line("fixed charge", period.name, "", 1.0, "period", o.fixed_usd_per_period, offer=o.provider)
        for o in data.overheads
        if o.fixed_usd_per_period > 0.0 and o.provider in used
        for period in data.horizon.periods
    ]


def shortfall_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
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


def credit_lines(data: LpData, lines: Iterable[CostLine]) -> list[CostLine]:
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


def after_lines(data: LpData, decision: Decision) -> list[CostLine]:
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
