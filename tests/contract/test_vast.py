"""Vast's market of machines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.contract import TODAY, AdapterContract, edit
from tests.contract.fake_http import Answer, serving

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http


def machine(name: str, gpus: int, ram_mib: int, usd: float | None, bid: float | None, place: str = "Sweden, SE",
            **changed: Any) -> dict[str, Any]:  # fmt: skip
    values = {
        "id": abs(hash((name, usd))) % 10**6, "gpu_name": name, "num_gpus": gpus, "gpu_ram": ram_mib, "dph_total": usd,
        "min_bid": bid, "storage_cost": 0.146, "geolocation": place, "cpu_cores": None, "cpu_ram": None,
    }  # fmt: skip
    return {**values, **changed}


def offers() -> list[Any]:
    return [
        machine("H100 SXM", 8, 81559, 18.0, 9.0),
        machine("H100 SXM", 8, 81559, 16.0, 8.0),
        machine("H100 SXM", 8, 81559, 17.0, 15.99),
        machine("A100 SXM4", 1, 40960, 0.9, 0.3, place="US"),
        machine("A100 SXM4", 1, 81920, 1.3, 0.4, place="Texas, US"),
        machine("RTX 4090", 2, 24564, 0.7, 0.01, place=""),
        machine("Mystery 1", 1, 1000, 0.1, 0.01),
        machine("RTX 3090", 0, 24576, 0.1, 0.01),
    ]


class TestVast(AdapterContract):
    provider = "vast"
    priced = "vast/SE/8x H100_SXM/on_demand"
    usd = 16.0  # the cheapest of three

    def payloads(self) -> dict[str, Any]:
        return {"": offers()}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        payloads[""] = [m for m in payloads[""] if m["gpu_name"] != "H100 SXM" or m["dph_total"] == 16.0]
        edit(payloads[""], lambda m: m["gpu_name"] == "H100 SXM", dph_total=price)

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads[""] += [None, [], {}, {"gpu_name": ""}, {"gpu_name": "L4"}, {"gpu_name": "L4", "num_gpus": "x"}]

    def test_the_cheapest_machine_sets_the_price_and_those_near_it_the_limit(self) -> None:
        # 16.0 and 17.0 are within a tenth of 16.0, 18.0 is not
        assert self.offers()[self.priced].max_instances == 2

    def test_spot_is_the_lowest_bid_with_the_disk(self) -> None:
        # 8.0 + 100 GiB x 0.146 / 730 h = 8.02; 15.99 + 0.02 on the machine at 17.0 is below its price
        assert self.offers()["vast/SE/8x H100_SXM/spot"].usd_per_instance_hour == pytest.approx(8.02)

    def test_one_gpu_name_of_two_sizes_is_two_types(self) -> None:
        found = {o.instance_type: o.gpu for o in self.offers().values() if "A100" in o.gpu}
        assert found == {"1x A100_SXM4 40GB": "A100-40GB-SXM", "1x A100_SXM4 80GB": "A100-80GB-SXM"}

    def test_a_place_without_a_country_is_global(self) -> None:
        assert {o.region for o in self.offers().values() if o.gpu == "RTX-4090"} == {"global"}
        assert {o.market for o in self.offers().values()} == {Market.ON_DEMAND, Market.SPOT}

    def test_what_has_no_gpu_is_refused(self) -> None:
        assert sorted(entry.value for entry in self.parsed().refused) == ["Mystery 1", "RTX 3090"]


def test_the_market_is_asked_for_all_of_it() -> None:
    with serving(lambda asked: Answer(json={"offers": offers()})) as service:
        adapter = load_adapter("vast", {"GPU_OPT_VAST_ENDPOINT": service.address}, Http())
        adapter.fetch_raw(Request(today=TODAY))
        (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/api/v0/bundles/")
    assert asked.body["limit"] >= 1000
    assert "Authorization" not in asked.headers


def test_an_empty_market_is_no_answer() -> None:
    with serving(lambda asked: Answer(json={"offers": []})) as service:
        adapter = load_adapter("vast", {"GPU_OPT_VAST_ENDPOINT": service.address}, Http())
        with pytest.raises(FetchFailed, match="no offers"):
            adapter.fetch_raw(Request(today=TODAY))
