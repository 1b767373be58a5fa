"""What paid capacity costs by the instance-hour: standing groups, terms and purchases."""

from __future__ import annotations

from gpu_opt.domain.program import FixedLine, Term
from gpu_opt.lp.data import LpData
from gpu_opt.records import record


@record
class Source:
    """What a source of paid capacity costs by the instance-hour, line by line, and whom it is paid to."""

    id: str
    provider: str
    market: str
    unit: str
    lines: tuple[FixedLine, ...]
    after: tuple[FixedLine, ...]


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
