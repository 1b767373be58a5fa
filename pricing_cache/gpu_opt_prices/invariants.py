"""What must hold among prices, and what should: a second look at offers in effect.

Reading refuses a bad row by itself; here rows are held against each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.records import record
from gpu_opt.units import HOURS_PER_YEAR
from gpu_opt_prices.cells import SENTINEL_USD
from gpu_opt_prices.table import offer_key

# Inside a family the price follows the GPU count; Lambda's single GPU costs 7.5 % more (list of 2026-07).
PROPORTION_TOLERANCE_FRACTION = 0.10
_EQUAL_FRACTION = 1e-9


@record
class Finding:
    """One rule that an offer breaks. `error` ones make the data unfit; the others are worth a look."""

    error: bool
    rule: str
    offer: str
    text: str


def effective_usd_per_hour(offer: Offer) -> float:
    """The hourly price with the upfront spread over the term at 8,760 h a year, without interest."""
    if not offer.upfront_usd or not offer.term_months:
        return offer.usd_per_instance_hour
    return offer.usd_per_instance_hour + offer.upfront_usd / (HOURS_PER_YEAR / 12 * offer.term_months)


def check_offers(offers: Sequence[Offer]) -> tuple[Finding, ...]:
    """Every rule over all offers; errors first, then by rule and offer."""
    found = [*_single(offers), *_unique(offers), *_by_type(offers), *_by_family(offers)]
    return tuple(sorted(found, key=lambda finding: (not finding.error, finding.rule, finding.offer, finding.text)))


def _single(offers: Iterable[Offer]) -> Iterator[Finding]:
    for offer in offers:
        if effective_usd_per_hour(offer) <= 0:
            yield _error("price above zero", offer, "it costs nothing")
        if offer.usd_per_instance_hour in SENTINEL_USD:
            yield _error("no placeholders", offer, f"{offer.usd_per_instance_hour:g} is a placeholder")
        if offer.market is Market.LIST_ONLY and offer.purchasable:
            yield _error("list-only is never chosen", offer, "it is marked as purchasable")


def _unique(offers: Iterable[Offer]) -> Iterator[Finding]:
    seen = set()
    for offer in offers:
        key = offer_key(offer)
        if key in seen:
            yield _error("one price an offer", offer, "it is there twice")
        seen.add(key)


def _by_type(offers: Iterable[Offer]) -> Iterator[Finding]:
    """spot ≤ on-demand, reserved_3y ≤ reserved_1y ≤ on-demand, in each region."""
    groups: dict[tuple[str, str, str], dict[Market, list[Offer]]] = defaultdict(lambda: defaultdict(list))
    for offer in offers:
        groups[offer.provider, offer.region, offer.instance_type][offer.market].append(offer)
    for markets in groups.values():
        for cheap, dear, strict in (
            (Market.SPOT, Market.ON_DEMAND, True),
            (Market.RESERVED_1Y, Market.ON_DEMAND, False),
            (Market.RESERVED_3Y, Market.ON_DEMAND, False),
            (Market.RESERVED_3Y, Market.RESERVED_1Y, False),
            (Market.SAVINGS_PLAN_1Y, Market.ON_DEMAND, False),
            (Market.SAVINGS_PLAN_3Y, Market.SAVINGS_PLAN_1Y, False),
        ):
            limit = max((effective_usd_per_hour(offer) for offer in markets.get(dear, ())), default=None)
            for offer in markets.get(cheap, ()):
                price = effective_usd_per_hour(offer)
                if limit is not None and price > limit * (1 + _EQUAL_FRACTION):
                    text = f"{price:.4f} USD/h is above {dear} at {limit:.4f}"
                    yield Finding(error=strict, rule=f"{cheap} not above {dear}", offer=offer.id, text=text)


def _by_family(offers: Iterable[Offer]) -> Iterator[Finding]:
    """Price per GPU within 10 % of the family's median, and no larger instance cheaper than a smaller one."""
    families: dict[tuple[str, str, str, str, Market], list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.gpu_count >= 1 and offer.market in (Market.ON_DEMAND, Market.RESERVED_1Y, Market.RESERVED_3Y):
            family = _family(offer)
            families[offer.provider, offer.region, family, offer.gpu, offer.market].append(offer)
    for members in families.values():
        per_gpu = sorted(effective_usd_per_hour(offer) / offer.gpu_count for offer in members)
        middle = per_gpu[len(per_gpu) // 2]
        for offer in members:
            price = effective_usd_per_hour(offer) / offer.gpu_count
            if abs(price / middle - 1) > PROPORTION_TOLERANCE_FRACTION:
                text = f"{price:.4f} USD per GPU-hour, where its family's median is {middle:.4f}"
                yield Finding(error=False, rule="price follows the GPU count", offer=offer.id, text=text)


def _family(offer: Offer) -> str:
    """Instances that differ by their GPU count only: same host share per GPU."""
    per_gpu = (offer.vcpus or 0) / offer.gpu_count, (offer.memory_gib or 0) / offer.gpu_count
    return f"{per_gpu[0]:.0f}/{per_gpu[1]:.0f}"


def _error(rule: str, offer: Offer, text: str) -> Finding:
    return Finding(error=True, rule=rule, offer=offer.id, text=text)
