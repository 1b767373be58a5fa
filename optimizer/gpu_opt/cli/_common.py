"""What commands share: text for terminals, JSON for machines, a sign of life while one waits."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_SPINNER = "|/-\\"
_PATIENCE_SECONDS = 1.0
_FRAME_SECONDS = 0.12
_NEUTRAL = {
    # C0 and C1 controls and DEL can drive a terminal; bidirectional overrides and separators can disguise text.
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_NEUTRAL_BUT_LINES = {code: escape for code, escape in _NEUTRAL.items() if code not in (0x09, 0x0A)}


def clean(text: str) -> str:
    """The text with control characters written out (`\\x1b`); line feeds and tabs stay."""
    return text.translate(_NEUTRAL_BUT_LINES)


def clean_line(text: str) -> str:
    """The text with all control characters written out, line feeds and tabs too: for a cell of a table."""
    return text.translate(_NEUTRAL)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person watches this stream; False for a closed one."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def colour(text: str, style: str, stream: TextIO) -> str:
    """The text in a style (bold, dim, red, green, yellow, cyan) on a colour terminal, else as it is."""
    if not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def echo_err(text: str) -> None:
    """A line for the person: to stderr, neutralised."""
    sys.stderr.write(f"{clean(text)}\n")
    sys.stderr.flush()


def write_json(value: object, stream: TextIO | None = None) -> None:
    """The value as sorted, indented JSON with a final newline; ValueError for what JSON can't say (NaN)."""
    import json

    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    (stream or sys.stdout).write(f"{text}\n")


@contextmanager
def silent_stdout() -> Iterator[None]:
    """What C code writes to file descriptor 1 in the body goes nowhere: HiGHS greets when it is made."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # stdout is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)


@contextmanager
def progress(label: str) -> Iterator[None]:
    """A spinner on stderr while the body runs, on a terminal only and when it takes more than a second."""
    if not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield
        return
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(clean_line(label), done, sys.stderr), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def _spin(label: str, done: threading.Event, stream: TextIO) -> None:
    if done.wait(_PATIENCE_SECONDS):
        return
    frame = 0
    while not done.wait(_FRAME_SECONDS):
        stream.write(f"\r{_SPINNER[frame % len(_SPINNER)]} {label}")
        stream.flush()
        frame += 1
    stream.write("\r\x1b[2K")
    stream.flush()
