"""The answer. Field names are those of plan.json (contract, section 4); every number is ready to print.

USD are rounded to the cent where they are sums; a cost line's `usd` is its quantity × rate, to the cent.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.domain.option import Layout, MemoryLine
from gpu_opt.records import record


@record
class CostLine:
    """One named cost: quantity × unit rate. `workload` is empty for what no workload used, `period` may be
    `after-horizon`. `provider` and `market` say whom it is paid to; `team` is the workload's."""

    label: str
    period: str
    workload: str
    quantity: float
    unit: str
    rate_usd: float
    usd: float
    provider: str
    market: str
    offer: str
    billed: bool = True


@record
class Allocation:
    """What one workload uses of one offer in one period. `interval` is P10–P90 of tokens per second per GPU.

    `instances` is the peak, `billed_instance_hours` what is paid for by the hour of use (rent).
    """

    offer: str
    provider: str
    region: str
    instance_type: str
    market: str
    gpu: str
    period: str
    instances: float
    instance_hours: float
    gpu_hours: float
    usd: float
    layout: Layout | None
    tokens_per_second_per_gpu: float | None
    requests_per_second: float | None
    replicas: int | None
    memory: tuple[MemoryLine, ...]
    latency_ms: Mapping[str, float]
    source: str
    interval: tuple[float, float] | None
    engine: str
    energy_kwh: float | None
    carbon_kg: float | None
    notes: tuple[str, ...] = ()


@record
class WorkloadPlan:
    """One workload's part of the plan."""

    name: str
    kind: str
    team: str
    usd: float
    gpu_hours: float
    allocations: tuple[Allocation, ...]


@record
class ScheduledRun:
    """A run in calendar time (ISO 8601, UTC); `start_hours` and `end_hours` count from the horizon's start."""

    workload: str
    run: int
    offer: str
    instances: int
    start: str
    end: str
    start_hours: float
    end_hours: float


@record
class FleetEntry:
    """What stands in a period, shared capacity counted once: the peak number of instances of an offer."""

    offer: str
    gpu: str
    period: str
    instances: float
    used_by: tuple[str, ...]


@record
class CommitmentPlan:
    """A commitment that the plan starts, keeps or pays. Dates are ISO days.

    `pays_if_used_until` is the day until which its use must last to beat rent; empty when it never does.
    `stops_paying_if_prices_fall_annually` is the yearly fall of rented prices at which rent would have been cheaper.
    """

    offer: str
    provider: str
    region: str
    instance_type: str
    market: str
    units: float
    start: str
    end: str
    usd_per_unit_hour: float
    upfront_usd: float
    existing: bool
    pays_if_used_until: str
    stops_paying_if_prices_fall_annually: float | None


@record
class PurchasePlan:
    """Machines that the plan buys."""

    system: str
    site: str
    gpu: str
    instances: int
    ordered: str
    delivered: str
    capex_usd: float
    annuity_usd_per_hour: float
    life_years: float
    pays_if_used_until: str
    stops_paying_if_prices_fall_annually: float | None


@record
class Binding:
    """A limit that the plan touches; the value of one more unit where it was worked out, else None."""

    limit: str
    value_of_one_more_usd: float | None


@record
class RunnerUp:
    """The best plan without the dearest workload's offer: what it costs more, and the price at which it would win."""

    workload: str
    instead_of: str
    offer: str
    total_usd: float
    extra_usd: float
    usd_per_instance_hour: float | None
    wins_below_usd_per_instance_hour: float | None


@record
class Plan:
    """The whole answer. `evidence` is what `verify` needs: demands, candidates used, prices and limits."""

    status: str
    certified: bool
    objective_usd: float
    minimized_usd: float
    bound_usd: float
    gap: float
    gap_asked: float
    verified: bool
    solver_name: str
    solver_version: str
    prices_sha256: str
    prices_as_of: str
    prices_oldest_as_of: str
    workload_sha256: str
    model_version: str
    start: str
    periods: tuple[tuple[str, float], ...]
    workloads: tuple[WorkloadPlan, ...]
    platform_usd: float
    billed_usd: float
    straight_line_usd: float
    low_usd: float
    high_usd: float
    schedule: tuple[ScheduledRun, ...]
    fleet: tuple[FleetEntry, ...]
    purchases: tuple[PurchasePlan, ...]
    commitments: tuple[CommitmentPlan, ...]
    cost_lines: tuple[CostLine, ...]
    unfunded: tuple[Mapping[str, object], ...]
    depends_on: tuple[str, ...]
    binding: tuple[Binding, ...]
    rejections: Mapping[str, int]
    rejected: tuple[Mapping[str, str], ...]
    coverage_gaps: tuple[str, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    runner_up: RunnerUp | None
    evidence: Mapping[str, object]
