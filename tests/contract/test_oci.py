"""Oracle's cost estimator."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.contract import TODAY, AdapterContract, edit
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http


def shape(name: str, part: str, gpus: int | None, **changed: Any) -> dict[str, Any]:
    values = {
        "name": name, "hidden": False, "status": "ACTIVE", "gpuQty": gpus, "bundleMemoryQty": 2048,
        "allowPreemptible": name.startswith("VM."), "products": [{"type": {"value": "ocpu"}, "partNumber": part}],
    }  # fmt: skip
    return {**values, **changed}


def product(part: str, usd: float | None) -> dict[str, Any]:
    return {
        "partNumber": part,
        "currencyCodeLocalizations": [
            {"currencyCode": "EUR", "prices": [{"model": "PAY_AS_YOU_GO", "value": 1.0}]},
            {"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": usd}]},
        ],
    }


class TestOci(AdapterContract):
    provider = "oci"
    known_regions = ("eu-amsterdam-1", "eu-stockholm-1")
    priced = "oci/eu-amsterdam-1/BM.GPU.H100.8/on_demand"
    usd = 80.0  # 10 USD per GPU-hour x 8

    def payloads(self) -> dict[str, Any]:
        shapes = [
            shape("BM.GPU.H100.8", "B1", 8),
            shape("VM.GPU.A10.2", "B2", 2),
            shape("BM.GPU.OLD.8", "B1", 8, hidden=True),
            shape("BM.GPU.NEW.8", "B1", 8),
            shape("VM.Standard.E5.Flex", "B3", None),
        ]
        return {"": {"shapes": shapes, "products": [product("B1", 10.0), product("B2", 2.0), product("B3", 0.03)]}}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        edit(payloads[""]["products"], lambda p: p["partNumber"] == "B1", **product("B1", price))

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads[""]["shapes"] += [None, "x", {}, {"name": "BM.GPU.H200.8", "products": None}]
        payloads[""]["products"] += [None, {}, {"partNumber": "B9"}]

    def test_virtual_machines_that_allow_it_are_half_price_as_preemptible(self) -> None:
        offers = self.offers()
        assert offers["oci/eu-stockholm-1/VM.GPU.A10.2/spot"].usd_per_instance_hour == 2.0
        assert not [o for o in offers.values() if o.instance_type.startswith("BM.") and o.market is Market.SPOT]

    def test_shapes_outside_the_table_are_refused(self) -> None:
        assert [entry.value for entry in self.parsed().refused] == ["BM.GPU.NEW.8"]


def test_both_files_are_read_and_must_hold_something() -> None:
    def files(asked: Asked) -> Answer:
        return Answer(json={"items": [{}] if asked.path.endswith("shapes.json") else []})

    with serving(files) as service:
        adapter = load_adapter("oci", {"GPU_OPT_OCI_ENDPOINT": service.address}, Http())
        with pytest.raises(FetchFailed, match="no products"):
            adapter.fetch_raw(Request(today=TODAY))
        paths = [asked.path.rpartition("/")[0] for asked in service.asked]
    assert paths == ["/a/ocom/docs/cloudestimator2/data"] * 2
