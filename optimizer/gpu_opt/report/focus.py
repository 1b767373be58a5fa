"""The plan as a forecast in the columns of FOCUS 1.2, for tools that read cloud bills.

A row a cost line, charged over its period of the plan. `EffectiveCost` adds up to the plan's objective, `BilledCost` to
what is billed inside the horizon: upfronts and machines are rows of category Purchase in the month when they are paid.
What is unknown (list prices, accounts) is empty, never zero.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from gpu_opt.answer.document import to_json
from gpu_opt.domain.plan import CommitmentPlan, CostLine, Plan, PurchasePlan
from gpu_opt.report.cost_sections import AFTER_HORIZON
from gpu_opt.report.csvs import written

COLUMNS = (
    *("BillingAccountId", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd"),
    *("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("ProviderName", "PublisherName", "InvoiceIssuerName", "ServiceCategory", "ServiceName"),
    *("RegionId", "AvailabilityZone", "ResourceId", "ResourceType", "SkuId", "SkuPriceId"),
    *("PricingCategory", "PricingQuantity", "PricingUnit", "ConsumedQuantity", "ConsumedUnit"),
    *("ListUnitPrice", "ContractedUnitPrice", "ListCost", "ContractedCost", "BilledCost", "EffectiveCost"),
    *("CommitmentDiscountId", "CommitmentDiscountType", "CommitmentDiscountCategory", "CommitmentDiscountStatus"),
    *("CommitmentDiscountQuantity", "CommitmentDiscountUnit", "CapacityReservationId", "CapacityReservationStatus"),
    *("SubAccountId", "Tags"),
    *("x_WorkloadId", "x_PlanId", "x_GpuModel", "x_GpuHours", "x_EnergyKwh", "x_CarbonKg", "x_Forecast"),
)
_PRICING = {"on_demand": "Standard", "spot": "Dynamic", "flex_start": "Dynamic"}
_SPEND, _USAGE = "Spend", "Usage"
_COMMITTED = {
    "reserved_1y": ("Reserved instance", _USAGE),
    "reserved_3y": ("Reserved instance", _USAGE),
    "savings_plan_1y": ("Savings plan", _SPEND),
    "savings_plan_3y": ("Savings plan", _SPEND),
    "quote": ("Contract", _USAGE),
    "existing": ("Existing commitment", _USAGE),
}
_BY_USE = ("rent", "energy of work", "late")
_BY_THE_HOUR = ("rent", "committed", "annuity", "existing")
Row = dict[str, object]


def focus_csv(plan: Plan) -> str:
    """All rows as CSV."""
    return written(COLUMNS, focus_rows(plan))


def focus_rows(plan: Plan) -> list[Row]:
    """A row for each cost line, then one for each upfront and purchase price paid inside the horizon."""
    made = _Maker(plan)
    rows = [made.usage(line) for line in plan.cost_lines]
    rows += made.upfronts(plan.commitments)
    rows += made.capex(plan.purchases)
    return rows


class _Maker:
    """Periods as times, and what allocations say about an offer."""

    def __init__(self, plan: Plan) -> None:
        self.plan_id = _plan_id(plan)
        self.teams = {workload.name: workload.team for workload in plan.workloads}
        self.ends = {c.offer: c.end for c in plan.commitments}
        self.spans: dict[str, tuple[str, str]] = {}
        at = datetime.fromisoformat(plan.start)
        self.start = at
        for name, hours in plan.periods:
            after = at + timedelta(hours=hours)
            self.spans[name] = (_time(at), _time(after))
            at = after
        self.end = at
        # What an offer was used for stands once in each period; the rows of one use share it among them.
        self.uses = {
            (workload.name, allocation.offer, allocation.period): allocation
            for workload in plan.workloads
            for allocation in workload.allocations
        }
        self.places = {a.offer: a for w in plan.workloads for a in w.allocations}

    def usage(self, line: CostLine) -> Row:
        start, end = self._span(line)
        allocation = self.places.get(line.offer)
        row = self._common(line.provider or line.offer, line.workload, start, end)
        row |= {
            "ChargeCategory": _category(line),
            "ChargeDescription": line.label,
            "ChargeFrequency": "Usage-Based" if line.label in _BY_USE else "Recurring",
            "RegionId": allocation.region if allocation else None,
            "ResourceId": line.offer or None,
            "SkuId": allocation.instance_type if allocation else None,
            "SkuPriceId": line.offer or None,
            "PricingCategory": _PRICING.get(line.market, "Committed" if line.market in _COMMITTED else "Other"),
            "PricingQuantity": line.quantity,
            "PricingUnit": line.unit,
            "ContractedUnitPrice": line.rate_usd,
            "ContractedCost": line.usd,
            "BilledCost": line.usd if line.billed and line.period != AFTER_HORIZON else 0.0,
            "EffectiveCost": line.usd,
        }
        return row | _commitment(line) | self._used(line)

    def _used(self, line: CostLine) -> Row:
        """GPU-hours and energy, on the one line of a use that is by its hours."""
        counted = line.label in _BY_THE_HOUR or line.label.startswith("existing")
        allocation = self.uses.pop((line.workload, line.offer, line.period), None) if counted else None
        if allocation is None:
            return {}
        return {
            "ConsumedQuantity": allocation.instance_hours,
            "ConsumedUnit": "instance-hour",
            "x_GpuModel": allocation.gpu,
            "x_GpuHours": allocation.gpu_hours,
            "x_EnergyKwh": allocation.energy_kwh,
            "x_CarbonKg": allocation.carbon_kg,
        }

    def upfronts(self, commitments: tuple[CommitmentPlan, ...]) -> Iterator[Row]:
        for held in commitments:
            if held.existing or not held.upfront_usd or not self._inside(held.start):
                continue
            amount = held.upfront_usd
            row = self._purchase(held.provider, held.start, f"upfront of {held.offer}", amount)
            yield row | {"RegionId": held.region, "ResourceId": held.offer, "CommitmentDiscountId": held.offer}

    def capex(self, purchases: tuple[PurchasePlan, ...]) -> Iterator[Row]:
        for bought in purchases:
            if self._inside(bought.delivered):
                what = f"{bought.instances} × {bought.system} for {bought.site}"
                row = self._purchase("onprem", bought.delivered, what, bought.capex_usd)
                yield row | {"RegionId": bought.site, "ResourceId": bought.system, "x_GpuModel": bought.gpu}

    def _purchase(self, provider: str, day: str, what: str, usd: float) -> Row:
        start = datetime.fromisoformat(day)
        row = self._common(provider, "", _time(start), _time(start + timedelta(days=1)))
        month = start.replace(day=1)
        return row | {
            "BillingPeriodStart": _time(month),
            "BillingPeriodEnd": _time((month + timedelta(days=32)).replace(day=1)),
            "ChargeCategory": "Purchase",
            "ChargeDescription": what,
            "ChargeFrequency": "One-Time",
            "PricingCategory": "Committed",
            "ContractedCost": usd,
            "BilledCost": usd,
            "EffectiveCost": 0.0,
        }

    def _common(self, provider: str, workload: str, start: str, end: str) -> Row:
        team = self.teams.get(workload, "")
        return {
            "BillingCurrency": "USD",
            "BillingPeriodStart": start,
            "BillingPeriodEnd": end,
            "ChargePeriodStart": start,
            "ChargePeriodEnd": end,
            "ProviderName": provider or None,
            "PublisherName": provider or None,
            "InvoiceIssuerName": provider or None,
            "ServiceCategory": "Compute",
            "ServiceName": "GPU instances",
            "ResourceType": "GPU instance",
            "Tags": json.dumps({"team": team}) if team else None,
            "x_WorkloadId": workload or None,
            "x_PlanId": self.plan_id,
            "x_Forecast": "true",
        }

    def _span(self, line: CostLine) -> tuple[str, str]:
        if line.period in self.spans:
            return self.spans[line.period]
        last = self.ends.get(line.offer, "")
        end = datetime.fromisoformat(last) if last else self.end
        return _time(self.end), _time(max(end, self.end))

    def _inside(self, day: str) -> bool:
        return bool(day) and self.start <= datetime.fromisoformat(day) < self.end


def _plan_id(plan: Plan) -> str:
    text = json.dumps(to_json(plan), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _category(line: CostLine) -> str:
    if line.label.startswith("credit"):
        return "Credit"
    return "Adjustment" if line.label == "agreement shortfall" else "Usage"


def _commitment(line: CostLine) -> Row:
    status = "Unused" if not line.workload else "Used"
    if line.market == "capacity_block":
        return {"CapacityReservationId": line.offer, "CapacityReservationStatus": status}
    if line.market not in _COMMITTED:
        return {}
    kind, category = _COMMITTED[line.market]
    return {
        "CommitmentDiscountId": line.offer,
        "CommitmentDiscountType": kind,
        "CommitmentDiscountCategory": category,
        "CommitmentDiscountStatus": status,
        "CommitmentDiscountQuantity": line.quantity,
        "CommitmentDiscountUnit": line.unit,
    }


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
