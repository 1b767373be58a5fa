"""Runs command lines once a session and shares what they print; `pytest tests/docs --update-docs` writes it down."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-docs", action="store_true", help="Write the output in the pages anew; review it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one command line did."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def update_docs(request: pytest.FixtureRequest) -> bool:
    """Whether the pages are to be written anew."""
    return bool(request.config.getoption("--update-docs", default=False))


@pytest.fixture(scope="session")
def run_line() -> Callable[..., Printed]:
    """Runs `gpu-opt ARGUMENTS` in this process, in a folder."""

    def run(folder: Path, *arguments: str) -> Printed:
        from gpu_opt.cli.main import main

        out, err = io.StringIO(), io.StringIO()
        here = Path.cwd()
        os.environ["COLUMNS"] = "80"
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([str(argument) for argument in arguments])
        finally:
            os.chdir(here)
            del os.environ["COLUMNS"]
        return Printed(code=code, out=out.getvalue(), err=err.getvalue())

    return run


@pytest.fixture(scope="session")
def shared(run_line: Callable[..., Printed]) -> Callable[..., Printed]:
    """The same for commands that leave nothing behind: each is run once a session, from the project's folder."""
    from tests.docs.pages import ROOT

    known: dict[tuple[str, ...], Printed] = {}

    def run(*arguments: str) -> Printed:
        if arguments not in known:
            known[arguments] = run_line(ROOT, *arguments)
        return known[arguments]

    return run
