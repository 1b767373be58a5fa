"""Rows of an offer file into offers, column by column: each distinct cell of a column is parsed once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import date
from typing import Any

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.partition import is_apart
from gpu_opt_prices.cells import (
    MAX_CELL_CHARS,
    PARSERS,
    PLACEHOLDER,
    BadRow,
    UnknownGpu,
    provider_gpu,
    user_gpu,
)

# Bid floors that spot feeds give for a price.
SPOT_FLOOR_USD = frozenset({0.01, 0.001, 0.0001, 0.00001})
TERM_MONTHS = {
    Market.RESERVED_1Y: 12,
    Market.SAVINGS_PLAN_1Y: 12,
    Market.RESERVED_3Y: 36,
    Market.SAVINGS_PLAN_3Y: 36,
}

_DEFAULTS = {field.name: None if field.default is MISSING else field.default for field in fields(Offer)}

NumberedCells = tuple[int, Sequence[str]]
Outcome = Offer | BadRow | UnknownGpu


def parse_rows(
    rows: Sequence[NumberedCells], places: Mapping[str, int], *, provider_data: bool, default_source: str
) -> list[Outcome]:
    """For each row its offer, or why there is none. `places` maps a column to its place in the cells.

    A row without a day gets `date.min`, for the caller to replace.
    """
    if not rows:
        return []
    table = list(zip(*(cells for _, cells in rows), strict=True))
    parsers = {**PARSERS, "gpu": provider_gpu if provider_data else user_gpu}
    columns: dict[str, list[Any]] = {name: [default] * len(rows) for name, default in _DEFAULTS.items()}
    bad: dict[int, BadRow | UnknownGpu] = {}
    for name, parse in parsers.items():
        if name in places:
            columns[name] = _parse_column(table[places[name]], name, parse, bad)
    _settle_rows(columns, bad, provider_data=provider_data, default_source=default_source)
    offers = _build(columns, len(rows))
    return [bad.get(number, offer) for number, offer in enumerate(offers)] if bad else list(offers)


def _parse_column(
    cells: Sequence[str], name: str, parse: Callable[[str, str], object], bad: dict[int, BadRow | UnknownGpu]
) -> list[Any]:
    known: dict[str, object] = {}
    failed = False
    for cell in set(cells):
        try:
            if len(cell) > MAX_CELL_CHARS:
                raise BadRow("too-long", f"{name} has more than {MAX_CELL_CHARS} characters")
            known[cell] = parse(cell.strip(), name)
        except (BadRow, UnknownGpu) as reason:
            known[cell] = reason
            failed = True
    values = list(map(known.__getitem__, cells))
    if failed:
        for number, value in enumerate(values):
            if isinstance(value, (BadRow, UnknownGpu)):
                bad.setdefault(number, value)
    return values


def _settle_rows(
    columns: dict[str, list[Any]],
    bad: dict[int, BadRow | UnknownGpu],
    *,
    provider_data: bool,
    default_source: str,
) -> None:
    """What depends on more than one cell: money and term by market, what can be bought, defaults."""
    apart = {region: is_apart(region) for region in set(columns["region"]) if isinstance(region, str)}
    holds, purchasable = columns["holds_capacity"], columns["purchasable"]
    terms, days, sources = columns["term_months"], columns["as_of"], columns["source"]
    values = zip(
        columns["market"], columns["usd_per_instance_hour"], columns["upfront_usd"], columns["region"], strict=True
    )
    for number, (market, price, upfront, region) in enumerate(values):
        if number in bad:
            continue
        try:
            terms[number] = _checked_term_months(market, price, upfront or 0.0, terms[number] or 0, provider_data)
        except BadRow as reason:
            bad[number] = reason
            continue
        if holds[number] is None:
            holds[number] = market is Market.CAPACITY_BLOCK
        purchasable[number] = purchasable[number] is not False and market is not Market.LIST_ONLY and not apart[region]
        days[number] = days[number] or date.min
        sources[number] = sources[number] or default_source


def _checked_term_months(market: Market, price: float, upfront: float, term: int, provider_data: bool) -> int:
    """The term, once the row's money and market fit together."""
    if price == 0 and upfront == 0:
        raise BadRow("price-zero", "the price is zero and nothing is paid upfront", "0")
    if upfront and market.is_rent:
        raise BadRow("upfront-on-rent", "rent has no upfront price", f"{upfront:g}")
    if market is Market.SPOT and provider_data and price in SPOT_FLOOR_USD:
        raise BadRow("price-sentinel", PLACEHOLDER, f"{price:g}")
    expected = TERM_MONTHS.get(market, 0)
    if term and term != expected and market not in (Market.CAPACITY_BLOCK, Market.LIST_ONLY):
        raise BadRow("term", "term_months does not fit the market", str(term))
    return term or expected


def _build(columns: Mapping[str, Sequence[Any]], count: int) -> list[Offer]:
    """One offer a row. Filling slots column by column takes a tenth of the constructor's time, for some thousand
    offers at each start."""
    offers = [Offer.__new__(Offer) for _ in range(count)]
    for name, values in columns.items():
        deque(map(Offer.__dict__[name].__set__, offers, values), maxlen=0)
    return offers
