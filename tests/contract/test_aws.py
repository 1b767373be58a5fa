"""AWS: the price list as strings of JSON, spot by zone id, reserved terms, plans and blocks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto import mock_aws
from tests.contract.contract import TODAY, AdapterContract, edit
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt.domain.offer import Market
from gpu_opt_providers.aws import Aws, _Clients, _savings_plans, _spot
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.transport import Http

REGION = "us-east-1"


def term(*dimensions: tuple[str, str], **attributes: str) -> dict[str, Any]:
    """Price dimensions as (unit, USD)."""
    return {
        "priceDimensions": {
            f"d{place}": {"unit": unit, "pricePerUnit": {"USD": usd}} for place, (unit, usd) in enumerate(dimensions)
        },
        "termAttributes": attributes,
    }


def reserved(years: int, option: str, hourly: str, upfront: str = "", offering: str = "standard") -> dict[str, Any]:
    dimensions = [("Hrs", hourly)] if hourly else []
    if upfront:
        dimensions.append(("Quantity", upfront))
    return term(*dimensions, LeaseContractLength=f"{years}yr", OfferingClass=offering, PurchaseOption=option)


def product(name: str, usd: str, *terms: dict[str, Any], **attributes: str) -> dict[str, Any]:
    values = {
        "instanceType": name, "regionCode": REGION, "operatingSystem": "Linux", "preInstalledSw": "NA",
        "capacitystatus": "Used", "tenancy": "Shared", "marketoption": "OnDemand", "operation": "RunInstances",
        "licenseModel": "No License required", "gpu": "8",
    }  # fmt: skip
    return {
        "product": {"sku": name, "attributes": {**values, **attributes}},
        "terms": {
            "OnDemand": {"t": term(("Hrs", usd))},
            "Reserved": {f"r{place}": offer for place, offer in enumerate(terms)},
        },
    }


def price_list() -> list[dict[str, Any]]:
    return [
        product("p5.48xlarge", "55.0400000000"),
        product(
            "p4d.24xlarge",
            "21.9576420000",
            reserved(1, "No Upfront", "13.92"),
            reserved(1, "All Upfront", "", "100000"),
            reserved(1, "No Upfront", "9.0", offering="convertible"),
            # no plan without upfront for three years: 0 + 200,000 / 26,280 = 7.61; 4 + 100,000 / 26,280 = 7.81
            reserved(3, "All Upfront", "0.0", "200000"),
            reserved(3, "Partial Upfront", "4.0", "100000"),
        ),
        product("p5e.48xlarge", "0.0000000000"),
        product("p5e.48xlarge", "0.3360000000"),
        product("p5en.48xlarge", "0.0000000000"),
        product("p4d.24xlarge", "30.0", operatingSystem="Windows"),
        product("p4d.24xlarge", "31.0", tenancy="Dedicated"),
        product("p4d.24xlarge", "0.0", capacitystatus="AllocatedCapacityReservation"),
        product("p4d.24xlarge", "25.0", regionCode="us-west-2"),
        product("p4d.24xlarge", "26.0", licenseModel="Bring your own license"),
        product("p9.new", "40.0"),
        product("m7i.large", "0.1", gpu=""),
    ]


def spot(name: str, zone: str, usd: str, at: str = "2026-12-01 01:00:00+00:00", **changed: str) -> dict[str, Any]:
    values = {
        "InstanceType": name, "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": at,
        "ProductDescription": "Linux/UNIX (Amazon VPC)",
    }  # fmt: skip
    return {**values, **changed}


def rate(name: str, usd: str, seconds: int = 31_536_000, **changed: Any) -> dict[str, Any]:
    values = {
        "savingsPlanOffering": {
            "durationSeconds": seconds, "planType": "Compute", "paymentOption": "No Upfront", "currency": "USD"},
        "rate": usd, "unit": "Hrs", "usageType": f"BoxUsage:{name}",
        "properties": [{"name": "instanceType", "value": name}, {"name": "region", "value": REGION}],
    }  # fmt: skip
    return {**values, **changed}


class TestAws(AdapterContract):
    provider = "aws"
    priced = f"aws/{REGION}/p5.48xlarge/on_demand"
    usd = 55.04

    def payloads(self) -> dict[str, Any]:
        prices = [
            spot("p5.48xlarge", "us-east-1a", "20.0"),
            spot("p5.48xlarge", "us-east-1a", "22.5", "2026-12-01 02:00:00+00:00"),
            spot("p5.48xlarge", "us-east-1b", "55.04"),
            spot("p5.48xlarge", "us-east-1c", "56.0"),
            spot("p5e.48xlarge", "us-east-1a", "25.0"),
            spot("p4d.24xlarge", "us-east-1a", "0.00001"),
            spot("p4d.24xlarge", "us-east-1b", "9.0", ProductDescription="Windows"),
            spot("p4d.24xlarge", "us-east-1z", "9.0"),
        ]
        zones = {"us-east-1a": "use1-az6", "us-east-1b": "use1-az1", "us-east-1c": "use1-az2"}
        blocks = [
            # 24 h x 2 instances: 1,510.65 / 48 = 31.472 each
            {"InstanceType": "p5.48xlarge", "UpfrontFee": "1510.65", "CapacityBlockDurationHours": 24,
             "InstanceCount": 2, "CurrencyCode": "USD"},
            {"InstanceType": "p5.48xlarge", "UpfrontFee": "840", "CapacityBlockDurationHours": 24, "InstanceCount": 1},
            {"InstanceType": "p5e.48xlarge", "UpfrontFee": "0", "CapacityBlockDurationHours": 24, "InstanceCount": 1},
        ]  # fmt: skip
        plans = [
            rate("p5.48xlarge", "40.1"),
            rate("p5.48xlarge", "24.0", 94_608_000),
            rate("p5.48xlarge", "1.0", usageType="UnusedBox:p5.48xlarge"),
            rate("p5.48xlarge", "2.0", savingsPlanOffering={"durationSeconds": 31_536_000, "planType": "EC2Instance"}),
            rate("p5.48xlarge", "3.0", properties=[{"name": "region", "value": "us-west-2"}]),
        ]
        return {
            REGION: {
                "products": price_list(),
                "spot": {"zone_ids": zones, "prices": prices},
                "capacity_blocks": blocks,
                "savings_plans": plans,
            }
        }

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        edit(
            payloads[REGION]["products"],
            lambda p: p["product"]["sku"] == "p5.48xlarge",
            **product("p5.48xlarge", None if price is None else str(price)),  # type: ignore[arg-type]
        )

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payload = payloads[REGION]
        payload["products"] += [None, {}, {"product": 5}, {"product": {"attributes": {"instanceType": "p5.48xlarge"}}}]
        payload["spot"]["prices"] += [None, {}, {"InstanceType": "p5.48xlarge"}]
        payload["capacity_blocks"] += [None, {}]
        payload["savings_plans"] += [None, {}, {"savingsPlanOffering": None}]

    def prices(self, name: str) -> dict[tuple[Market, str], float]:
        offers = self.offers().values()
        return {(o.market, o.zone): o.usd_per_instance_hour for o in offers if o.instance_type == name}

    def test_only_linux_shared_rent_of_the_region_is_on_demand(self) -> None:
        assert self.prices("p4d.24xlarge")[Market.ON_DEMAND, ""] == pytest.approx(21.957642)

    def test_p5e_has_no_on_demand_price_and_zero_is_none(self) -> None:
        assert Market.ON_DEMAND not in {market for market, _ in self.prices("p5e.48xlarge")}
        assert not self.prices("p5en.48xlarge")
        assert "the instance type is not sold on demand" in {entry.reason for entry in self.parsed().refused}

    def test_spot_goes_by_zone_id_and_the_newest_price(self) -> None:
        found = {zone: usd for (market, zone), usd in self.prices("p5.48xlarge").items() if market is Market.SPOT}
        assert found == {"use1-az6": 22.5, "use1-az1": 55.04}
        codes = [refused.code for refused in self.table().refused]
        assert sorted(codes) == ["price-sentinel", "price-zero", "spot-above-on-demand"]

    def test_reserved_is_standard_without_upfront_else_the_cheapest(self) -> None:
        offers = self.offers()
        one = offers[f"aws/{REGION}/p4d.24xlarge/reserved_1y"]
        three = offers[f"aws/{REGION}/p4d.24xlarge/reserved_3y"]
        assert (one.usd_per_instance_hour, one.upfront_usd) == (13.92, 0.0)
        assert (three.usd_per_instance_hour, three.upfront_usd, three.note) == (0.0, 200_000.0, "all upfront")
        assert not one.holds_capacity

    def test_a_blocks_fee_is_for_all_its_hours_and_instances(self) -> None:
        block = self.offers()[f"aws/{REGION}/p5.48xlarge/capacity_block"]
        assert block.usd_per_instance_hour == pytest.approx(1510.65 / 48)
        assert block.holds_capacity

    def test_savings_plans_are_the_compute_plans_of_the_region(self) -> None:
        prices = self.prices("p5.48xlarge")
        assert (prices[Market.SAVINGS_PLAN_1Y, ""], prices[Market.SAVINGS_PLAN_3Y, ""]) == (40.1, 24.0)

    def test_types_that_no_table_knows_are_refused_if_they_have_gpus(self) -> None:
        assert [entry.value for entry in self.parsed().refused if entry.code == "gpu"] == ["p9.new"]


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET-IN-NO-MESSAGE")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def services(asked: Asked) -> Answer:
    """The price service pages by NextToken; savings plans have no paginator of their own."""
    if asked.headers.get("X-Amz-Target", "").endswith("GetProducts"):
        entries = [json.dumps(entry) for entry in price_list()]
        family = next(f["Value"] for f in asked.body["Filters"] if f["Field"] == "productFamily")
        if "bare metal" in family:
            return Answer(json={"PriceList": []})
        if asked.body.get("NextToken"):
            return Answer(json={"PriceList": [*entries[3:], "{broken"]})
        return Answer(json={"PriceList": entries[:3], "NextToken": "2"})
    if asked.path.endswith("/DescribeSavingsPlansOfferingRates"):
        more = not asked.body.get("nextToken")
        page = [rate("p5.48xlarge", "40.1" if more else "24.0", 31_536_000 if more else 94_608_000)]
        return Answer(json={"searchResults": page, **({"nextToken": "2"} if more else {})})
    return Answer(status=400, json={"__type": "AccessDenied", "message": "SECRET-IN-NO-MESSAGE"})


@pytest.mark.usefixtures("_credentials")
def test_a_refresh_reads_every_page_and_parts_that_fail_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(services) as service:
        for name in ("PRICING", "SAVINGSPLANS", "EC2"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{name}", service.address)
        adapter = Aws({}, Http())
        fetched = adapter.fetch_raw(Request(regions=(REGION,), today=TODAY))
    rows = adapter.parse(fetched).rows
    markets = {row["market"] for row in rows if row["instance_type"] == "p5.48xlarge"}
    assert markets == {"on_demand", "savings_plan_1y", "savings_plan_3y"}
    assert {part.market for part in fetched.missing} == {"spot", "capacity_block"}
    assert "SECRET" not in repr(fetched.missing)


@pytest.mark.usefixtures("_credentials")
def test_a_region_whose_price_list_fails_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_one(asked: Asked) -> Answer:
        text = json.dumps(asked.body) if isinstance(asked.body, dict) else ""
        return Answer(status=400, json={"__type": "InternalErrorException"}) if "eu-west-1" in text else services(asked)

    with serving(refuse_one) as service:
        for name in ("PRICING", "SAVINGSPLANS", "EC2"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{name}", service.address)
        fetched = Aws({}, Http()).fetch_raw(Request(regions=(REGION, "eu-west-1"), today=TODAY))
    assert set(fetched.payloads) == {REGION}
    assert fetched.failed == {"eu-west-1": "the call was refused (InternalErrorException)"}


@pytest.mark.usefixtures("_credentials")
def test_plans_are_read_to_their_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(services) as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAVINGSPLANS", service.address)
        assert [found["rate"] for found in _savings_plans(_Clients(), REGION)] == ["40.1", "24.0"]


@pytest.mark.usefixtures("_credentials")
def test_spot_of_a_simulated_account_comes_with_zone_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_opt_providers.aws.known_types", lambda provider: (("p5.48xlarge", None),))
    with mock_aws():
        found = _spot(_Clients(), REGION)
    assert found["zone_ids"]["us-east-1a"].startswith("use1-az")
    assert any(price["InstanceType"] == "p5.48xlarge" for price in found["prices"])


def test_without_credentials_it_fails_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    with pytest.raises(FetchFailed, match="NoCredentialsError"):
        Aws({}, Http()).fetch_raw(Request(regions=(REGION,), today=TODAY))


def test_prices_in_other_currencies_and_units_are_refused() -> None:
    payload = TestAws().payloads()
    cny = product("p4de.24xlarge", "1")
    cny["terms"]["OnDemand"]["t"]["priceDimensions"]["d0"]["pricePerUnit"] = {"CNY": "100"}
    daily = product("g5.xlarge", "1")
    daily["terms"]["OnDemand"]["t"]["priceDimensions"]["d0"]["unit"] = "Days"
    payload[REGION]["products"] += [cny, daily]
    payload[REGION]["capacity_blocks"].append(
        {"InstanceType": "p4d.24xlarge", "UpfrontFee": "9", "CapacityBlockDurationHours": 24, "InstanceCount": 1,
         "CurrencyCode": "CNY"}
    )  # fmt: skip
    payload[REGION]["savings_plans"].append(rate("p4d.24xlarge", "9", unit="Days"))
    base, parsed = TestAws().parsed(), TestAws().parsed(payload)
    codes = [entry.code for entry in parsed.refused]
    assert codes.count("currency") == 2
    assert codes.count("unit") == 2
    types = {row["instance_type"] for row in parsed.rows if row["usd_per_instance_hour"]}
    assert types == {row["instance_type"] for row in base.rows if row["usd_per_instance_hour"]}
