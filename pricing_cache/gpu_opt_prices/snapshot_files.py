"""The shipped snapshot: offers by provider, and the rows that can't be offers."""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from itertools import groupby

from gpu_opt.domain.offer import Offer
from gpu_opt.records import record
from gpu_opt_prices import compact
from gpu_opt_prices.manifest import SNAPSHOT_DIR

_UNUSABLE = "unusable"


@record
class Unusable:
    """A row of the snapshot's sources that is known and can't be an offer."""

    provider: str
    region: str
    instance_type: str
    market: str
    reason: str


@cache
def snapshot_providers() -> tuple[str, ...]:
    """Providers that the snapshot has offers of."""
    return tuple(sorted(path.stem for path in SNAPSHOT_DIR.glob("*.csv") if path.stem != _UNUSABLE))


def files_sha256() -> str:
    """Hash of the snapshot's CSV files, the unusable rows' last."""
    names = (*snapshot_providers(), _UNUSABLE)
    digest = hashlib.sha256()
    for name in names:
        digest.update((SNAPSHOT_DIR / f"{name}.csv").read_bytes())
    return digest.hexdigest()


@cache
def shipped() -> tuple[dict[str, tuple[Offer, ...]], str]:
    """Offers by provider with the hash of them all, from the compact file; nothing when the CSV files are others."""
    try:
        text = (SNAPSHOT_DIR / compact.FILE).read_text(encoding="utf-8")
        found = compact.from_compact(text, files_sha256())
    except (OSError, ValueError, KeyError):
        found = None
    if found is None:
        return {}, ""
    offers, sha256 = found
    return {provider: tuple(group) for provider, group in groupby(offers, key=lambda offer: offer.provider)}, sha256


@cache
def snapshot_offers(provider: str) -> tuple[Offer, ...]:
    """Offers of one provider, sorted; empty for one that the snapshot does not know."""
    if provider not in snapshot_providers():
        return ()
    known, _ = shipped()
    return known[provider] if known else checked_offers(provider)


def checked_offers(provider: str) -> tuple[Offer, ...]:
    """One provider's CSV file, read with every check."""
    from gpu_opt_prices.reader import read_offers

    return read_offers(SNAPSHOT_DIR / f"{provider}.csv", provider_data=True, name=f"snapshot/{provider}.csv").offers


@cache
def unusable_rows() -> tuple[Unusable, ...]:
    """Rows that no offer can be made of, with the reason."""
    with (SNAPSHOT_DIR / f"{_UNUSABLE}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(
            Unusable(
                provider=row["provider"],
                region=row["region"],
                instance_type=row["instance_type"],
                market=row["market"],
                reason=row["reason"],
            )
            for row in csv.DictReader(file)
        )
