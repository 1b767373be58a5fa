"""Offers that were read, and what was refused on the way."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from gpu_opt.domain.offer import Offer
from gpu_opt.records import record
from gpu_opt_prices.columns import offers_csv


@record
class Refused:
    """A row that is not used. `code` groups, `reason` is a sentence, `value` the offending cell and nothing more.

    `line` is 0 where the row comes from a provider's answer, not from a file.
    """

    line: int = 0
    code: str
    reason: str
    value: str = ""
    provider: str = ""


@dataclass(frozen=True, kw_only=True)
class OfferTable:
    """Offers in effect, sorted by place, type and market, with the rows refused and what a user should know.

    `known_sha256` is the hash where it was known before: that of the shipped snapshot as it is.
    """

    offers: tuple[Offer, ...]
    refused: tuple[Refused, ...] = ()
    warnings: tuple[str, ...] = ()
    known_sha256: str = ""

    @cached_property
    def newest_as_of(self) -> date:
        """The newest day of any price."""
        return max(offer.as_of for offer in self.offers)

    @cached_property
    def oldest_as_of(self) -> date:
        """The oldest day of any price."""
        return min(offer.as_of for offer in self.offers)

    @cached_property
    def sha256(self) -> str:
        """Hash of the offers as `gpu-opt offers --all --format csv` prints them."""
        return self.known_sha256 or hashlib.sha256(offers_csv(self.offers).encode()).hexdigest()

    def refused_by_reason(self) -> tuple[tuple[str, int], ...]:
        """(reason, rows), most first."""
        counts = Counter(row.reason for row in self.refused)
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def offer_key(offer: Offer) -> tuple[str, str, str, str, str, int, str]:
    """What may occur once: place, type, market, term and way to pay. Offers are sorted by it."""
    return (
        offer.provider,
        offer.region,
        offer.zone,
        offer.instance_type,
        offer.market,
        offer.term_months,
        offer.payment,
    )


def sorted_offers(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Offers by their key, so that the order of a file never matters."""
    return tuple(sorted(offers, key=offer_key))


SPOT_EQUAL_NOTE = "spot equals on-demand: no spare capacity"


def mark_spot_equal(offer: Offer) -> Offer:
    """The offer with the remark that its spot price is the on-demand price."""
    if SPOT_EQUAL_NOTE in offer.note:
        return offer
    return replace(offer, note=f"{offer.note}; {SPOT_EQUAL_NOTE}" if offer.note else SPOT_EQUAL_NOTE)
