"""Putting new rows of a provider over what the cache has (contract, section 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gpu_opt.domain.offer import Offer
from gpu_opt.records import record
from gpu_opt_prices.changes import Change, compare
from gpu_opt_prices.effective import provider_offers
from gpu_opt_prices.store import Cached, locked, read_cached, write_cached
from gpu_opt_prices.table import OfferTable, offer_key, sorted_offers


@record
class Keep:
    """Old rows that stay though their region answered, because the answer leaves them out: a market ("" is any) of a
    region ("" is any), GPUs by pattern."""

    region: str = ""
    market: str = ""
    gpu: str = "*"

    def covers(self, offer: Offer) -> bool:
        """Whether an old row stays by it."""
        return (
            self.region in ("", offer.region)
            and self.market in ("", offer.market.value)
            and fnmatchcase(offer.gpu, self.gpu)
        )


def store_rows(
    cache_dir: Path,
    provider: str,
    offers: Collection[Offer],
    *,
    answered: Collection[str],
    moment: str,
    failed: Collection[str] = (),
    complete: bool = False,
    refused: Mapping[str, int] | None = None,
    keep: Sequence[Keep] = (),
) -> tuple[Change, tuple[Offer, ...]]:
    """Write a provider's file; what changed, and the provider's offers as they are now.

    `answered` regions get the new rows, `failed` ones keep their old rows.

    `complete` says that all regions were asked for: what neither answered nor failed is gone, the snapshot's rows too.
    """
    with locked(cache_dir):
        old, _ = read_cached(cache_dir, provider)
        before = provider_offers(provider, old)
        held = old or Cached(provider=provider, complete=False, regions={})

        def replaced(region: str) -> bool:
            return region in answered or (complete and region not in failed)

        fresh = {offer_key(offer) for offer in offers}
        kept = [offer for offer in held.table.offers if not replaced(offer.region)]
        spared = [
            offer
            for offer in before
            if replaced(offer.region) and offer_key(offer) not in fresh and any(part.covers(offer) for part in keep)
        ]
        regions = {region: when for region, when in held.regions.items() if not replaced(region)}
        regions.update(dict.fromkeys(answered, moment))
        was_failed = set(held.failed_regions) if held.complete and not complete else set()
        cached = Cached(
            provider=provider,
            complete=complete or held.complete,
            regions=dict(sorted(regions.items())),
            failed_regions=tuple(sorted((was_failed | (set(failed) if complete else set())) - set(answered))),
            refused=dict(sorted((refused or {}).items())),
            table=OfferTable(offers=sorted_offers([*kept, *spared, *offers])),
        )
        write_cached(cache_dir, cached, moment=moment)
    after = provider_offers(provider, cached)
    return compare(before, after), after
