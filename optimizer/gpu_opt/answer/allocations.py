"""What each workload uses of each offer in each period, with its speed, memory, latency and interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gpu_opt.answer.energy import Energy, energy_of
from gpu_opt.candidates.build import Built
from gpu_opt.domain.option import JobOption, Layout, ReplicaOption
from gpu_opt.domain.plan import Allocation, CostLine, WorkloadPlan
from gpu_opt.domain.program import Pool
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, Service, Workload
from gpu_opt.lp.data import LpData, ceiling
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import Usage, service_instances
from gpu_opt.lp.schedule import Placement
from gpu_opt.records import record


@record
class Chosen:
    """The option behind a workload's use of a pool in a period, its kind of work, and how much there is of it."""

    option: JobOption | ReplicaOption | None
    phase: str
    instances: float
    replicas: int | None = None


Choices = dict[tuple[str, str, int], Chosen]


def choices_of(
    data: LpData,
    decision: Decision,
    placements: Iterable[Placement],
    confirmed: Mapping[tuple[str, str, float, Layout], ReplicaOption],
) -> Choices:
    """By (workload, pool, period): the choice that carries most; `confirmed` options as the simulation found them."""
    found: Choices = {}

    def offer(key: tuple[str, str, int], chosen: Chosen) -> None:
        if key not in found or chosen.instances > found[key].instances:
            found[key] = chosen

    for placement in placements:
        candidate = placement.candidate
        for p, period in enumerate(data.horizon.periods):
            if placement.start_hours < period.end_hours and placement.end_hours > period.start_hours:
                chosen = Chosen(option=candidate.option, phase=candidate.phase, instances=placement.instances)
                offer((placement.workload, placement.pool, p), chosen)
    for (d, c, b), replicas in sorted(decision.replicas.items()):
        demand = data.services[d]
        replica = data.replica_candidates[demand.workload][c]
        count = service_instances(data, decision, d, c, b)
        option = replica.option
        option = confirmed.get((demand.workload, option.shape, option.gpus, option.layout), option)
        chosen = Chosen(option=option, phase=replica.phase, instances=count, replicas=replicas)
        offer((demand.workload, replica.pool, demand.period), chosen)
    for (d, c, index), hours in sorted(decision.fluid.items()):
        work = data.fluids[d]
        unit = data.fluid_candidates[work.workload, work.key][c]
        units = ceiling(hours / decision.cell_hours[unit.pool][index])
        chosen = Chosen(option=unit.option, phase=unit.phase, instances=float(units * unit.instances))
        offer((work.workload, unit.pool, decision.cell_periods[unit.pool][index]), chosen)
    return found


def workload_plans(
    question: Question,
    built: Built,
    usage: Usage,
    choices: Choices,
    lines: Iterable[CostLine],
    shares: Mapping[str, Mapping[str, float]],
) -> tuple[WorkloadPlan, ...]:
    """Every workload with its allocations, in the order of the file. Costs are sums of the plan's lines."""
    usd: dict[tuple[str, str, str], float] = defaultdict(float)
    totals: dict[str, float] = defaultdict(float)
    for line in lines:
        usd[line.workload, line.offer, line.period] += line.usd
        totals[line.workload] += line.usd
    hours = _hours(built.data, usage)
    plans = []
    for workload in question.workloads:
        allocations = []
        for (pool_id, offer, market, period, user), amount in sorted(hours.items()):
            share = shares.get(user, {user: 1.0}).get(workload.name, 0.0)
            if share > 0.0 and amount > 1e-9:
                key = (workload.name, offer, built.data.horizon.periods[period].name)
                chosen = choices.get((user, pool_id, period))
                allocations.append(
                    _allocation(
                        built,
                        workload,
                        built.data.pools[pool_id],
                        offer,
                        market,
                        period,
                        amount * share,
                        usd[key],
                        chosen,
                        usage,
                    )
                )
        plans.append(
            WorkloadPlan(
                name=workload.name,
                kind=workload.kind,
                team=workload.team,
                usd=round(totals[workload.name], 2),
                gpu_hours=round(sum(a.gpu_hours for a in allocations), 6),
                allocations=tuple(allocations),
            )
        )
    return tuple(plans)


def _hours(data: LpData, usage: Usage) -> dict[tuple[str, str, str, int, str], float]:
    """Instance-hours by (pool, offer, market, period, workload)."""
    found: dict[tuple[str, str, str, int, str], float] = defaultdict(float)
    for (pool, r, period, workload), amount in usage.rented.items():
        if data.pools[pool].rents:
            rent = data.pools[pool].rents[r]
            found[pool, rent.offer.id, str(rent.offer.market), period, workload] += amount
    places = {s.id: (s.pool, "owned" if s.owned else "existing") for s in data.standing}
    places |= {t.id: (t.pool, str(t.market)) for t in data.terms if t.pool}
    places |= {p.id: (p.pool, "purchase") for p in data.purchases}
    for (source, period, workload), amount in usage.used.items():
        pool, market = places[source]
        found[pool, source, market, period, workload] += amount
    for (pool, period, workload), plan_hours in usage.plan_hours.items():
        found[pool, f"{pool} under a savings plan", "savings_plan", period, workload] += plan_hours
    return found


def _allocation(
    built: Built,
    workload: Workload,
    pool: Pool,
    offer: str,
    market: str,
    period: int,
    hours: float,
    usd: float,
    chosen: Chosen | None,
    usage: Usage,
) -> Allocation:
    option = chosen.option if chosen else None
    speed = _speed(option, workload)
    energy = energy_of(built, pool, chosen.phase if chosen else "", hours)
    low, high = (option.interval.low_ratio, option.interval.high_ratio) if option else (1.0, 1.0)
    measured = option is not None and option.source == "measured"
    return Allocation(
        offer=offer,
        provider=pool.provider,
        region=pool.region,
        instance_type=pool.instance_type,
        market=market,
        gpu=pool.gpu,
        period=built.data.horizon.periods[period].name,
        instances=round(chosen.instances, 6) if chosen else 0.0,
        instance_hours=round(hours, 6),
        gpu_hours=round(hours * pool.gpus, 6),
        usd=round(usd, 2),
        layout=option.layout if option and not measured else None,
        tokens_per_second_per_gpu=speed,
        requests_per_second=option.requests_per_second if isinstance(option, ReplicaOption) else None,
        replicas=chosen.replicas if chosen else None,
        memory=option.memory if option else (),
        latency_ms=_latency(option),
        source=option.source if option else "given",
        interval=(speed * low, speed * high) if speed is not None else None,
        engine=_engine(option),
        energy_kwh=energy.kwh,
        carbon_kg=energy.carbon_kg,
        notes=option.notes if option else (),
    )


def _speed(option: JobOption | ReplicaOption | None, workload: Workload) -> float | None:
    if isinstance(option, JobOption):
        return option.tokens_per_second / option.gpus
    if isinstance(option, ReplicaOption) and isinstance(workload, Service | BatchJob):
        return option.requests_per_second * workload.output_tokens.mean_tokens / option.gpus
    return None


def _engine(option: JobOption | ReplicaOption | None) -> str:
    if isinstance(option, JobOption):
        return option.stack
    return option.engine if option else ""


def _latency(option: JobOption | ReplicaOption | None) -> dict[str, float]:
    if not isinstance(option, ReplicaOption):
        return {}
    return {f"{metric}_{statistic}_ms": value for (metric, statistic), value in sorted(option.latency.value_ms.items())}


__all__ = ["Chosen", "Energy", "choices_of", "workload_plans"]
