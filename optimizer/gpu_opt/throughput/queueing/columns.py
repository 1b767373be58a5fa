"""Which columns of a trace hold the time and the lengths, by the headers that known traces use."""

from __future__ import annotations

import re

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record

TIME_NAMES = (
    "timestamp", "time", "arrival_time", "arrival", "arrived_at", "arrival_timestamp", "request_timestamp",
    "request_time", "start_time", "starttime", "start_timestamp", "datetime", "date", "ts", "created_at", "created",
)  # fmt: skip
INPUT_NAMES = (
    "input_tokens", "contexttokens", "context_tokens", "request_tokens", "prompt_tokens", "input_length",
    "num_prefill_tokens", "prefill_tokens", "prompt_size", "prompt_len", "prompt_length", "input_len",
    "input_token_count", "num_input_tokens", "input_toks", "inputtokens", "isl",
)  # fmt: skip
OUTPUT_NAMES = (
    "output_tokens", "generatedtokens", "generated_tokens", "response_tokens", "completion_tokens", "output_length",
    "num_decode_tokens", "decode_tokens", "token_size", "output_len", "output_token_count", "num_output_tokens",
    "output_toks", "outputtokens", "gen_tokens", "osl",
)  # fmt: skip
_TIME_UNITS = {
    "ns": 1e-9, "nanoseconds": 1e-9, "us": 1e-6, "microseconds": 1e-6, "ms": 1e-3, "millis": 1e-3,
    "milliseconds": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0,
}  # fmt: skip


@record
class TraceColumns:
    """Positions of the three columns among `count`; `seconds_per_time_unit` is 0 where the header doesn't tell."""

    time: int
    input_tokens: int
    output_tokens: int
    count: int
    seconds_per_time_unit: float = 0.0


def normalised(name: str) -> str:
    """`Request tokens` → `request_tokens`: lower case, one underscore for everything else."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def split_time_unit(name: str) -> tuple[str, float]:
    """`arrival_time_ms` → (`arrival_time`, 0.001); a name without a unit has 0."""
    stem, _, suffix = name.rpartition("_")
    if stem and suffix in _TIME_UNITS:
        return stem, _TIME_UNITS[suffix]
    return name, 0.0


def find_columns(header: list[str], file: str) -> TraceColumns:
    """The columns of a header line; InputError names what is missing and what would be understood."""
    names = [normalised(name) for name in header]
    times = [split_time_unit(name) for name in names]
    stems = [stem for stem, _ in times]
    found = {
        "time": _first(TIME_NAMES, stems),
        "input tokens": _first(INPUT_NAMES, names),
        "output tokens": _first(OUTPUT_NAMES, names),
    }
    known = {"time": TIME_NAMES, "input tokens": INPUT_NAMES, "output tokens": OUTPUT_NAMES}
    problems = [
        Problem(
            file=file,
            line=1,
            what=f"no column for the {what} of a request.",
            remedy=f"Name it {known[what][0]!r} (also understood: {', '.join(known[what][1:6])}).",
        )
        for what, position in found.items()
        if position is None
    ]
    time, input_tokens, output_tokens = found.values()
    if time is None or input_tokens is None or output_tokens is None:
        raise InputError(problems)
    return TraceColumns(
        time=time,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        count=len(header),
        seconds_per_time_unit=times[time][1],
    )


def _first(known: tuple[str, ...], names: list[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def guess_seconds_per_unit(first_time: float) -> float:
    """The unit of a bare number, by its size: seconds from the start or since 1970, else ms, µs or ns since 1970.

    Epoch seconds stay below 1e11 until the year 5138; epoch milliseconds passed 1e11 in 1973.
    """
    size = abs(first_time)
    return 1.0 if size < 1e11 else 1e-3 if size < 1e14 else 1e-6 if size < 1e17 else 1e-9
