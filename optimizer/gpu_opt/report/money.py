"""How amounts, rates, shares and times read. One place, so that all reports say the same."""

from __future__ import annotations

import math
from datetime import date, datetime

_WHOLE_FROM_USD = 1_000
_HUNDRED_USD = 100
_UNKNOWN = "unknown"


def usd(amount: float) -> str:
    """To the cent: `$1,234.56`."""
    return _signed(amount, f"{abs(amount):,.2f}")


def usd_short(amount: float) -> str:
    """For sentences: whole dollars from $1,000 on, else cents."""
    if abs(amount) >= _WHOLE_FROM_USD:
        return _signed(amount, f"{abs(amount):,.0f}")
    return usd(amount)


def usd_rough(amount: float) -> str:
    """Three significant digits, for the ends of a range: `$14,900`."""
    if amount == 0 or not math.isfinite(amount):
        return usd_short(amount)
    digits = 2 - math.floor(math.log10(abs(amount)))
    rounded = round(amount, min(digits, 2))
    return _signed(rounded, f"{abs(rounded):,.0f}") if abs(rounded) >= _HUNDRED_USD else usd(rounded)


def usd_rate(rate: float) -> str:
    """A price per unit: at least cents, and four significant digits of what is smaller."""
    if rate == 0 or abs(rate) >= 1:
        return _signed(rate, f"{abs(rate):,.2f}")
    digits = min(3 - math.floor(math.log10(abs(rate))), 8)
    shown = f"{abs(rate):.{digits}f}"
    head, _, tail = shown.partition(".")
    return _signed(rate, f"{head}.{tail.rstrip('0').ljust(2, '0')}")


def percent(fraction: float) -> str:
    """`0.31 %`, `12 %`: two significant digits, whole above ten."""
    value = abs(fraction) * 100.0
    if not math.isfinite(value):
        return _UNKNOWN
    if value >= 9.95:
        shown = f"{value:,.0f}"
    elif value >= 0.995:
        shown = f"{value:.1f}".removesuffix(".0")
    elif value >= 0.005:
        shown = f"{value:.2f}".rstrip("0").rstrip(".")
    else:
        shown = "0"
    return f"{'-' if fraction < 0 and shown != '0' else ''}{shown} %"


def count(number: float) -> str:
    """A number of things: whole where it is whole, else at most two decimals."""
    if abs(number - round(number)) < 5e-7:
        return f"{round(number):,}"
    return f"{number:,.2f}".rstrip("0").rstrip(".") if abs(number) >= 0.01 else f"{number:.3g}"


def quantity(number: float) -> str:
    """A measured quantity with at most four significant digits, whole from 1,000 on."""
    if not math.isfinite(number):
        return _UNKNOWN
    if number == 0 or abs(number) >= 1000:
        return f"{number:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(number))))
    shown = f"{number:.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def span(hours: float) -> str:
    """A duration in the unit that reads best: `45 min`, `6.5 h`, `12 d`."""
    if hours < 1:
        return f"{quantity(round(hours * 60, 1))} min"
    if hours < 96:
        return f"{quantity(round(hours, 1))} h"
    return f"{quantity(round(hours / 24, 1))} d"


def minute(moment: str) -> str:
    """`2027-01-14 06:30` from an ISO 8601 time; anything else as it is."""
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"
    except ValueError:
        return moment


def days_between(earlier: str, later: str) -> int | None:
    """Days from one ISO date to another; None where one of them is no date."""
    try:
        return (date.fromisoformat(later[:10]) - date.fromisoformat(earlier[:10])).days
    except ValueError:
        return None


def _signed(amount: float, shown: str) -> str:
    if not math.isfinite(amount):
        return _UNKNOWN
    negative = amount < 0 and any(digit in shown for digit in "123456789")
    return f"{'-' if negative else ''}${shown}"
