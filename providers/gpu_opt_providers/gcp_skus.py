"""A GCP machine's price out of SKUs: vCPU × core + GiB × RAM + GPUs × GPU + local SSD GiB × SSD / 730.

SKUs are known by their description only. `OnDemand` as a usage type is not enough: dynamic workload scheduler (DWS) and
some spot SKUs carry it too, and would make rent look cheaper than spot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.offer import Market
from gpu_opt.records import record
from gpu_opt_providers.base import Row, Unusable, offer_row
from gpu_opt_providers.gpus import known_types

HOURS_PER_BILLED_MONTH = 730.0  # GCP's own convention for prices by the month
_DROPPED = re.compile(r"sole tenancy|reserved|premium|custom|suspended|calendar mode|workstation", re.IGNORECASE)
_FLEX = re.compile(r"\bDWS\b|defined duration", re.IGNORECASE)
_SPOT = re.compile(r"spot preemptible|\bpreemptible\b", re.IGNORECASE)
_COMMITS = {"Commit1Yr": Market.RESERVED_1Y, "Commit3Yr": Market.RESERVED_3Y}
_SSD = "ssd"
_SSD_SKU = re.compile(r"ssd backed local storage|local ssd", re.IGNORECASE)


@record
class Family:
    """How a family's SKUs are called: `core` begins its core and RAM SKUs, `gpu` names its GPU SKU.

    `on_demand` says that it is really sold on demand; `ssd_gib_per_gpu` comes with the machine and is charged;
    `slice_only`: the GPU SKU is a slice of the whole machine, and nothing else is charged.
    """

    prefix: str
    core: str
    gpu: str
    on_demand: bool = True
    ssd_gib_per_gpu: float = 0.0
    slice_only: bool = False


# cloud.google.com/compute/docs/gpus and /local-ssd (2026-04), descriptions of the catalogue (2026-08).
FAMILIES = (
    Family(prefix="a2-ultragpu-", core=r"A2 Instance", gpu=r"Nvidia Tesla A100 80GB GPU", ssd_gib_per_gpu=375),
    Family(prefix="a2-", core=r"A2 Instance", gpu=r"Nvidia Tesla A100 GPU"),
    Family(prefix="a3-megagpu-8g", core=r"A3Plus Instance", gpu=r"Nvidia H100 80GB (?:Mega|Plus) GPU",
           ssd_gib_per_gpu=750),
    Family(prefix="a3-ultragpu-8g", core=r"A3Ultra Instance", gpu=r"Nvidia H200 141GB GPU", on_demand=False,
           ssd_gib_per_gpu=1500),
    Family(prefix="a3-highgpu-8g", core=r"A3 Instance", gpu=r"Nvidia H100 80GB GPU", ssd_gib_per_gpu=750),
    Family(prefix="a3-highgpu-", core=r"A3 Instance", gpu=r"Nvidia H100 80GB GPU", on_demand=False,
           ssd_gib_per_gpu=750),
    Family(prefix="a4-", core="", gpu=r"A4 Nvidia B200 \(1 gpu slice\)", on_demand=False, slice_only=True),
    Family(prefix="g2-", core=r"G2 Instance", gpu=r"Nvidia L4 GPU"),
    Family(prefix="g4-", core=r"G4 Instance", gpu=r"(?:Nvidia )?RTX (?:PRO )?6000 96GB(?: GPU)?"),
)  # fmt: skip

Prices = dict[tuple[str, Market, str], set[float]]


def machine_rows(
    skus: Sequence[Mapping[str, Any]], machines: Sequence[Any] | None, regions: set[str]
) -> tuple[list[Row], list[Unusable]]:
    """Rows of every machine type that all parts have a price for, in regions that have the type.

    `machines` None: where types are sold is unknown, and every region with SKUs counts. Empty `regions` means all.
    """
    refused: list[Unusable] = []
    prices = _part_prices(skus, refused)
    sold = _sold_in(machines)
    rows = []
    for name, shape in known_types("gcp"):
        family = _family(name)
        if family is None:
            continue
        places = {region for part, _, region in prices if part == f"gpu:{family.prefix}"}
        for region in sorted(places):
            if (regions and region not in regions) or (sold is not None and region not in sold.get(name, ())):
                continue
            for market in (Market.ON_DEMAND, Market.SPOT, Market.FLEX_START, Market.RESERVED_1Y, Market.RESERVED_3Y):
                row = _row(name, shape, family, region, market, prices, refused)
                if row:
                    rows.append(row)
    return rows, refused


def _family(name: str) -> Family | None:
    return next((family for family in FAMILIES if name.startswith(family.prefix)), None)


def _part_prices(skus: Iterable[Mapping[str, Any]], refused: list[Unusable]) -> Prices:
    """(part, market, region) → every price found: `core:A2 Instance`, `ram:…`, `gpu:<family prefix>`, `ssd`."""
    prices: Prices = {}
    for sku in skus:
        description = str(sku.get("description") or "")
        market = _market(sku, description)
        if market is None:
            continue
        parts = _parts(description)
        if not parts:
            continue
        price = _price(sku)
        if price is None:
            refused.append(Unusable(code="price-missing", reason="a SKU has no price", value=description))
            continue
        regions = sku.get("serviceRegions")
        for region in regions if isinstance(regions, list) else ():
            for part in parts:
                prices.setdefault((part, market, str(region)), set()).add(price)
    return prices


def _market(sku: Mapping[str, Any], description: str) -> Market | None:
    category = sku.get("category")
    usage = str(category.get("usageType", "")) if isinstance(category, dict) else ""
    if _DROPPED.search(description):
        return None
    if usage in _COMMITS:
        return _COMMITS[usage]
    if _FLEX.search(description):
        return Market.FLEX_START
    if usage == "Preemptible" or _SPOT.search(description):
        return Market.SPOT
    return Market.ON_DEMAND if usage == "OnDemand" else None


def _parts(description: str) -> list[str]:
    """What a SKU is a price of; a family's GPU must stand at a word's start and end with its words."""
    if _SSD_SKU.search(description):
        return [_SSD]
    found = []
    for family in FAMILIES:
        if re.search(rf"(?<![\w]){family.gpu}(?![\w])", description, re.IGNORECASE):
            found.append(f"gpu:{family.prefix}")
    if found:
        return found
    for core in {family.core for family in FAMILIES if family.core}:
        stem = core.removesuffix(" Instance")
        if re.search(rf"(?<![\w]){stem}(?: Instance)? (?:Core|Cpu)\b", description, re.IGNORECASE):
            return [f"core:{core}"]
        if re.search(rf"(?<![\w]){stem}(?: Instance)? Ram\b", description, re.IGNORECASE):
            return [f"ram:{core}"]
    return []


def _price(sku: Mapping[str, Any]) -> float | None:
    """Units and nanos of the last tier that costs something; the first one may be free."""
    info = sku.get("pricingInfo")
    latest = info[-1] if isinstance(info, list) and info and isinstance(info[-1], dict) else {}
    expression = latest.get("pricingExpression")
    rates = expression.get("tieredRates") if isinstance(expression, dict) else None
    found = None
    for rate in rates if isinstance(rates, list) else ():
        unit = rate.get("unitPrice") if isinstance(rate, dict) else None
        if not isinstance(unit, dict) or unit.get("currencyCode", "USD") != "USD":
            continue
        try:
            price = int(unit.get("units") or 0) + int(unit.get("nanos") or 0) / 1e9
        except (TypeError, ValueError, OverflowError):
            continue
        found = price if price > 0 else found
    return found


def _sold_in(machines: Sequence[Any] | None) -> Mapping[str, set[str]] | None:
    if machines is None:
        return None
    sold: dict[str, set[str]] = {}
    for machine in machines:
        if isinstance(machine, dict) and not _deprecated(machine):
            zone = str(machine.get("zone", "")).rpartition("/")[2]
            sold.setdefault(str(machine.get("name", "")), set()).add(zone.rpartition("-")[0])
    return sold


def _deprecated(machine: Mapping[str, Any]) -> bool:
    state = machine.get("deprecated")
    return isinstance(state, dict) and state.get("state") in ("DEPRECATED", "OBSOLETE", "DELETED")


def _row(
    name: str, shape: Shape, family: Family, region: str, market: Market, prices: Prices, refused: list[Unusable]
) -> Row | None:
    """The row of one machine and market, or None where a part has no price; a part with two prices is refused."""
    amounts = {f"gpu:{family.prefix}": shape.gpus}
    if not family.slice_only:
        if shape.vcpus is None or shape.host_memory_gib is None:
            refused.append(Unusable(code="shape", reason="a machine's vCPUs or memory are unknown", value=name))
            return None
        amounts |= {f"core:{family.core}": shape.vcpus, f"ram:{family.core}": shape.host_memory_gib}
        if family.ssd_gib_per_gpu:
            amounts[_SSD] = family.ssd_gib_per_gpu * shape.gpus / HOURS_PER_BILLED_MONTH
    total = 0.0
    for part, amount in amounts.items():
        found = prices.get((part, market, region))
        if found is None and part == _SSD and market is Market.FLEX_START:
            found = prices.get((part, Market.SPOT, region)) or prices.get((part, Market.ON_DEMAND, region))
        if not found:
            return None
        if len(found) > 1:
            reason = "SKUs for one part contradict each other"
            refused.append(Unusable(code="contradiction", reason=reason, value=f"{name} {region} {part}"))
            return None
        total += amount * next(iter(found))
    listed = market is Market.ON_DEMAND and not family.on_demand
    return offer_row(
        provider="gcp",
        region=region,
        instance_type=name,
        gpu=shape.gpu,
        gpu_count=shape.gpus,
        gpu_memory_gib=shape.memory_gib_per_gpu,
        vcpus=shape.vcpus,
        memory_gib=shape.host_memory_gib,
        market=Market.LIST_ONLY if listed else market,
        usd_per_instance_hour=total,
        source="gcp billing catalogue",
        note="listed; not sold on demand" if listed else "",
    )
