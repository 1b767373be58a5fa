"""What one owns, has committed to, may buy, and has agreed; loaded only for files that say so."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Literal

from gpu_opt.workload_file.scalars import (
    Amount,
    AmountOrZero,
    AtLeastOne,
    Count,
    Country,
    Day,
    Flag,
    Fraction,
    Hours,
    SystemName,
    Text,
)
from gpu_opt.workload_file.section import OneOrMore, Section

TermMarket = Literal["reserved_1y", "reserved_3y", "savings_plan_1y", "savings_plan_3y", "capacity_block"]


class SystemKeys(Section):
    """What may be said over the system table, and over the defaults of costs."""

    price_usd: Amount | None = None
    life_years: Amount | None = None
    residual_fraction: Fraction | None = None
    max_kw: Amount | None = None
    train_kw: Amount | None = None
    infer_kw: Amount | None = None
    idle_kw: AmountOrZero | None = None
    fabric_kw: AmountOrZero | None = None
    fabric_usd_per_gpu: AmountOrZero | None = None
    storage_usd_per_gpu: AmountOrZero | None = None
    install_fraction: Fraction | None = None
    spares_fraction: Fraction | None = None
    maintenance_fraction_per_year: Fraction | None = None
    insurance_fraction_per_year: Fraction | None = None
    staff_usd_per_gpu_year: AmountOrZero | None = None
    software_usd_per_gpu_year: AmountOrZero | None = None


class OwnedEntry(SystemKeys):
    name: Text
    system: SystemName
    instances: Count
    purchased: Day
    site: Text


class PurchasableEntry(SystemKeys):
    system: SystemName
    site: Text
    max_instances: Count | None = None
    lead_time: Hours = 0.0


class SiteEntry(Section):
    name: Text
    country: Country
    mode: Literal["colo", "owned"] = "colo"
    pue: AtLeastOne | None = None
    climate: Text | None = None
    usd_per_kwh: AmountOrZero | None = None
    colo_usd_per_kw_month: AmountOrZero | None = None
    facility_usd_per_watt: AmountOrZero | None = None
    demand_usd_per_kw_month: AmountOrZero | None = None
    power_kw_free: AmountOrZero | None = None
    racks_free: AmountOrZero | None = None
    carbon_g_per_kwh: AmountOrZero | None = None


class OnpremSection(Section):
    sites: tuple[SiteEntry, ...] = ()
    purchasable: tuple[PurchasableEntry, ...] = ()


class ExistingEntry(Section):
    name: Text | None = None
    provider: Text | None = None
    instance_type: Text
    region: Text
    instances: Count
    ends: Day
    usd_per_instance_hour: Amount | None = None
    already_paid: Flag = False


class CommitmentsSection(Section):
    existing: tuple[ExistingEntry, ...] = ()
    consider: OneOrMore[TermMarket] | None = None


class AgreementEntry(Section):
    provider: Text
    min_spend_usd_per_year: AmountOrZero
    discount: Fraction = 0.0
    other_spend_usd_per_year: AmountOrZero = 0.0


class CreditEntry(Section):
    provider: Text
    usd: Amount
    expires: Day


class OverheadEntry(Section):
    support_fraction: Fraction = 0.0
    fixed_usd_per_period: AmountOrZero = 0.0


class RiskSection(Section):
    mode: Literal["expected", "cvar"] = "expected"
    demand_spread: Fraction = 0.0
    price_spread: Fraction = 0.0


class ObjectiveSection(Section):
    stay_close_to: Text | None = None
