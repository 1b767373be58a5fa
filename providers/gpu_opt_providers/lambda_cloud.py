"""Lambda: one list of instance types with one price for all regions. Needs LAMBDA_API_KEY.

Where there is capacity at this moment is not where one can plan: the price holds for every region of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_opt.domain.offer import Market
from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Parsed, Request, Row, Unusable, offer_row
from gpu_opt_providers.gpus import gpu_from_text, known_type

_PATH = "/api/v1/instance-types"
_DESCRIPTION = re.compile(r"(\d+)x\s+(.+)")


class LambdaCloud(Adapter):
    """Reads the instance types."""

    name = "lambda"

    def fetch_raw(self, request: Request) -> Fetched:
        key = self.environment.get("LAMBDA_API_KEY", "")
        if not key:
            raise FetchFailed("it needs a key: set LAMBDA_API_KEY")
        base = self.endpoint("GPU_OPT_LAMBDA_ENDPOINT", "https://cloud.lambdalabs.com")
        answer = self.http.get_json(f"{base}{_PATH}", {"Authorization": f"Bearer {key}"})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict) or not data:
            raise FetchFailed("the answer has no instance types")
        return Fetched(request=request, payloads={"": data})

    def parse(self, fetched: Fetched) -> Parsed:
        data = fetched.payloads[""]
        listed = {name for entry in data.values() for name in _capacity_regions(entry)}
        regions = sorted(listed | set(fetched.request.known_regions))
        rows: list[Row] = []
        refused: list[Unusable] = []
        for name, entry in sorted(data.items()):
            instance = entry.get("instance_type") if isinstance(entry, dict) else None
            if not isinstance(instance, dict):
                refused.append(Unusable(code="malformed", reason="an instance type is not an object", value=str(name)))
                continue
            rows.extend(_rows(str(instance.get("name") or name), instance, regions, refused))
        return Parsed(rows=tuple(rows), refused=tuple(refused))


def _capacity_regions(entry: object) -> list[str]:
    found = entry.get("regions_with_capacity_available") if isinstance(entry, dict) else None
    regions = found if isinstance(found, list) else []
    return [str(region["name"]) for region in regions if isinstance(region, dict) and region.get("name")]


def _rows(name: str, instance: Mapping[str, Any], regions: list[str], refused: list[Unusable]) -> list[Row]:
    found = _gpus(name, instance)
    if found is None:
        if "gpu" in name and not name.startswith("cpu"):
            refused.append(Unusable(code="gpu", reason="the GPU is unknown", value=name))
        return []
    gpu, count = found
    specs = instance.get("specs")
    specs = specs if isinstance(specs, dict) else {}
    return [
        offer_row(
            provider="lambda",
            region=region,
            instance_type=name,
            gpu=gpu,
            gpu_count=count,
            vcpus=_number(specs.get("vcpus")),
            memory_gib=_number(specs.get("memory_gib")),
            market=Market.ON_DEMAND,
            usd_per_instance_hour=_dollars(instance.get("price_cents_per_hour")),
            source="lambda instance types",
        )
        for region in regions
    ]


def _gpus(name: str, instance: Mapping[str, Any]) -> tuple[str, float] | None:
    """The table's word on the instance type, else what its description says."""
    known = known_type("lambda", name)
    if known:
        return known[1].gpu, known[1].gpus
    match = _DESCRIPTION.match(str(instance.get("description", "")))
    gpu = gpu_from_text(match[2]) if match else None
    return (gpu, float(match[1])) if match and gpu else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _dollars(cents: object) -> float | None:
    return cents / 100 if isinstance(cents, (int, float)) and not isinstance(cents, bool) else None
