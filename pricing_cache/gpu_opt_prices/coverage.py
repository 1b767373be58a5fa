"""What the offers cover, and what is known to be missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.records import record
from gpu_opt_prices.snapshot_files import unusable_rows

# Providers sell these and nothing here prices them, with what is known of them (providers' pages, 2026).
SOLD_TERMS = (
    ("aws", Market.SAVINGS_PLAN_1Y, "compute savings plans"),
    ("aws", Market.RESERVED_3Y, "3-year reserved instances"),
    ("azure", Market.RESERVED_1Y, "1-year reservations"),
    ("azure", Market.RESERVED_3Y, "3-year reservations"),
    ("gcp", Market.FLEX_START, "flex-start"),
)
STALE_DAYS = 180


@record
class Coverage:
    """Counts and dates of one provider and market."""

    provider: str
    market: str
    offers: int
    purchasable: int
    types: int
    regions: int
    gpus: int
    oldest: date
    newest: date

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "provider": self.provider,
            "market": self.market,
            "offers": self.offers,
            "purchasable": self.purchasable,
            "instance_types": self.types,
            "regions": self.regions,
            "gpus": self.gpus,
            "oldest_as_of": self.oldest.isoformat(),
            "newest_as_of": self.newest.isoformat(),
        }


def coverage(offers: Iterable[Offer]) -> tuple[Coverage, ...]:
    """By provider, then market."""
    groups: dict[tuple[str, str], list[Offer]] = defaultdict(list)
    for offer in offers:
        groups[offer.provider, offer.market.value].append(offer)
    return tuple(
        Coverage(
            provider=provider,
            market=market,
            offers=len(group),
            purchasable=sum(offer.purchasable for offer in group),
            types=len({offer.instance_type for offer in group}),
            regions=len({offer.region for offer in group}),
            gpus=len({offer.gpu for offer in group}),
            oldest=min(offer.as_of for offer in group),
            newest=max(offer.as_of for offer in group),
        )
        for (provider, market), group in sorted(groups.items())
    )


def gaps(offers: Sequence[Offer], today: date) -> tuple[str, ...]:
    """What a user should not take for covered: terms without a price, old parts, rows that can't be offers."""
    providers = {offer.provider for offer in offers}
    have = {(offer.provider, offer.market) for offer in offers}
    found = [
        f"{provider} {words}: sold, and no price is known here"
        for provider, market, words in SOLD_TERMS
        if provider in providers and (provider, market) not in have
    ]
    found.extend(_unreserved_families(offers))
    newest: dict[tuple[str, str], date] = {}
    for offer in offers:
        key = (offer.provider, offer.market.value)
        newest[key] = max(newest.get(key, offer.as_of), offer.as_of)
    for (provider, sold), day in sorted(newest.items()):
        days = (today - day).days
        if days > STALE_DAYS:
            found.append(f"{provider} {sold}: {days} days old")
    missing: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for unusable in unusable_rows():
        if unusable.provider in providers:
            missing[unusable.provider, unusable.instance_type, unusable.reason].add(unusable.region)
    for (provider, instance_type, reason), regions in sorted(missing.items()):
        found.append(f"{provider} {instance_type} ({len(regions)} regions): {reason}")
    return tuple(found)


def _unreserved_families(offers: Sequence[Offer]) -> list[str]:
    """AWS instance families with rent and without any reserved price: savings plans cover them, at unknown rates."""
    rent: set[str] = set()
    reserved: set[str] = set()
    for offer in offers:
        if offer.provider == "aws" and offer.purchasable:
            family = offer.instance_type.partition(".")[0]
            if offer.market is Market.ON_DEMAND:
                rent.add(family)
            elif offer.market.is_term:
                reserved.add(family)
    missing = sorted(rent - reserved)
    return [f"aws {', '.join(missing)}: no reserved or savings plan price is known here"] if missing else []
