"""Reading overlay files: what a user knows about prices beyond the lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_opt.domain.offer import Market
from gpu_opt.domain.overlay import Discount, Overlay, PriceRow, Quote
from gpu_opt.errors import InputError, Problem
from gpu_opt.workload_file.problems import Source
from gpu_opt.workload_file.section_reader import SectionReader, in_order
from gpu_opt.workload_file.yaml_lines import Data, KeyPath, read_yaml

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile

LISTS = {
    "discounts": ("overlay_keys", "DiscountEntry"),
    "prices": ("overlay_keys", "PriceEntry"),
    "quotes": ("overlay_keys", "QuoteEntry"),
}


def overlays_of(file: WorkloadFile) -> tuple[Overlay, ...]:
    """The overlays that a workload file names or holds, in its order. InputError with every problem of all of them."""
    found: list[Overlay] = []
    problems: list[Problem] = []
    for index, entry in enumerate(file.prices.overlays):
        try:
            if isinstance(entry, str):
                found.append(load_overlay(file.path_of(entry), label=entry))
            else:
                found.append(
                    _overlay_of(entry, file.source, ("prices", "overlays", index), Path(file.source.shown).name)
                )
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return tuple(found)


def load_overlay(path: str | Path, *, label: str = "") -> Overlay:
    """The overlay in a file; `label` names it where a price says where it comes from. InputError with every problem."""
    shown = str(path)
    document, _ = read_yaml(Path(path), shown)
    data: Data = document.data
    source = Source(shown=shown, document=document)
    if not isinstance(data, dict):
        remedy = "Write `version: 1` and `discounts:`, `prices:` or `quotes:`."
        raise InputError(Problem(file=shown, line=1, what="it holds no keys.", remedy=remedy))
    return _overlay_of(data, source, (), label or shown)


def _overlay_of(data: dict[str, Data], source: Source, base: KeyPath, label: str) -> Overlay:
    reader = SectionReader(source)
    if not base or "version" in data:
        reader.version(data, base)
    found: dict[str, list[Any]] = {}
    for key, value in data.items():
        if key in LISTS:
            found[key] = list(reader.entries(LISTS[key], value, (*base, key)))
        elif key != "version":
            reader.say_unknown((*base, key), ("version", *LISTS))
    if reader.problems:
        raise InputError(in_order(reader.problems))

    def where(key: str, index: int) -> str:
        line = source.document.line_of((*base, key, index))
        return f"{label}:{line}" if line else label

    return Overlay(
        discounts=tuple(_discount(entry) for entry in found.get("discounts", ())),
        prices=tuple(_price(entry, where("prices", i)) for i, entry in enumerate(found.get("prices", ()))),
        quotes=tuple(_quote(entry, where("quotes", i)) for i, entry in enumerate(found.get("quotes", ()))),
    )


def _discount(entry: Any) -> Discount:
    return Discount(
        provider=entry.provider or "",
        instance_types=entry.instance_types,
        regions=entry.regions,
        markets=tuple(Market(name) for name in entry.markets),
        discount_fraction=entry.fraction,
    )


def _price(entry: Any, where: str) -> PriceRow:
    return PriceRow(
        provider=entry.provider,
        region=entry.region,
        zone=entry.zone or "",
        instance_type=entry.instance_type or "",
        gpu=entry.gpu,
        gpu_count=entry.gpu_count,
        market=Market(entry.market),
        usd_per_instance_hour=entry.usd_per_instance_hour,
        usd_per_gpu_hour=entry.usd_per_gpu_hour,
        upfront_usd=entry.upfront_usd,
        term_months=entry.term_months or 0,
        max_instances=entry.max_instances,
        as_of=entry.as_of,
        where=where,
    )


def _quote(entry: Any, where: str) -> Quote:
    return Quote(
        provider=entry.provider,
        region=entry.region,
        instance_type=entry.instance_type or "",
        gpu=entry.gpu,
        gpu_count=entry.gpu_count,
        market=Market(entry.market) if entry.market else None,
        usd_per_instance_hour=entry.usd_per_instance_hour,
        usd_per_gpu_hour=entry.usd_per_gpu_hour,
        min_instances=entry.min_instances,
        max_instances=entry.max_instances,
        term_months=entry.term_months or 0,
        prepay_fraction=entry.prepay_fraction,
        available_from=entry.available_from,
        expires=entry.expires,
        where=where,
    )
