"""Reading request traces in the formats that public traces use."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_opt.errors import InputError
from gpu_opt.throughput.queueing.trace import Trace, read_trace


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def rows(trace: Trace) -> list[tuple[float, int, int]]:
    """Times rounded to the microsecond, so that floating point does not matter."""
    times = [round(float(seconds), 6) for seconds in trace.arrival_seconds]
    return list(zip(times, trace.input_tokens.tolist(), trace.output_tokens.tolist(), strict=True))


EXPECTED = [(0.0, 374, 44), (4.25, 396, 109), (64.5, 879, 55)]

AZURE_2023 = """TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 18:15:46.5000000,374,44\r
2023-11-16 18:15:50.7500000,396,109\r
2023-11-16 18:16:51.0000000,879,55\r
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.500000+00:00,374,44
2024-05-10 00:00:04.750000+00:00,396,109
2024-05-10 00:01:05+00:00,879,55
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,374,44,418,Conversation log
9.25,GPT-4,396,109,505,Conversation log
69.5,ChatGPT,879,55,934,API log
"""
BURSTGPT_SESSIONS = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,,3,ChatGPT,374,44,418,Conversation log
9.25,7,1,GPT-4,396,109,505,Conversation log
69.5,,2,ChatGPT,879,55,934,API log
"""
MOONCAKE = """{"timestamp": 1000, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]}
{"timestamp": 5250, "input_length": 396, "output_length": 109, "hash_ids": [0]}
{"timestamp": 65500, "input_length": 879, "output_length": 55, "hash_ids": []}
"""
PLAIN = "timestamp,input_tokens,output_tokens\n10,374,44\n14.25,396,109\n74.5,879,55"
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,374,44\n4.25,396,109\n64.5,879,55\n"
SPLITWISE = """request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size
0,2,0,0.0,1,374,44
1,2,0,4.25,1,396,109
2,2,0,64.5,1,879,55
"""
MILLISECONDS = "arrival_time_ms,prompt_tokens,completion_tokens\n0,374,44\n4250,396,109\n64500,879,55\n"
EPOCH_MILLISECONDS = (
    "timestamp,input_tokens,output_tokens\n1700000000000,374,44\n1700000004250,396,109\n1700000064500,879,55\n"
)
EPOCH_NANOSECONDS = (
    "timestamp,isl,osl\n1700000000000000000,374,44\n1700000004250000000,396,109\n1700000064500000000,879,55\n"
)
SEMICOLONS = "time;input_len;output_len\n0;374;44\n4.25;396;109\n64.5;879;55\n"
TEE_AND_ZULU = """time,input_tokens,output_tokens
2024-02-29T23:59:00Z,374,44
2024-02-29T23:59:04.25Z,396,109
2024-03-01T02:00:04.5+02:00,879,55
"""
QUOTED = """"timestamp","input_tokens","output_tokens","note"
"10","374","44","one, two"
14.25,"396",109,
"74.5",879,"55","x"
"""
JSON_DATES = """{"created_at": "2024-05-10T00:00:00Z", "prompt_tokens": 374, "completion_tokens": 44}
{"created_at": "2024-05-10T00:00:04.25Z", "prompt_tokens": 396, "completion_tokens": 109}
{"created_at": "2024-05-10T00:01:04.5Z", "prompt_tokens": 879, "completion_tokens": 55}
"""


@pytest.mark.parametrize(
    "text",
    [
        AZURE_2023, AZURE_2024, BURSTGPT, BURSTGPT_SESSIONS, MOONCAKE, PLAIN, VIDUR, SPLITWISE, MILLISECONDS,
        EPOCH_MILLISECONDS, EPOCH_NANOSECONDS, SEMICOLONS, TEE_AND_ZULU, QUOTED, JSON_DATES,
    ],
    ids=[
        "azure-2023", "azure-2024", "burstgpt", "burstgpt-sessions", "mooncake", "plain", "vidur", "splitwise",
        "milliseconds", "epoch-ms", "epoch-ns", "semicolons", "iso-zones", "quoted", "json-dates",
    ],
)  # fmt: skip
def test_known_formats_give_the_same_requests(tmp_path: Path, text: str) -> None:
    trace = read_trace(written(tmp_path, text))
    assert rows(trace) == EXPECTED
    assert trace.refused_rows == 0


def test_a_compressed_trace_and_one_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + PLAIN.encode()))
    assert rows(read_trace(path)) == EXPECTED


def test_a_line_of_blanks_is_no_row(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, PLAIN.replace("14.25", "  \n14.25")))
    assert (rows(trace), trace.refused_rows) == (EXPECTED, 0)


def test_json_lines_with_a_unit_in_their_name_are_in_that_unit(tmp_path: Path) -> None:
    text = (
        MOONCAKE.replace("timestamp", "arrival_time_ms").replace("input_length", "isl").replace("output_length", "osl")
    )
    assert rows(read_trace(written(tmp_path, text))) == EXPECTED


def test_dates_tell_the_start_and_relative_times_do_not(tmp_path: Path) -> None:
    start = datetime(2023, 11, 16, 18, 15, 46, 500_000, tzinfo=UTC).timestamp()
    assert read_trace(written(tmp_path, AZURE_2023)).start_epoch_seconds == pytest.approx(start, abs=1e-6)
    assert read_trace(written(tmp_path, EPOCH_MILLISECONDS)).start_epoch_seconds == 1.7e9
    assert read_trace(written(tmp_path, PLAIN)).start_epoch_seconds is None


@pytest.mark.parametrize("day", ["1999-12-31", "2000-02-29", "2023-03-01", "2024-12-31", "2100-02-28"])
def test_calendar_days_agree_with_the_standard_library(tmp_path: Path, day: str) -> None:
    path = written(tmp_path, f"time,input_tokens,output_tokens\n{day} 06:07:08,1,1\n")
    expected = datetime.fromisoformat(f"{day}T06:07:08+00:00").timestamp()
    assert read_trace(path).start_epoch_seconds == expected


def test_unsorted_rows_are_sorted(tmp_path: Path) -> None:
    lines = PLAIN.splitlines()
    text = "\n".join([lines[0], lines[3], lines[1], lines[2]])
    assert rows(read_trace(written(tmp_path, text))) == EXPECTED


def test_bad_rows_are_refused_counted_and_named_by_line(tmp_path: Path) -> None:
    text = """timestamp,input_tokens,output_tokens
10,374,44
soon,100,10
11,-5,10
12,100,0
13,100
nan,100,10

14.25,396,109
14.5,1e400,3
14.5,100,1700000000
74.5,879,55
"""
    trace = read_trace(written(tmp_path, text))
    assert rows(trace) == EXPECTED
    assert trace.refused_rows == 7
    assert [str(problem) for problem in trace.problems] == [
        "trace.csv:3: the time 'soon' is not a number.",
        "trace.csv:4: '-5' input tokens: a request needs at least one.",
        "trace.csv:5: '0' output tokens: a request needs at least one.",
        "trace.csv:6: 2 columns where 3 are expected.",
        "trace.csv:7: the time 'nan' is not a number.",
        "trace.csv:10: '1e400' input tokens: a request needs at least one.",
        "trace.csv:11: '1700000000' output tokens: no request is that long.",
    ]


def test_numbers_that_only_the_careful_reader_understands_are_kept(tmp_path: Path) -> None:
    text = "timestamp,input_tokens,output_tokens\n0.0,374.0,44\n 4.25 ,3.96e2,109\n6.45e1,879,5.5e1\n"
    trace = read_trace(written(tmp_path, text))
    assert rows(trace) == EXPECTED
    assert trace.refused_rows == 0


@pytest.mark.parametrize(
    "when", ["2023-13-01 00:00:00", "2023-02-29 00:00:00", "2023-01-01 25:00:00", "2023-01-0a 00:00:00", "yesterday"]
)
def test_dates_that_do_not_exist_are_refused(tmp_path: Path, when: str) -> None:
    text = f"time,input_tokens,output_tokens\n2023-01-01 00:00:00,1,1\n{when},1,1\n"
    trace = read_trace(written(tmp_path, text))
    assert (trace.requests, trace.refused_rows) == (1, 1)
    assert str(trace.problems[0]) == f"trace.csv:3: the time '{when}' is not a date and time."


def test_only_the_first_problems_are_kept_and_values_are_cut_short(tmp_path: Path) -> None:
    text = "timestamp,input_tokens,output_tokens\n1,1,1\n" + f"{'x' * 500},1,1\n" * 50
    trace = read_trace(written(tmp_path, text))
    assert (trace.refused_rows, len(trace.problems)) == (50, 20)
    assert len(str(trace.problems[0])) < 120


def test_lines_of_json_that_are_no_requests_are_named(tmp_path: Path) -> None:
    text = '{"timestamp": 0, "input_length": 5, "output_length": 5}\n[1]\n{"timestamp": 3}\n{oops\n\n'
    trace = read_trace(written(tmp_path, text, "trace.jsonl"))
    assert (trace.requests, trace.refused_rows) == (1, 3)
    assert [problem.line for problem in trace.problems] == [2, 3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column for the time"),
        ("timestamp,input_tokens,output_tokens\n", "no usable request"),
        ("timestamp,input_tokens,output_tokens\n,,\n,1,1\n", "trace.csv:2: the time '' is not a number"),
        ("timestamp,input_tokens,output_tokens\nx,y,z\n", "trace.csv:2: the time 'x' is not a date and time"),
        ("when,how\n1,2\n", "trace.csv:1: no column for the output tokens of a request. Name it 'output_tokens'"),
    ],
)
def test_a_trace_without_requests_is_an_input_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trace(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_missing_and_a_broken_file_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.csv: the trace can't be read: No such file"):
        read_trace(tmp_path / "nowhere.csv")
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(gzip.compress(b"timestamp,input_tokens,output_tokens\n1,1,1\n")[:-9])
    with pytest.raises(InputError, match="can't be read"):
        read_trace(broken)


def test_blocks_that_cut_lines_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_opt.throughput.queueing.trace._BLOCK_BYTES", 7)
    assert rows(read_trace(written(tmp_path, AZURE_2023))) == EXPECTED
    assert rows(read_trace(written(tmp_path, PLAIN))) == EXPECTED


def test_regular_lines_are_never_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careful(*_: object) -> None:
        raise AssertionError("a regular line went to the careful reader")

    monkeypatch.setattr("gpu_opt.throughput.queueing.trace.parse_row", careful)
    count = 5_000
    stamps = np.datetime64("2024-05-10T00:00:00.000000") + np.arange(count) * np.timedelta64(300_000, "us")
    lines = [f"{stamp},{1 + index % 999},{1 + index % 77}" for index, stamp in enumerate(stamps.astype(str).tolist())]
    trace = read_trace(written(tmp_path, "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(lines)))
    assert trace.requests == count
    assert trace.duration_seconds == pytest.approx(0.3 * count)
    assert [rows(read_trace(written(tmp_path, text))) for text in (AZURE_2023, AZURE_2024, BURSTGPT)] == [EXPECTED] * 3


def test_a_part_of_a_trace_holds_the_requests_of_that_time(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, PLAIN))
    assert rows(trace.between(4.0, 64.5)) == [(4.25, 396, 109)]
    assert trace.between(70.0, 80.0).requests == 0


NUMBER = st.one_of(
    st.integers(0, 10**15).map(str),
    st.decimals(0, 10**6, places=4).map(str),
    st.sampled_from(
        ["", "0", "007", ".5", "5.", ".", "1e3", "-1", "+2", " 3", "1_000", "½", "inf", "12345678901234567890"]
    ),
)
DATE = st.builds(
    lambda days, seconds, digits, zone, letter: (
        (datetime(1996, 1, 1) + timedelta(days=days, seconds=seconds)).isoformat(sep=letter)
        + (f".{digits}" if digits else "")
        + zone
    ),
    st.integers(0, 20000),
    st.integers(0, 86399),
    st.sampled_from(["", "0", "5", "123", "123456", "1234567", "999999999"]),
    st.sampled_from(["", "Z", "+00:00", "+05:30", "-11:45"]),
    st.sampled_from(["T", " "]),
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.one_of(DATE, NUMBER), NUMBER, NUMBER), max_size=12), dates=st.booleans())
def test_the_vectorised_reader_agrees_with_the_careful_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], dates: bool
) -> None:
    """Quotes around every field send all lines through the csv module and Python's own parsers."""
    folder = tmp_path_factory.getbasetemp()
    first = ("2024-02-29 12:00:00", "5", "6") if dates else ("1", "5", "6")
    header = "time,input_tokens,output_tokens\n"
    plain = read_trace(written(folder, header + "".join(",".join(row) + "\n" for row in (first, *rows)), "a.csv"))
    quoted = "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in (first, *rows))
    careful = read_trace(written(folder, header + quoted, "b.csv"))
    assert plain.refused_rows == careful.refused_rows
    assert np.allclose(plain.arrival_seconds, careful.arrival_seconds, rtol=1e-12, atol=2e-6)
    assert np.array_equal(plain.input_tokens, careful.input_tokens)
    assert np.array_equal(plain.output_tokens, careful.output_tokens)
