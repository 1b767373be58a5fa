"""Where commands get their offers: a price file, or the cache over the shipped snapshot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_opt.cli._common import echo_err

if TYPE_CHECKING:
    from gpu_opt_prices.table import OfferTable

_SHOWN_ROWS = 5


def cache_dir() -> Path:
    """`GPU_OPT_CACHE`, else the platform's user cache folder."""
    given = os.environ.get("GPU_OPT_CACHE")
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("gpu-opt")


def load_offers(prices: Path | None = None, *, quiet: bool = False) -> OfferTable:
    """The offers of a file, or those in effect; refused rows and warnings go to stderr, counted by reason."""
    if prices is not None:
        from gpu_opt_prices.reader import read_offers

        table = read_offers(prices, provider_data=False)
    else:
        from gpu_opt_prices.effective import default_offers

        table = default_offers(cache_dir())
    if not quiet:
        report_refused(table, str(prices) if prices else "price cache")
    return table


def report_refused(table: OfferTable, name: str) -> None:
    """Warnings, and how many rows were refused why, with the first few lines."""
    for warning in table.warnings:
        echo_err(f"warning: {warning}")
    if not table.refused:
        return
    plural = "row" if len(table.refused) == 1 else "rows"
    echo_err(f"warning: {name}: {len(table.refused)} {plural} refused:")
    for reason, count in table.refused_by_reason():
        same = [row for row in table.refused if row.reason == reason]
        shown = ", ".join(f"{row.line} ({row.value})" if row.value else str(row.line) for row in same[:_SHOWN_ROWS])
        more = ", …" if len(same) > _SHOWN_ROWS else ""
        echo_err(f"  {count} × {reason}: line {shown}{more}")
