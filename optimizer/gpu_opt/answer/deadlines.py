"""Which later deadlines would admit a plan, and what that plan costs: by planning again."""

from __future__ import annotations

from dataclasses import replace

from gpu_opt.answer.assemble import Solved, total
from gpu_opt.answer.infeasible import later_deadlines, workloads_without_candidates
from gpu_opt.answer.rounds import solve_rounds
from gpu_opt.candidates.build import Built, build_data
from gpu_opt.domain.offer import Offer
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import TrainJob, Workload
from gpu_opt.errors import GpuOptError
from gpu_opt.units import HOURS_PER_DAY

_USD_PER_HOUR_LATE = 0.01  # so little that money still decides, and enough that no run is late for nothing
Repair = tuple[str, float]


def _begins_hours(job: TrainJob) -> float:
    return max(job.earliest_hours, job.active_from_hours, 0.0)


def _words(job: TrainJob, hours: float) -> str:
    return f"raise the deadline of {job.name} to {hours:,.1f} h after its start"


def longer_windows(
    question: Question, offers: tuple[Offer, ...], built: Built, *, gap: float, time_limit_seconds: float
) -> list[Repair]:
    """For jobs that nothing finishes in time: windows that the fastest candidate fits; none where that doesn't help."""
    factors = later_deadlines(built)
    moved: list[Workload] = []
    words = []
    for workload in question.workloads:
        factor = factors.get(workload.name)
        if factor is None or not isinstance(workload, TrainJob):
            moved.append(workload)
            continue
        start = _begins_hours(workload)
        hours = (min(workload.deadline_hours, question.horizon.hours) - start) * factor * (1.0 + 1e-9)
        if start + hours > question.horizon.hours:
            return []
        moved.append(replace(workload, deadline_hours=start + hours))
        words.append(_words(workload, hours))
    if not words:
        return []
    solved = _again(replace(question, workloads=tuple(moved)), offers, built, gap, time_limit_seconds)
    return [] if solved is None else [(" and ".join(words), solved.total_usd)]


def postponed(
    question: Question, offers: tuple[Offer, ...], built: Built, *, gap: float, time_limit_seconds: float
) -> list[Repair]:
    """For jobs whose deadlines can't be met together: how late each would end where lateness alone gives way."""
    jobs = {
        w.name: w
        for w in question.workloads
        if isinstance(w, TrainJob)
        and w.usd_per_day_late is None
        and not w.runs_per_period
        and w.deadline_hours < min(w.active_to_hours, question.horizon.hours)
    }
    if not jobs:
        return []
    late = _USD_PER_HOUR_LATE * HOURS_PER_DAY
    moved = tuple(replace(jobs[w.name], usd_per_day_late=late) if w.name in jobs else w for w in question.workloads)
    solved = _again(replace(question, workloads=moved), offers, built, gap, time_limit_seconds)
    if solved is None:
        return []
    words = []
    for placement in sorted(solved.placements, key=lambda p: p.workload):
        job = jobs.get(placement.workload)
        ends = placement.start_hours + max(placement.candidate.p95_hours, placement.candidate.elapsed_hours)
        if job is not None and ends > job.deadline_hours + 1e-6:
            words.append(_words(job, ends - _begins_hours(job)))
    if not words:
        return []
    return [
        (" and ".join(words), total(line for line in solved.lines if line.workload not in jobs or line.label != "late"))
    ]


def _again(
    question: Question, offers: tuple[Offer, ...], built: Built, gap: float, time_limit_seconds: float
) -> Solved | None:
    changed = build_data(question, offers, built.sizing)
    if workloads_without_candidates(changed):
        return None
    try:
        return solve_rounds(changed, gap=gap, time_limit_seconds=time_limit_seconds)
    except GpuOptError:
        return None
