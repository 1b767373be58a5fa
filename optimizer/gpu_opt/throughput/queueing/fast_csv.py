"""Vectorised parsing of delimited text: millions of rows a second, for the lines that are regular.

A block is a uint8 array of whole lines. Fields are (start, end) positions. Whatever these functions don't understand
they mark as not ok, for the caller to read line by line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_MAX_DIGITS = 19
_SHORTEST_LINE_WITH_A_DATE = 20  # `2024-05-10 00:00:00` and its newline


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines of a block; `regular` ones have exactly the expected columns and no quote."""

    start: Ints
    end: Ints
    first_separator: Ints
    separators: Ints
    columns: int
    regular: Bools

    def field(self, column: int) -> tuple[Ints, Ints]:
        """Start and end of one column in the regular lines."""
        start, end, first = self.start[self.regular], self.end[self.regular], self.first_separator[self.regular]
        if column > 0:
            start = self.separators[first + column - 1] + 1
        if column < self.columns - 1:
            end = self.separators[first + column]
        return start, end


def split_lines(block: Bytes, delimiter: int, columns: int) -> Lines:
    """The lines of a block that ends with a newline."""
    newline = np.flatnonzero(block == _NEWLINE)
    start = np.concatenate((np.zeros(1, dtype=np.int64), newline[:-1] + 1))
    end = newline - (block[np.maximum(newline - 1, 0)] == _RETURN)
    end = np.maximum(end, start)
    separators = np.flatnonzero(block == delimiter)
    first = np.searchsorted(separators, start)
    regular = np.searchsorted(separators, newline) - first == columns - 1
    quotes = np.flatnonzero(block == _QUOTE)
    if len(quotes):
        regular &= np.searchsorted(quotes, newline) == np.searchsorted(quotes, start)
    return Lines(
        start=start,
        end=end,
        first_separator=first,
        separators=separators,
        columns=columns,
        regular=regular & (end > start),
    )


def parse_decimals(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Bools]:
    """Plain non-negative decimals (`374`, `12.5`) of at most 18 digits, and which fields are such."""
    width = end - start
    ok: Bools = (width > 0) & (width <= _MAX_DIGITS)
    value = np.zeros(len(start), dtype=np.int64)
    places = np.zeros(len(start), dtype=np.int64)
    after_point = np.zeros(len(start), dtype=np.bool_)
    for offset in range(int(min(width.max(initial=0), _MAX_DIGITS))):
        inside = offset < width
        char = block[np.minimum(start + offset, len(block) - 1)]
        digit = char - np.uint8(48)
        is_digit = inside & (digit < 10)
        value = np.where(is_digit, value * 10 + digit, value)
        places += is_digit & after_point
        is_point = inside & (char == 46) & ~after_point
        after_point |= is_point
        ok &= ~inside | is_digit | is_point
    ok &= (width > after_point) & (value >= 0)
    if not places.any():
        return value.astype(np.float64), ok
    return value / np.power(10.0, places), ok


def parse_iso_times(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Bools]:
    """Seconds since 1970 of `2023-11-16 18:15:46.6805900`, with `T`, `Z`, `+01:00` too; UTC where no zone is given."""
    if len(block) < _SHORTEST_LINE_WITH_A_DATE:
        return np.zeros(len(start)), np.zeros(len(start), dtype=np.bool_)
    last = np.maximum(end - 1, 0)
    zulu = (block[last] == ord("Z")) & (end - start >= 20)
    end = end - zulu
    offset_seconds, offset_width = _zone_offsets(block, start, end)
    end = end - offset_width
    width = end - start
    ok: Bools = (width >= 19) & (width != 20) & (width <= 29)
    at = np.minimum(start, len(block) - _SHORTEST_LINE_WITH_A_DATE)
    number = {}
    for name, position, digits in (
        ("year", 0, 4), ("month", 5, 2), ("day", 8, 2), ("hour", 11, 2), ("minute", 14, 2), ("second", 17, 2),
    ):  # fmt: skip
        number[name], right = _fixed_digits(block, at + position, digits)
        ok &= right
    for position, allowed in ((4, "-"), (7, "-"), (10, " T"), (13, ":"), (16, ":")):
        ok &= np.isin(block[at + position], np.frombuffer(allowed.encode(), dtype=np.uint8))
    ok &= (number["month"] >= 1) & (number["month"] <= 12) & (number["day"] >= 1) & (number["hour"] < 24)
    ok &= (number["day"] <= _month_days(number["year"], number["month"])) & (number["minute"] < 60)
    ok &= number["second"] <= 60
    has_fraction = ok & (width > 20)
    fraction = np.zeros(len(start))
    if has_fraction.any():
        value, right = parse_decimals(
            block, np.where(has_fraction, start + 19, start), np.where(has_fraction, end, start)
        )
        fraction = np.where(has_fraction, value, 0.0)
        ok &= ~has_fraction | (right & (block[np.minimum(start + 19, len(block) - 1)] == 46))
    days = days_since_1970(number["year"], number["month"], number["day"])
    clock = number["hour"] * 3600 + number["minute"] * 60 + number["second"]
    return days * 86400.0 + clock + fraction - offset_seconds, ok


def _fixed_digits(block: Bytes, start: Ints, digits: int) -> tuple[Ints, Bools]:
    value = np.zeros(len(start), dtype=np.int64)
    ok = np.ones(len(start), dtype=np.bool_)
    for offset in range(digits):
        digit = block[start + offset] - np.uint8(48)
        value = value * 10 + digit
        ok &= digit < 10
    return value, ok


def _zone_offsets(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Ints]:
    """Seconds east of UTC and the characters used, for fields that end in `+hh:mm` or `-hh:mm`."""
    at = np.maximum(end - 6, 0)
    sign = block[at]
    has = (
        (end - start >= 25)
        & ((sign == ord("+")) | (sign == ord("-")))
        & (block[np.minimum(at + 3, len(block) - 1)] == ord(":"))
    )
    if not has.any():
        return np.zeros(len(start)), np.zeros(len(start), dtype=np.int64)
    at = np.minimum(at, len(block) - 6)
    hours, hours_ok = _fixed_digits(block, at + 1, 2)
    minutes, minutes_ok = _fixed_digits(block, at + 4, 2)
    has &= hours_ok & minutes_ok
    seconds = np.where(sign == ord("-"), -1.0, 1.0) * (hours * 3600 + minutes * 60)
    return np.where(has, seconds, 0.0), np.where(has, 6, 0)


def _month_days(year: Ints, month: Ints) -> Ints:
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days: Ints = lengths[np.clip(month, 0, 12)] + (leap & (month == 2))
    return days


def days_since_1970(year: Ints, month: Ints, day: Ints) -> Ints:
    """Days of the Gregorian calendar, counted in years that begin in March, so that leap days come last."""
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    days: Ints = era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
    return days
