"""Signs of life: none for quick work, lines for logs, a spinner for people."""

from __future__ import annotations

import io
import sys
import time

import pytest

from gpu_opt.cli import _watch
from gpu_opt.cli._watch import watched


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_watch, "_PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(_watch, "_FRAME_SECONDS", 0.01)


def wait_for(stream: io.StringIO, text: str) -> None:
    """Until the stream holds the text, five seconds at most."""
    until = time.monotonic() + 5
    while text not in stream.getvalue() and time.monotonic() < until:
        time.sleep(0.005)
    assert text in stream.getvalue()


def test_quick_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_watch, "_PATIENCE_SECONDS", 5.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with watched("planning"):
        pass
    assert stream.getvalue() == ""


def test_a_log_gets_a_line_for_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with watched("candidates") as tell:
        wait_for(stream, "gpu-opt: candidates … 0 s\n")
        tell("solving\x1b[2J")
        wait_for(stream, "gpu-opt: solving\\x1b[2J … 0 s\n")
    assert stream.getvalue().count("candidates") == 1


def test_a_person_gets_a_spinner_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with watched("solving"):
        wait_for(stream, "solving … 0 s")
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_work_goes_on_when_stderr_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with watched("solving") as tell:
        wait_for(stream, "solving")
        stream.close()
        tell("alternatives")
        time.sleep(0.1)
