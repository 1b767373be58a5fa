"""One row of a trace, read with care: for the lines that the vectorised reader leaves, and for JSON lines."""

from __future__ import annotations

import csv
import json
import math
import re
from datetime import UTC, datetime

from gpu_opt.errors import Problem
from gpu_opt.throughput.queueing.columns import (
    INPUT_NAMES,
    OUTPUT_NAMES,
    TIME_NAMES,
    TraceColumns,
    normalised,
    split_time_unit,
)

Row = tuple[float, float, float]
_QUOTED_CHARACTERS = 40
_FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]+")  # of a second; Python's own reader stops at microseconds
MAX_TOKENS = 10**8  # longer than any context: a time or an id in the wrong column


def is_iso_time(text: str) -> bool:
    """Whether a time is a date rather than a number."""
    try:
        float(text)
    except ValueError:
        return True
    return False


def parse_row(text: str, columns: TraceColumns, delimiter: str, iso: bool, file: str, line: int) -> Row | Problem:
    """Time (in the file's unit, or seconds since 1970 for dates), input and output tokens of one line of CSV."""
    fields = next(csv.reader([text], delimiter=delimiter), [])
    needed = max(columns.time, columns.input_tokens, columns.output_tokens)
    if len(fields) <= needed:
        return Problem(file=file, line=line, what=f"{len(fields)} columns where {columns.count} are expected.")
    time = fields[columns.time]
    return _checked(time, fields[columns.input_tokens], fields[columns.output_tokens], iso, file, line)


def parse_json_row(raw: bytes, file: str, line: int) -> tuple[Row, float] | Problem:
    """The row of one JSON line, and the seconds per unit of its time (0: not told by the keys)."""
    try:
        record = json.loads(raw)
    except ValueError:
        return Problem(file=file, line=line, what="not a JSON object.")
    if not isinstance(record, dict):
        return Problem(file=file, line=line, what="not a JSON object.")
    values = {normalised(key): value for key, value in record.items()}
    times = {split_time_unit(key)[0]: (value, split_time_unit(key)[1]) for key, value in values.items()}
    time, unit = next((times[name] for name in TIME_NAMES if name in times), (None, 0.0))
    inputs = next((values[name] for name in INPUT_NAMES if name in values), None)
    outputs = next((values[name] for name in OUTPUT_NAMES if name in values), None)
    if time is None or inputs is None or outputs is None:
        return Problem(file=file, line=line, what="needs a time, input tokens and output tokens.")
    iso = isinstance(time, str) and is_iso_time(time)
    if not unit and (iso or "input_length" in values):
        unit = 1.0 if iso else 1e-3
    row = _checked(str(time), str(inputs), str(outputs), iso, file, line)
    return row if isinstance(row, Problem) else (row, unit)


def _checked(time: str, inputs: str, outputs: str, iso: bool, file: str, line: int) -> Row | Problem:
    seconds = _date_seconds(time) if iso else _number(time)
    if seconds is None:
        kind = "date and time" if iso else "number"
        return Problem(file=file, line=line, what=f"the time {_short(time)} is not a {kind}.")
    lengths = []
    for label, text in (("input", inputs), ("output", outputs)):
        tokens = _number(text)
        if tokens is None or tokens < 1:
            return Problem(file=file, line=line, what=f"{_short(text)} {label} tokens: a request needs at least one.")
        if tokens > MAX_TOKENS:
            return Problem(file=file, line=line, what=f"{_short(text)} {label} tokens: no request is that long.")
        lengths.append(tokens)
    return seconds, lengths[0], lengths[1]


def _number(text: str) -> float | None:
    try:
        value = float(text.strip().replace("_", "x"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date_seconds(text: str) -> float | None:
    fraction = _FRACTION.search(text)
    try:
        when = datetime.fromisoformat(_FRACTION.sub("", text, count=1).strip())
    except ValueError:
        return None
    whole = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return whole + (float(fraction[0]) if fraction else 0.0)


def _short(text: str) -> str:
    return repr(text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…")
