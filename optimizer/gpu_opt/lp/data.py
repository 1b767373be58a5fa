"""Sets and parameters of one program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_opt.domain.program import (
    AfterPeriod,
    FluidCandidate,
    FluidDemand,
    Limit,
    Pool,
    Purchase,
    ReplicaCandidate,
    RunCandidate,
    RunDemand,
    ServiceDemand,
    Standing,
    Term,
)
from gpu_opt.domain.question import Agreement, Budget, Credit, Horizon, Overhead, Site
from gpu_opt.records import record


@record
class LpData:
    """Everything the program is made of. Candidates are listed by the name of their workload, in a fixed order.

    `spare_replicas` answers how many replicas of a candidate a service needs for a load, availability included,
    by (service, candidate's index, requests per second rounded to 1e-9); absent means ceil(load / rate).
    """

    horizon: Horizon
    pools: Mapping[str, Pool]
    runs: tuple[RunDemand, ...] = ()
    run_candidates: Mapping[str, tuple[RunCandidate, ...]]
    fluids: tuple[FluidDemand, ...] = ()
    fluid_candidates: Mapping[tuple[str, str], tuple[FluidCandidate, ...]]
    services: tuple[ServiceDemand, ...] = ()
    replica_candidates: Mapping[str, tuple[ReplicaCandidate, ...]]
    needed: Mapping[tuple[str, int, float], int]
    terms: tuple[Term, ...] = ()
    standing: tuple[Standing, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    after: tuple[AfterPeriod, ...] = ()
    limits: tuple[Limit, ...] = ()
    budget: Budget
    agreements: tuple[Agreement, ...] = ()
    credits: tuple[Credit, ...] = ()
    overheads: tuple[Overhead, ...] = ()
    sites: tuple[Site, ...] = ()
    max_providers: int | None = None
    occupancy_fraction: float = 0.85
    whole_hours: bool = False

    def replicas_needed(self, service: str, candidate: int, requests_per_second: float) -> int:
        """Whole replicas of one candidate that a load needs, spares included."""
        key = (service, candidate, round(requests_per_second, 9))
        if key in self.needed:
            return self.needed[key]
        rate = self.replica_candidates[service][candidate].requests_per_second
        return ceiling(requests_per_second / rate)

    def period_at(self, at_hours: float) -> int:
        """The index of the period that a time falls in; the last one from the horizon's end on."""
        for index, period in enumerate(self.horizon.periods):
            if at_hours < period.end_hours - 1e-9:
                return index
        return len(self.horizon.periods) - 1

    def support_ratio(self, provider: str) -> float:
        """1 + the support that a provider charges on what is spent with it."""
        return 1.0 + sum(o.support_fraction for o in self.overheads if o.provider == provider)


def without_calendar(data: LpData) -> LpData | None:
    """A relaxation for a bound: runs that happen once are only hours in their window, at their cheapest period's price.
    Budgets of single periods are left out.

    None where it matters in which period money is spent, so that the relaxation would not be one.
    """
    if data.agreements or data.credits:
        return None
    runs = tuple(d if d.recurring else replace(d, recurring=True) for d in data.runs)
    return replace(data, runs=runs, budget=replace(data.budget, per_period_usd=None))


def ceiling(value: float) -> int:
    """The next whole number, forgiving a relative error of 1e-9 (3.0000000001 is 3)."""
    nearest = round(value)
    if abs(value - nearest) <= 1e-9 * max(1.0, abs(value)):
        return int(nearest)
    return int(-(-value // 1))
