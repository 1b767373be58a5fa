"""Private prices, discounts and quotes, as they stand in an overlay file."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Self

from pydantic import model_validator

from gpu_opt.workload_file.scalars import (
    Amount,
    AmountOrZero,
    Count,
    CountOrZero,
    Day,
    Fraction,
    GpuName,
    Share,
    Text,
    Wrong,
)
from gpu_opt.workload_file.section import OneOrMore, Section
from gpu_opt.workload_file.sections import AnyMarket


class DiscountEntry(Section):
    provider: Text | None = None
    instance_types: OneOrMore[Text] = ()
    regions: OneOrMore[Text] = ()
    markets: OneOrMore[AnyMarket] = ()
    fraction: Share


class _Priced(Section):
    provider: Text
    region: Text
    instance_type: Text | None = None
    gpu: GpuName
    gpu_count: Amount
    usd_per_instance_hour: Amount | None = None
    usd_per_gpu_hour: Amount | None = None
    term_months: Count | None = None
    max_instances: Count | None = None

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        if (self.usd_per_instance_hour is None) == (self.usd_per_gpu_hour is None):
            raise Wrong("it needs exactly one price.", "Give usd_per_instance_hour or usd_per_gpu_hour.")
        return self


class PriceEntry(_Priced):
    zone: Text | None = None
    market: AnyMarket = "on_demand"
    upfront_usd: AmountOrZero = 0.0
    as_of: Day | None = None


class QuoteEntry(_Priced):
    market: AnyMarket | None = None
    min_instances: CountOrZero = 0
    prepay_fraction: Fraction = 0.0
    available_from: Day | None = None
    expires: Day | None = None

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.max_instances is not None and self.min_instances > self.max_instances:
            raise Wrong(f"min_instances {self.min_instances} exceeds max_instances {self.max_instances}.", "Swap them.")
        if self.prepay_fraction and self.term_months is None:
            raise Wrong("a share of a term is prepaid, but there is no term.", "Add term_months.")
        return self
