"""What every price adapter is: `fetch_raw` talks to the provider, `parse` makes rows of its answer and touches nothing.

Rows have the columns of a price file, as text. Whoever takes them in checks prices (missing, zero, placeholders, spot
above on-demand); an adapter refuses only what it can't name or place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field
from datetime import date
from typing import Any, ClassVar

from gpu_opt.domain.offer import Market
from gpu_opt.records import record
from gpu_opt_providers.transport import FetchFailed, Http

Row = dict[str, str]

__all__ = ["Adapter", "FetchFailed", "Fetched", "Missing", "Parsed", "Request", "Row", "Unusable", "offer_row"]


@record
class Request:
    """What is asked for: `regions`, empty for all; regions known from before; the day of the prices."""

    regions: tuple[str, ...] = ()
    known_regions: tuple[str, ...] = ()
    today: date


@record
class Missing:
    """What an answer leaves out and old rows should keep standing for: a market in a region ("" is any), GPUs by
    pattern."""

    region: str = ""
    market: str = ""
    gpu: str = "*"
    reason: str


@record
class Fetched:
    """A provider's answer as it came. `payloads` are by region, or by "" where one answer holds for all."""

    request: Request
    payloads: Mapping[str, Any]
    failed: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@record
class Unusable:
    """An entry that no row can be made of."""

    code: str
    reason: str
    value: str = ""


@record
class Parsed:
    """Rows of regions that answered, and what is not in them. `failed` maps a region to the reason."""

    rows: tuple[Row, ...]
    refused: tuple[Unusable, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


class Adapter(ABC):
    """One provider's price list. `environment` holds its endpoints and keys, which never leave the requests."""

    name: ClassVar[str]

    def __init__(self, environment: Mapping[str, str], http: Http) -> None:
        self.environment = environment
        self.http = http

    @abstractmethod
    def fetch_raw(self, request: Request) -> Fetched:
        """Ask the provider; FetchFailed when it gives nothing at all. A region that fails doesn't fail the rest."""

    @abstractmethod
    def parse(self, fetched: Fetched) -> Parsed:
        """Rows of an answer. Pure: the same answer, the same rows, whatever the order inside."""

    def endpoint(self, variable: str, default: str) -> str:
        """Scheme, host and port from a variable, else the real ones."""
        return (self.environment.get(variable) or default).rstrip("/")


def offer_row(
    *,
    provider: str,
    region: str,
    instance_type: str,
    gpu: str,
    gpu_count: float,
    market: Market,
    usd_per_instance_hour: float | str | None,
    source: str,
    zone: str = "",
    gpu_memory_gib: float | None = None,
    vcpus: float | None = None,
    memory_gib: float | None = None,
    upfront_usd: float | None = None,
    max_instances: int | None = None,
    purchasable: bool = True,
    note: str = "",
) -> Row:
    """A row in the columns of a price file."""
    return {
        "provider": provider,
        "region": region,
        "zone": zone,
        "instance_type": instance_type,
        "gpu": gpu,
        "gpu_count": f"{gpu_count:g}",
        "gpu_memory_gib": _text(gpu_memory_gib),
        "vcpus": _text(vcpus),
        "memory_gib": _text(memory_gib),
        "market": market.value,
        "usd_per_instance_hour": _text(usd_per_instance_hour),
        "upfront_usd": _text(upfront_usd or None),
        "max_instances": _text(max_instances),
        "purchasable": "true" if purchasable else "false",
        "source": source,
        "note": note,
    }


def _text(value: float | str | None) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else repr(round(value, 9) if isinstance(value, float) else value)
