"""The shipped snapshot a second time, as columns that name each distinct value once: a fifth of the time to read.

`tools/build_price_snapshot.py` writes it from the CSV files, after they have passed every check; it is used only while
those files have the hash that it was made of. Who changes them gets them read and checked again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from typing import Any

from gpu_opt.domain.offer import Market, Offer

FILE = "offers.json"
_DATES = ("as_of", "available_from", "expires")


def to_compact(offers: Sequence[Offer], *, files_sha256: str, offers_sha256: str) -> str:
    """The offers as JSON. `files_sha256` is of the CSV files, `offers_sha256` of the offers as they are printed."""
    columns = {field.name: _column([getattr(offer, field.name) for offer in offers]) for field in fields(Offer)}
    document = {
        "files_sha256": files_sha256,
        "offers_sha256": offers_sha256,
        "count": len(offers),
        "columns": columns,
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"


def _column(cells: Sequence[Any]) -> dict[str, list[Any]]:
    """Distinct values in order of appearance, and for each row which it has; no rows where all have the one."""
    values = list(dict.fromkeys((type(cell), cell) for cell in cells))
    plain = [cell.isoformat() if isinstance(cell, date) else cell for _, cell in values]
    if len(values) == 1:
        return {"values": plain}
    place = {value: number for number, value in enumerate(values)}
    return {"values": plain, "rows": [place[type(cell), cell] for cell in cells]}


def from_compact(text: str, files_sha256: str) -> tuple[tuple[Offer, ...], str] | None:
    """The offers and their hash; None where it was made of other files."""
    found = json.loads(text)
    if found["files_sha256"] != files_sha256:
        return None
    offers = [Offer.__new__(Offer) for _ in range(found["count"])]
    for name, column in found["columns"].items():
        values = [_value(name, value) for value in column["values"]]
        cells = map(values.__getitem__, column["rows"]) if "rows" in column else values * len(offers)
        deque(map(Offer.__dict__[name].__set__, offers, cells), maxlen=0)
    return tuple(offers), found["offers_sha256"]


def _value(name: str, value: Any) -> Any:
    if name == "market":
        return Market(value)
    return date.fromisoformat(value) if name in _DATES and value is not None else value
