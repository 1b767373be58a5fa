"""The sets and parameters of the program: capacity that can be had, candidates that could use it, demand to be met.

Everything is solver-free. Times count in hours from the horizon's start; money is effective cost (contract, 7.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.option import JobOption, ReplicaOption
from gpu_opt.records import record


@record
class Rent:
    """One rented price in a pool, by period, to be had from `from_hours` on. `max_instances` is what the offer itself
    allows at one time."""

    offer: Offer
    usd_per_instance_hour: tuple[float, ...]
    max_instances: int | None = None
    from_hours: float = 0.0


@record
class Pool:
    """Instances that can stand in for each other: one type in one place, paid for in any of its ways.

    Spot and flex-start capacity of a place is a pool of its own, since commitments don't cover it.
    `busy_usd_per_hour` by phase is the energy that work adds on owned machines; empty for the cloud.
    """

    id: str
    provider: str
    region: str
    zone: str
    instance_type: str
    gpu: str
    gpus: float
    vcpus: float | None
    rents: tuple[Rent, ...] = ()
    spot: bool = False
    onprem: bool = False
    busy_usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    busy_kw: Mapping[str, float] = field(default_factory=dict)
    idle_kw: float = 0.0


@record
class TermStart:
    """A start that a term may have: it stands in [start_hours, end_hours), also beyond the horizon."""

    start_hours: float
    end_hours: float


@record
class Term:
    """A commitment that may be bought: reserved instances, a quote with a term, a capacity block, a savings plan.

    `usd_per_unit_hour` is effective: the recurring price and the upfront's annuity. `billed_usd_per_unit_hour` and
    `upfront_usd` are the cash side. A unit is an instance; for savings plans it is one committed USD per hour and
    `plan_rates` holds the plan's price of an instance by pool.
    """

    id: str
    market: Market
    provider: str
    pool: str
    usd_per_unit_hour: float
    billed_usd_per_unit_hour: float
    upfront_usd: float
    starts: tuple[TermStart, ...]
    min_units: int = 0
    max_units: int | None = None
    plan_rates: Mapping[str, float] = field(default_factory=dict)
    counts_in_quota: bool = True
    recurring: bool = True
    offer: Offer | None = None


@record
class FixedLine:
    """A cost that standing capacity has whether used or not, in USD per instance and hour of 8,760 a year."""

    label: str
    usd_per_instance_hour: float


@record
class Standing:
    """Capacity that is there already: existing commitments and owned machines, in [from_hours, to_hours)."""

    id: str
    pool: str
    instances: int
    from_hours: float
    to_hours: float
    lines: tuple[FixedLine, ...]
    owned: bool
    kw_per_instance: float = 0.0


@record
class Purchase:
    """A system that may be bought: delivered at one of `deliveries` (hours), stands for its life.

    `annuity_usd_per_hour` is charged for the rest of the life where later demand doesn't use it.
    """

    id: str
    pool: str
    site: str
    capex_usd: float
    annuity_usd_per_hour: float
    straight_line_usd_per_hour: float
    lines: tuple[FixedLine, ...]
    life_hours: float
    deliveries: tuple[TermStart, ...]
    order_hours: tuple[float, ...]
    max_instances: int | None
    kw_per_instance: float
    racks_per_instance: float


@record
class RunCandidate:
    """A run on `instances` whole instances of a pool: how long it takes, what it pays for, and its late bound."""

    workload: str
    pool: str
    instances: int
    elapsed_hours: float
    paid_hours: float
    p95_hours: float
    option: JobOption
    phase: str
    place_usd: float = 0.0


@record
class ReplicaCandidate:
    """One way to serve: a replica takes `instances` whole instances, or an instance holds `per_instance` replicas."""

    workload: str
    pool: str
    instances: int
    per_instance: int
    requests_per_second: float
    option: ReplicaOption
    phase: str
    place_usd: float = 0.0


@record
class FluidCandidate:
    """Divisible work: `work_per_hour` units an hour on a unit of `instances` instances.

    `paid_per_hour` is above 1 nowhere; on spot it says which part of the elapsed time is paid.
    """

    workload: str
    pool: str
    instances: int
    work_per_hour: float
    gpu: str
    option: ReplicaOption | None
    phase: str
    place_usd: float = 0.0


@record
class RunDemand:
    """`runs` runs of one workload in a window, each on one candidate. `period` is -1 for a run across periods.

    `usd_per_hour_late` is None for a hard deadline; a soft one may end as late as `latest_hours`.
    """

    workload: str
    period: int
    runs: int
    from_hours: float
    deadline_hours: float
    latest_hours: float
    usd_per_hour_late: float | None
    spot_share_fraction: float = 1.0
    recurring: bool = False


@record
class FluidDemand:
    """Divisible work in a window; `key` tells demands of one workload apart (a GPU, or empty)."""

    workload: str
    key: str
    period: int
    from_hours: float
    to_hours: float
    work: float
    recurring: bool
    spot_share_fraction: float = 1.0


@record
class BlockLoad:
    """A service's load on a slice [low, high) of every day, already at peak-to-mean and over the efficiency."""

    name: str
    low_fraction: float
    high_fraction: float
    requests_per_second: float


@record
class ServiceDemand:
    """A service in one period, or after the horizon: its blocks, when it is on, and its rules."""

    workload: str
    period: int
    from_hours: float
    to_hours: float
    blocks: tuple[BlockLoad, ...]
    min_replicas: int = 0
    zone_share_fraction: float | None = None
    spot_share_fraction: float = 1.0
    round_robin: bool = False
    availability_fraction: float | None = None


@record
class AfterPeriod:
    """Time after the horizon at one level of recurring demand, for the rest of terms that reach beyond it."""

    start_hours: float
    end_hours: float
    level_fraction: float


@record
class Limit:
    """A quota over pools: weight per instance by pool and market, and what they may add up to at one time."""

    id: str
    maximum: float
    unit: str
    rent_weight: Mapping[tuple[str, str], float]
    term_weight: Mapping[str, float]
    standing_weight: Mapping[str, float]
    obtainable: bool = False
