"""A sign of life on stderr for work that takes longer than a second: a spinner for people, lines for logs."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from gpu_opt.cli._common import clean_line, is_terminal

_PATIENCE_SECONDS = 1.0
_FRAME_SECONDS = 0.12
_LINE_SECONDS = 10.0
_SPINNER = "|/-\\"


@contextmanager
def watched(first_stage: str) -> Iterator[Callable[[str], None]]:
    """While the body runs, tells its stage, which the body sets by calling what it is given."""
    watch = _Watch(first_stage, sys.stderr)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield watch.tell
    finally:
        watch.done.set()
        thread.join()


class _Watch:
    def __init__(self, stage: str, stream: TextIO) -> None:
        self.stage = clean_line(stage)
        self.stream = stream
        self.done = threading.Event()

    def tell(self, stage: str) -> None:
        self.stage = clean_line(stage)

    def run(self) -> None:
        started = time.monotonic()
        if self.done.wait(_PATIENCE_SECONDS):
            return
        if is_terminal(self.stream) and os.environ.get("TERM") != "dumb":
            self._spin(started)
        else:
            self._log(started)

    def _spin(self, started: float) -> None:
        frame = 0
        while not self.done.wait(_FRAME_SECONDS):
            seconds = time.monotonic() - started
            self._write(f"\r\x1b[2K{_SPINNER[frame % len(_SPINNER)]} {self.stage} … {seconds:.0f} s")
            frame += 1
        self._write("\r\x1b[2K")

    def _log(self, started: float) -> None:
        said, said_at = "", 0.0
        while True:
            seconds = time.monotonic() - started
            if self.stage != said or seconds - said_at >= _LINE_SECONDS:
                said, said_at = self.stage, seconds
                self._write(f"gpu-opt: {said} … {seconds:.0f} s\n")
            if self.done.wait(_PATIENCE_SECONDS):
                return

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # stderr went away; the work goes on
            self.done.set()
