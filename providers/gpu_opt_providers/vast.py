"""Vast: a market of single machines. A row stands for those of one GPU, count and country, at the cheapest price.

The price includes the storage of a usual disk. How many machines there are at about that price is the row's limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Parsed, Request, Row, Unusable, offer_row
from gpu_opt_providers.gpus import gpu_from_text

DISK_GIB = 100.0
ABOUT_FRACTION = 0.10
_HOURS_PER_MONTH = 730.0  # how the market turns its storage price per GB-month into dollars an hour
_LIMIT = 10_000
_SIZED = ("A100", "A800", "V100")


class Vast(Adapter):
    """Reads verified machines that can be rented now."""

    name = "vast"

    def fetch_raw(self, request: Request) -> Fetched:
        base = self.endpoint("GPU_OPT_VAST_ENDPOINT", "https://console.vast.ai")
        key = self.environment.get("VAST_API_KEY", "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        body = {
            "verified": {"eq": True},
            "rentable": {"eq": True},
            "rented": {"eq": False},
            "external": {"eq": False},
            "allocated_storage": DISK_GIB,
            "order": [["dph_total", "asc"]],
            "limit": _LIMIT,  # without one the market answers with a small part of itself
            "type": "on-demand",
        }
        answer = self.http.post_json(f"{base}/api/v0/bundles/", body, headers)
        offers = answer.get("offers") if isinstance(answer, dict) else None
        if not isinstance(offers, list) or not offers:
            raise FetchFailed("the answer has no offers")
        return Fetched(request=request, payloads={"": offers})

    def parse(self, fetched: Fetched) -> Parsed:
        refused: list[Unusable] = []
        groups: dict[tuple[str, int, str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for entry in fetched.payloads[""]:
            if not isinstance(entry, dict) or not entry.get("gpu_name"):
                refused.append(Unusable(code="malformed", reason="an offer has no GPU name"))
                continue
            name, count = str(entry["gpu_name"]), _number(entry.get("num_gpus"))
            memory = _number(entry.get("gpu_ram"))
            memory_gib = memory / 1024 if memory else None
            gpu = gpu_from_text(name, memory_gib)
            if gpu is None:
                refused.append(Unusable(code="gpu", reason="the GPU is unknown", value=name))
                continue
            if count is None or count < 1 or count != int(count):
                refused.append(Unusable(code="gpu_count", reason="an offer has no whole number of GPUs", value=name))
                continue
            groups[_country(entry.get("geolocation")), int(count), _type_name(name, memory_gib), gpu].append(entry)
        rows = [row for key, group in sorted(groups.items()) for row in _rows(*key, group, refused)]
        return Parsed(rows=tuple(rows), refused=tuple(refused))


def _rows(
    country: str, count: int, name: str, gpu: str, group: Sequence[Mapping[str, Any]], refused: list[Unusable]
) -> list[Row]:
    """Rent at the lowest price of the group; spot at its lowest bid that a machine would accept now."""
    rows = []
    for market, field in ((Market.ON_DEMAND, "dph_total"), (Market.SPOT, "min_bid")):
        prices = []
        for entry in group:
            price = _number(entry.get(field))
            if price is None or price <= 0:
                if market is Market.ON_DEMAND:
                    refused.append(Unusable(code="price-missing", reason="an offer has no price", value=name))
                continue
            if market is Market.SPOT:
                price += (_number(entry.get("storage_cost")) or 0.0) * DISK_GIB / _HOURS_PER_MONTH
                if price > (_number(entry.get("dph_total")) or 0.0):
                    reason = "spot costs more than on-demand"
                    refused.append(Unusable(code="spot-above-on-demand", reason=reason, value=name))
                    continue
            prices.append(price)
        if not prices:
            continue
        lowest = min(prices)
        row = offer_row(
            provider="vast",
            region=country,
            instance_type=f"{count}x {name}",
            gpu=gpu,
            gpu_count=count,
            market=market,
            usd_per_instance_hour=lowest,
            max_instances=sum(price <= lowest * (1 + ABOUT_FRACTION) for price in prices),
            source="vast offers",
            note=f"with {DISK_GIB:g} GiB of disk",
        )
        rows.append(row)
    return rows


def _country(geolocation: object) -> str:
    """`SE` of `Sweden, SE`; `global` where the market does not say."""
    code = str(geolocation or "").rpartition(",")[2].strip()
    return code.upper() if len(code) == 2 and code.isascii() and code.isalpha() else "global"


def _type_name(name: str, memory_gib: float | None) -> str:
    """The market's own GPU id, with the memory where one id has several sizes."""
    joined = name.replace(" ", "_")
    if memory_gib and any(part in name for part in _SIZED):
        return f"{joined} {round(memory_gib)}GB"
    return joined


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
