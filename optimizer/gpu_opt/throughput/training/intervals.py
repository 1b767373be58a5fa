"""P10–P90 of a speed by its class: is the GPU's family fitted, is the stack fitted, which method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpu_opt.domain.option import Interval
from gpu_opt.throughput.training.constants import table_rows

# A standard normal is below 1.2816 with 90 % probability.
P90_SCORE = 1.2816


@cache
def _classes() -> Mapping[tuple[bool, bool, str], Interval]:
    found = {}
    for row in table_rows("training_intervals.csv"):
        key = (row["gpu_known"] == "yes", row["stack_known"] == "yes", row["method"])
        found[key] = Interval(
            low_ratio=float(row["low_ratio"]),
            high_ratio=float(row["high_ratio"]),
            shared_log_sd=float(row["shared_log_sd"]),
            own_log_sd=float(row["own_log_sd"]),
        )
    return found


def interval_of(*, gpu_known: bool, stack_known: bool, method: str) -> Interval:
    """The interval of a class, as factors of the prediction; `method` is full, lora or qlora."""
    return _classes()[gpu_known, stack_known, "full" if method == "full" else "adapter"]
