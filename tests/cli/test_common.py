"""What commands share."""

import io
import json
import os
import time

import pytest

from gpu_opt.cli import _common


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def patience(monkeypatch):
    monkeypatch.setattr(_common, "_PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(_common, "_FRAME_SECONDS", 0.01)


def test_clean_keeps_lines_and_writes_controls_out():
    assert _common.clean("a\tb\nc\x07\x7f\x85\u2066") == "a\tb\nc\\x07\\x7f\\x85\\u2066"


def test_clean_line_leaves_no_line_break():
    assert _common.clean_line("a\nb\rc\td\u2028") == "a\\x0ab\\x0dc\\x09d\\u2028"


def test_clean_leaves_other_writing_alone():
    assert _common.clean("8 × H100 – Zürich 東京") == "8 × H100 – Zürich 東京"


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert _common.colour("ok", "green", Terminal()) == "\x1b[32mok\x1b[0m"
    assert _common.colour("ok", "green", io.StringIO()) == "ok"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_refused(monkeypatch, name, value):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert _common.colour("ok", "green", Terminal()) == "ok"


def test_a_closed_stream_is_no_terminal():
    stream = Terminal()
    stream.close()
    assert _common.is_terminal(io.StringIO()) is False
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    assert _common.is_terminal(closed) is False


def test_json_is_sorted_indented_and_ends_its_line(capsys):
    _common.write_json({"b": [1, 2.5], "a": "München"})
    assert capsys.readouterr().out == '{\n "a": "München",\n "b": [\n  1,\n  2.5\n ]\n}\n'


def test_json_goes_to_the_stream_that_is_given():
    stream = io.StringIO()
    _common.write_json({"a": None}, stream)
    assert json.loads(stream.getvalue()) == {"a": None}


def test_json_refuses_what_json_cannot_say():
    with pytest.raises(ValueError, match="JSON"):
        _common.write_json({"a": float("nan")}, io.StringIO())


def test_echo_err_speaks_on_stderr_only(capsys):
    _common.echo_err("careful\x1b")
    assert capsys.readouterr() == ("", "careful\\x1b\n")


def test_a_quick_body_shows_no_progress(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with _common.progress("solving"):
        pass
    assert stream.getvalue() == ""


def test_a_long_body_shows_a_spinner_and_leaves_a_clean_line(monkeypatch, patience):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with _common.progress("solving"):
        time.sleep(0.2)
    assert "\r| solving" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_progress_ends_with_an_error_of_the_body(monkeypatch, patience):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")

    def fail_after(seconds):
        with _common.progress("solving"):
            time.sleep(seconds)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after(0.1)
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_no_progress_where_nobody_watches(monkeypatch, patience):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with _common.progress("solving"):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_c_code_is_silent_inside_silent_stdout(capfd):
    print("before")
    with _common.silent_stdout():
        os.write(1, b"greeting\n")
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "before\nafter\n"
