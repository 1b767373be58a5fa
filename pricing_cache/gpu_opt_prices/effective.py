"""The offers in effect: the cache over the shipped snapshot, by provider and region (contract, section 6)."""

from __future__ import annotations

from pathlib import Path

from gpu_opt.domain.offer import Offer
from gpu_opt_prices.snapshot_files import shipped, snapshot_offers, snapshot_providers
from gpu_opt_prices.store import Cached, cached_providers, read_cached
from gpu_opt_prices.table import OfferTable, Refused, sorted_offers


def default_offers(cache_dir: Path | None, offline: bool = True) -> OfferTable:
    """Every offer in effect. Nothing is fetched here, so `offline` changes nothing; None leaves the cache out."""
    offers: list[Offer] = []
    refused: list[Refused] = []
    warnings: list[str] = []
    cached_names = cached_providers(cache_dir) if cache_dir else ()
    for provider in sorted({*snapshot_providers(), *cached_names}):
        cached = None
        if cache_dir and provider in cached_names:
            cached, said = read_cached(cache_dir, provider)
            warnings.extend(said)
        offers.extend(provider_offers(provider, cached))
        refused.extend(cached.table.refused if cached else ())
    known = "" if cached_names else shipped()[1]
    return OfferTable(offers=tuple(offers), refused=tuple(refused), warnings=tuple(warnings), known_sha256=known)


def provider_offers(provider: str, cached: Cached | None) -> tuple[Offer, ...]:
    """One provider's offers in effect, sorted."""
    shipped = snapshot_offers(provider)
    if cached is None:
        return shipped
    kept = [
        offer
        for offer in shipped
        if offer.region not in cached.regions and (not cached.complete or offer.region in cached.failed_regions)
    ]
    return sorted_offers([*kept, *cached.table.offers])
