"""The shipped snapshot: offers by provider, and the rows that can't be offers."""

from __future__ import annotations

import csv
from functools import cache

from gpu_opt.domain.offer import Offer
from gpu_opt.records import record
from gpu_opt_prices.manifest import SNAPSHOT_DIR
from gpu_opt_prices.reader import read_offers

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


@cache
def snapshot_offers(provider: str) -> tuple[Offer, ...]:
    """Offers of one provider, sorted; empty for one that the snapshot does not know."""
    if provider not in snapshot_providers():
        return ()
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
