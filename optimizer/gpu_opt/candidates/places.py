"""What it costs to bring a workload's data to a place."""

from __future__ import annotations

from gpu_opt.costs.transfer import split_location, transfer_usd
from gpu_opt.domain.program import Pool
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import Workload


def place_usd(question: Question, workload: Workload, pool: Pool) -> float:
    """The move to a pool's region once, and what is synchronised in each period that the workload is active."""
    data = workload.data
    if data is None:
        return 0.0
    provider, region = split_location(data.location, [site.name for site in question.sites])
    once = transfer_usd(data.tib, provider, region, pool.provider, pool.region)
    periods = sum(
        1
        for period in question.horizon.periods
        if period.end_hours > workload.active_from_hours and period.start_hours < workload.active_to_hours
    )
    if data.sync_tib_per_period <= 0.0:
        return once
    return once + periods * transfer_usd(data.sync_tib_per_period, provider, region, pool.provider, pool.region)
