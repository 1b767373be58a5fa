"""What every test gets: no network, no settings of the person who runs it, the same examples every time."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
_NEUTRAL = ("NO_COLOR", "FORCE_COLOR", "GPU_OPT_DEBUG", "COLUMNS")
_numbers = itertools.count()

# Derandomized: a run that failed fails again. No deadline: machines differ in speed.
settings.register_profile(
    "gpu-opt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=False
)
settings.load_profile("gpu-opt")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Write golden files anew; review the difference.")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written anew."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def neutral_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty price cache of its own, and none of the settings that change what is printed."""
    for name in (*_NEUTRAL, *(name for name in os.environ if name.startswith(("GPU_OPT_", "AWS_", "GOOGLE_")))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path_factory.getbasetemp() / f"cache-{next(_numbers)}"))


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Tests talk to this machine only."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"a test tried to reach {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one command line did."""

    code: int
    out: str
    err: str


@pytest.fixture
def gpu_opt(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs `gpu-opt ARGUMENTS` in this process."""

    def run(*arguments: str | Path) -> Ran:
        from gpu_opt.cli.main import main

        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return run
