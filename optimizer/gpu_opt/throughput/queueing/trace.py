"""Reading request traces: when each request came, and its input and output tokens."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.queueing import fast_csv
from gpu_opt.throughput.queueing.columns import TraceColumns, find_columns, guess_seconds_per_unit
from gpu_opt.throughput.queueing.rows import MAX_TOKENS, Row, is_iso_time, parse_json_row, parse_row

_BLOCK_BYTES = 1 << 20
_MAX_PROBLEMS = 20


@record
class Trace:
    """Requests in order of arrival. `arrival_seconds` counts from the first; all arrays have one entry a request.

    `start_epoch_seconds` is the first arrival since 1970 in UTC, None where the trace has relative times.
    `problems` names the first rows that were refused, `refused_rows` counts them all.
    """

    name: str
    arrival_seconds: npt.NDArray[np.float64]
    input_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]
    start_epoch_seconds: float | None = None
    refused_rows: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def requests(self) -> int:
        return len(self.arrival_seconds)

    @property
    def duration_seconds(self) -> float:
        """From the first arrival to one mean gap after the last, so that rate × duration is the number of requests."""
        last = float(self.arrival_seconds[-1])
        return last * self.requests / (self.requests - 1) if last > 0 else 1.0

    def between(self, start_seconds: float, end_seconds: float) -> Trace:
        """The requests in [start, end); their times still count from this trace's first. May be empty."""
        low, high = np.searchsorted(self.arrival_seconds, [start_seconds, end_seconds])
        return replace(
            self,
            arrival_seconds=self.arrival_seconds[low:high],
            input_tokens=self.input_tokens[low:high],
            output_tokens=self.output_tokens[low:high],
        )


@dataclass(slots=True, kw_only=True)
class _Collected:
    times: list[npt.NDArray[np.float64]]
    inputs: list[npt.NDArray[np.float64]]
    outputs: list[npt.NDArray[np.float64]]
    lines: list[npt.NDArray[np.int64]]
    problems: list[Problem]
    refused_rows: int = 0

    def add(self, rows: list[Row], lines: list[int]) -> None:
        if rows:
            times, inputs, outputs = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
            self.times.append(times)
            self.inputs.append(inputs)
            self.outputs.append(outputs)
            self.lines.append(np.array(lines, dtype=np.int64))

    def refuse(self, problem: Problem) -> None:
        self.refused_rows += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


def read_trace(path: str | Path) -> Trace:
    """A trace from CSV with a known header, or JSON lines (`.gz` too); sorted by time.

    Rows without a time or with less than one input or output token are refused and counted. InputError: the file
    can't be read, its columns aren't known, or no row is usable.
    """
    path = Path(path)
    collected = _Collected(times=[], inputs=[], outputs=[], lines=[], problems=[])
    try:
        with _open(path) as file:
            first = file.readline()
            if first.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
                seconds_per_unit = _read_json_lines(first, file, path.name, collected)
            else:
                seconds_per_unit = _read_csv(first, file, path.name, collected)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            Problem(file=path.name, what=f"the trace can't be read: {reason}.", remedy="Check the path.")
        ) from error
    return _assemble(path.name, collected, seconds_per_unit)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, about 1 MB at a time; the last line gets the newline that it may lack."""
    rest = b""
    while chunk := file.read(_BLOCK_BYTES):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            continue
        yield rest + chunk[:cut]
        rest = chunk[cut:]
    if rest:
        yield rest + b"\n"


def _read_csv(first: bytes, file: BinaryIO, name: str, collected: _Collected) -> float:
    header_text = first.decode("utf-8-sig", errors="replace").strip()
    delimiter = max(",;\t|", key=header_text.count)
    header = next(csv.reader(io.StringIO(header_text), delimiter=delimiter), [])
    columns = find_columns(header, name)
    line = 2
    iso: bool | None = None
    for block in _blocks(file):
        if iso is None:
            iso = _first_time_is_iso(block, columns, delimiter)
        line += _read_block(block, columns, delimiter, iso, name, line, collected)
    return 1.0 if iso else columns.seconds_per_time_unit


def _first_time_is_iso(block: bytes, columns: TraceColumns, delimiter: str) -> bool | None:
    for text in io.StringIO(block[:65536].decode("utf-8", errors="replace")):
        fields = next(csv.reader([text], delimiter=delimiter), [])
        if len(fields) > columns.time and fields[columns.time].strip():
            return is_iso_time(fields[columns.time])
    return None


def _read_block(
    block: bytes, columns: TraceColumns, delimiter: str, iso: bool | None, name: str, line: int, collected: _Collected
) -> int:
    """Adds a block's rows and returns how many lines it had: regular lines vectorised, the others one by one."""
    data = np.frombuffer(block + bytes(fast_csv.SPARE_BYTES), dtype=np.uint8)
    lines = fast_csv.split_lines(data, ord(delimiter), columns.count)
    parse_time = fast_csv.parse_iso_times if iso else fast_csv.parse_decimals
    times, time_ok = parse_time(data, *lines.field(columns.time))
    inputs, input_ok = fast_csv.parse_decimals(data, *lines.field(columns.input_tokens))
    outputs, output_ok = fast_csv.parse_decimals(data, *lines.field(columns.output_tokens))
    good = time_ok & input_ok & output_ok & (np.minimum(inputs, outputs) >= 1)
    good &= np.maximum(inputs, outputs) <= MAX_TOKENS
    collected.times.append(times[good])
    collected.inputs.append(inputs[good])
    collected.outputs.append(outputs[good])
    collected.lines.append(np.flatnonzero(lines.regular)[good] + line)
    slow = ~lines.regular
    slow[np.flatnonzero(lines.regular)[~good]] = True
    slow &= lines.end > lines.start
    rows: list[Row] = []
    row_lines: list[int] = []
    for index in np.flatnonzero(slow).tolist():
        text = block[int(lines.start[index]) : int(lines.end[index])].decode("utf-8", errors="replace")
        if not text.strip():
            continue
        row = parse_row(text, columns, delimiter, bool(iso), name, line + index)
        if isinstance(row, Problem):
            collected.refuse(row)
        else:
            rows.append(row)
            row_lines.append(line + index)
    collected.add(rows, row_lines)
    return len(lines.start)


def _read_json_lines(first: bytes, file: BinaryIO, name: str, collected: _Collected) -> float:
    """JSON lines; a file with `input_length` has Mooncake's milliseconds."""
    rows: list[Row] = []
    unit = 0.0
    line = 0
    for raw in _lines(first, file):
        line += 1
        if not raw.strip():
            continue
        row = parse_json_row(raw, name, line)
        if isinstance(row, Problem):
            collected.refuse(row)
        else:
            rows.append(row[0])
            unit = unit or row[1]
    collected.add(rows, list(range(len(rows))))
    return unit


def _lines(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield first
    yield from file


def _assemble(name: str, collected: _Collected, seconds_per_unit: float) -> Trace:
    times = np.concatenate(collected.times) if collected.times else np.zeros(0)
    if len(times) == 0:
        nothing = Problem(
            file=name, what="the trace has no usable request.", remedy="Give rows with a time and tokens."
        )
        raise InputError([*collected.problems, nothing])
    inputs = np.concatenate(collected.inputs)
    outputs = np.concatenate(collected.outputs)
    lines = np.concatenate(collected.lines)
    if np.any(np.diff(times) < 0) or np.any(np.diff(lines) < 0):
        order = np.lexsort((lines, times))
        times, inputs, outputs = times[order], inputs[order], outputs[order]
    unit = seconds_per_unit or guess_seconds_per_unit(float(times[0]))
    start = float(times[0]) * unit
    arrivals = (times - times[0]) * unit
    return Trace(
        name=name,
        arrival_seconds=arrivals,
        input_tokens=np.rint(inputs).astype(np.int64),
        output_tokens=np.rint(outputs).astype(np.int64),
        start_epoch_seconds=start if start > _EARLIEST_EPOCH_SECONDS else None,
        refused_rows=collected.refused_rows,
        problems=tuple(collected.problems),
    )


_EARLIEST_EPOCH_SECONDS = 6e8  # a relative time stays below 19 years
