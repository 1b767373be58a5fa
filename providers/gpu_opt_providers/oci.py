"""OCI: the cost estimator's shapes and products, without an account. A price is per GPU-hour, the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.offer import Market
from gpu_opt.hardware import country_of
from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Parsed, Request, Row, Unusable, offer_row
from gpu_opt_providers.gpus import known_type

_CAPITAL = re.compile(r"[A-Z]")
_FOLDER = "/a/ocom/docs/cloudestimator2/data"
_PREEMPTIBLE_SHARE = 0.5  # of the list price, for virtual machines that allow it (Oracle's pricing page, 2026)


class Oci(Adapter):
    """Reads GPU shapes and the products that price them."""

    name = "oci"

    def fetch_raw(self, request: Request) -> Fetched:
        base = self.endpoint("GPU_OPT_OCI_ENDPOINT", "https://www.oracle.com")
        payload = {}
        for part in ("shapes", "products"):
            answer = self.http.get_json(f"{base}{_FOLDER}/{part}.json")
            items = answer.get("items") if isinstance(answer, dict) else None
            if not isinstance(items, list) or not items:
                raise FetchFailed(f"the answer has no {part}")
            payload[part] = items
        return Fetched(request=request, payloads={"": payload})

    def parse(self, fetched: Fetched) -> Parsed:
        payload = fetched.payloads[""]
        refused: list[Unusable] = []
        products = {
            str(_field(product, "partNumber")): product for product in payload["products"] if isinstance(product, dict)
        }
        asked = {region for region in fetched.request.regions if country_of("oci", region)}
        regions = tuple(sorted(asked | set(fetched.request.known_regions)))
        rows: list[Row] = []
        for shape in payload["shapes"]:
            if not isinstance(shape, dict):
                refused.append(Unusable(code="malformed", reason="a shape is not an object"))
            elif _is_gpu(shape):
                rows.extend(_rows(shape, products, regions, refused))
        return Parsed(rows=tuple(sorted(rows, key=lambda row: sorted(row.items()))), refused=tuple(refused))


def _is_gpu(shape: Mapping[str, Any]) -> bool:
    return (
        not shape.get("hidden")
        and shape.get("status", "ACTIVE") == "ACTIVE"
        and ("GPU" in str(shape.get("name", "")) or bool(_field(shape, "gpuQty")))
    )


def _rows(
    shape: Mapping[str, Any], products: Mapping[str, Any], regions: tuple[str, ...], refused: list[Unusable]
) -> Iterator[Row]:
    name = str(shape.get("name", ""))
    known = known_type("oci", name)
    if known is None:
        refused.append(Unusable(code="gpu", reason="the shape is in no table: its GPUs are unknown", value=name))
        return
    price = _usd_per_gpu_hour(shape, products)
    if price is None:
        refused.append(Unusable(code="price-missing", reason="the price is missing", value=name))
        return
    markets = [(Market.ON_DEMAND, 1.0)]
    if _field(shape, "allowPreemptible") is True and not name.startswith("BM."):
        markets.append((Market.SPOT, _PREEMPTIBLE_SHARE))
    for region in regions:
        for market, share in markets:
            yield _row(known[0], known[1], region, market, price * known[1].gpus * share)


def _row(name: str, shape: Shape, region: str, market: Market, usd: float) -> Row:
    return offer_row(
        provider="oci",
        region=region,
        instance_type=name,
        gpu=shape.gpu,
        gpu_count=shape.gpus,
        gpu_memory_gib=shape.memory_gib_per_gpu,
        vcpus=shape.vcpus,
        memory_gib=shape.host_memory_gib,
        market=market,
        usd_per_instance_hour=usd,
        source="oci cost estimator",
    )


def _usd_per_gpu_hour(shape: Mapping[str, Any], products: Mapping[str, Any]) -> float | None:
    """The pay-as-you-go price in USD of the shape's first product that has one."""
    for part in shape.get("products") or ():
        product = products.get(str(_field(part, "partNumber"))) if isinstance(part, dict) else None
        if not isinstance(product, dict):
            continue
        for place in _field(product, "currencyCodeLocalizations") or ():
            if not isinstance(place, dict) or _field(place, "currencyCode") != "USD":
                continue
            for price in place.get("prices") or ():
                if isinstance(price, dict) and price.get("model") == "PAY_AS_YOU_GO":
                    value = price.get("value")
                    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return None


def _field(entry: Mapping[str, Any], name: str) -> Any:
    """A field by its name, in camel case or with underscores: both have been served."""
    return entry.get(name, entry.get(_CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)))
