"""What a reader of the plan must be told though no limit is broken."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import TrainJob
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision


def notices(question: Question, data: LpData, decision: Decision) -> tuple[str, ...]:
    """Warnings by name: pauses that aren't used, zones that nobody names."""
    return (*_without_pauses(question), *_unnamed_zones(data, decision))


def _without_pauses(question: Question) -> Iterator[str]:
    for workload in question.workloads:
        if isinstance(workload, TrainJob) and workload.preemptible:
            yield f"{workload.name}: planned without pauses; splitting a preemptible run isn't supported yet"


def _unnamed_zones(data: LpData, decision: Decision) -> Iterator[str]:
    found = set()
    for d, c, _ in decision.replicas:
        demand = data.services[d]
        pool = data.pools[data.replica_candidates[demand.workload][c].pool]
        if demand.zone_share_fraction is not None and not pool.zone:
            found.add((demand.workload, pool.id))
    for workload, pool_id in sorted(found):
        yield f"{workload}: {pool_id} names no zone; its replicas count as spread over the region's zones"
