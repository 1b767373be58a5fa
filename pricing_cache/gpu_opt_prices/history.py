"""Dated copies of a provider's rows, as a series."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from pathlib import Path

from gpu_opt.domain.offer import Offer
from gpu_opt.errors import GpuOptError
from gpu_opt.records import record
from gpu_opt_prices.columns import parse_date
from gpu_opt_prices.invariants import effective_usd_per_hour
from gpu_opt_prices.reader import parse_offers
from gpu_opt_prices.store import history_files


@record
class DayPrice:
    """The cheapest purchasable price per GPU-hour of one GPU and market on one day."""

    day: date
    gpu: str
    market: str
    usd_per_gpu_hour: float
    offer: str


def cheapest_by_day(cache_dir: Path, provider: str, gpus: Collection[str] = ()) -> tuple[DayPrice, ...]:
    """Oldest day first; empty `gpus` means all. A damaged copy is left out."""
    found = []
    for path in history_files(cache_dir, provider):
        day = parse_date(path.stem)
        if day is None:
            continue
        try:
            offers = parse_offers(path, provider_data=True, name=path.name).offers
        except GpuOptError:
            continue
        found.extend(_cheapest(day, [offer for offer in offers if not gpus or offer.gpu in gpus]))
    return tuple(found)


def _cheapest(day: date, offers: Collection[Offer]) -> list[DayPrice]:
    best: dict[tuple[str, str], tuple[float, str]] = {}
    for offer in offers:
        if offer.purchasable:
            price = (effective_usd_per_hour(offer) / offer.gpu_count, offer.id)
            key = (offer.gpu, offer.market.value)
            best[key] = min(best.get(key, price), price)
    return [
        DayPrice(day=day, gpu=gpu, market=market, usd_per_gpu_hour=price, offer=name)
        for (gpu, market), (price, name) in sorted(best.items())
    ]
