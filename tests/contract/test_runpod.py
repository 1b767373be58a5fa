"""RunPod's GPU types."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.contract import TODAY, AdapterContract, edit
from tests.contract.fake_http import Answer, serving

from gpu_opt.domain.offer import Market
from gpu_opt_prices.table import SPOT_EQUAL_NOTE
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http


def gpu(name: str, memory: int, secure: float | None, **changed: Any) -> dict[str, Any]:
    values = {
        "id": name, "displayName": name.removeprefix("NVIDIA "), "memoryInGb": memory, "secureCloud": True,
        "communityCloud": False, "maxGpuCount": 8, "securePrice": secure, "communityPrice": None,
        "secureSpotPrice": None, "communitySpotPrice": None,
        "lowestPrice": {"minimumBidPrice": None, "uninterruptablePrice": secure, "stockStatus": "High"},
    }  # fmt: skip
    return {**values, **changed}


def types() -> list[Any]:
    return [
        gpu("NVIDIA H100 80GB HBM3", 80, 2.99, secureSpotPrice=1.75),
        gpu("NVIDIA H100 PCIe", 80, 2.39, maxGpuCount=2),
        gpu("NVIDIA A100-SXM4-80GB", 80, 1.89, secureSpotPrice=1.89),
        gpu("NVIDIA GeForce RTX 4090", 24, 0.69, communityCloud=True, communityPrice=0.34, communitySpotPrice=0.9),
        gpu("NVIDIA B200", 180, 7.99, lowestPrice={"stockStatus": None}),
        gpu("NVIDIA Z9000", 80, 1.0),
    ]


class TestRunPod(AdapterContract):
    provider = "runpod"
    priced = "runpod/global/8x NVIDIA H100 80GB HBM3/on_demand"
    usd = 23.92  # 8 x 2.99

    def payloads(self) -> dict[str, Any]:
        return {"": types()}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        edit(payloads[""], lambda t: t["id"] == "NVIDIA H100 80GB HBM3", securePrice=price)
        if price is None:  # a cloud without a price is not offered; a price that is nothing is
            edit(payloads[""], lambda t: t["id"] == "NVIDIA H100 80GB HBM3", securePrice="")

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads[""] += [None, "x", {}, {"id": ""}, {"id": "NVIDIA L4"}]

    def test_counts_go_up_to_what_is_sold(self) -> None:
        counts = sorted(o.gpu_count for o in self.offers().values() if o.gpu == "H100-PCIe")
        assert counts == [1.0, 2.0]

    def test_out_of_stock_is_priced_and_not_purchasable(self) -> None:
        assert {o.purchasable for o in self.offers().values() if o.gpu == "B200-SXM"} == {False}

    def test_spot_equal_to_rent_is_marked_and_spot_above_it_refused(self) -> None:
        spot = self.offers()["runpod/global/1x NVIDIA A100-SXM4-80GB/spot"]
        assert spot.note == SPOT_EQUAL_NOTE
        assert {refused.code for refused in self.table().refused} == {"spot-above-on-demand"}
        community = [o for o in self.offers().values() if o.instance_type.endswith("RTX 4090 community")]
        assert {o.market for o in community} == {Market.ON_DEMAND}

    def test_an_unknown_gpu_is_refused_by_name(self) -> None:
        assert [entry.value for entry in self.parsed().refused] == ["NVIDIA Z9000"]


def test_the_query_is_posted_to_the_real_path() -> None:
    with serving(lambda asked: Answer(json={"data": {"gpuTypes": types()}})) as service:
        environment = {"GPU_OPT_RUNPOD_ENDPOINT": service.address, "RUNPOD_API_KEY": "k"}
        fetched = load_adapter("runpod", environment, Http()).fetch_raw(Request(today=TODAY))
        (asked,) = service.asked
    assert (asked.method, asked.path, "gpuTypes" in asked.body["query"]) == ("POST", "/graphql", True)
    assert asked.headers["Authorization"] == "Bearer k"
    assert len(fetched.payloads[""]) == 6


def test_errors_of_the_query_are_no_answer() -> None:
    with serving(lambda asked: Answer(json={"errors": [{"message": "no"}], "data": None})) as service:
        adapter = load_adapter("runpod", {"GPU_OPT_RUNPOD_ENDPOINT": service.address}, Http())
        with pytest.raises(FetchFailed, match="no GPU types"):
            adapter.fetch_raw(Request(today=TODAY))
