"""What a user knows about prices beyond the lists: discounts, private prices, quotes (contract, section 1.4)."""

from __future__ import annotations

from datetime import date

from gpu_opt.domain.offer import Market
from gpu_opt.records import record


@record
class Discount:
    """A fraction off the list price. Patterns (`p5.*`, `us-*`) ignore case; an empty key matches all."""

    provider: str = ""
    instance_types: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    markets: tuple[Market, ...] = ()
    discount_fraction: float


@record
class PriceRow:
    """A private price: it replaces the offer of the same place, type and market, or adds one.

    Exactly one of the two prices is set. `where` says where it stands (`discounts.yaml:4`). An empty `instance_type`
    is named after its GPUs. `gpu` is canonical.
    """

    provider: str
    region: str
    zone: str = ""
    instance_type: str = ""
    gpu: str
    gpu_count: float
    market: Market = Market.ON_DEMAND
    usd_per_instance_hour: float | None = None
    usd_per_gpu_hour: float | None = None
    upfront_usd: float = 0.0
    term_months: int = 0
    max_instances: int | None = None
    as_of: date | None = None
    where: str = ""


@record
class Quote:
    """A vendor's quote: rent without `term_months`, a commitment with them.

    Exactly one of the two prices is set; it is the whole price, of which `prepay_fraction` is paid upfront.
    `expires` is the last day to accept it. A quote of a rented kind may name its market (`spot`).
    """

    provider: str
    region: str
    instance_type: str = ""
    gpu: str
    gpu_count: float
    market: Market | None = None
    usd_per_instance_hour: float | None = None
    usd_per_gpu_hour: float | None = None
    min_instances: int = 0
    max_instances: int | None = None
    term_months: int = 0
    prepay_fraction: float = 0.0
    available_from: date | None = None
    expires: date | None = None
    where: str = ""


@record
class Overlay:
    """One overlay file, in its order."""

    discounts: tuple[Discount, ...] = ()
    prices: tuple[PriceRow, ...] = ()
    quotes: tuple[Quote, ...] = ()
