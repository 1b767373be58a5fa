"""AWS through boto3: list and reserved prices, spot by zone id, savings plans, capacity blocks.

The SDK finds its endpoints (`AWS_ENDPOINT_URL_PRICING`, `…_EC2`, `…_SAVINGSPLANS`) and credentials itself. This module
fetches; `aws_parse` makes rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpu_opt.domain.offer import Market
from gpu_opt_providers.aws_parse import parse_region
from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Missing, Parsed, Request, Row, Unusable
from gpu_opt_providers.gpus import known_types

PRICING_REGION = "us-east-1"  # one of three regions whose price service knows all regions
CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 5, 60, 2
_MAX_PAGES = 1000
_FILTERS = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "tenancy": "Shared",
    "marketoption": "OnDemand",
}
# Both spellings: some accounts are answered with the second one only.
_SPOT_PRODUCTS = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]
_BLOCK_FAMILIES = ("p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6-", "trn1.", "trn2.")
_BLOCK_HOURS = 24


class Aws(Adapter):
    """Reads each region on its own: list prices must answer, the rest may fail and then keeps its old rows."""

    name = "aws"

    def fetch_raw(self, request: Request) -> Fetched:
        clients = _Clients()
        payloads: dict[str, Any] = {}
        failed: dict[str, str] = {}
        missing: list[Missing] = []
        for region in request.regions or _all_regions(request):
            try:
                products = list(_products(clients, region))
            except FetchFailed as error:
                failed[region] = str(error)
                continue
            payload: dict[str, Any] = {"products": products}
            for part, markets, fetch in (
                ("spot", (Market.SPOT,), _spot),
                ("capacity_blocks", (Market.CAPACITY_BLOCK,), _capacity_blocks),
                ("savings_plans", (Market.SAVINGS_PLAN_1Y, Market.SAVINGS_PLAN_3Y), _savings_plans),
            ):
                try:
                    payload[part] = fetch(clients, region)
                except FetchFailed as error:
                    reason = f"{part.replace('_', ' ')}: {error}"
                    missing.extend(Missing(region=region, market=market.value, reason=reason) for market in markets)
            payloads[region] = payload
        if failed and not payloads:
            raise FetchFailed(next(iter(failed.values())))
        return Fetched(request=request, payloads=payloads, failed=failed, missing=tuple(missing))

    def parse(self, fetched: Fetched) -> Parsed:
        rows: list[Row] = []
        refused: list[Unusable] = []
        for region, payload in sorted(fetched.payloads.items()):
            rows.extend(parse_region(region, payload, refused))
        return Parsed(rows=tuple(rows), refused=tuple(refused), failed=fetched.failed, missing=fetched.missing)


class _Clients:
    """Clients by service and region, made when first needed."""

    def __init__(self) -> None:
        try:
            import boto3
        except ModuleNotFoundError:
            raise FetchFailed("it needs boto3: pip install 'gpu-opt[aws]'") from None
        self._session = boto3.session.Session()
        self._made: dict[tuple[str, str], Any] = {}

    def __call__(self, service: str, region: str) -> Any:
        from botocore.config import Config

        key = (service, region)
        if key not in self._made:
            config = Config(
                connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": ATTEMPTS}
            )
            make: Callable[..., Any] = self._session.client
            self._made[key] = make(service, region_name=region, config=config)
        return self._made[key]


def _guarded(call: Callable[..., Any], **arguments: Any) -> Any:
    """The answer of an SDK call; FetchFailed with its kind of error, never with its request."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        return call(**arguments)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))[:60]
        raise FetchFailed(f"the call was refused ({code})") from None
    except BotoCoreError as error:
        raise FetchFailed(f"the call failed ({type(error).__name__})") from None
    except (ResponseParserError, ValueError, NotImplementedError) as error:
        raise FetchFailed(f"the answer can't be read ({type(error).__name__})") from None


def _pages(client: Any, operation: str, **arguments: Any) -> list[dict[str, Any]]:
    """All pages of an operation that the SDK pages itself."""
    paginator = client.get_paginator(operation)
    return list(_guarded(lambda: list(paginator.paginate(**arguments))))


def _all_regions(request: Request) -> tuple[str, ...]:
    """Regions known from before, and those of the SDK; China has a price list of its own, in CNY."""
    import boto3

    available = boto3.session.Session().get_available_regions("ec2")
    return tuple(sorted(region for region in {*request.known_regions, *available} if not region.startswith("cn-")))


def _products(clients: _Clients, region: str) -> Iterator[Any]:
    """Entries of the price list: strings of JSON, decoded. Bare metal is a product family of its own."""
    client = clients("pricing", PRICING_REGION)
    for family in ("Compute Instance", "Compute Instance (bare metal)"):
        filters = {**_FILTERS, "regionCode": region, "productFamily": family}
        terms = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in filters.items()]
        asked = {"ServiceCode": "AmazonEC2", "Filters": terms, "FormatVersion": "aws_v1"}
        for page in _pages(client, "get_products", **asked):
            for text in page.get("PriceList", ()):
                try:
                    yield json.loads(text) if isinstance(text, str) else text
                except ValueError:
                    yield None


def _spot(clients: _Clients, region: str) -> dict[str, Any]:
    """Spot prices of now, and the zone ids behind the account's zone names."""
    from datetime import UTC, datetime

    client = clients("ec2", region)
    zones = _guarded(client.describe_availability_zones).get("AvailabilityZones", [])
    types = [name for name, _ in known_types("aws")]
    prices: list[Any] = []
    for batch in _batches(types, 100):
        asked = {
            "Filters": [{"Name": "instance-type", "Values": batch}],  # tolerates types that a region does not know
            "ProductDescriptions": _SPOT_PRODUCTS,
            "StartTime": datetime.now(UTC),
        }
        for page in _pages(client, "describe_spot_price_history", **asked):
            prices.extend(page.get("SpotPriceHistory", ()))
    return {
        "zone_ids": {zone["ZoneName"]: zone["ZoneId"] for zone in zones if zone.get("ZoneId")},
        "prices": [{**price, "Timestamp": str(price.get("Timestamp", ""))} for price in prices],
    }


def _capacity_blocks(clients: _Clients, region: str) -> list[Any]:
    """Offerings of one instance for a day, of each type that may be sold so."""
    client = clients("ec2", region)
    offerings: list[Any] = []
    for name, _ in known_types("aws"):
        if not name.startswith(_BLOCK_FAMILIES):
            continue
        try:
            answer = _guarded(
                client.describe_capacity_block_offerings,
                InstanceType=name,
                InstanceCount=1,
                CapacityDurationHours=_BLOCK_HOURS,
            )
        except FetchFailed as error:
            if "Unsupported" in str(error) or "InvalidInstanceType" in str(error):
                continue
            raise
        offerings.extend(answer.get("CapacityBlockOfferings", ()))
    return [{key: _plain(value) for key, value in offering.items()} for offering in offerings]


def _savings_plans(clients: _Clients, region: str) -> list[Any]:
    """Rates of compute plans, no upfront. The call has no paginator."""
    client = clients("savingsplans", PRICING_REGION)
    families = sorted({name.partition(".")[0] for name, _ in known_types("aws")})
    rates: list[Any] = []
    token = ""
    for _ in range(_MAX_PAGES):
        arguments: dict[str, Any] = {
            "savingsPlanPaymentOptions": ["No Upfront"],
            "savingsPlanTypes": ["Compute"],
            "products": ["EC2"],
            "serviceCodes": ["AmazonEC2"],
            "filters": [
                {"name": "region", "values": [region]},
                {"name": "instanceFamily", "values": families},
                {"name": "productDescription", "values": ["Linux/UNIX"]},
                {"name": "tenancy", "values": ["shared"]},
            ],
        }
        if token:
            arguments["nextToken"] = token
        answer = _guarded(client.describe_savings_plans_offering_rates, **arguments)
        rates.extend(answer.get("searchResults", ()))
        token = answer.get("nextToken") or ""
        if not token:
            return rates
    raise FetchFailed("its pages never end")


def _batches(names: list[str], size: int) -> Iterable[list[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
