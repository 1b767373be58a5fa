"""What can be rented or reserved, where, and for how much."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from gpu_opt.records import record


class Market(StrEnum):
    """How an instance is paid for; names are those of the price files."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    FLEX_START = "flex_start"
    RESERVED_1Y = "reserved_1y"
    RESERVED_3Y = "reserved_3y"
    SAVINGS_PLAN_1Y = "savings_plan_1y"
    SAVINGS_PLAN_3Y = "savings_plan_3y"
    CAPACITY_BLOCK = "capacity_block"
    LIST_ONLY = "list_only"
    QUOTE = "quote"

    @property
    def is_rent(self) -> bool:
        """Paid for the hours it runs."""
        return self in (Market.ON_DEMAND, Market.SPOT, Market.FLEX_START)

    @property
    def is_term(self) -> bool:
        """Paid for every hour of a term of whole calendar months."""
        return self in (Market.RESERVED_1Y, Market.RESERVED_3Y, Market.SAVINGS_PLAN_1Y, Market.SAVINGS_PLAN_3Y)

    @property
    def is_savings_plan(self) -> bool:
        """Covers dollars per hour of a scope, not instances."""
        return self in (Market.SAVINGS_PLAN_1Y, Market.SAVINGS_PLAN_3Y)


@record
class Offer:
    """One purchasable price of one instance type in one place (contract, section 3).

    `usd_per_instance_hour` recurs for the whole instance; `upfront_usd` is paid at the start of the term.
    `source` says where the price was read, `as_of` when. `payment` tells apart what is otherwise the same offer; it is
    empty for the standard way to pay. `quoted` marks a vendor's quote, which competes whatever
    `markets` says, between `min_instances` and `max_instances`, from `available_from` on, accepted until `expires`.
    """

    provider: str
    region: str
    zone: str = ""
    instance_type: str
    gpu: str
    gpu_count: float
    gpu_memory_gib: float | None = None
    vcpus: float | None = None
    memory_gib: float | None = None
    market: Market
    usd_per_instance_hour: float
    upfront_usd: float = 0.0
    term_months: int = 0
    max_instances: int | None = None
    min_instances: int = 0
    holds_capacity: bool = False
    purchasable: bool = True
    as_of: date
    source: str
    payment: str = ""
    note: str = ""
    quoted: bool = False
    prepay_fraction: float = 0.0
    available_from: date | None = None
    expires: date | None = None

    @property
    def id(self) -> str:
        """`aws/us-east-1/p5.48xlarge/on_demand`, with the zone after the region where there is one, and a way to pay
        other than the standard one behind the market (`reserved_1y+all_upfront`, `on_demand+quote`)."""
        place = f"{self.region}/{self.zone}" if self.zone else self.region
        term = f"_{self.term_months}m" if self.market is Market.QUOTE and self.term_months else ""
        payment = f"+{self.payment}" if self.payment else ""
        return f"{self.provider}/{place}/{self.instance_type}/{self.market}{term}{payment}"
