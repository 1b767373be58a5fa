"""How far off a prediction may be: P10–P90 of held-out residuals by class of replica (I12)."""

from __future__ import annotations

from functools import cache

from gpu_opt.domain.option import Interval
from gpu_opt.throughput.serving.constants import Constants
from gpu_opt.throughput.serving.replica import Replica
from gpu_opt.throughput.serving.tables import read_rows


@cache
def _table() -> dict[tuple[str, str], Interval]:
    return {
        (row["metric"], row["group"]): Interval(
            low_ratio=float(row["low_ratio"]),
            high_ratio=float(row["high_ratio"]),
            shared_log_sd=float(row["shared_log_sd"]),
            own_log_sd=float(row["own_log_sd"]),
        )
        for row in read_rows("serving_intervals.csv")
    }


def interval_for(replica: Replica, metric: str, constants: Constants | None = None) -> Interval:
    """I12: the interval of the narrowest class that the residuals cover."""
    known = _table()
    for group in (f"architecture:{replica.accelerator.architecture}", f"vendor:{replica.accelerator.vendor}", "all"):
        found = known.get((metric, group))
        if found is not None:
            return found
    return known["throughput_out_tok_s", "all"]
