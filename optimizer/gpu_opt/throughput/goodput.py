"""G1–G5: from the hours of useful work to the hours that a run takes and is paid for.

Owned, reserved and on-demand machines fail rarely and independently: the first-order law of Young and Daly.
Spot machines are taken away often: the exact expectation of a memoryless process, per checkpoint interval.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources

from gpu_opt.records import record

_HOURS_PER_DAY = 24.0
_DEFAULT_CLASS = "large_cluster"
_P95_SCORE = 1.6449  # of a standard normal
_MAX_EXPONENT = 60.0
_SMALL_RUN_GPUS = 1024.0
_GROWTH_DOUBLINGS = 4.0  # from 1,024 to 16,384 GPUs
_SMALL_OVERHEAD = 0.08
_LARGE_OVERHEAD = 0.10


class SpotNeedsCheckpoints(ValueError):
    """A spot run without checkpoints would outlast the mean time to its interruption; the text says by how much."""


@record
class RunTime:
    """Expected hours from start to end, expected hours that are paid, and the 95th percentile of the former."""

    elapsed_hours: float
    paid_hours: float
    p95_elapsed_hours: float


@record
class FailureRate:
    """How often a machine fails, and how long it takes to notice and to start again."""

    per_node_hour: float
    gpus_per_node: int
    detect_hours: float
    restart_hours: float
    source: str


@cache
def failure_rates() -> Mapping[str, FailureRate]:
    """The failure table by class."""
    text = (resources.files("gpu_opt.throughput") / "data" / "failure_rates.csv").read_text(encoding="utf-8")
    return {
        row["class"]: FailureRate(
            per_node_hour=float(row["failures_per_1000_node_days"]) / 1000.0 / _HOURS_PER_DAY,
            gpus_per_node=int(row["gpus_per_node"]),
            detect_hours=float(row["detect_hours"]),
            restart_hours=float(row["restart_hours"]),
            source=row["source"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def default_restart_hours() -> float:
    """Hours from a failure that is noticed to a job that trains again."""
    return failure_rates()[_DEFAULT_CLASS].restart_hours


def whole_run_overhead(gpus: float) -> float:
    """What a pretraining run spends beside its steady main stage, as a fraction of it.

    Evaluation, warm-up, reruns and late stages; more so above a few thousand GPUs. Published whole runs bill 1.1 to
    1.25 times what their steady speed implies, failures included.
    """
    grown = min(1.0, max(0.0, math.log2(max(gpus, 1.0) / _SMALL_RUN_GPUS) / _GROWTH_DOUBLINGS))
    return _SMALL_OVERHEAD + grown * (_LARGE_OVERHEAD - _SMALL_OVERHEAD)


def mtti_hours(gpus: float) -> float:
    """G1: mean hours between unplanned interruptions of a gang: 1 / (rate × nodes), nodes of eight GPUs."""
    rate = failure_rates()[_DEFAULT_CLASS]
    return 1.0 / (rate.per_node_hour * gpus / rate.gpus_per_node)


def best_interval_hours(checkpoint_write_hours: float, mean_hours: float) -> float:
    """G2: the checkpoint interval that loses least: sqrt(2 × write × mean time between interruptions)."""
    return math.sqrt(2.0 * checkpoint_write_hours * mean_hours)


def goodput_fraction(
    *, mean_hours: float, interval_hours: float, write_hours: float, detect_hours: float, restart_hours: float
) -> float:
    """G3: useful share of the time: 1 / (1 + write/interval + (interval/2 + detect + restart)/mean)."""
    lost_per_failure = interval_hours / 2.0 + detect_hours + restart_hours
    return 1.0 / (1.0 + write_hours / interval_hours + lost_per_failure / mean_hours)


def segment_hours(rate_per_hour: float, work_hours: float, recovery_hours: float) -> float:
    """G4: expected hours to finish `work_hours` without an interruption in them, recovery after each one."""
    exponent = rate_per_hour * work_hours
    if exponent > _MAX_EXPONENT:
        return math.inf
    return (1.0 / rate_per_hour + recovery_hours) * math.expm1(exponent)


def segment_variance(rate_per_hour: float, work_hours: float, recovery_hours: float) -> float:
    """G5: variance of that time. Lost attempts are geometric, each a truncated exponential plus the recovery."""
    exponent = min(rate_per_hour * work_hours, _MAX_EXPONENT)
    fails = -math.expm1(-exponent)
    if fails <= 0.0:
        return 0.0
    survives = 1.0 - fails
    mean_attempts = fails / survives
    variance_attempts = fails / survives**2
    mean_lost = 1.0 / rate_per_hour - work_hours * survives / fails
    variance_lost = max(0.0, 1.0 / rate_per_hour**2 - work_hours**2 * survives / fails**2)
    each = mean_lost + recovery_hours
    return mean_attempts * variance_lost + variance_attempts * each**2


def run_time(
    *,
    work_hours: float,
    gpus: float,
    instances: int,
    market_is_spot: bool,
    checkpoint_interval_hours: float | None,
    checkpoint_write_hours: float,
    restart_hours: float,
    reacquire_hours: float = 0.0,
    spot_interruptions_per_instance_hour: float = 0.0,
    overhead_fraction: float = 0.0,
) -> RunTime:
    """Hours of a run whose steady speed needs `work_hours`, with failures, checkpoints and interruptions.

    Without an interval, owned, reserved and on-demand runs checkpoint at the best one; spot runs save nothing, and
    SpotNeedsCheckpoints is raised when they are longer than the mean time to an interruption.
    `overhead_fraction` is what evaluation and warm-up add to the work.
    """
    work = work_hours * (1.0 + overhead_fraction)
    if market_is_spot:
        rate = instances * spot_interruptions_per_instance_hour + 1.0 / mtti_hours(gpus)
        return _spot(work, rate, checkpoint_interval_hours, checkpoint_write_hours, restart_hours, reacquire_hours)
    mean = mtti_hours(gpus)
    interval = checkpoint_interval_hours or best_interval_hours(max(checkpoint_write_hours, 1e-4), mean)
    fraction = goodput_fraction(
        mean_hours=mean,
        interval_hours=interval,
        write_hours=checkpoint_write_hours,
        detect_hours=failure_rates()[_DEFAULT_CLASS].detect_hours,
        restart_hours=restart_hours,
    )
    elapsed = work / fraction
    lost = interval / math.sqrt(3.0) + restart_hours
    spread = lost * math.sqrt(elapsed / mean)
    return RunTime(elapsed_hours=elapsed, paid_hours=elapsed, p95_elapsed_hours=elapsed + _P95_SCORE * spread)


def _spot(
    work: float, rate: float, interval: float | None, write_hours: float, restart_hours: float, reacquire_hours: float
) -> RunTime:
    """G4, G5: expectation and spread of a run cut into checkpoint intervals, or of one that saves nothing."""
    if interval is None and work * rate > 1.0:
        raise SpotNeedsCheckpoints(
            f"a spot run of {work:.1f} h without checkpoints is interrupted every {1.0 / rate:.1f} h on average: "
            "give a checkpoint interval, or don't allow spot"
        )
    piece = work if interval is None else min(interval, work)
    pieces = work / piece if piece > 0 else 0.0
    length = piece if interval is None else piece + write_hours
    away = restart_hours + reacquire_hours
    elapsed = pieces * segment_hours(rate, length, away)
    paid = pieces * segment_hours(rate, length, restart_hours)
    spread = math.sqrt(pieces * segment_variance(rate, length, away))
    return RunTime(elapsed_hours=elapsed, paid_hours=paid, p95_elapsed_hours=elapsed + _P95_SCORE * spread)
