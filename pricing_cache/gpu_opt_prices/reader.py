"""Offer files into offers: strict, counted, and the same whatever the order of the rows (contract, 3 and 7.11)."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.errors import InputError, PriceDataError, Problem
from gpu_opt_prices.cells import BadRow
from gpu_opt_prices.columns import COLUMNS, OWN_COLUMNS, REQUIRED
from gpu_opt_prices.manifest import manifest
from gpu_opt_prices.rows import NumberedCells, parse_rows
from gpu_opt_prices.table import OfferTable, Refused, mark_spot_equal, offer_key, sorted_offers
from gpu_opt_prices.text import BadLine, cells_of, decode, file_bytes, split_lines

_SHOWN_PROBLEMS = 20
_RELATIVE_TOLERANCE = 1e-9

Numbered = tuple[int, Offer]


def read_offers(source: Path | str | bytes, *, provider_data: bool, name: str = "") -> OfferTable:
    """Read an offer file: a path, or the text itself.

    `provider_data` refuses and counts rows with an unknown GPU, where a user's file raises InputError that names the
    nearest. InputError too for a missing file or column; PriceDataError when no usable row is left.
    """
    name = name or (str(source) if isinstance(source, Path) else "prices")
    table = parse_offers(source, provider_data=provider_data, name=name)
    if not table.offers:
        raise PriceDataError(_no_rows_message(name, table))
    return table


def parse_offers(source: Path | str | bytes, *, provider_data: bool, name: str) -> OfferTable:
    """As `read_offers`, and a file without a usable row is an empty table."""
    data = file_bytes(source, name) if isinstance(source, Path) else source
    text = decode(data, name) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    lines = split_lines(text)
    columns, warnings = _header(lines[0], name)
    rows, refused = _read_rows(lines, columns, provider_data=provider_data, name=name)
    table = checked_table(rows, refused)
    undated = sum(offer.as_of == date.min for offer in table.offers)
    if undated:
        table = _dated(table)
        warnings.append(
            f"{name}: {undated} rows have no as_of and are taken as of {table.newest_as_of}; their age is unknown."
        )
    return OfferTable(offers=table.offers, refused=table.refused, warnings=tuple(warnings))


def checked_table(rows: Iterable[Numbered], refused: Iterable[Refused] = ()) -> OfferTable:
    """Rows without duplicates and without spot above on-demand; both are refused and counted, spot equal marked."""
    dropped = list(refused)
    unique = _without_duplicates(tuple(rows), dropped)
    kept = _with_sane_spot(unique, dropped)
    dropped.sort(key=lambda row: (row.line, row.code, row.value))
    return OfferTable(offers=sorted_offers(kept), refused=tuple(dropped))


def _header(line: str, name: str) -> tuple[dict[str, int], list[str]]:
    """Column → place, and warnings; InputError for columns that are missing or double."""
    try:
        names = [cell.strip() for cell in cells_of(line)]
    except BadLine as bad:
        raise InputError(Problem(file=name, line=1, what=f"{bad.reason}.", remedy="Save it as UTF-8 CSV.")) from None
    columns: dict[str, int] = {}
    problems = []
    for place, column in enumerate(names):
        if column in columns and column in (*COLUMNS, *OWN_COLUMNS):
            problems.append(Problem(file=name, line=1, what=f"the column {column} is there twice."))
        columns.setdefault(column, place)
    for column in REQUIRED:
        if column not in columns:
            close = difflib.get_close_matches(column, [c for c in names if c not in COLUMNS], 1, 0.75)
            separated = ";" in line or "\t" in line
            remedy = (
                "Separate columns by commas."
                if separated
                else f"Rename the column {close[0]}."
                if close
                else f"Needed: {', '.join(REQUIRED)}."
            )
            problems.append(Problem(file=name, line=1, what=f"the column {column} is missing.", remedy=remedy))
    if problems:
        raise InputError(problems)
    unused = [column for column in ("plan", "lead_time_days") if column in columns]
    return columns, [f"{name}: the column {column} is not supported yet and not used." for column in unused]


def _dated(table: OfferTable) -> OfferTable:
    """Rows without a day get the newest of the file, else that of the shipped snapshot."""
    days = [offer.as_of for offer in table.offers if offer.as_of != date.min]
    day = max(days, default=manifest().newest_as_of)
    offers = tuple(replace(offer, as_of=day) if offer.as_of == date.min else offer for offer in table.offers)
    return OfferTable(offers=offers, refused=table.refused)


def _read_rows(
    lines: Sequence[str], places: Mapping[str, int], *, provider_data: bool, name: str
) -> tuple[list[Numbered], list[Refused]]:
    refused: list[Refused] = []
    numbered: list[NumberedCells] = []
    width = len(cells_of(lines[0]))
    for number, line in enumerate(lines[1:], start=2):
        if not line or line.isspace():
            continue
        try:
            cells = cells_of(line)
            if len(cells) != width:
                raise BadLine("cells", "the row has more or fewer cells than the header")
            numbered.append((number, cells))
        except BadLine as bad:
            refused.append(Refused(line=number, code=bad.code, reason=bad.reason))
    outcomes = parse_rows(
        numbered, places, provider_data=provider_data, default_source=f"file:{name.rsplit('/', 1)[-1]}"
    )
    rows: list[Numbered] = []
    problems: list[Problem] = []
    for (number, _), outcome in zip(numbered, outcomes, strict=True):
        if isinstance(outcome, Offer):
            rows.append((number, outcome))
        elif isinstance(outcome, BadRow):
            refused.append(Refused(line=number, code=outcome.code, reason=outcome.reason, value=outcome.value))
        else:
            remedy = f"Did you mean {outcome.nearest}?" if outcome.nearest else ""
            what = f"the GPU {outcome.value!r} is unknown."
            problems.append(Problem(file=name, line=number, path="gpu", what=what, remedy=remedy))
    if problems:
        raise InputError(problems[:_SHOWN_PROBLEMS])
    return rows, refused


def _without_duplicates(rows: Sequence[Numbered], dropped: list[Refused]) -> list[Numbered]:
    """One row a key. Of equal rows one stays; of rows that contradict each other none does."""
    by_key: dict[tuple[object, ...], list[Numbered]] = defaultdict(list)
    for row in rows:
        by_key[offer_key(row[1])].append(row)
    kept = []
    for group in by_key.values():
        first = group[0]
        if len(group) > 1 and any(row[1] != first[1] for row in group):
            for number, offer in group:
                reason = "rows for the same offer contradict each other"
                dropped.append(_refused(number, "contradiction", reason, offer.instance_type, offer))
            continue
        kept.append(first)
        for number, offer in group[1:]:
            dropped.append(_refused(number, "duplicate", "the row repeats another", offer.instance_type, offer))
    return kept


def _with_sane_spot(rows: Sequence[Numbered], dropped: list[Refused]) -> list[Offer]:
    """Spot must not cost more than on-demand of the same zone, else of the region; equal is kept and marked."""
    on_demand: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for _, offer in rows:
        if offer.market is Market.ON_DEMAND:
            on_demand[offer.provider, offer.region, offer.instance_type][offer.zone] = offer.usd_per_instance_hour
    kept = []
    for number, offer in rows:
        prices = on_demand.get((offer.provider, offer.region, offer.instance_type))
        if offer.market is not Market.SPOT or prices is None:
            kept.append(offer)
            continue
        limit = prices.get(offer.zone, prices.get("", max(prices.values())))
        if offer.usd_per_instance_hour > limit * (1 + _RELATIVE_TOLERANCE):
            value = f"{offer.usd_per_instance_hour:g}"
            dropped.append(_refused(number, "spot-above-on-demand", "spot costs more than on-demand", value, offer))
        elif offer.usd_per_instance_hour >= limit * (1 - _RELATIVE_TOLERANCE):
            kept.append(mark_spot_equal(offer))
        else:
            kept.append(offer)
    return kept


def _refused(line: int, code: str, reason: str, value: str, offer: Offer) -> Refused:
    return Refused(line=line, code=code, reason=reason, value=value, provider=offer.provider)


def _no_rows_message(name: str, table: OfferTable) -> str:
    if not table.refused:
        return f"{name}: there are no rows of prices. Add rows, or leave the file out to use the shipped snapshot."
    reasons = "; ".join(f"{reason} ({count})" for reason, count in table.refused_by_reason())
    return f"{name}: no usable row is left: {reasons}."
