"""Rows that an adapter made, checked by the rules of a price file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from gpu_opt.domain.offer import Offer
from gpu_opt_prices.cells import BadRow, UnknownGpu
from gpu_opt_prices.columns import COLUMNS, OWN_COLUMNS
from gpu_opt_prices.reader import checked_table
from gpu_opt_prices.rows import parse_rows
from gpu_opt_prices.table import OfferTable, Refused

_NAMES = (*COLUMNS, *OWN_COLUMNS)


def take_in(rows: Sequence[Mapping[str, str]], provider: str, as_of: date) -> OfferTable:
    """Offers of a provider's rows, with the rest refused and counted: missing and zero prices, placeholders, spot above
    on-demand, names that leave something open, rows that contradict each other."""
    day = as_of.isoformat()
    cells = [(0, [row.get(name, "") if name != "as_of" else row.get(name) or day for name in _NAMES]) for row in rows]
    places = {name: place for place, name in enumerate(_NAMES)}
    kept: list[tuple[int, Offer]] = []
    refused: list[Refused] = []
    for outcome in parse_rows(cells, places, provider_data=True, default_source=provider):
        if isinstance(outcome, Offer):
            kept.append((0, outcome))
        elif isinstance(outcome, BadRow):
            refused.append(Refused(code=outcome.code, reason=outcome.reason, value=outcome.value, provider=provider))
        elif isinstance(outcome, UnknownGpu):
            refused.append(Refused(code="gpu", reason="the GPU is unknown", value=outcome.value, provider=provider))
    return checked_table(kept, refused)
