"""How long commands take to start, as ratios to what Python needs for their libraries alone, in one run.

`make bench`, or `python benchmarks/startup.py [--rounds 15] [--only help]`. Exits 1 when a target is missed.
Each pair is run in turn (A B A B …), so that both sides see the same machine; the medians are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GPU_OPT = Path(sys.executable).with_name("gpu-opt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A command, what it is compared with, and the highest ratio of their times."""

    name: str
    command: tuple[str, ...]
    libraries: str
    target_ratio: float


PAIRS = (
    Pair(name="help", command=("--help",), libraries="typer", target_ratio=1.5),
    Pair(
        name="plan",
        command=("plan", "examples/quickstart.yaml"),
        libraries="typer, pydantic, pulp, highspy",
        target_ratio=2.5,
    ),
)


def main() -> int:
    """Prints one row a pair."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--only", choices=[pair.name for pair in PAIRS])
    given = arguments.parse_args()
    print(f"{'command':<36} {'median s':>9} {'libraries alone':<32} {'median s':>9} {'ratio':>6} {'target':>7}")
    missed = 0
    with tempfile.TemporaryDirectory() as cache:
        for pair in PAIRS:
            if given.only in (None, pair.name):
                missed += not measure(pair, given.rounds, {**os.environ, "GPU_OPT_CACHE": cache})
    return 1 if missed else 0


def measure(pair: Pair, rounds: int, environment: dict[str, str]) -> bool:
    """Prints the row; whether the target is met."""
    ours, theirs = [str(GPU_OPT), *pair.command], [sys.executable, "-c", f"import {pair.libraries}"]
    for command in (ours, theirs):  # once unmeasured: bytecode and disk caches
        seconds(command, environment)
    times = [(seconds(ours, environment), seconds(theirs, environment)) for _ in range(rounds)]
    our_median, their_median = (float(statistics.median(side)) for side in zip(*times, strict=True))
    ratio = our_median / their_median
    verdict = "ok" if ratio <= pair.target_ratio else "MISSED"
    print(
        f"{'gpu-opt ' + ' '.join(pair.command):<36} {our_median:>9.3f} {pair.libraries:<32} {their_median:>9.3f} "
        f"{ratio:>6.2f} {pair.target_ratio:>5.1f}   {verdict}"
    )
    return ratio <= pair.target_ratio


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """The time of a whole process; its output is thrown away."""
    started = time.perf_counter()
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - started
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ran.stderr}")
    return elapsed


if __name__ == "__main__":
    sys.exit(main())
