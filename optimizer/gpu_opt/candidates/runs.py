"""Training runs: how long each takes on each pool, and when it may run."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_opt.candidates.bounds import beaten_run, least_run_usd, too_dear
from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import workload_admits
from gpu_opt.candidates.places import place_usd
from gpu_opt.candidates.prune import Sharing, in_time_hours
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.costs.power import Phase
from gpu_opt.costs.spot import interruptions_per_instance_hour
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import JobOption, Rejection
from gpu_opt.domain.program import Pool, RunCandidate, RunDemand
from gpu_opt.domain.question import Horizon, Question
from gpu_opt.domain.workload import TrainJob
from gpu_opt.throughput.goodput import RunTime, SpotNeedsCheckpoints, failure_rates, run_time, whole_run_overhead
from gpu_opt.units import SECONDS_PER_HOUR

_LEAST_SECONDS = 1.0  # of a run: a calendar in seconds can't show less
CHECKPOINT_WRITE_HOURS = 30.0 / 3600.0  # asynchronous writes of large runs (Llama 3 report, 2024-07)


def run_demands(job: TrainJob, horizon: Horizon) -> tuple[RunDemand, ...]:
    """One run in its window, or the runs of every period that the window touches."""
    start = max(job.earliest_hours, job.active_from_hours, 0.0)
    soft = None if job.usd_per_day_late is None else job.usd_per_day_late / 24.0
    last = min(job.active_to_hours, horizon.hours)
    latest = last if soft is not None else min(job.deadline_hours, last)
    share = job.spot.max_share_fraction
    if not job.runs_per_period:
        return (
            RunDemand(
                workload=job.name,
                period=-1,
                runs=1,
                from_hours=start,
                deadline_hours=min(job.deadline_hours, last),
                latest_hours=latest,
                usd_per_hour_late=soft,
                spot_share_fraction=share,
            ),
        )
    demands = []
    for index, period in enumerate(horizon.periods):
        low, high = max(start, period.start_hours), min(latest, period.end_hours)
        if high > low:
            demands.append(
                RunDemand(
                    workload=job.name,
                    period=index,
                    runs=job.runs_per_period,
                    from_hours=low,
                    deadline_hours=high,
                    latest_hours=high,
                    usd_per_hour_late=None,
                    spot_share_fraction=share,
                    recurring=True,
                )
            )
    return tuple(demands)


def run_candidates(
    question: Question,
    capacity: Capacity,
    sizing: Sizing,
    job: TrainJob,
    pools: Iterable[str],
    sharing: Sharing,
) -> tuple[list[RunCandidate], list[Rejection]]:
    """Every gang on every pool that fits the job's longest window, and why the others don't.

    Pools are asked from the best case at the datasheet's peak to the worst.
    """
    demands = run_demands(job, question.horizon)
    window = max((d.latest_hours - d.from_hours for d in demands), default=0.0)
    always_in_time = in_time_hours(demands)
    candidates: list[RunCandidate] = []
    rejections: list[Rejection] = []
    real: dict[bool, list[float]] = {True: [], False: []}
    least = {key: least_run_usd(job, capacity.pools[key], sharing.least_usd_per_hour.get(key, 0.0)) for key in pools}
    for key in sorted(least, key=lambda k: (least[k], k)):
        pool = capacity.pools[key]
        code = workload_admits(job, gpu=pool.gpu, region=pool.region, spot=pool.spot, onprem=pool.onprem)
        if code:
            rejections.append(Rejection(workload=job.name, subject=key, code=code, reason=_ADMITS[code]))
            continue
        if key not in sharing.must and beaten_run(least[key], real[pool.spot]):
            rejections.append(too_dear(job.name, key))
            continue
        shape = capacity.shapes[key]
        options = sizing.jobs(job, shape)
        rejections += list(sizing.rejections.get((job.name, shape.name), ()))
        made = [_candidate(question, job, pool, option, window) for option in options]
        rejections += [each for each in made if isinstance(each, Rejection)]
        here = [each for each in made if isinstance(each, RunCandidate)]
        candidates += here
        if key in sharing.free:
            real[pool.spot] += _cheapest(pool, [c for c in here if c.p95_hours <= always_in_time])
    return candidates, rejections


def _cheapest(pool: Pool, candidates: list[RunCandidate]) -> list[float]:
    if not pool.rents:
        return []
    price = max(pool.rents[0].usd_per_instance_hour)
    costs = [c.paid_hours * c.instances * price + c.place_usd for c in candidates]
    return [min(costs)] if costs else []


_ADMITS = {
    "allow-list": "not among the workload's gpus",
    "region": "not among the workload's regions",
    "spot": "spot isn't allowed for this workload",
}


def _candidate(
    question: Question, job: TrainJob, pool: Pool, option: JobOption, window_hours: float
) -> RunCandidate | Rejection:
    instances = round(option.gpus / pool.gpus)
    work_hours = max(job.tokens_per_run / option.tokens_per_second, _LEAST_SECONDS) / SECONDS_PER_HOUR
    try:
        time = _time(job, pool, option, instances, work_hours)
    except SpotNeedsCheckpoints as need:
        return Rejection(workload=job.name, subject=pool.id, code="checkpoints", reason=str(need))
    gang = f"{instances} × {pool.instance_type} in {pool.region}"
    slowest = time.p95_elapsed_hours if pool.spot else time.elapsed_hours
    if job.max_hours_per_run is not None and time.elapsed_hours > job.max_hours_per_run + 1e-9:
        reason = f"{gang}: a run takes {time.elapsed_hours:,.1f} h, the limit is {job.max_hours_per_run:,.1f} h"
        return Rejection(workload=job.name, subject=pool.id, code="max-hours", reason=reason)
    if slowest > window_hours + 1e-9:
        p95 = " at P95" if pool.spot else ""
        reason = f"{gang}: takes {slowest:,.1f} h{p95}, the window has {window_hours:,.1f} h"
        ratio = slowest / window_hours if window_hours > 0.0 else None
        return Rejection(workload=job.name, subject=pool.id, code="deadline", reason=reason, shortfall_ratio=ratio)
    return RunCandidate(
        workload=job.name,
        pool=pool.id,
        instances=instances,
        elapsed_hours=time.elapsed_hours,
        paid_hours=time.paid_hours,
        p95_hours=slowest,
        option=option,
        phase=_phase(job),
        place_usd=place_usd(question, job, pool),
    )


def _time(job: TrainJob, pool: Pool, option: JobOption, instances: int, work_hours: float) -> RunTime:
    if option.effective:
        return RunTime(elapsed_hours=work_hours, paid_hours=work_hours, p95_elapsed_hours=work_hours)
    whole_run = job.kind == "pretrain" and option.source != "measured"
    rate = interruptions_per_instance_hour(pool.provider, pool.region, pool.instance_type) if pool.spot else None
    return run_time(
        work_hours=work_hours,
        gpus=option.gpus,
        instances=instances,
        market_is_spot=pool.spot,
        checkpoint_interval_hours=job.checkpoint_interval_hours,
        checkpoint_write_hours=CHECKPOINT_WRITE_HOURS,
        restart_hours=failure_rates()["large_cluster"].restart_hours,
        reacquire_hours=job.spot.reacquire_hours,
        spot_interruptions_per_instance_hour=rate.rate_per_hour if rate else 0.0,
        overhead_fraction=whole_run_overhead(option.gpus) if whole_run else 0.0,
    )


def _phase(job: TrainJob) -> str:
    if job.method != "full":
        return Phase.LORA.value
    if isinstance(job.model, ModelSpec) and job.model.experts:
        return Phase.MOE_TRAINING.value
    return Phase.DENSE_TRAINING.value
