"""Units and the strings that carry them: `"800ms"`, `"30d"`, `"80GiB"`, `1.4e12`, `4_000_000`, `15B`.

GiB is 2**30 bytes and GB is 10**9. A year is 8,760 h only where a contract or a formula says so;
calendar time comes from dates.
"""

from __future__ import annotations

import math
import re

GIB_BYTES = 2**30
GB_BYTES = 10**9
HOURS_PER_DAY = 24.0
HOURS_PER_YEAR = 8760.0
SECONDS_PER_HOUR = 3600.0

_DURATION_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_SIZES_BYTES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
}
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?[0-9]+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]*)\s*")


def _split(text: str, what: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError(f"{text!r} is not {what}")
    value = float(match[1].replace("_", ""))
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large a number")
    return value, match[2]


def parse_duration_seconds(text: str) -> float:
    """Seconds in a duration such as `800ms`, `30min`, `1.5h`, `30d`, `26w`; ValueError when it is none."""
    value, unit = _split(text, "a duration")
    if unit not in _DURATION_SECONDS:
        raise ValueError(f"{text!r} needs a unit of time: {', '.join(_DURATION_SECONDS)}")
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    return value * _DURATION_SECONDS[unit]


def parse_number(text: str) -> float:
    """A number with an optional multiple: `15B` = 15e9, `2T` = 2e12, `4_000_000`; ValueError when it is none."""
    value, unit = _split(text, "a number")
    if unit not in _MULTIPLES:
        raise ValueError(f"{text!r} is not a number; multiples are k, M, B, T")
    return value * _MULTIPLES[unit]


def parse_size_bytes(text: str) -> float:
    """Bytes in a size such as `80GiB` or `80GB`; ValueError when it is none."""
    value, unit = _split(text, "a size")
    if unit not in _SIZES_BYTES:
        raise ValueError(f"{text!r} needs a unit of size: {', '.join(_SIZES_BYTES)}")
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    return value * _SIZES_BYTES[unit]
