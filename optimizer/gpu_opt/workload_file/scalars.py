"""Types of single values: text from the file in, plain numbers in the unit of the type's name out.

Each is a function that raises `Wrong`, and an annotated type that pydantic builds quickly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Annotated, Any, TypeVar

from pydantic_core import core_schema

from gpu_opt.domain.names import UnknownName
from gpu_opt.units import GIB_BYTES, SECONDS_PER_HOUR, parse_duration_seconds, parse_number, parse_size_bytes
from gpu_opt.workload_file.yaml_lines import quoted

MAX_TEXT_CHARACTERS = 500
MOST = 1e30
MOST_COUNT = 1e15
MOST_HOURS = 1e6  # a century
TRUE_WORDS = frozenset(("true", "yes", "on"))
_DAY_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FALSE_WORDS = frozenset(("false", "no", "off"))
_T = TypeVar("_T")


class Wrong(ValueError):
    """What is wrong with one value, and what to do."""

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


def number(value: object) -> float:
    """A finite number from `1.4e12`, `4_000_000`, `15B` or a Python number."""
    if isinstance(value, bool) or value is None or not isinstance(value, int | float | str):
        raise Wrong(f"{_shown(value)} is not a number.", "Write a number such as 40, 1.4e12 or 15B.")
    try:
        found = parse_number(value) if isinstance(value, str) else float(value)
    except (ValueError, OverflowError):
        raise Wrong(f"{quoted(value)} is not a number.", "Write a number such as 40, 1.4e12 or 15B.") from None
    if not abs(found) <= MOST:
        raise Wrong(f"{quoted(value)} is no number that fits here.", f"Write a number below {MOST:g}.")
    return found


def between(
    low: float, high: float = math.inf, *, open_low: bool = False, whole: bool = False, percent: bool = False
) -> Callable[[object], float]:
    """A parser of numbers in [low, high], or (low, high]; `percent` accepts `20%` as 0.2."""

    def parse(value: object) -> float:
        if percent and isinstance(value, str) and value.rstrip().endswith("%"):
            found = number(value.rstrip()[:-1]) / 100.0
        else:
            found = number(value)
        if whole and found != int(found):
            raise Wrong(f"{quoted(value)} is not a whole number.", f"Write {math.floor(found)} or {math.ceil(found)}.")
        if found < low or found > high or (open_low and found == low):
            raise Wrong(f"{quoted(value)} is out of range.", f"It must be {_range(low, high, open_low)}.")
        return int(found) if whole else found

    return parse


def _range(low: float, high: float, open_low: bool) -> str:
    if high >= MOST_COUNT:
        return f"more than {low:g}" if open_low else f"at least {low:g}"
    return f"more than {low:g} and at most {high:g}" if open_low else f"between {low:g} and {high:g}"


def text(value: object) -> str:
    """Text on one line, not empty, without control characters."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Wrong(f"{_shown(value)} is not text.", "Write a single name or text.")
    found = str(value)
    if not found.strip():
        raise Wrong("it is empty.", "Write a value, or leave the key out.")
    if len(found) > MAX_TEXT_CHARACTERS:
        raise Wrong(f"{quoted(found)} has {len(found)} characters.", f"Keep it below {MAX_TEXT_CHARACTERS}.")
    if not found.isprintable():
        raise Wrong(f"{quoted(found)} holds control characters.", "Remove them.")
    return found


def boolean(value: object) -> bool:
    """True or false, by any of YAML's words for them."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in TRUE_WORDS and word not in FALSE_WORDS:
        raise Wrong(f"{_shown(value)} is neither true nor false.", "Write true or false.")
    return word in TRUE_WORDS


def hours(value: object) -> float:
    """Hours of a duration such as `30min`, `1.5h`, `2w`."""
    if not isinstance(value, str):
        raise Wrong(f"{_shown(value)} is not a duration.", "Write a number with its unit: 30min, 6h, 30d, 26w.")
    try:
        found = parse_duration_seconds(value) / SECONDS_PER_HOUR
    except ValueError as error:
        raise Wrong(
            f"{_short(str(error), value)}.", "Write a number with its unit: 800ms, 30min, 6h, 30d, 26w."
        ) from None
    if found > MOST_HOURS:
        raise Wrong(f"{quoted(value)} is longer than a century.", "Write a shorter time.")
    return found


def positive_hours(value: object) -> float:
    """Hours of a duration above zero."""
    found = hours(value)
    if found <= 0:
        raise Wrong(f"{quoted(value)} is no time at all.", "Write a duration above zero.")
    return found


def milliseconds(value: object) -> float:
    """Milliseconds of a duration such as `800ms` or `10s`."""
    return positive_hours(value) * SECONDS_PER_HOUR * 1e3


def gib(value: object) -> float:
    """GiB of a size (`80GiB`, `80GB`); a bare number is GiB."""
    return _size(value, GIB_BYTES)


def tib(value: object) -> float:
    """TiB of a size (`5TiB`, `800GB`); a bare number is TiB."""
    return _size(value, 2**40)


def _size(value: object, unit_bytes: int) -> float:
    found: float
    try:
        found = parse_size_bytes(value) / unit_bytes if isinstance(value, str) else number(value)
    except ValueError as error:
        if isinstance(error, Wrong):
            raise
        found = number(value)
    if found < 0:
        raise Wrong(f"{quoted(value)} is negative.", "Write a size such as 80GiB.")
    return found


def day(value: object) -> date:
    """A day written as 2027-01-31."""
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _DAY_FORM.fullmatch(value):
        try:
            found = date.fromisoformat(value)
        except ValueError:
            found = None
        if found is not None and 2000 <= found.year <= 2199:
            return found
    raise Wrong(f"{_shown(value)} is not a day.", "Write it as 2027-01-31.")


def moment(value: object) -> date | timedelta:
    """A day, or a duration."""
    if isinstance(value, date | timedelta):
        return value
    if isinstance(value, str) and not value[:4].isdigit():
        return _duration(value)
    try:
        return day(value)
    except Wrong:
        if isinstance(value, str) and "-" not in value:
            return _duration(value)
        raise Wrong(f"{_shown(value)} is neither a day nor a duration.", "Write 2027-01-31, or 30d, 6w, 12h.") from None


def _duration(value: str) -> timedelta:
    try:
        return timedelta(hours=hours(value))
    except Wrong:
        raise Wrong(f"{quoted(value)} is neither a day nor a duration.", "Write 2027-01-31, or 30d, 6w, 12h.") from None


def gpu_name(value: object) -> str:
    """The canonical name of one GPU; a bare alias means its one GPU."""
    from gpu_opt.hardware.accelerators import canonical_gpu

    return known("GPU", lambda: canonical_gpu(text(value)), "See `gpu-opt offers` for names.")


def gpu_pattern(value: object) -> str:
    """A pattern of GPUs (`H100*`), which covers at least one, or the canonical name of one."""
    from gpu_opt.hardware.accelerators import match_gpus

    found = text(value)
    matched = known("GPU", lambda: match_gpus(found), "See `gpu-opt offers` for names.")
    return found if any(mark in found for mark in "*?[") else matched[0]


def distinct_gpus(value: object) -> object:
    """A mapping by GPU in which no two keys mean the same."""
    if isinstance(value, dict):
        seen: dict[str, str] = {}
        for key in value:
            try:
                name = gpu_pattern(key)
            except Wrong:
                continue  # told where the key is read
            if name in seen:
                raise Wrong(f"{quoted(seen[name])} and {quoted(key)} both mean {name}.", "Keep one of the two.")
            seen[name] = key
    return value


def system_name(value: object) -> str:
    """The name of a system of the table."""
    from gpu_opt.hardware.systems import find_system

    return known("system", lambda: find_system(text(value)).name, "See the list of systems in the reference.")


def country(value: object) -> str:
    """An ISO country code."""
    found = residency(value)
    if found in ("EU", "EEA"):
        raise Wrong(f"{quoted(value)} is not one country.", "Write its ISO code, such as DE.")
    return found


def residency(value: object) -> str:
    """An ISO country code, `EU` or `EEA`."""
    from gpu_opt.hardware.regions import countries_in

    found = text(value).strip().upper()
    codes = known("country", lambda: countries_in(found), "Write ISO codes such as US or DE, or EU or EEA.")
    return found if found in ("EU", "EEA") else next(iter(codes))


def known(kind: str, look_up: Callable[[], _T], otherwise: str) -> _T:
    """What a look-up finds; Wrong with the nearest name when it finds nothing."""
    try:
        return look_up()
    except UnknownName as error:
        remedy = f"Did you mean {error.nearest}?" if error.nearest else otherwise
        raise Wrong(f"unknown {kind} {quoted(error.name)}.", remedy) from None


def listed(value: object) -> object:
    """A single value where a list is expected stands for a list of one."""
    return [value] if isinstance(value, str) else value


def _shown(value: object) -> str:
    if value is None:
        return "an empty value"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return quoted(value)


def _short(message: str, value: str) -> str:
    return message.replace(repr(value), quoted(value))


class Scalar:
    """The annotation of a scalar type. Pydantic's own PlainValidator would also build a schema of the type it stands
    on and one to write it, for each of a hundred keys at every start."""

    def __init__(self, parse: Callable[[object], Any], json_schema: dict[str, Any]) -> None:
        self.parse = parse
        self.json_schema = json_schema

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.parse)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return dict(self.json_schema)


_NUMBER: dict[str, Any] = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9._]+([eE][+-]?[0-9]+)?[kKMBGT]?$"}]
}
_FRACTION: dict[str, Any] = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9._]+([eE][+-]?[0-9]+)?%?$"}]
}
_NAME: dict[str, Any] = {"type": ["string", "number"]}
_DURATION: dict[str, Any] = {"type": "string", "pattern": r"^[0-9._]+ *(ms|s|sec|min|m|h|d|w)$"}
_SIZE: dict[str, Any] = {"type": ["number", "string"]}
_DAY: dict[str, Any] = {"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_MOMENT: dict[str, Any] = {"anyOf": [_DAY, _DURATION]}
_BOOLEAN: dict[str, Any] = {"enum": [True, False, *sorted(TRUE_WORDS | FALSE_WORDS)]}

Text = Annotated[str, Scalar(text, _NAME)]
Flag = Annotated[bool, Scalar(boolean, _BOOLEAN)]
Count = Annotated[int, Scalar(between(1, MOST_COUNT, whole=True), _NUMBER)]
CountOrZero = Annotated[int, Scalar(between(0, MOST_COUNT, whole=True), _NUMBER)]
Amount = Annotated[float, Scalar(between(0, open_low=True), _NUMBER)]
AmountOrZero = Annotated[float, Scalar(between(0), _NUMBER)]
AtLeastOne = Annotated[float, Scalar(between(1), _NUMBER)]
Growth = Annotated[float, Scalar(between(-1, 100, open_low=True, percent=True), _FRACTION)]
Fraction = Annotated[float, Scalar(between(0, 1, percent=True), _FRACTION)]
Share = Annotated[float, Scalar(between(0, 1, open_low=True, percent=True), _FRACTION)]
Hours = Annotated[float, Scalar(hours, _DURATION)]
PositiveHours = Annotated[float, Scalar(positive_hours, _DURATION)]
Milliseconds = Annotated[float, Scalar(milliseconds, _DURATION)]
Gib = Annotated[float, Scalar(gib, _SIZE)]
Tib = Annotated[float, Scalar(tib, _SIZE)]
Day = Annotated[date, Scalar(day, _DAY)]
Moment = Annotated[date | timedelta, Scalar(moment, _MOMENT)]
GpuName = Annotated[str, Scalar(gpu_name, _NAME)]
GpuPattern = Annotated[str, Scalar(gpu_pattern, _NAME)]
SystemName = Annotated[str, Scalar(system_name, _NAME)]
Country = Annotated[str, Scalar(country, {"type": "string"})]
Residency = Annotated[str, Scalar(residency, {"type": "string"})]
