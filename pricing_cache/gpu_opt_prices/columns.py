"""The columns of an offer file (contract, section 3), and how offers are written in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from gpu_opt.domain.offer import Offer

COLUMNS = (
    *("provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "memory_gib"),
    *("market", "usd_per_instance_hour", "upfront_usd", "term_months", "max_instances", "holds_capacity"),
    *("purchasable", "as_of", "source"),
)
OWN_COLUMNS = ("payment", "as_of_exact", "note")
REQUIRED = ("provider", "region", "instance_type", "gpu", "gpu_count", "market", "usd_per_instance_hour")
FORMULA_STARTS = ("=", "+", "-", "@")

Row = tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def number_text(value: float | None) -> str:
    """The shortest text that reads back as the same number; empty for None."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


@lru_cache(maxsize=1 << 16)
def neutral_cell(text: str) -> str:
    """A text cell that no spreadsheet runs, quoted where CSV needs it. Control characters become spaces."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    if text.startswith(FORMULA_STARTS):
        text = f"'{text}"
    if '"' in text or "," in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def read_text_cell(cell: str) -> str:
    """A text cell as it was meant: the apostrophe before a formula's first letter comes off."""
    if cell[:1] == "'" and cell[1:2] in FORMULA_STARTS and len(cell) > 1:
        return cell[1:]
    return cell


@lru_cache(maxsize=1 << 12)
def _day(value: date) -> str:
    return value.isoformat()


def _flag(value: bool) -> str:
    return "true" if value else "false"


def offer_cells(offer: Offer) -> Row:
    """The cells of an offer in the order of COLUMNS, ready to be joined by commas."""
    return (
        neutral_cell(offer.provider),
        neutral_cell(offer.region),
        neutral_cell(offer.zone),
        neutral_cell(offer.instance_type),
        neutral_cell(offer.gpu),
        number_text(offer.gpu_count),
        number_text(offer.gpu_memory_gib),
        number_text(offer.vcpus),
        number_text(offer.memory_gib),
        offer.market,
        number_text(offer.usd_per_instance_hour),
        number_text(offer.upfront_usd) if offer.upfront_usd else "",
        str(offer.term_months) if offer.term_months else "",
        number_text(offer.max_instances),
        _flag(offer.holds_capacity),
        _flag(offer.purchasable),
        _day(offer.as_of),
        neutral_cell(offer.source),
    )


def offers_csv(offers: Iterable[Offer]) -> str:
    """Offers as a CSV file in the contract's columns, with `payment` and `note` where any offer has them.

    Reading it back gives the same offers. Lines end in a line feed, so that equal offers are equal bytes.
    """
    rows = tuple(offers)
    payment = any(offer.payment for offer in rows)
    note = any(offer.note for offer in rows)
    header = (*COLUMNS, *(("payment",) if payment else ()), *(("note",) if note else ()))
    lines = [",".join(header)]
    for offer in rows:
        cells = offer_cells(offer)
        if payment:
            cells = (*cells, neutral_cell(offer.payment))
        if note:
            cells = (*cells, neutral_cell(offer.note))
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def parse_date(text: str) -> date | None:
    """A day written as 2026-08-19, else None."""
    if len(text) != 10 or not text.isascii():
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
