"""Lambda's instance types."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.contract import TODAY, AdapterContract
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http

KEY = "secret_lambda_key"


def instance(name: str, description: str, cents: int | None, regions: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "instance_type": {
            "name": name,
            "description": description,
            "gpu_description": description[3:],
            "price_cents_per_hour": cents,
            "specs": {"vcpus": 208, "memory_gib": 1800, "storage_gib": 22528, "gpus": int(description[0])},
        },
        "regions_with_capacity_available": [{"name": region, "description": region} for region in regions],
    }


def types() -> dict[str, Any]:
    entries = [
        instance("gpu_8x_h100_sxm5", "8x H100 (80 GB SXM5)", 3192),
        instance("gpu_1x_h100_sxm5", "1x H100 (80 GB SXM5)", 429, ("us-east-9",)),
        instance("gpu_1x_h100_pcie", "1x H100 (80 GB PCIe)", 329),
        instance("gpu_4x_new", "4x A100 (80 GB SXM4)", 800),
        instance("gpu_2x_mystery", "2x Z9000 (80 GB)", 100),
    ]
    return {entry["instance_type"]["name"]: entry for entry in entries}


class TestLambda(AdapterContract):
    provider = "lambda"
    known_regions = ("us-west-1", "europe-central-1")
    priced = "lambda/us-west-1/gpu_8x_h100_sxm5/on_demand"
    usd = 31.92  # 3,192 cents

    def payloads(self) -> dict[str, Any]:
        return {"": types()}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        payloads[""]["gpu_8x_h100_sxm5"]["instance_type"]["price_cents_per_hour"] = price

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads[""] |= {"a": None, "b": [], "c": {"instance_type": "x"}, "d": {"regions_with_capacity_available": 5}}

    def test_a_price_holds_in_every_region_whether_or_not_there_is_capacity_now(self) -> None:
        regions = {o.region for o in self.offers().values() if o.instance_type == "gpu_8x_h100_sxm5"}
        assert regions == {"us-west-1", "europe-central-1", "us-east-9"}

    def test_the_form_factor_comes_from_the_table_or_the_description(self) -> None:
        gpus = {o.instance_type: (o.gpu, o.gpu_count) for o in self.offers().values()}
        assert gpus["gpu_1x_h100_pcie"] == ("H100-PCIe", 1.0)
        assert gpus["gpu_4x_new"] == ("A100-80GB-SXM", 4.0)
        assert [entry.value for entry in self.parsed().refused] == ["gpu_2x_mystery"]


def fetch(address: str, **environment: str) -> Any:
    adapter = load_adapter("lambda", {"GPU_OPT_LAMBDA_ENDPOINT": address, **environment}, Http(sleep=lambda _: None))
    return adapter.fetch_raw(Request(today=TODAY))


def test_the_key_is_sent_and_the_real_path_asked() -> None:
    with serving(lambda asked: Answer(json={"data": types()})) as service:
        fetch(service.address, LAMBDA_API_KEY=KEY)
        (asked,) = service.asked
    assert (asked.path, asked.headers["Authorization"]) == ("/api/v1/instance-types", f"Bearer {KEY}")


def test_without_a_key_nothing_is_asked() -> None:
    with serving(lambda asked: Answer(json={})) as service:
        with pytest.raises(FetchFailed, match="set LAMBDA_API_KEY"):
            fetch(service.address)
        assert service.asked == []


@pytest.mark.parametrize("status", [401, 403, 500, 302])
def test_a_failure_never_tells_the_key(status: int) -> None:
    def refuse(asked: Asked) -> Answer:
        said = asked.headers["Authorization"]
        return Answer(status=status, json={"error": said}, headers={"Location": f"/?key={KEY}"})

    with serving(refuse) as service, pytest.raises(FetchFailed) as caught:
        fetch(service.address, LAMBDA_API_KEY=KEY)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_answer_without_types_is_no_answer() -> None:
    with serving(lambda asked: Answer(json={"data": {}})) as service, pytest.raises(FetchFailed, match="no instance"):
        fetch(service.address, LAMBDA_API_KEY=KEY)
