"""Azure: the Retail Prices service, without an account.

Its rows mix spot, low priority, Windows and dedicated hosts under one size; reservations hold the price of the whole
term though their unit says an hour. Documentation: learn.microsoft.com, "Azure Retail Prices", 2023-01-01-preview.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.offer import Market
from gpu_opt.units import HOURS_PER_YEAR
from gpu_opt_providers.base import (
    Adapter,
    Fetched,
    FetchFailed,
    Missing,
    Parsed,
    Request,
    Row,
    Unusable,
    offer_row,
)
from gpu_opt_providers.gpus import known_type

_PATH = "/api/retail/prices"
_VERSION = "2023-01-01-preview"
_MAX_PAGES = 500
_NOT_LINUX_RENT = re.compile(r"windows|cloud ?services|dedicated|low priority|sql|red ?hat|suse", re.IGNORECASE)
_GPU_SIZE = re.compile(r"Standard_N(?!P)", re.IGNORECASE)  # NP sizes are FPGAs
_TERM_YEARS = {"1 Year": 1, "3 Years": 3}
_RESERVED = {1: Market.RESERVED_1Y, 3: Market.RESERVED_3Y}
_PLANS = {"1 Year": Market.SAVINGS_PLAN_1Y, "3 Years": Market.SAVINGS_PLAN_3Y}
# NCv3 retired on 2025-09-30; RTX PRO 6000 sizes outside Microsoft's size table are priced and not sold.
_NOT_SOLD = re.compile(r"Standard_NC\d+r?s_v3|Standard_NC(?!(?:24|36|72|144|288)l?ds)\d+l?ds_xl_RTXPRO6000BSE_v6", re.I)


class Azure(Adapter):
    """Reads consumption prices (with savings plans beside them) and reservations, region by region."""

    name = "azure"

    def fetch_raw(self, request: Request) -> Fetched:
        payloads: dict[str, Any] = {}
        failed: dict[str, str] = {}
        missing: list[Missing] = []
        for region in request.regions or self._all_regions(request):
            try:
                items = self._walk(region, "Consumption")
            except FetchFailed as error:
                failed[region] = str(error)
                continue
            try:
                items += self._walk(region, "Reservation")
            except FetchFailed as error:
                for market in (Market.RESERVED_1Y, Market.RESERVED_3Y):
                    missing.append(Missing(region=region, market=market.value, reason=f"reservations: {error}"))
            payloads[region] = items
        if failed and not payloads:
            raise FetchFailed(next(iter(failed.values())))
        return Fetched(request=request, payloads=payloads, failed=failed, missing=tuple(missing))

    def _all_regions(self, request: Request) -> tuple[str, ...]:
        """Regions known from before, and those that one walk over all regions meets."""
        found = {_region(item) for item in self._walk("", "Consumption")}
        return tuple(sorted({*request.known_regions, *found} - {""}))

    def _walk(self, region: str, price_type: str) -> list[Any]:
        """All pages of one region. The host of a next page is never followed, only its path and query."""
        conditions = ["serviceName eq 'Virtual Machines'", f"priceType eq '{price_type}'"]
        if region:
            conditions.append(f"armRegionName eq '{_quoted(region)}'")
        conditions.append("contains(armSkuName, 'Standard_N')")
        query = {"api-version": _VERSION, "currencyCode": "USD", "$filter": " and ".join(conditions)}
        base = self.endpoint("GPU_OPT_AZURE_ENDPOINT", "https://prices.azure.com")
        target = f"{_PATH}?{urlencode(query, quote_via=quote)}"
        items: list[Any] = []
        seen: set[str] = set()
        while target:
            if target in seen or len(seen) >= _MAX_PAGES:
                raise FetchFailed("its pages never end")
            seen.add(target)
            page = self.http.get_json(f"{base}{target}")
            if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
                raise FetchFailed("the answer has no list of items")
            items.extend(page["Items"])
            link = page.get("NextPageLink")
            target = _path_and_query(link) if isinstance(link, str) and link else ""
        return items

    def parse(self, fetched: Fetched) -> Parsed:
        rows: list[Row] = []
        refused: list[Unusable] = []
        for region, items in sorted(fetched.payloads.items()):
            chosen: dict[tuple[str, ...], tuple[str, Row]] = {}
            for item in items:
                if not isinstance(item, dict):
                    refused.append(Unusable(code="malformed", reason="an item is not an object"))
                    continue
                if _region(item) != region.lower():
                    continue
                for start, row in _rows(item, fetched.request.today.isoformat(), refused):
                    _keep(chosen, rows, start, row)
            rows.extend(row for _, row in chosen.values())
        rows.sort(key=lambda row: sorted(row.items()))
        return Parsed(rows=tuple(rows), refused=tuple(refused), failed=fetched.failed, missing=fetched.missing)


def _keep(chosen: dict[tuple[str, ...], tuple[str, Row]], rows: list[Row], start: str, row: Row) -> None:
    """Of prices that began on different days the latest counts; those of one day must agree, which intake checks."""
    key = (row["region"], row["instance_type"], row["market"])
    held = chosen.get(key)
    if held is None or start > held[0]:
        chosen[key] = (start, row)
    elif start == held[0] and row != held[1]:
        rows.append(row)


def _rows(item: Mapping[str, Any], today: str, refused: list[Unusable]) -> Iterator[tuple[str, Row]]:
    """The rows of one item, each with the day its price began; items that are no Linux rent of a GPU give none."""
    size = item.get("armSkuName")
    if not isinstance(size, str) or not _GPU_SIZE.match(size) or not _is_linux_rent(item, today):
        return
    known = known_type("azure", size)
    if known is None:
        refused.append(Unusable(code="gpu", reason="the size is in no size table: its GPUs are unknown", value=size))
        return
    if item.get("currencyCode", "USD") != "USD":
        refused.append(Unusable(code="currency", reason="the price is not in USD", value=str(item["currencyCode"])))
        return
    if str(item.get("unitOfMeasure", "1 Hour")).lower() != "1 hour":
        refused.append(Unusable(code="unit", reason="the price is not by the hour", value=str(item["unitOfMeasure"])))
        return
    start = str(item.get("effectiveStartDate", ""))[:10]
    for market, price in _prices(item, refused):
        yield start, _row(*known, market, price, _region(item))


def _row(size: str, shape: Shape, market: Market, price: float | None, region: str) -> Row:
    return offer_row(
        provider="azure",
        region=region,
        instance_type=size,
        gpu=shape.gpu,
        gpu_count=shape.gpus,
        gpu_memory_gib=shape.memory_gib_per_gpu,
        vcpus=shape.vcpus,
        memory_gib=shape.host_memory_gib,
        market=market,
        usd_per_instance_hour=price,
        purchasable=_NOT_SOLD.fullmatch(size) is None,
        source="azure retail prices",
    )


def _is_linux_rent(item: Mapping[str, Any], today: str) -> bool:
    names = " ".join(str(item.get(key, "")) for key in ("productName", "skuName", "meterName"))
    ended = str(item.get("effectiveEndDate") or "9999")[:10]
    return (
        item.get("serviceName", "Virtual Machines") == "Virtual Machines"
        and item.get("type") in ("Consumption", "Reservation")
        and _NOT_LINUX_RENT.search(names) is None
        and not item.get("tierMinimumUnits")
        and str(item.get("effectiveStartDate", ""))[:10] <= today < ended
    )


def _prices(item: Mapping[str, Any], refused: list[Unusable]) -> Iterator[tuple[Market, float | None]]:
    """(market, USD per instance-hour) of one item; a reservation's price is of its whole term."""
    price = _number(item.get("retailPrice"))
    if item["type"] == "Reservation":
        years = _TERM_YEARS.get(str(item.get("reservationTerm")))
        if years is None:
            term = str(item.get("reservationTerm"))
            refused.append(Unusable(code="term", reason="the reservation's term is unknown", value=term))
            return
        yield _RESERVED[years], None if price is None else price / (HOURS_PER_YEAR * years)
        return
    spot = any(str(item.get(key, "")).endswith(" Spot") for key in ("skuName", "meterName"))
    yield Market.SPOT if spot else Market.ON_DEMAND, price
    plans = item.get("savingsPlan")
    for plan in plans if isinstance(plans, list) and not spot else ():
        if isinstance(plan, dict) and plan.get("term") in _PLANS:
            yield _PLANS[plan["term"]], _number(plan.get("retailPrice"))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _region(item: object) -> str:
    """The region's name as Azure writes it nearly always: `westus3`, also where an item says `WestUS3`."""
    name = item.get("armRegionName") if isinstance(item, dict) else None
    return name.replace(" ", "").lower() if isinstance(name, str) else ""


def _quoted(text: str) -> str:
    return text.lower().replace("'", "''")


def _path_and_query(link: str) -> str:
    parts = urlsplit(link)
    if not parts.path.startswith(_PATH):
        raise FetchFailed("its next page lies elsewhere")
    return f"{parts.path}?{parts.query}"
