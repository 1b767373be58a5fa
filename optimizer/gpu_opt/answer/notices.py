"""What a reader of the plan must be told though no limit is broken."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, TrainJob
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.units import HOURS_PER_DAY


def notices(question: Question, data: LpData, decision: Decision) -> tuple[str, ...]:
    """Warnings by name: what was asked or offered and is used less than it could be, or taken on trust."""
    return (
        *_without_pauses(question),
        *_unnamed_zones(data, decision),
        *_measured_apart(data, decision),
        *_broken_credits(data),
        *_blocks(data),
        *_unsplit_batches(question),
    )


def _without_pauses(question: Question) -> Iterator[str]:
    for workload in question.workloads:
        if isinstance(workload, TrainJob) and workload.preemptible:
            yield f"{workload.name}: planned without pauses; splitting a preemptible run isn't supported yet"


def _measured_apart(data: LpData, decision: Decision) -> Iterator[str]:
    """Measured configurations that are planned over several instances: nobody said on which network they ran."""
    chosen = {(d, c) for d, c, _ in decision.once} | set(decision.many)
    for workload, pool, option, instances in sorted(
        {
            (k.workload, data.pools[k.pool].instance_type, f"{k.option.gpus:g}", k.instances)
            for k in (data.run_candidates[data.runs[d].workload][c] for d, c in chosen)
            if k.instances > 1 and k.option.source == "measured"
        }
    ):
        yield (
            f"{workload}: measured on {option} GPUs, planned on {instances} × {pool}; if they were measured inside one"
            " machine, the network between these may be slower"
        )


def _broken_credits(data: LpData) -> Iterator[str]:
    """Credits that end inside a period pay none of its lines."""
    ends = {period.end_hours for period in data.horizon.periods}
    for credit in data.credits:
        last = data.horizon.hours_at(credit.expires) + HOURS_PER_DAY
        name = f"the credit of ${credit.usd:,.0f} with {credit.provider} to {credit.expires}"
        if last <= 0.0:
            yield f"{name} ends before the horizon and pays nothing"
        elif last < data.horizon.hours and last not in ends:
            yield f"{name} ends inside a period; what it could pay of that period is not counted yet"


def _blocks(data: LpData) -> Iterator[str]:
    if any(term.market is Market.CAPACITY_BLOCK for term in data.terms):
        yield "capacity blocks: tried for single runs, at their earliest and latest days; other days could be cheaper"


def _unsplit_batches(question: Question) -> Iterator[str]:
    for workload in question.workloads:
        if isinstance(workload, BatchJob) and workload.max_hours_per_run is not None:
            yield f"{workload.name}: max_hours_per_run doesn't limit batch work yet: it is divided freely"


def _unnamed_zones(data: LpData, decision: Decision) -> Iterator[str]:
    found = set()
    for d, c, _ in decision.replicas:
        demand = data.services[d]
        pool = data.pools[data.replica_candidates[demand.workload][c].pool]
        if demand.zone_share_fraction is not None and not pool.zone:
            found.add((demand.workload, pool.id))
    for workload, pool_id in sorted(found):
        yield f"{workload}: {pool_id} names no zone; its replicas count as spread over the region's zones"
