"""Regions of partitions apart (us-gov, cn): known and priced, usable only where a scope names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from gpu_opt.domain.offer import Market, Offer

# AWS, Azure and OCI spell their government and China regions so.
_APART_PREFIXES = ("us-gov", "usgov", "us-dod", "usdod", "us-iso", "us-sec", "usnat", "ussec", "cn-", "china")
_WILDCARD = re.compile(r"[*?\[]")


def is_apart(region: str) -> bool:
    """Whether a region belongs to a partition that an ordinary account can't use."""
    return region.lower().startswith(_APART_PREFIXES)


def names_region(patterns: Iterable[str], region: str) -> bool:
    """Whether a pattern names such a region by its own letters: `us-gov-*` does, `us-*` and `*` do not."""
    place = region.lower()
    prefixes = [prefix for prefix in _APART_PREFIXES if place.startswith(prefix)]
    for pattern in patterns:
        letters = _WILDCARD.split(pattern.lower(), maxsplit=1)[0]
        named = any(letters.startswith(prefix.rstrip("-")) for prefix in prefixes)
        if named and fnmatchcase(place, pattern.lower()):
            return True
    return False


def purchasable_in(offer: Offer, region_patterns: Iterable[str]) -> bool:
    """Whether an offer can be bought under a scope's regions; one of a partition apart needs a scope that names it."""
    if offer.purchasable:
        return True
    return (
        offer.market is not Market.LIST_ONLY and is_apart(offer.region) and names_region(region_patterns, offer.region)
    )
