"""P10–P90 of a speed by its class: are the GPU and the stack fitted, and which kind of training is it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.option import Interval
from gpu_opt.throughput.training.constants import rates_of, table_rows

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


def interval_of(accelerator: Accelerator, *, stack_known: bool, method: str, mixture: bool) -> Interval:
    """The interval of a class, as factors of the prediction; `method` is full, lora or qlora.

    A GPU is known when its own runs were fitted. A family of which no GPU was measured widens the interval by what its
    data sheet may be off.
    """
    rates = rates_of(accelerator, "half")
    known = accelerator.name in rates.measured
    kind = "mixture" if mixture else "full" if method == "full" else "adapter"
    base = _classes()[known, stack_known, kind]
    if rates.measured:
        return base
    return Interval(
        low_ratio=math.exp(-math.hypot(math.log(base.low_ratio), P90_SCORE * rates.log_sd)),
        high_ratio=math.exp(math.hypot(math.log(base.high_ratio), P90_SCORE * rates.log_sd)),
        shared_log_sd=base.shared_log_sd,
        own_log_sd=math.hypot(base.own_log_sd, rates.log_sd),
    )
