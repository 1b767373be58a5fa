"""The parts of the file that every plan reads first: horizon, prices, scope, defaults, limits."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gpu_opt.workload_file.scalars import (
    AmountOrZero,
    Count,
    CountOrZero,
    Day,
    Fraction,
    GpuPattern,
    Growth,
    Residency,
    Scalar,
    Share,
    Text,
    Wrong,
    between,
    distinct_gpus,
    text,
)
from gpu_opt.workload_file.section import OneOrMore, Precision, Section

AnyMarket = Literal[
    "on_demand", "spot", "flex_start",
    "reserved_1y", "reserved_3y", "savings_plan_1y", "savings_plan_3y", "capacity_block",
]  # fmt: skip
PeriodKind = Literal["month", "quarter", "year"]


def _after_demand(value: object) -> str | float:
    """`hold`, `none`, or the fraction by which demand declines each year."""
    if value in ("hold", "none"):
        return str(value)
    if isinstance(value, dict) and set(value) == {"decline_per_year"}:
        return _yearly_decline(value["decline_per_year"])
    raise Wrong("what becomes of demand after the horizon?", "Write hold, none or {decline_per_year: 0.3}.")


_yearly_decline = between(0, 1, percent=True)
_DECLINE = {
    "type": "object",
    "properties": {"decline_per_year": {"type": ["number", "string"]}},
    "required": ["decline_per_year"],
    "additionalProperties": False,
}
AfterDemand = Annotated[str | float, Scalar(_after_demand, {"anyOf": [{"enum": ["hold", "none"]}, _DECLINE]})]


class HorizonBlock(Section):
    name: Text
    hours_share: Share


class After(Section):
    demand: AfterDemand = "hold"


class HorizonSection(Section):
    start: Day | None = None
    periods: Count | None = None
    period: PeriodKind = "quarter"
    blocks: tuple[HorizonBlock, ...] = ()
    after: After = After.model_construct(demand="hold")


def _overlay(value: object) -> str | dict[str, Any]:
    """The name of an overlay file, or an overlay written out."""
    return value if isinstance(value, dict) else text(value)


OverlayRef = Annotated[str | dict[str, Any], Scalar(_overlay, {"type": ["string", "object"]})]


class PriceChange(Section):
    annual_change: Growth


class PricesSection(Section):
    file: Text | None = None
    snapshot: Text | None = None
    overlays: OneOrMore[OverlayRef] = ()
    markets: OneOrMore[AnyMarket] | None = None
    path: Annotated[dict[GpuPattern, PriceChange], BeforeValidator(distinct_gpus)] = Field(default_factory=dict)
    max_age_days: dict[AnyMarket, AmountOrZero] = Field(default_factory=dict)


class ScopeSection(Section):
    providers: OneOrMore[Text] = ()
    regions: OneOrMore[Text] = ()
    gpus: OneOrMore[GpuPattern] = ()
    data_residency: OneOrMore[Residency] = ()


class DefaultsSection(Section):
    memory_reserve: Fraction = 0.25
    precision: Precision = "bf16"
    occupancy: Share = 0.85
    cost_of_capital_annual: Fraction = 0.10


class BudgetSection(Section):
    basis: Literal["effective", "billed"] = "effective"
    total_usd: AmountOrZero | None = None
    per_period_usd: AmountOrZero | None = None
    per_hour_usd: AmountOrZero | None = None
    capex_usd: AmountOrZero | None = None


class QuotaEntry(Section):
    provider: Text | None = None
    region: Text | None = None
    instance_types: OneOrMore[Text] = ()
    gpu: GpuPattern | None = None
    market: AnyMarket | None = None
    max_instances: CountOrZero | None = None
    max_gpus: AmountOrZero | None = None
    max_vcpus: AmountOrZero | None = None


class LimitsSection(Section):
    budget: BudgetSection = BudgetSection.model_construct()
    quotas: tuple[QuotaEntry, ...] = ()
    obtainable: tuple[QuotaEntry, ...] = ()
    max_providers: Count | None = None
