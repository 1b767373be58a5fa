"""`gpu-opt offers`: the offers in effect, with their price per GPU, per TFLOP/s and per GiB."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpu_opt.cli._common import echo_err, write_json
from gpu_opt.cli._offers import load_offers
from gpu_opt.domain.names import nearest
from gpu_opt.domain.offer import Market, Offer
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record

if TYPE_CHECKING:
    from gpu_opt_prices.table import OfferTable

_TABLE_ROWS = 30
_HEADER = (
    *("provider", "region", "zone", "instance type", "GPUs", "GPU", "market"),
    *("$/hour", "$/GPU-hour", "$/TFLOP-hour", "$/GiB-hour", "as of", "days old", "remarks"),
)


class SortKey(StrEnum):
    """What the list is sorted by, cheapest first."""

    USD_PER_GPU_HOUR = "usd_per_gpu_hour"
    USD_PER_TFLOP = "usd_per_tflop"
    USD_PER_GIB = "usd_per_gib"
    USD_PER_INSTANCE_HOUR = "usd_per_instance_hour"
    AS_OF = "as_of"
    OFFER = "offer"


@record
class Priced:
    """An offer with its price over what it brings: GPUs, dense bf16 (else fp16) peak, GPU memory."""

    offer: Offer
    usd_per_instance_hour: float
    usd_per_gpu_hour: float
    usd_per_tflop_hour: float | None
    usd_per_gib_hour: float | None


def command(
    gpu: Annotated[list[str] | None, typer.Option(help="GPU name or pattern, such as 'H100*'; repeatable.")] = None,
    provider: Annotated[list[str] | None, typer.Option(help="Provider; repeatable.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Region or pattern, such as 'us-*'; repeatable.")] = None,
    market: Annotated[list[str] | None, typer.Option(help="on_demand, spot, reserved_1y …; repeatable.")] = None,
    instance_type: Annotated[list[str] | None, typer.Option(help="Instance type or pattern; repeatable.")] = None,
    max_usd_per_gpu_hour: Annotated[float | None, typer.Option(help="Nothing dearer than this.")] = None,
    sort: Annotated[SortKey | None, typer.Option(help="Cheapest first; default: $ per GPU-hour, CSV by offer.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many offers (table: 30).")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Tables: every offer, what can't be bought too.")] = False,
    prices: Annotated[Path | None, typer.Option(help="Exactly the offers of this CSV file.")] = None,
    output: Annotated[Literal["table", "json", "csv", "md"], typer.Option("--format", help="How to print.")] = "table",
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network; it never does.")] = False,
) -> None:
    """List the offers in effect, with their prices and dates.

    A price with an upfront is shown with the upfront spread over its term. `--format csv` prints the columns of a price
    file, and `--prices` reads it back.
    """
    table = load_offers(prices)
    chosen = _chosen(table, gpu or [], provider or [], region or [], market or [], instance_type or [])
    people = output in ("table", "md")
    if people and not all_:
        chosen = [offer for offer in chosen if offer.purchasable]
    priced = _priced(chosen)
    if max_usd_per_gpu_hour is not None:
        priced = [row for row in priced if row.usd_per_gpu_hour <= max_usd_per_gpu_hour]
    by = sort or (SortKey.OFFER if output == "csv" else SortKey.USD_PER_GPU_HOUR)
    if by is not SortKey.OFFER:  # offers come sorted by place, type and market
        priced.sort(key=_order(by))
    count = limit or (_TABLE_ROWS if people and not all_ else len(priced))
    _print(table, priced, count, output)


def _chosen(
    table: OfferTable,
    gpus: Sequence[str],
    providers: Sequence[str],
    regions: Sequence[str],
    markets: Sequence[str],
    instance_types: Sequence[str],
) -> list[Offer]:
    """Offers that every given filter lets through; InputError for a filter that nothing could ever meet."""
    offers = table.offers
    problems: list[Problem] = []
    names = _gpu_names(gpus, problems)
    known_markets = [known.value for known in Market if known is not Market.QUOTE]
    for option, given, known in (
        ("--provider", providers, {offer.provider for offer in offers}),
        ("--region", regions, {offer.region for offer in offers}),
        ("--market", markets, set(known_markets)),
        ("--instance-type", instance_types, {offer.instance_type for offer in offers}),
    ):
        for pattern in given:
            if not any(_match(pattern, name) for name in known):
                close = nearest(pattern, known)
                what = f"{option}: nothing is called {pattern[:60]!r}."
                problems.append(Problem(what=what, remedy=f"Did you mean {close}?" if close else ""))
    if problems:
        raise InputError(problems)
    return [
        offer
        for offer in offers
        if (not gpus or offer.gpu in names)
        and _any_match(providers, offer.provider)
        and _any_match(regions, offer.region)
        and _any_match(markets, offer.market)
        and _any_match(instance_types, offer.instance_type)
    ]


def _gpu_names(patterns: Iterable[str], problems: list[Problem]) -> set[str]:
    from gpu_opt.hardware import UnknownName, match_gpus

    names: set[str] = set()
    for pattern in patterns:
        try:
            names.update(match_gpus(pattern))
        except UnknownName as unknown:
            remedy = f"Did you mean {unknown.nearest}?" if unknown.nearest else ""
            problems.append(Problem(what=f"--gpu: the GPU {pattern[:60]!r} is unknown.", remedy=remedy))
    return names


def _match(pattern: str, name: str) -> bool:
    return fnmatchcase(name.casefold(), pattern.casefold())


def _any_match(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(_match(pattern, name) for pattern in patterns)


def _priced(offers: Iterable[Offer]) -> list[Priced]:
    from gpu_opt.hardware import load_accelerators
    from gpu_opt_prices.invariants import effective_usd_per_hour

    accelerators = load_accelerators()
    rows = []
    for offer in offers:
        accelerator = accelerators[offer.gpu]
        price = effective_usd_per_hour(offer)
        per_gpu = price / offer.gpu_count
        peak = accelerator.peak_tflops.get("bf16") or accelerator.peak_tflops.get("fp16")
        memory = offer.gpu_memory_gib or accelerator.memory_gib
        rows.append(
            Priced(
                offer=offer,
                usd_per_instance_hour=price,
                usd_per_gpu_hour=per_gpu,
                usd_per_tflop_hour=per_gpu / peak if peak else None,
                usd_per_gib_hour=per_gpu / memory if memory else None,
            )
        )
    return rows


def _order(sort: SortKey) -> Callable[[Priced], tuple[float, str]]:
    """Sorted by a number, unknown ones last, equal ones by the offer's name."""
    value: dict[SortKey, Callable[[Priced], float | None]] = {
        SortKey.USD_PER_GPU_HOUR: lambda row: row.usd_per_gpu_hour,
        SortKey.USD_PER_TFLOP: lambda row: row.usd_per_tflop_hour,
        SortKey.USD_PER_GIB: lambda row: row.usd_per_gib_hour,
        SortKey.USD_PER_INSTANCE_HOUR: lambda row: row.usd_per_instance_hour,
        SortKey.AS_OF: lambda row: float(row.offer.as_of.toordinal()),
    }
    chosen = value[sort]

    def key(row: Priced) -> tuple[float, str]:
        number = chosen(row)
        return (float("inf") if number is None else number, row.offer.id)

    return key


def _print(table: OfferTable, priced: Sequence[Priced], count: int, output: str) -> None:
    shown = priced[:count]
    if output == "csv":
        _print_csv([row.offer for row in shown])
    elif output == "json":
        write_json(_document(table, shown))
    else:
        from gpu_opt.cli._tables import markdown_table, text_table

        today = datetime.now(UTC).date()
        rows = [_cells(row, today) for row in shown]
        sys.stdout.write((markdown_table if output == "md" else text_table)(_HEADER, rows) + "\n")
    if len(priced) > count:
        echo_err(f"{len(priced) - count} more offers; see --limit and --all.")
    if not priced:
        echo_err("No offer matches all filters.")


def _print_csv(offers: Iterable[Offer]) -> None:
    from gpu_opt_prices.columns import offers_csv

    sys.stdout.write(offers_csv(offers))


def _cells(row: Priced, today: date) -> list[str]:
    offer = row.offer
    remarks = [offer.note] if offer.note else []
    if not offer.purchasable:
        remarks.insert(0, "not purchasable")
    return [
        *(offer.provider, offer.region, offer.zone, offer.instance_type, f"{offer.gpu_count:g}", offer.gpu),
        *(offer.market, f"{row.usd_per_instance_hour:.4f}", f"{row.usd_per_gpu_hour:.4f}"),
        "" if row.usd_per_tflop_hour is None else f"{row.usd_per_tflop_hour:.6f}",
        "" if row.usd_per_gib_hour is None else f"{row.usd_per_gib_hour:.5f}",
        *(offer.as_of.isoformat(), str(max((today - offer.as_of).days, 0)), "; ".join(remarks)),
    ]


def _document(table: OfferTable, rows: Sequence[Priced]) -> dict[str, Any]:
    return {
        "schema": "gpu-opt/offers/1",
        "prices": {
            "sha256": table.sha256,
            "as_of": table.newest_as_of.isoformat(),
            "oldest_as_of": table.oldest_as_of.isoformat(),
        },
        "refused": dict(table.refused_by_reason()),
        "offers": [_offer_document(row) for row in rows],
    }


def _offer_document(row: Priced) -> dict[str, Any]:
    offer = row.offer
    return {
        "offer": offer.id,
        "provider": offer.provider,
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        "market": offer.market.value,
        "usd_per_instance_hour": offer.usd_per_instance_hour,
        "upfront_usd": offer.upfront_usd,
        "term_months": offer.term_months,
        "usd_per_gpu_hour": row.usd_per_gpu_hour,
        "usd_per_tflop_hour": row.usd_per_tflop_hour,
        "usd_per_gib_hour": row.usd_per_gib_hour,
        "holds_capacity": offer.holds_capacity,
        "purchasable": offer.purchasable,
        "as_of": offer.as_of.isoformat(),
        "source": offer.source,
        "note": offer.note,
    }
