"""Vectorised parsing of delimited text: millions of rows a second, for the lines that are regular.

A block is a uint8 array of whole lines and `SPARE_BYTES` more, so that eight bytes can be taken as one word anywhere.
Fields are (start, end) positions. Whatever these functions don't understand they mark as not ok, for the caller to
read line by line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpu_opt.records import record

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_MAX_DIGITS = 19
_DATE_WIDTH = 19  # `2024-05-10 00:00:00`
SPARE_BYTES = 32

_4, _8, _16, _24, _32, _48, _64 = (np.uint64(bits) for bits in (4, 8, 16, 24, 32, 48, 64))
_ZEROS, _TWO_ZEROS = np.uint64(0x3030303030303030), np.uint64(0x3030)
_SIXES = np.uint64(0x0606060606060606)
_HIGH_NIBBLES, _LOW_NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0F0F0F0F0F0F0F0F)
_ALL_DIGITS = np.uint64(0x3333333333333333)
_BYTES_0_1, _BYTES_0_3 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_BYTES_4_5, _BYTES_6_7 = np.uint64(0xFFFF << 32), np.uint64(0xFFFF << 48)
_BYTES_4_AND_7, _DASHES = np.uint64(0xFF0000FF00000000), np.uint64(0x2D00002D00000000)
_BYTES_2_AND_5, _COLONS = np.uint64(0x0000FF0000FF0000), np.uint64(0x00003A00003A0000)


@record
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
    """The lines of a block, each with its newline."""
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
    """Plain non-negative decimals (`374`, `12.5`) of at most 19 characters, and which fields are such."""
    value, ok = _short_integers(block, start, end - start)
    rest = np.flatnonzero(~ok)
    if len(rest):
        value[rest], ok[rest] = _any_decimals(block, start[rest], end[rest])
    return value, ok


def parse_iso_times(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Bools]:
    """Seconds since 1970 of `2023-11-16 18:15:46.6805900`, with `T`, `Z`, `+01:00` too; UTC where no zone is given."""
    zulu = (block[np.maximum(end - 1, 0)] == ord("Z")) & (end - start >= 20)
    offset_seconds, offset_width = _zone_offsets(block, start, end)
    width = end - zulu - offset_width - start
    ok: Bools = (width >= _DATE_WIDTH) & (width != _DATE_WIDTH + 1) & (width <= 29)
    at = np.where(ok, start, 0)
    low, middle, high = _words(block, at), _words(block, at + 8), _words(block, at + 11)
    date, date_ok = _eight_digits((low & _BYTES_0_3) | ((low >> _8) & _BYTES_4_5) | (middle & _BYTES_0_1) << _48)
    minutes = ((high >> _24) & _BYTES_0_1) << _32
    clock, clock_ok = _eight_digits(_TWO_ZEROS | (high & _BYTES_0_1) << _16 | minutes | (high & _BYTES_6_7))
    ok &= date_ok & clock_ok & ((low & _BYTES_4_AND_7) == _DASHES) & ((high & _BYTES_2_AND_5) == _COLONS)
    between = block[at + 10]
    ok &= (between == ord(" ")) | (between == ord("T"))
    hour, minute, second = clock // 10000, clock // 100 % 100, clock % 100
    days, day_ok = _days_of_dates(date)
    ok &= day_ok
    ok &= (hour < 24) & (minute < 60) & (second <= 60)
    fraction = np.zeros(len(start))
    has_fraction = np.flatnonzero(ok & (width > _DATE_WIDTH))
    if len(has_fraction):
        value, right = _fractions(block, start[has_fraction] + _DATE_WIDTH, width[has_fraction] - _DATE_WIDTH)
        fraction[has_fraction] = value
        ok[has_fraction] &= right
    return days * 86400.0 + (hour * 3600 + minute * 60 + second) - offset_seconds + fraction, ok


def _words(block: Bytes, at: Ints) -> Words:
    """Eight bytes from each position, the first one lowest; the block has spare bytes at its end."""
    windows = np.ndarray(len(block) - 7, dtype="<u8", buffer=block.data, strides=(1,))
    return windows[at].astype(np.uint64)


def _eight_digits(word: Words) -> tuple[Ints, Bools]:
    """The numbers of words of eight ASCII digits, by three multiplications, and which words are such."""
    ok: Bools = (word & _HIGH_NIBBLES) | (((word + _SIXES) & _HIGH_NIBBLES) >> _4) == _ALL_DIGITS
    pairs = ((word & _LOW_NIBBLES) * np.uint64(2561)) >> _8
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> _16
    value = ((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> _32
    return value.astype(np.int64), ok


def _short_integers(block: Bytes, start: Ints, width: Ints) -> tuple[Floats, Bools]:
    """Integers of one to eight digits: shifted to the top of their word, the rest filled with zeros."""
    ok: Bools = (width >= 1) & (width <= 8)
    used = np.where(ok, width, 8).astype(np.uint64) * _8
    word = _words(block, np.where(ok, start, 0)) << (_64 - used)
    filling: Words = np.where(used < _64, _ZEROS >> np.minimum(used, np.uint64(63)), np.uint64(0)).astype(np.uint64)
    value, right = _eight_digits(word | filling)
    return value.astype(np.float64), ok & right


def _fractions(block: Bytes, start: Ints, width: Ints) -> tuple[Floats, Bools]:
    """`.6805900` as 0.68059, for widths that count the point."""
    digits, ok = _short_integers(block, start + 1, width - 1)
    value = digits / np.power(10.0, np.minimum(width - 1, 8))
    rest = np.flatnonzero(~ok)
    if len(rest):
        value[rest], ok[rest] = _any_decimals(block, start[rest], start[rest] + width[rest])
    return value, ok & (block[start] == ord("."))


def _any_decimals(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Bools]:
    """Character by character: with a point, or longer than eight digits."""
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
    return value / np.power(10.0, places), ok


def _zone_offsets(block: Bytes, start: Ints, end: Ints) -> tuple[Floats, Ints]:
    """Seconds east of UTC and the characters used, for fields that end in `+hh:mm` or `-hh:mm`."""
    word = _words(block, np.maximum(end - 6, 0))
    sign = word & np.uint64(0xFF)
    has: Bools = ((sign == ord("+")) | (sign == ord("-"))) & ((word >> _24) & np.uint64(0xFF) == ord(":"))
    has &= end - start >= 25
    if not has.any():
        return np.zeros(len(start)), np.zeros(len(start), dtype=np.int64)
    hours_and_minutes, digits = _eight_digits(
        np.uint64(0x30303030) | ((word >> _8) & _BYTES_0_1) << _32 | ((word >> _32) & _BYTES_0_1) << _48
    )
    has &= digits & (hours_and_minutes // 100 < 24) & (hours_and_minutes % 100 < 60)
    seconds = (hours_and_minutes // 100 * 3600 + hours_and_minutes % 100 * 60) * np.where(sign == ord("-"), -1.0, 1.0)
    return np.where(has, seconds, 0.0), np.where(has, 6, 0)


def _days_of_dates(date: Ints) -> tuple[Ints, Bools]:
    """Days since 1970 of dates such as 20240510, and which of them exist; worked out once for a run of equal dates."""
    heads = np.flatnonzero(np.diff(date, prepend=-1))
    year, month, day = date[heads] // 10000, date[heads] // 100 % 100, date[heads] % 100
    ok = (month >= 1) & (month <= 12) & (day >= 1) & (day <= _month_days(year, month))
    lengths = np.diff(heads, append=len(date))
    return np.repeat(days_since_1970(year, month, day), lengths), np.repeat(ok, lengths)


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
