"""RunPod: GPU types with prices per GPU, by its GraphQL service. It needs no account; RUNPOD_API_KEY is used if set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Parsed, Request, Row, Unusable, offer_row
from gpu_opt_providers.gpus import gpu_from_text

_QUERY = """query GpuTypes {
  gpuTypes {
    id displayName memoryInGb secureCloud communityCloud maxGpuCount maxGpuCountSecureCloud maxGpuCountCommunityCloud
    securePrice communityPrice secureSpotPrice communitySpotPrice
    lowestPrice(input: {gpuCount: 1}) { minimumBidPrice uninterruptablePrice stockStatus }
  }
}"""
_COUNTS = (1, 2, 4, 8)
_REGION = "global"


class RunPod(Adapter):
    """Reads the GPU types; a price is per GPU, so a row is made of each usual count."""

    name = "runpod"

    def fetch_raw(self, request: Request) -> Fetched:
        base = self.endpoint("GPU_OPT_RUNPOD_ENDPOINT", "https://api.runpod.io")
        key = self.environment.get("RUNPOD_API_KEY", "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        answer = self.http.post_json(f"{base}/graphql", {"query": _QUERY}, headers)
        data = answer.get("data") if isinstance(answer, dict) else None
        types = data.get("gpuTypes") if isinstance(data, dict) else None
        if not isinstance(types, list) or not types:
            raise FetchFailed("the answer has no GPU types")
        return Fetched(request=request, payloads={"": types})

    def parse(self, fetched: Fetched) -> Parsed:
        rows: list[Row] = []
        refused: list[Unusable] = []
        for entry in fetched.payloads[""]:
            if not isinstance(entry, dict) or not entry.get("id"):
                refused.append(Unusable(code="malformed", reason="a GPU type has no id"))
                continue
            name = str(entry["id"])
            memory = _number(entry.get("memoryInGb"))
            gpu = gpu_from_text(name, memory) or gpu_from_text(str(entry.get("displayName", "")), memory)
            if gpu is None:
                refused.append(Unusable(code="gpu", reason="the GPU is unknown", value=name))
                continue
            rows.extend(_rows(name, gpu, entry))
        return Parsed(rows=tuple(sorted(rows, key=lambda row: sorted(row.items()))), refused=tuple(refused))


def _rows(name: str, gpu: str, entry: Mapping[str, Any]) -> Iterator[Row]:
    """Secure cloud under the type's own name, community cloud beside it; a cloud without a price is not offered."""
    lowest = entry.get("lowestPrice")
    in_stock = not (isinstance(lowest, dict) and "stockStatus" in lowest and lowest["stockStatus"] is None)
    for cloud, kind in (("secure", ""), ("community", " community")):
        if entry.get(f"{cloud}Cloud") is False or entry.get(f"{cloud}Price") is None:
            continue
        most = _number(entry.get(f"maxGpuCount{cloud.capitalize()}Cloud")) or _number(entry.get("maxGpuCount")) or 1
        for count in _COUNTS:
            if count > most:
                break
            for market, per_gpu in (
                (Market.ON_DEMAND, entry.get(f"{cloud}Price")),
                (Market.SPOT, entry.get(f"{cloud}SpotPrice")),
            ):
                if market is Market.SPOT and not per_gpu:
                    continue  # not sold as spot
                price = _number(per_gpu)
                yield offer_row(
                    provider="runpod",
                    region=_REGION,
                    instance_type=f"{count}x {name}{kind}",
                    gpu=gpu,
                    gpu_count=count,
                    market=market,
                    usd_per_instance_hour=None if price is None else price * count,
                    purchasable=in_stock,
                    source="runpod gpu types",
                    note="" if in_stock else "out of stock when read",
                )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
