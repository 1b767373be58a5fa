"""AWS's answers as rows: list, reserved, spot, savings plan and capacity block prices of one region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.offer import Market
from gpu_opt.units import HOURS_PER_YEAR
from gpu_opt_providers.base import Row, Unusable, offer_row
from gpu_opt_providers.gpus import known_type

# Products of the list must be these where they say anything; the services' filters don't reach everything.
_WANTED = {
    "operatingSystem": ("Linux",),
    "preInstalledSw": ("NA",),
    "capacitystatus": ("Used",),
    "tenancy": ("Shared",),
    "marketoption": ("OnDemand",),
    "licenseModel": ("No License required",),
    "operation": ("RunInstances",),
}
# Sold as capacity blocks and spot only; the list has rows at 0 and an add-on of 0.336 for them (price list of 2026).
_NO_ON_DEMAND = ("p5e.",)
_YEARS = {"1yr": 1, "3yr": 3}
_RESERVED = {1: Market.RESERVED_1Y, 3: Market.RESERVED_3Y}
_PLANS = {31_536_000: Market.SAVINGS_PLAN_1Y, 94_608_000: Market.SAVINGS_PLAN_3Y}


def parse_region(region: str, payload: Mapping[str, Any], refused: list[Unusable]) -> list[Row]:
    """Rows of all that a region's answer holds, sorted."""
    rows = [
        *_list_rows(region, payload.get("products", ()), refused),
        *_spot_rows(region, payload.get("spot") or {}, refused),
        *_block_rows(region, payload.get("capacity_blocks") or (), refused),
        *_plan_rows(region, payload.get("savings_plans") or (), refused),
    ]
    return sorted({tuple(sorted(row.items())): row for row in rows}.values(), key=lambda row: sorted(row.items()))


def _row(
    region: str,
    name: str,
    shape: Shape,
    market: Market,
    usd: str | float | None,
    *,
    zone: str = "",
    upfront_usd: float | None = None,
    max_instances: int | None = None,
    source: str,
    note: str = "",
) -> Row:
    return offer_row(
        provider="aws",
        region=region,
        zone=zone,
        instance_type=name,
        gpu=shape.gpu,
        gpu_count=shape.gpus,
        gpu_memory_gib=shape.memory_gib_per_gpu,
        vcpus=shape.vcpus,
        memory_gib=shape.host_memory_gib,
        market=market,
        usd_per_instance_hour=usd,
        upfront_usd=upfront_usd,
        max_instances=max_instances,
        source=source,
        note=note,
    )


def _list_rows(region: str, products: Iterable[Any], refused: list[Unusable]) -> Iterator[Row]:
    for entry in products:
        product = entry.get("product") if isinstance(entry, dict) else None
        attributes = product.get("attributes") if isinstance(product, dict) else None
        if not isinstance(attributes, dict):
            refused.append(Unusable(code="malformed", reason="an entry of the price list is no product"))
            continue
        name = str(attributes.get("instanceType", ""))
        if not _is_wanted(attributes, region):
            continue
        known = known_type("aws", name)
        if known is None:
            if attributes.get("gpu") not in (None, "", "0", "NA"):
                reason = "the instance type is in no table: its GPUs are unknown"
                refused.append(Unusable(code="gpu", reason=reason, value=name))
            continue
        terms = entry.get("terms") if isinstance(entry.get("terms"), dict) else {}
        yield from _on_demand_rows(region, *known, terms.get("OnDemand"), refused)
        yield from _reserved_rows(region, *known, terms.get("Reserved"), refused)


def _is_wanted(attributes: Mapping[str, Any], region: str) -> bool:
    if attributes.get("regionCode", region) != region:
        return False
    return all(attributes.get(key) in (None, *values) for key, values in _WANTED.items())


def _dimensions(term: object) -> list[Mapping[str, Any]]:
    dimensions = term.get("priceDimensions") if isinstance(term, dict) else None
    return [d for d in dimensions.values() if isinstance(d, dict)] if isinstance(dimensions, dict) else []


def _usd(dimension: Mapping[str, Any], refused: list[Unusable]) -> str | None:
    per_unit = dimension.get("pricePerUnit")
    if not isinstance(per_unit, dict):
        return None
    if "USD" not in per_unit and per_unit:
        refused.append(Unusable(code="currency", reason="the price is not in USD", value=str(next(iter(per_unit)))))
        return None
    usd = per_unit.get("USD")
    return None if usd is None else str(usd)


def _on_demand_rows(region: str, name: str, shape: Shape, terms: object, refused: list[Unusable]) -> Iterator[Row]:
    for term in terms.values() if isinstance(terms, dict) else ():
        for dimension in _dimensions(term):
            if str(dimension.get("unit", "Hrs")).lower() not in ("hrs", "hours"):
                refused.append(Unusable(code="unit", reason="the price is not by the hour", value=name))
                continue
            if name.startswith(_NO_ON_DEMAND):
                refused.append(Unusable(code="not-sold", reason="the instance type is not sold on demand", value=name))
                continue
            usd = _usd(dimension, refused)
            yield _row(region, name, shape, Market.ON_DEMAND, usd, source="aws price list")


def _reserved_rows(region: str, name: str, shape: Shape, terms: object, refused: list[Unusable]) -> Iterator[Row]:
    """The standard offer without upfront where it is sold, else the one that is cheapest over its term."""
    offers: dict[int, list[tuple[bool, float, float, float, str]]] = {1: [], 3: []}
    for term in terms.values() if isinstance(terms, dict) else ():
        found = term.get("termAttributes") if isinstance(term, dict) else None
        attributes = found if isinstance(found, dict) else {}
        years = _YEARS.get(str(attributes.get("LeaseContractLength")))
        if years is None or attributes.get("OfferingClass") != "standard":
            continue
        hourly, upfront = _reserved_prices(term, refused)
        if hourly is None or hourly + upfront <= 0:
            reason = "a reserved offer has no price"
            refused.append(Unusable(code="price-missing", reason=reason, value=name))
            continue
        option = str(attributes.get("PurchaseOption", ""))
        effective = hourly + upfront / (HOURS_PER_YEAR * years)
        offers[years].append((option != "No Upfront", effective, hourly, upfront, option))
    for years, candidates in offers.items():
        if candidates:
            _, _, hourly, upfront, option = min(candidates)
            note = "" if option == "No Upfront" else option.lower()
            yield _row(
                region, name, shape, _RESERVED[years], hourly, upfront_usd=upfront, source="aws price list", note=note
            )


def _reserved_prices(term: object, refused: list[Unusable]) -> tuple[float | None, float]:
    """(USD by the hour, USD upfront); an all-upfront offer may have no hourly dimension at all."""
    hourly: float | None = None
    upfront = 0.0
    for dimension in _dimensions(term):
        price = _float(_usd(dimension, refused))
        if price is None or price < 0:
            continue
        if dimension.get("unit") == "Quantity":
            upfront = price
            hourly = hourly or 0.0
        else:
            hourly = price
    return hourly, upfront


def _spot_rows(region: str, payload: Mapping[str, Any], refused: list[Unusable]) -> Iterator[Row]:
    """The newest price of each type and zone. Zones go by their id, since names differ by account."""
    zone_ids = payload.get("zone_ids") or {}
    newest: dict[tuple[str, str], tuple[str, str]] = {}
    for entry in payload.get("prices") or ():
        if not isinstance(entry, dict) or not str(entry.get("ProductDescription", "")).startswith("Linux/UNIX"):
            continue
        zone = zone_ids.get(entry.get("AvailabilityZone")) or entry.get("AvailabilityZoneId")
        name = str(entry.get("InstanceType", ""))
        if not zone:
            refused.append(Unusable(code="zone", reason="a spot price has no known zone", value=name))
            continue
        price = (str(entry.get("Timestamp", "")), str(entry.get("SpotPrice", "")))
        key = (name, str(zone))
        newest[key] = max(newest.get(key, price), price)
    for (name, zone), (_, price_text) in newest.items():
        known = known_type("aws", name)
        if known is None:
            refused.append(Unusable(code="gpu", reason="the instance type's GPUs are unknown", value=name))
            continue
        yield _row(region, *known, Market.SPOT, price_text, zone=zone, source="aws spot price history")


def _block_rows(region: str, offerings: Iterable[Any], refused: list[Unusable]) -> Iterator[Row]:
    """The cheapest offering of each type: its fee is for the whole block, so over hours and instances."""
    cheapest: dict[str, float] = {}
    for offering in offerings:
        if not isinstance(offering, dict):
            continue
        name = str(offering.get("InstanceType", ""))
        fee = _float(offering.get("UpfrontFee"))
        hours, count = _float(offering.get("CapacityBlockDurationHours")), _float(offering.get("InstanceCount"))
        if fee is None or fee <= 0 or not hours or not count:
            reason = "a capacity block has no fee, hours or count"
            refused.append(Unusable(code="price-missing", reason=reason, value=name))
            continue
        if offering.get("CurrencyCode", "USD") != "USD":
            refused.append(Unusable(code="currency", reason="the price is not in USD", value=name))
            continue
        cheapest[name] = min(cheapest.get(name, float("inf")), fee / (hours * count))
    for name, usd in cheapest.items():
        known = known_type("aws", name)
        if known:
            yield _row(region, *known, Market.CAPACITY_BLOCK, usd, source="aws capacity block offerings")


def _plan_rows(region: str, rates: Iterable[Any], refused: list[Unusable]) -> Iterator[Row]:
    """Compute plans without upfront; the rate is a string, the usage type has the region's prefix."""
    for rate in rates:
        plan = rate.get("savingsPlanOffering") if isinstance(rate, dict) else None
        if not isinstance(plan, dict) or "BoxUsage" not in str(rate.get("usageType", "BoxUsage")):
            continue
        if plan.get("planType", "Compute") != "Compute" or plan.get("paymentOption", "No Upfront") != "No Upfront":
            continue
        properties = {
            str(p.get("name")): str(p.get("value")) for p in rate.get("properties", ()) if isinstance(p, dict)
        }
        name = properties.get("instanceType") or str(rate.get("usageType", "")).rpartition(":")[2]
        market = _PLANS.get(plan.get("durationSeconds", 0))
        known = known_type("aws", name)
        if market is None or known is None or properties.get("region", region) != region:
            continue
        if plan.get("currency", "USD") != "USD" or str(rate.get("unit", "Hrs")).lower() not in ("hrs", "hours"):
            refused.append(Unusable(code="unit", reason="a savings plan's rate is not USD by the hour", value=name))
            continue
        yield _row(region, *known, market, str(rate.get("rate", "")), source="aws savings plan rates")


def _float(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
