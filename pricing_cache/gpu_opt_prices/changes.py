"""What differs between two sets of offers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpu_opt.domain.offer import Offer
from gpu_opt.records import record
from gpu_opt_prices.table import offer_key

_SAME_FRACTION = 1e-9


@record
class Change:
    """Offers that came, went, changed their price (offer as it is now, USD before, USD after), or stayed."""

    new: tuple[Offer, ...]
    gone: tuple[Offer, ...]
    changed: tuple[tuple[Offer, float, float], ...]
    kept: int

    def summary(self) -> str:
        """`3 kept, 1 new, 0 changed, 2 gone`."""
        return f"{self.kept} kept, {len(self.new)} new, {len(self.changed)} changed, {len(self.gone)} gone"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: ids with prices."""
        return {
            "new": [{"offer": offer.id, "usd_per_instance_hour": offer.usd_per_instance_hour} for offer in self.new],
            "gone": [{"offer": offer.id, "usd_per_instance_hour": offer.usd_per_instance_hour} for offer in self.gone],
            "changed": [{"offer": offer.id, "before": before, "after": after} for offer, before, after in self.changed],
            "kept": self.kept,
        }


def compare(before: Iterable[Offer], after: Iterable[Offer]) -> Change:
    """Offers by their key; a changed upfront counts with its hourly share."""
    old = {offer_key(offer): offer for offer in before}
    new = {offer_key(offer): offer for offer in after}
    changed = []
    kept = 0
    for key, offer in new.items():
        if key not in old:
            continue
        was, now = old[key].usd_per_instance_hour, offer.usd_per_instance_hour
        upfront = abs(old[key].upfront_usd - offer.upfront_usd) > _SAME_FRACTION * max(old[key].upfront_usd, 1.0)
        if abs(was - now) > _SAME_FRACTION * max(was, now) or upfront:
            changed.append((offer, was, now))
        else:
            kept += 1
    return Change(
        new=tuple(offer for key, offer in new.items() if key not in old),
        gone=tuple(offer for key, offer in old.items() if key not in new),
        changed=tuple(changed),
        kept=kept,
    )
