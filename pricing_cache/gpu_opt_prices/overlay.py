"""Discounts, private prices and quotes over the offers in effect (contract, section 1.4)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.overlay import Discount, Overlay, PriceRow, Quote
from gpu_opt.domain.partition import is_apart
from gpu_opt.errors import InputError, Problem
from gpu_opt.units import HOURS_PER_YEAR
from gpu_opt_prices.cells import LEAST_USD, MOST_UPFRONT_USD, MOST_USD
from gpu_opt_prices.rows import TERM_MONTHS
from gpu_opt_prices.table import OfferTable, Refused, sorted_offers

_HOURS_PER_TERM_MONTH = HOURS_PER_YEAR / 12


def apply_overlays(table: OfferTable, overlays: Sequence[Overlay]) -> OfferTable:
    """The offers with all overlays on: discounts off the list prices, then private prices, then quotes.

    A quote that expired before the newest price is refused. InputError for numbers that make no price.
    """
    _check(overlays)
    newest = table.newest_as_of
    offers = discounted(table.offers, [discount for overlay in overlays for discount in overlay.discounts])
    offers = with_private_prices(offers, [price for overlay in overlays for price in overlay.prices], newest)
    quotes, refused = quoted_offers([quote for overlay in overlays for quote in overlay.quotes], newest)
    return OfferTable(
        offers=sorted_offers([*offers, *quotes]),
        refused=(*table.refused, *refused),
        warnings=(
            *table.warnings,
            *_idle_discounts(table.offers, overlays),
            *(f"{r.reason}: {r.value}" for r in refused),
        ),
    )


def _idle_discounts(offers: Sequence[Offer], overlays: Sequence[Overlay]) -> Iterator[str]:
    """A word on each discount that no offer gets: most often a slip in a name."""
    for discount in (discount for overlay in overlays for discount in overlay.discounts):
        if not any(_matches(discount, offer) for offer in offers):
            yield f"a discount of {discount.discount_fraction:.4g} for {discount.provider or 'all'} meets no offer."


def discounted(offers: Sequence[Offer], discounts: Sequence[Discount]) -> tuple[Offer, ...]:
    """Offers with their discount. Discounts don't add up: where several match, the last one counts."""
    return tuple(_discounted(offer, discounts) for offer in offers) if discounts else tuple(offers)


def _discounted(offer: Offer, discounts: Sequence[Discount]) -> Offer:
    for discount in reversed(discounts):
        if _matches(discount, offer):
            share = 1 - discount.discount_fraction
            return replace(
                offer,
                usd_per_instance_hour=offer.usd_per_instance_hour * share,
                upfront_usd=offer.upfront_usd * share,
                note=_joined(offer.note, f"{discount.discount_fraction:.4g} off the list price"),
            )
    return offer


def _matches(discount: Discount, offer: Offer) -> bool:
    return (
        discount.provider.lower() in ("", offer.provider)
        and (not discount.markets or offer.market in discount.markets)
        and _any_pattern(discount.regions, offer.region)
        and _any_pattern(discount.instance_types, offer.instance_type)
    )


def _any_pattern(patterns: Sequence[str], name: str) -> bool:
    folded = name.casefold()
    return not patterns or any(fnmatchcase(folded, pattern.casefold()) for pattern in patterns)


def with_private_prices(offers: Sequence[Offer], prices: Sequence[PriceRow], newest: date) -> tuple[Offer, ...]:
    """Offers with private prices in place of the same place, type and market, or beside them.

    A price without a zone holds for all zones of its region. Of two private prices for one offer the last one counts.
    """
    by_type: dict[tuple[str, str], Offer] = {}
    for offer in offers:
        by_type.setdefault((offer.provider, offer.instance_type), offer)
    kept = list(offers)
    for price in prices:
        new = _private_offer(price, by_type, newest)
        kept = [offer for offer in kept if not _replaces(new, offer)]
        kept.append(new)
    return tuple(kept)


def _replaces(new: Offer, old: Offer) -> bool:
    same = (new.provider, new.region, new.instance_type, new.market) == (
        old.provider,
        old.region,
        old.instance_type,
        old.market,
    )
    return same and new.zone in ("", old.zone)


def _private_offer(price: PriceRow, by_type: dict[tuple[str, str], Offer], newest: date) -> Offer:
    provider, instance_type = price.provider.lower(), price.instance_type or type_name(price.gpu, price.gpu_count)
    known = by_type.get((provider, instance_type))
    same = known if known and (known.gpu, known.gpu_count) == (price.gpu, price.gpu_count) else None
    return Offer(
        provider=provider,
        region=price.region,
        zone=price.zone,
        instance_type=instance_type,
        gpu=price.gpu,
        gpu_count=price.gpu_count,
        gpu_memory_gib=same.gpu_memory_gib if same else None,
        vcpus=same.vcpus if same else None,
        memory_gib=same.memory_gib if same else None,
        market=price.market,
        usd_per_instance_hour=_instance_price(price),
        upfront_usd=price.upfront_usd,
        term_months=price.term_months or TERM_MONTHS.get(price.market, 0),
        max_instances=price.max_instances,
        holds_capacity=price.market is Market.CAPACITY_BLOCK,
        purchasable=price.market is not Market.LIST_ONLY and not is_apart(price.region),
        as_of=price.as_of or newest,
        source=f"overlay:{price.where}" if price.where else "overlay",
        note="private price",
    )


def quoted_offers(quotes: Sequence[Quote], newest: date) -> tuple[tuple[Offer, ...], tuple[Refused, ...]]:
    """Quotes as offers, and those that expired before the newest price."""
    offers, refused = [], []
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    for quote in quotes:
        offer = _quoted_offer(quote, newest)
        if quote.expires and quote.expires < newest:
            reason = f"a quote of {offer.provider} expired before the newest price of {newest}"
            value = quote.expires.isoformat()
            refused.append(Refused(code="quote-expired", reason=reason, value=value, provider=offer.provider))
            continue
        seen[offer.provider, offer.region, offer.instance_type, offer.market, str(offer.term_months)] += 1
        count = seen[offer.provider, offer.region, offer.instance_type, offer.market, str(offer.term_months)]
        offers.append(replace(offer, payment="quote" if count == 1 else f"quote-{count}"))
    return tuple(offers), tuple(refused)


def _quoted_offer(quote: Quote, newest: date) -> Offer:
    """Prepaid is `prepay_fraction` of price × hours of the term, at 8,760 h a year; the rest is paid by the hour."""
    price = _instance_price(quote)
    hours = quote.term_months * _HOURS_PER_TERM_MONTH
    return Offer(
        provider=quote.provider.lower(),
        region=quote.region,
        instance_type=quote.instance_type or type_name(quote.gpu, quote.gpu_count),
        gpu=quote.gpu,
        gpu_count=quote.gpu_count,
        market=Market.QUOTE if quote.term_months else quote.market or Market.ON_DEMAND,
        usd_per_instance_hour=price * (1 - quote.prepay_fraction),
        upfront_usd=price * hours * quote.prepay_fraction,
        term_months=quote.term_months,
        min_instances=quote.min_instances,
        max_instances=quote.max_instances,
        holds_capacity=quote.term_months > 0,
        as_of=newest,
        source=f"quote:{quote.where}" if quote.where else "quote",
        quoted=True,
        prepay_fraction=quote.prepay_fraction,
        available_from=quote.available_from,
        expires=quote.expires,
    )


def type_name(gpu: str, gpu_count: float) -> str:
    """What an instance is called that has no type: `8x-H100-SXM`."""
    return f"{gpu_count:g}x-{gpu}"


def _instance_price(row: PriceRow | Quote) -> float:
    if row.usd_per_instance_hour is not None:
        return row.usd_per_instance_hour
    return (row.usd_per_gpu_hour or 0.0) * row.gpu_count


def _joined(note: str, more: str) -> str:
    return f"{note}; {more}" if note else more


def _check(overlays: Sequence[Overlay]) -> None:
    problems: list[Problem] = []
    for overlay in overlays:
        for discount in overlay.discounts:
            if not 0 <= discount.discount_fraction < 1:
                what = f"a discount of {discount.discount_fraction:g} leaves no price."
                problems.append(
                    Problem(path="discounts.fraction", what=what, remedy="Give a fraction from 0 to below 1.")
                )
        for price in overlay.prices:
            problems.extend(_price_problems(price))
        for quote in overlay.quotes:
            problems.extend((*_price_problems(quote), *_quote_problems(quote)))
    if problems:
        raise InputError(problems)


def _price_problems(row: PriceRow | Quote) -> list[Problem]:
    kind = "quotes" if isinstance(row, Quote) else "prices"
    given = [price for price in (row.usd_per_instance_hour, row.usd_per_gpu_hour) if price is not None]
    problems = []
    if len(given) != 1:
        what = "needs one of usd_per_instance_hour and usd_per_gpu_hour."
        problems.append(Problem(file=row.where, path=kind, what=what))
    upfront = row.upfront_usd if isinstance(row, PriceRow) else 0.0
    free = upfront > 0 and not any(given)
    if any(not math.isfinite(price) or price < 0 or (price == 0 and not free) for price in given):
        problems.append(Problem(file=row.where, path=kind, what="the price must be a number above zero."))
    elif any(price > MOST_USD or 0 < price < LEAST_USD for price in given) or upfront > MOST_UPFRONT_USD:
        problems.append(Problem(file=row.where, path=kind, what="no instance costs that."))
    if not math.isfinite(upfront) or upfront < 0:
        problems.append(Problem(file=row.where, path=f"{kind}.upfront_usd", what="must not be negative."))
    if not 0 < row.gpu_count < math.inf:
        problems.append(Problem(file=row.where, path=f"{kind}.gpu_count", what="must be above zero."))
    return problems


def _quote_problems(quote: Quote) -> list[Problem]:
    problems = []
    if not 0 <= quote.prepay_fraction <= 1:
        problems.append(Problem(file=quote.where, path="quotes.prepay_fraction", what="must be from 0 to 1."))
    if quote.prepay_fraction and not quote.term_months:
        what = "a quote without term_months is rent; nothing of it is prepaid."
        problems.append(Problem(file=quote.where, path="quotes.prepay_fraction", what=what))
    if quote.term_months < 0:
        problems.append(Problem(file=quote.where, path="quotes.term_months", what="must be above zero."))
    if quote.max_instances is not None and quote.max_instances < max(quote.min_instances, 1):
        what = f"{quote.max_instances} is below the minimum of {max(quote.min_instances, 1)}."
        problems.append(Problem(file=quote.where, path="quotes.max_instances", what=what))
    return problems
