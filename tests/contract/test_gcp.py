"""GCP's catalogue: machines composed out of SKUs that are told apart by their words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.contract import TODAY, AdapterContract
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import FetchFailed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http

REGION = "us-central1"


def sku(description: str, usd: float, usage: str = "OnDemand", regions: tuple[str, ...] = (REGION,)) -> dict[str, Any]:
    return {
        "skuId": description[:8],
        "description": description,
        "category": {"usageType": usage, "resourceFamily": "Compute"},
        "serviceRegions": list(regions),
        "pricingInfo": [
            {
                "pricingExpression": {
                    "usageUnit": "h",
                    "tieredRates": [
                        {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 0}},
                        {
                            "startUsageAmount": 1,
                            "unitPrice": {
                                "currencyCode": "USD",
                                "units": str(int(usd)),
                                "nanos": round((usd - int(usd)) * 1e9),
                            },
                        },
                    ],
                }
            }
        ],
    }


def skus() -> list[dict[str, Any]]:
    """208 vCPU and 1,872 GiB at 9.46006 in all; the split is ours: 0.02 and 5.30006 / 1872."""
    ram = (9.46006 - 208 * 0.02) / 1872
    rent = [
        sku("A3 Instance Core running in Americas", 0.02),
        sku("A3 Instance Ram running in Americas", ram),
        sku("Nvidia H100 80GB GPU running in Americas", 9.79655),
        sku("SSD backed Local Storage", 0.08),
        sku("A3Plus Instance Core running in Americas", 0.03),
        sku("A3Plus Instance Ram running in Americas", ram),
        sku("Nvidia H100 80GB Plus GPU running in Americas", 10.0),
        # 12 x 0.03 + 85 x 0.004 = 0.7; with 2.93391 for the GPU 3.63391
        sku("A2 Instance Core running in Americas", 0.03),
        sku("A2 Instance Ram running in Americas", 0.004),
        sku("Nvidia Tesla A100 GPU running in Americas", 2.93391, regions=(REGION, "us-west9")),
        sku("Nvidia Tesla A100 80GB GPU running in Americas", 3.92808),
        sku("A4 Nvidia B200 (1 gpu slice) running in Americas", 16.0),
    ]
    spot = [
        sku("Spot Preemptible A3 Instance Core running in Americas", 0.01, "Preemptible"),
        sku("Spot Preemptible A3 Instance Ram running in Americas", 0.001, "Preemptible"),
        sku("Spot Preemptible Nvidia H100 80GB GPU running in Americas", 2.25, "Preemptible"),
        sku("SSD backed Local Storage attached to Spot Preemptible VMs", 0.048, "Preemptible"),
        sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", 4.718, "OnDemand"),
    ]
    traps = [
        sku("DWS Calendar Mode Nvidia H100 80GB GPU running in Americas", 4.2),
        sku("DWS Defined Duration Nvidia H100 80GB GPU running in Americas", 4.5),
        sku("Nvidia H100 80GB GPU attached to Sole Tenancy running in Americas", 1.0),
        sku("Reserved Nvidia H100 80GB GPU in Americas", 1.0),
        sku("Custom A3 Instance Core running in Americas", 0.5),
        sku("Nvidia H100 80GB GPU Virtual Workstation running in Americas", 11.0),
        sku("N1 Predefined Instance Core running in Americas", 0.03),
    ]
    commitments = [
        sku("Commitment v1: A2 Cpu in Americas for 1 Year", 0.02, "Commit1Yr"),
        sku("Commitment v1: A2 Ram in Americas for 1 Year", 0.003, "Commit1Yr"),
        sku("Commitment v1: Nvidia Tesla A100 GPU running in Americas for 1 Year", 1.8, "Commit1Yr"),
    ]
    return [*rent, *spot, *traps, *commitments]


def machine(name: str, zone: str = f"{REGION}-a", **changed: Any) -> dict[str, Any]:
    link = f"https://www.googleapis.com/compute/v1/projects/p/zones/{zone}"
    return {"name": name, "zone": link, "guestCpus": 12, "memoryMb": 87040, **changed}


MACHINES = [
    machine("a3-highgpu-8g"), machine("a3-highgpu-1g"), machine("a3-megagpu-8g"), machine("a2-highgpu-1g"),
    machine("a2-ultragpu-1g"), machine("a4-highgpu-8g"), machine("n2-standard-4"),
    machine("a2-highgpu-2g", deprecated={"state": "DEPRECATED"}),
]  # fmt: skip


class TestGcp(AdapterContract):
    provider = "gcp"
    priced = f"gcp/{REGION}/a3-highgpu-8g/on_demand"
    usd = 88.489968  # 9.46006 + 8 x 9.79655 + 6,000 GiB x 0.08 / 730 h = 9.46006 + 78.3724 + 0.657534

    def payloads(self) -> dict[str, Any]:
        return {"": {"skus": skus(), "machines": list(MACHINES)}}

    def set_price(self, payloads: dict[str, Any], price: Any) -> None:
        for entry in payloads[""]["skus"]:
            if entry["description"] == "Nvidia H100 80GB GPU running in Americas":
                rates = entry["pricingInfo"][0]["pricingExpression"]["tieredRates"]
                rates[1]["unitPrice"] = {"currencyCode": "USD", "units": price, "nanos": 0}

    def add_junk(self, payloads: dict[str, Any]) -> None:
        payloads[""]["skus"] += [{}, {"description": None}, {"description": "A3 Instance Core", "category": 5}]
        payloads[""]["machines"] += [None, {}, {"name": "a2-highgpu-1g", "zone": None}]

    def prices(self, name: str) -> dict[Market, float]:
        return {o.market: o.usd_per_instance_hour for o in self.offers().values() if o.instance_type == name}

    def test_the_families_gpu_and_disk_are_told_apart(self) -> None:
        ram = (9.46006 - 208 * 0.02) / 1872
        # 208 x 0.03 + 1,872 x ram + 8 x 10 + 6,000 x 0.08 / 730
        mega = 208 * 0.03 + 1872 * ram + 80 + 6000 * 0.08 / 730
        assert self.prices("a3-megagpu-8g") == {Market.ON_DEMAND: pytest.approx(mega)}
        assert self.prices("a2-highgpu-1g")[Market.ON_DEMAND] == pytest.approx(3.63391)
        # 12 x 0.03 + 170 x 0.004 + 3.92808 + 375 x 0.08 / 730
        assert self.prices("a2-ultragpu-1g")[Market.ON_DEMAND] == pytest.approx(1.04 + 3.92808 + 30 / 730)

    def test_spot_is_known_by_its_words_where_the_usage_type_lies(self) -> None:
        # a slice holds its share of the whole machine: 8 x 4.718
        assert self.prices("a4-highgpu-8g")[Market.SPOT] == pytest.approx(37.744)
        # 208 x 0.01 + 1,872 x 0.001 + 8 x 2.25 + 6,000 x 0.048 / 730
        assert self.prices("a3-highgpu-8g")[Market.SPOT] == pytest.approx(21.952 + 288 / 730)

    def test_what_is_not_sold_on_demand_is_listed_only(self) -> None:
        assert Market.ON_DEMAND not in self.prices("a3-highgpu-1g")
        assert self.prices("a4-highgpu-8g")[Market.LIST_ONLY] == 128.0
        listed = [o for o in self.offers().values() if o.market is Market.LIST_ONLY]
        assert listed
        assert not any(o.purchasable for o in listed)

    def test_commitments_are_composed_too_and_hold_no_capacity(self) -> None:
        offer = self.offers()[f"gcp/{REGION}/a2-highgpu-1g/reserved_1y"]
        # 12 x 0.02 + 85 x 0.003 + 1.8
        assert offer.usd_per_instance_hour == pytest.approx(2.295)
        assert (offer.term_months, offer.holds_capacity) == (12, False)

    def test_a_price_is_no_presence(self) -> None:
        assert {o.region for o in self.offers().values()} == {REGION}
        assert not self.prices("a2-highgpu-2g")
        without = self.payloads()
        without[""]["machines"] = None
        assert f"gcp/{REGION}/a2-highgpu-2g/on_demand" in {o.id for o in self.table(without).offers}

    def test_skus_that_contradict_each_other_are_refused(self) -> None:
        payloads = self.payloads()
        payloads[""]["skus"].append(sku("Nvidia H100 80GB GPU running in Americas", 4.2))
        assert self.priced not in {o.id for o in self.table(payloads).offers}
        assert "contradiction" in {entry.code for entry in self.parsed(payloads).refused}


def catalogue(asked: Asked, *, aggregated: bool = True) -> Answer:
    """Two pages of SKUs; machine types aggregated, or zone by zone."""
    if asked.path == "/v1/services/6F81-5844-456A/skus":
        if asked.query.get("pageToken") == "next":
            return Answer(json={"skus": skus()[5:]})
        return Answer(json={"skus": skus()[:5], "nextPageToken": "next"})
    if asked.path == "/compute/v1/projects/p/aggregated/machineTypes" and aggregated:
        scopes = {f"zones/{REGION}-a": {"machineTypes": MACHINES}, "zones/x-y1-b": {"warning": {"code": "NO_RESULTS"}}}
        return Answer(json={"items": scopes})
    if asked.path == "/compute/v1/projects/p/zones":
        return Answer(json={"items": [{"name": f"{REGION}-a"}]})
    if asked.path == f"/compute/v1/projects/p/zones/{REGION}-a/machineTypes":
        return Answer(json={"items": MACHINES})
    return Answer(status=404)


def fetch(address: str, **environment: str) -> Any:
    ends = {"GPU_OPT_GCP_BILLING_ENDPOINT": address, "GPU_OPT_GCP_COMPUTE_ENDPOINT": address}
    adapter = load_adapter("gcp", {**ends, "GPU_OPT_GCP_ANONYMOUS": "1", **environment}, Http(sleep=lambda _: None))
    return adapter, adapter.fetch_raw(Request(today=TODAY))


@pytest.mark.parametrize("aggregated", [True, False])
def test_skus_and_machine_types_are_read_to_their_last_page(aggregated: bool) -> None:
    with serving(lambda asked: catalogue(asked, aggregated=aggregated)) as service:
        adapter, fetched = fetch(service.address, GOOGLE_CLOUD_PROJECT="p")
    assert len(fetched.payloads[""]["skus"]) == len(skus())
    assert any(row["instance_type"] == "a3-highgpu-8g" for row in adapter.parse(fetched).rows)


def test_without_a_project_prices_are_read_and_presence_is_not_checked() -> None:
    with serving(catalogue) as service:
        adapter, fetched = fetch(service.address)
    assert "set GOOGLE_CLOUD_PROJECT" in adapter.parse(fetched).notes[0]


def test_a_catalogue_without_skus_is_no_answer() -> None:
    with serving(lambda asked: Answer(json={"skus": []})) as service, pytest.raises(FetchFailed, match="no SKUs"):
        fetch(service.address, GOOGLE_CLOUD_PROJECT="p")
