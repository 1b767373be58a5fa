"""How much a cold command costs, as ratios to what Python needs for the libraries alone, in one run.

`make bench`, or `python benchmarks/startup.py [--rounds 15] [--only help]`. Exits 1 when a target is missed.
Each pair is run in turn (A B A B …), so that both sides see the same machine, and the medians of their user CPU time
are compared: a busy machine changes that less than the time on the clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GPU_OPT = Path(sys.executable).with_name("gpu-opt")
LIBRARIES = "typer, pydantic, pulp, highspy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A command, what it is compared with, and the highest ratio of their times; None where it is only shown."""

    name: str
    command: tuple[str, ...]
    libraries: str = LIBRARIES
    target_ratio: float | None = 2.5


PAIRS = (
    Pair(name="help", command=("--help",), libraries="typer", target_ratio=1.5),
    Pair(name="measured", command=("plan", "examples/measured-h100-vs-a100.yaml")),
    Pair(name="lora", command=("plan", "benchmarks/one-lora.yaml")),
    Pair(name="quickstart", command=("plan", "examples/quickstart.yaml"), target_ratio=None),
)


def main() -> int:
    """Prints one row a pair."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--only", choices=[pair.name for pair in PAIRS])
    given = arguments.parse_args()
    print(f"{'command':<48} {'CPU s':>7} {'libraries alone':<32} {'CPU s':>7} {'ratio':>6} {'target':>7}")
    met = True
    with tempfile.TemporaryDirectory() as cache:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        for pair in PAIRS:
            if given.only in (None, pair.name):
                met &= measure(pair, given.rounds, {**kept, "GPU_OPT_CACHE": cache})
    return 0 if met else 1


def measure(pair: Pair, rounds: int, environment: Mapping[str, str]) -> bool:
    """Prints the row; whether the target is met."""
    ours, theirs = [str(GPU_OPT), *pair.command], [sys.executable, "-c", f"import {pair.libraries}"]
    for command in (ours, theirs):  # once unmeasured: bytecode and disk caches
        cpu_seconds(command, environment)
    times = [(cpu_seconds(ours, environment), cpu_seconds(theirs, environment)) for _ in range(rounds)]
    our_median, their_median = (float(statistics.median(side)) for side in zip(*times, strict=True))
    ratio = our_median / their_median
    met = pair.target_ratio is None or ratio <= pair.target_ratio
    target = "" if pair.target_ratio is None else f"{pair.target_ratio:>7.1f}   {'ok' if met else 'MISSED'}"
    print(
        f"{'gpu-opt ' + ' '.join(pair.command):<48} {our_median:>7.3f} {pair.libraries:<32} {their_median:>7.3f} "
        f"{ratio:>6.2f} {target}"
    )
    return met


def cpu_seconds(command: list[str], environment: Mapping[str, str]) -> float:
    """The user time of a whole process; its output is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ran.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    sys.exit(main())
