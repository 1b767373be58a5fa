"""Write the intervals of the training model from the errors on what fits never saw.

    python tools/training_intervals.py

The class of known GPU and stack takes the errors of left-out models, that of an unknown stack those of left-out
sources, that of an unknown GPU those of left-out GPUs; both unknown add their variances. Every source weighs the same.
What a whole source (or GPU) misses by together is the shared part for GPUs of one workload, the rest is each one's own.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    import sys

    sys.path.insert(0, str(Path(__file__).parent))

from fit_training import DATA, HERE, read

CLASSES = {("yes", "yes"): "model", ("yes", "no"): "source", ("no", "yes"): "gpu"}
METHODS = ("full", "adapter", "mixture")
LOW, HIGH = 0.1, 0.9
LEAST_SIDE = 0.6  # of the longer side of an interval: few sources are no reason to trust a bias
LEAST_LOG_SD = 0.03
DATE = "2026-02"


def method_of(row: Mapping[str, str]) -> str:
    """The kind of training whose errors go together."""
    if row["group"].endswith("/moe"):
        return "mixture"
    return "full" if row["method"] == "full" else "adapter"


def weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The quantile of values with weights."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(reached, share)])


def spread_of(rows: Sequence[Mapping[str, str]]) -> tuple[float, float, float, float]:
    """(low, high) of measured over predicted, and (shared, own) deviations of its logarithm."""
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups[row["group"]].append(-float(row["log_error"]))
    values = np.concatenate([np.array(each) for each in groups.values()])
    weights = np.concatenate([np.full(len(each), 1.0 / max(len(each), 10)) for each in groups.values()])
    low, high = (weighted_quantile(values, weights, share) for share in (LOW, HIGH))
    middles = [float(np.median(each)) for each in groups.values() if len(each) >= 3] or [0.0]
    shared = float(np.std(middles))
    halves = (high - low) / 2.0 / 1.2816
    low, high = min(low, -LEAST_SIDE * high), max(high, -LEAST_SIDE * low)
    return low, high, shared, max(math.sqrt(max(halves**2 - shared**2, 0.0)), LEAST_LOG_SD)


def main() -> None:
    """Write the table."""
    left_out = read(HERE / "training_left_out.csv")
    found: dict[tuple[str, str, str], tuple[float, float, float, float, int]] = {}
    for (gpu, stack), kind in CLASSES.items():
        for method in METHODS:
            source = "gpu" if method == "mixture" and kind == "model" else kind  # few runs of each mixture
            rows = [row for row in left_out if row["left_out"] == source and method_of(row) == method]
            found[gpu, stack, method] = (*spread_of(rows), len(rows))
    for method in METHODS:
        both = [found[key] for key in (("yes", "no", method), ("no", "yes", method))]
        low, high = (math.copysign(math.hypot(both[0][side], both[1][side]), side - 0.5) for side in (0, 1))
        own = math.hypot(both[0][3], both[1][3])
        found["no", "no", method] = (low, high, max(both[0][2], both[1][2]), own, both[0][4] + both[1][4])
    with (DATA / "training_intervals.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ("gpu_known", "stack_known", "method", "low_ratio", "high_ratio", "shared_log_sd", "own_log_sd", "rows",
             "source", "source_date")
        )  # fmt: skip
        for (gpu, stack, method), (low, high, shared, own, count) in sorted(found.items(), reverse=True):
            kind = CLASSES.get((gpu, stack), "source and gpu")
            source = f"errors of {count} runs, each left out with its {kind}"
            figures = (f"{math.exp(low):.3f}", f"{math.exp(high):.3f}", f"{shared:.3f}", f"{own:.3f}")
            writer.writerow((gpu, stack, method, *figures, count, source, DATE))


if __name__ == "__main__":
    main()
