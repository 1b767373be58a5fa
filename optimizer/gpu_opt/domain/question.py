"""The whole question: horizon, workloads, what one has, what one may have, and the limits."""

from __future__ import annotations

from dataclasses import field
from datetime import date, timedelta

from gpu_opt.domain.offer import Market
from gpu_opt.domain.workload import Workload
from gpu_opt.records import record


@record
class Period:
    """A calendar period, in hours from the horizon's start."""

    name: str
    start_hours: float
    end_hours: float

    @property
    def hours(self) -> float:
        """Calendar hours of the period."""
        return self.end_hours - self.start_hours


@record
class NamedBlock:
    """A share of every day that all users of the name have at the same time."""

    name: str
    hours_share_fraction: float


@record
class Horizon:
    """The time that is planned. `after` is hold, none or decline; dates are UTC midnights."""

    start: date
    period_kind: str
    periods: tuple[Period, ...]
    blocks: tuple[NamedBlock, ...] = ()
    after: str = "hold"
    decline_per_year_fraction: float = 0.0

    @property
    def hours(self) -> float:
        """Hours from start to end."""
        return self.periods[-1].end_hours

    def date_at(self, at_hours: float) -> date:
        """The day that a time falls on."""
        return self.start + timedelta(hours=at_hours)

    def hours_at(self, day: date) -> float:
        """Hours from the horizon's start to the start of a day (negative before it)."""
        return (day - self.start).days * 24.0


@record
class Scope:
    """What may be used at all; empty means all."""

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    data_residency: tuple[str, ...] = ()


@record
class Budget:
    """Limits on money; None where there is none. `basis` is effective or billed, and concerns `total_usd`."""

    basis: str = "effective"
    total_usd: float | None = None
    per_period_usd: float | None = None
    per_hour_usd: float | None = None
    capex_usd: float | None = None


@record
class Quota:
    """A limit on what runs at one time; empty keys match all. `obtainable` marks what one can really get."""

    name: str
    provider: str = ""
    region: str = ""
    instance_types: tuple[str, ...] = ()
    gpu: str = ""
    market: str = ""
    max_instances: int | None = None
    max_gpus: float | None = None
    max_vcpus: float | None = None
    obtainable: bool = False


@record
class Site:
    """Where owned machines stand. `mode` is colo or owned."""

    name: str
    country: str
    mode: str = "colo"
    pue_ratio: float | None = None
    climate: str = ""
    usd_per_kwh: float | None = None
    colo_usd_per_kw_month: float | None = None
    facility_usd_per_watt: float | None = None
    demand_usd_per_kw_month: float | None = None
    power_kw_free: float | None = None
    racks_free: float | None = None
    carbon_g_per_kwh: float | None = None


@record
class SystemOverride:
    """What the file says over the system table; None keeps the table's."""

    price_usd: float | None = None
    life_years: float | None = None
    residual_fraction: float | None = None
    max_kw: float | None = None
    train_kw: float | None = None
    infer_kw: float | None = None
    idle_kw: float | None = None
    fabric_usd_per_gpu: float | None = None
    storage_usd_per_gpu: float | None = None
    maintenance_fraction_per_year: float | None = None
    staff_usd_per_gpu_year: float | None = None
    software_usd_per_gpu_year: float | None = None
    fabric_kw: float | None = None
    install_fraction: float | None = None
    spares_fraction: float | None = None
    insurance_fraction_per_year: float | None = None


@record
class Owned:
    """Machines that stand already. Never priced at zero."""

    name: str
    system: str
    instances: int
    purchased: date
    site: str
    override: SystemOverride = SystemOverride()


@record
class Purchasable:
    """A system that may be bought for a site, delivered `lead_time_hours` after the order."""

    system: str
    site: str
    max_instances: int | None = None
    lead_time_hours: float = 0.0
    override: SystemOverride = SystemOverride()


@record
class ExistingCommitment:
    """A commitment one has: paid, used or not, to the end of the day `ends`. `already_paid` costs nothing more."""

    name: str
    provider: str
    region: str
    instance_type: str
    instances: int
    ends: date
    usd_per_instance_hour: float
    already_paid: bool = False


@record
class Agreement:
    """An enterprise agreement: a discount on all of a provider, against a least spend a year."""

    provider: str
    min_spend_usd_per_year: float
    discount_fraction: float = 0.0
    other_spend_usd_per_year: float = 0.0


@record
class Credit:
    """Money that pays a provider's lines through the day `expires`."""

    provider: str
    usd: float
    expires: date


@record
class Overhead:
    """What a provider costs beside the instances, where it is used."""

    provider: str
    support_fraction: float = 0.0
    fixed_usd_per_period: float = 0.0


@record
class PricePath:
    """Assumed yearly drift of rented prices for a GPU pattern, compounding by each period's start."""

    gpu: str
    annual_change_fraction: float


@record
class Question:
    """Everything that a plan answers, except the prices."""

    horizon: Horizon
    workloads: tuple[Workload, ...]
    scope: Scope = Scope()
    rent_markets: tuple[Market, ...] = (Market.ON_DEMAND, Market.SPOT)
    consider: tuple[Market, ...] = ()
    price_paths: tuple[PricePath, ...] = ()
    budget: Budget = Budget()
    quotas: tuple[Quota, ...] = ()
    max_providers: int | None = None
    inventory: tuple[Owned, ...] = ()
    existing: tuple[ExistingCommitment, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    credits: tuple[Credit, ...] = ()
    overheads: tuple[Overhead, ...] = ()
    sites: tuple[Site, ...] = ()
    purchasable: tuple[Purchasable, ...] = ()
    occupancy_fraction: float = 0.85
    memory_reserve_fraction: float = 0.25
    cost_of_capital_fraction_per_year: float = 0.10
    demand_spread_fraction: float = 0.0
    price_spread_fraction: float = 0.0
    whole_hours: bool = False
    fund: bool = False
    warnings: tuple[str, ...] = field(default=())
