"""Spare replicas for an availability target, and how replicas spread over zones."""

from __future__ import annotations

import math

from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.goodput import mtti_hours

RENTED_REPAIR_HOURS = 1.0  # a new instance is started and loaded; overridable per workload (`repair_hours`)
OWNED_REPAIR_HOURS = 24.0  # a part or a machine is replaced by the next day; overridable likewise
_ROUNDING = 1e-9


def replica_availability_fraction(*, mtti_hours: float, repair_hours: float) -> float:
    """I20: A = MTTI / (MTTI + R), the share of time that one replica is up."""
    return mtti_hours / (mtti_hours + repair_hours)


def spare_replicas(n: int, *, availability_fraction: float, mtti_hours: float, repair_hours: float) -> int:
    """I21: the fewest spares s with P(Binomial(n + s, A) ≥ n) ≥ availability; replicas fail independently.

    InputError where no number is enough: an availability of 1, or replicas that never run.
    """
    if n <= 0 or availability_fraction <= 0:
        return 0
    up = replica_availability_fraction(mtti_hours=mtti_hours, repair_hours=repair_hours)
    if up >= 1.0:
        return 0
    if availability_fraction >= 1.0 or up <= 0.0:
        what = f"an availability of {availability_fraction:g} can't be promised with replicas that are up {up:.4%}."
        raise InputError(Problem(path="availability", what=what, remedy="Ask for less than 1, such as 0.999."))
    low, high = -1, 0
    while enough_up_fraction(n, high, up_fraction=up) < availability_fraction:
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        if enough_up_fraction(n, middle, up_fraction=up) < availability_fraction:
            low = middle
        else:
            high = middle
    return high


def service_spares(
    n: int,
    *,
    availability_fraction: float,
    gpus_per_replica: float,
    owned: bool,
    repair_hours: float | None = None,
) -> int:
    """I21: spares of `n` replicas of a size, by the failure table and the usual time to repair, or the one given."""
    usual = OWNED_REPAIR_HOURS if owned else RENTED_REPAIR_HOURS
    return spare_replicas(
        n,
        availability_fraction=availability_fraction,
        mtti_hours=mtti_hours(gpus_per_replica),
        repair_hours=usual if repair_hours is None else repair_hours,
    )


def enough_up_fraction(needed: int, spares: int, *, up_fraction: float) -> float:
    """I21: P(at most `spares` of needed + spares replicas are down), each up with probability 0 < A < 1."""
    total = needed + spares
    odds_down = (1.0 - up_fraction) / up_fraction
    log_term = total * math.log(up_fraction)
    terms = []
    for down in range(spares + 1):
        terms.append(math.exp(log_term))
        log_term += math.log((total - down) / (down + 1) * odds_down)
    return min(1.0, math.fsum(terms))


def zones_needed(max_share_fraction: float) -> int:
    """I22: the fewest zones with which no zone needs to hold more than this share of the replicas."""
    return math.ceil(1.0 / max_share_fraction - _ROUNDING)


def replicas_over_zones(replicas: int, *, max_share_fraction: float, zones: int) -> int | None:
    """I22: the fewest replicas, at least `replicas`, that spread so that each zone holds at most its share of them.

    None where there are too few zones. With share 0.5 and two zones 3 replicas become 4: one zone would hold 2 of 3.
    """
    if zones < zones_needed(max_share_fraction):
        return None
    total = max(replicas, 0)
    while zones * math.floor(max_share_fraction * total + _ROUNDING) < total:
        total += 1
    return total
