"""How far off a prediction may be: P10–P90 of held-out residuals by class of replica (I12)."""

from __future__ import annotations

from functools import cache

from gpu_opt.domain.option import Interval
from gpu_opt.throughput.serving.constants import Constants
from gpu_opt.throughput.serving.points import ServingPoint
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


def point_interval(point: ServingPoint, name: str) -> Interval:
    """I12: the interval of a metric (`ttft_p99`, …) of a point, by kind of benchmark and by vendor."""
    known = _table()
    vendor = point.candidates[0].replica.accelerator.vendor
    metric = name.replace("_p50", "_mean").replace("_p95", "_p99").replace("itl", "tpot")
    for group in (f"scenario:{point.scenario}|vendor:{vendor}", f"scenario:{point.scenario}", "all"):
        if (metric, group) in known:
            return known[metric, group]
    return known["throughput_out_tok_s", "all"]


def interval_for(replica: Replica, metric: str, constants: Constants | None = None) -> Interval:
    """I12: the interval of the narrowest class that the residuals cover."""
    known = _table()
    for group in (f"architecture:{replica.accelerator.architecture}", f"vendor:{replica.accelerator.vendor}", "all"):
        found = known.get((metric, group))
        if found is not None:
            return found
    return known["throughput_out_tok_s", "all"]
