"""Azure's retail prices: recorded shapes, and a service that behaves as badly as the real one."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.contract.contract import TODAY, AdapterContract, edit
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http

SIZE = "Standard_ND96isr_H100_v5"


def item(price: float | None = 98.32, **changed: Any) -> dict[str, Any]:
    values = {
        "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": price, "unitPrice": price,
        "armRegionName": "eastus", "effectiveStartDate": "2025-06-01T00:00:00Z", "meterName": "ND96isr H100 v5",
        "productName": "Virtual Machines NDsr H100 v5 Series", "skuName": "ND96isr H100 v5",
        "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "type": "Consumption",
        "isPrimaryMeterRegion": True, "armSkuName": SIZE,
    }  # fmt: skip
    return {**values, **changed}


def answer_items() -> list[dict[str, Any]]:
    return [
        item(savingsPlan=[{"term": "1 Year", "retailPrice": 70.0}, {"term": "3 Years", "retailPrice": 50.0}]),
        item(30.0, skuName="ND96isr H100 v5 Spot", meterName="ND96isr H100 v5 Spot"),
        item(12.0, skuName="ND96isr H100 v5 Low Priority", meterName="ND96isr H100 v5 Low Priority"),
        item(102.0, productName="Virtual Machines NDsr H100 v5 Series Windows"),
        item(90.0, productName="NDsr H100 v5 Series Cloud Services"),
        item(80.0, productName="NDsr H100 v5 Dedicated Host"),
        item(60.0, type="DevTestConsumption"),
        # 613,200 USD for a year of 8,760 h is 70 USD/h; 1,314,000 over 26,280 h is 50
        item(613_200.0, type="Reservation", reservationTerm="1 Year"),
        item(1_314_000.0, type="Reservation", reservationTerm="3 Years"),
        item(1.0, effectiveStartDate="2027-01-01T00:00:00Z"),
        item(120.0, effectiveStartDate="2024-01-01T00:00:00Z"),
        item(2.0, armSkuName=""),
        item(0.526, armSkuName="Standard_D4s_v5", skuName="D4s v5", meterName="D4s v5"),
        item(1.65, armSkuName="Standard_NP10s", skuName="NP10s", meterName="NP10s"),
        item(0.0, armSkuName="Standard_ND96isr_H200_v5", skuName="ND96isr H200 v5", meterName="ND96isr H200 v5"),
        item(5.0, armSkuName="Standard_ND999_X_v9", skuName="x", meterName="x"),
        item(3.67, armSkuName="Standard_NC24ads_A100_v4", armRegionName="WestUS3", skuName="a", meterName="a"),
    ]


class TestAzure(AdapterContract):
    provider = "azure"
    priced = f"azure/eastus/{SIZE}/on_demand"
    usd = 98.32

    def payloads(self) -> dict[str, Any]:
        items = answer_items()
        return {"eastus": items, "westus3": items}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        # the price of 2024 is superseded, so it must not come back
        edit(payloads["eastus"], lambda i: "savingsPlan" in i, retailPrice=price)

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads["eastus"] += [None, [], "x", 5, {}, {"armSkuName": SIZE}, {"armSkuName": None, "type": {}}]

    def test_each_market_comes_from_its_own_items(self) -> None:
        prices = {o.market: o.usd_per_instance_hour for o in self.offers().values() if o.instance_type == SIZE}
        assert prices == {
            Market.ON_DEMAND: 98.32, Market.SPOT: 30.0, Market.SAVINGS_PLAN_1Y: 70.0, Market.SAVINGS_PLAN_3Y: 50.0,
            Market.RESERVED_1Y: 70.0, Market.RESERVED_3Y: 50.0,
        }  # fmt: skip

    def test_a_region_spelled_in_capitals_is_the_same_region(self) -> None:
        assert "azure/westus3/Standard_NC24ads_A100_v4/on_demand" in self.offers()

    def test_sizes_that_no_table_knows_are_refused_and_zero_is_no_price(self) -> None:
        assert "Standard_ND999_X_v9" in {entry.value for entry in self.parsed().refused}
        assert [refused.code for refused in self.table().refused] == ["price-zero"]

    def test_prices_of_one_day_that_contradict_each_other_are_refused(self) -> None:
        payloads = self.payloads()
        payloads["eastus"].append(item(97.0))
        table = self.table(payloads)
        assert self.priced not in {offer.id for offer in table.offers}
        assert [refused.code for refused in table.refused].count("contradiction") == 2


def by_filter(asked: Asked) -> Answer:
    """One page of two; the second link names the real host, which must not be followed."""
    wanted = asked.query["$filter"]
    items = [i for i in answer_items() if f"priceType eq '{i['type']}'" in wanted]
    if "armRegionName" in wanted:
        items = [i for i in items if f"armRegionName eq '{i['armRegionName'].lower()}'" in wanted]
    half = len(items) // 2
    if asked.query.get("$skip"):
        return Answer(json={"Items": items[half:], "NextPageLink": None})
    link = f"https://prices.azure.com:443{asked.path}?{urlencode({**asked.query, '$skip': str(half)})}"
    return Answer(json={"Items": items[:half], "NextPageLink": link, "Count": half})


def fetch(address: str, *regions: str, waits: list[float] | None = None) -> Any:
    http = Http(sleep=(waits if waits is not None else []).append, timeout_seconds=0.3)
    adapter = load_adapter("azure", {"GPU_OPT_AZURE_ENDPOINT": address}, http)
    return adapter.fetch_raw(Request(regions=regions, today=TODAY))


def test_pages_are_followed_on_the_endpoint_given() -> None:
    with serving(by_filter) as service:
        fetched = fetch(service.address, "eastus")
    assert len(fetched.payloads["eastus"]) == len([i for i in answer_items() if i["armRegionName"] == "eastus"]) - 1
    assert all(asked.path == "/api/retail/prices" for asked in service.asked)
    assert len(service.asked) == 4  # two pages of consumption and two of reservations


def test_without_regions_all_regions_of_the_answer_are_walked() -> None:
    with serving(by_filter) as service:
        assert set(fetch(service.address).payloads) == {"eastus", "westus3"}


def test_a_busy_service_is_asked_again_after_the_wait_it_names() -> None:
    def busy_twice(asked: Asked) -> Answer:
        if len(service.asked) <= 2:
            return Answer(status=429, headers={"Retry-After": "7"} if len(service.asked) == 1 else {})
        return by_filter(asked)

    waits: list[float] = []
    with serving(busy_twice) as service:
        assert fetch(service.address, "eastus", waits=waits).payloads["eastus"]
    assert waits == [7.0, 3.0]


def test_one_region_that_fails_does_not_fail_the_others() -> None:
    def one_fails(asked: Asked) -> Answer:
        return Answer(status=500) if "'westus3'" in asked.query["$filter"] else by_filter(asked)

    with serving(one_fails) as service:
        fetched = fetch(service.address, "eastus", "westus3")
    assert set(fetched.payloads) == {"eastus"}
    assert fetched.failed == {"westus3": "it answered HTTP 500"}


def test_reservations_that_fail_leave_the_rest_and_are_named() -> None:
    def no_reservations(asked: Asked) -> Answer:
        return Answer(status=404) if "Reservation" in asked.query["$filter"] else by_filter(asked)

    with serving(no_reservations) as service:
        fetched = fetch(service.address, "eastus")
    assert fetched.payloads["eastus"]
    assert {part.market for part in fetched.missing} == {"reserved_1y", "reserved_3y"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(raw=b"<html>"), "not JSON"),
        (Answer(raw=b"[" * 100_000), "not JSON"),
        (Answer(json=[]), "no list of items"),
        (Answer(json={"Items": None}), "no list of items"),
        (Answer(json={"Items": [], "NextPageLink": "https://elsewhere.example/x"}), "lies elsewhere"),
        (Answer(status=302, headers={"Location": "http://127.0.0.1:9/"}), "HTTP 302"),
        (Answer(raw=b"{}", headers={"Content-Length": "500"}), "no answer|connection failed"),
    ],
)
def test_an_answer_that_is_none_fails_in_words(answer: Answer, words: str) -> None:
    with serving(lambda asked: answer) as service, pytest.raises(FetchFailed, match=words):
        fetch(service.address, "eastus")


def test_pages_that_never_end_fail() -> None:
    def again(asked: Asked) -> Answer:
        return Answer(json={"Items": [], "NextPageLink": "/api/retail/prices?$skip=1"})

    with serving(again) as service, pytest.raises(FetchFailed, match="never end"):
        fetch(service.address, "eastus")


def test_a_service_that_does_not_answer_fails_in_time() -> None:
    held = threading.Event()

    def slow(asked: Asked) -> Answer:
        held.wait(5)
        return Answer(json={})

    with serving(slow) as service:
        with pytest.raises(FetchFailed, match="no answer within"):
            fetch(service.address, "eastus")
        held.set()


def test_a_service_that_is_not_there_fails() -> None:
    with pytest.raises(FetchFailed, match="connection failed"):
        fetch("http://127.0.0.1:9", "eastus")
    with pytest.raises(FetchFailed, match="not an http"):
        fetch("file:///etc", "eastus")


def test_prices_in_other_currencies_units_and_terms_are_refused() -> None:
    items = [
        item(1.0, currencyCode="EUR"),
        item(1.0, unitOfMeasure="1 GB"),
        item(1.0, type="Reservation", reservationTerm="5 Years"),
    ]
    parsed = TestAzure().parsed({"eastus": items})
    assert [entry.code for entry in parsed.refused] == ["currency", "unit", "term"]
    assert parsed.rows == ()
