"""Divisible work: batch jobs and explicit GPU-hours."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_opt.candidates.bounds import beaten_run, least_request_usd, too_dear
from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import workload_admits
from gpu_opt.candidates.places import place_usd
from gpu_opt.candidates.prune import Sharing
from gpu_opt.candidates.serving import joins_instances, replica_packing
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.costs.power import Phase
from gpu_opt.costs.spot import interruptions_per_instance_hour
from gpu_opt.domain.option import Rejection
from gpu_opt.domain.program import FluidCandidate, FluidDemand, Pool
from gpu_opt.domain.question import Horizon, Question
from gpu_opt.domain.workload import BatchJob, GpuHours
from gpu_opt.throughput.goodput import failure_rates
from gpu_opt.units import SECONDS_PER_HOUR


def batch_demands(job: BatchJob, horizon: Horizon) -> tuple[FluidDemand, ...]:
    """All requests in the window, or each period's in its own."""
    low = max(job.earliest_hours, job.active_from_hours, 0.0)
    high = min(job.deadline_hours, job.active_to_hours, horizon.hours)
    share = job.spot.max_share_fraction
    if not job.per_period:
        return (
            FluidDemand(
                workload=job.name,
                key="",
                period=-1,
                from_hours=low,
                to_hours=high,
                work=job.requests,
                recurring=False,
                spot_share_fraction=share,
            ),
        )
    return tuple(
        FluidDemand(
            workload=job.name,
            key="",
            period=index,
            from_hours=max(low, period.start_hours),
            to_hours=min(high, period.end_hours),
            work=job.requests,
            recurring=high >= period.end_hours - 1e-9,
            spot_share_fraction=share,
        )
        for index, period in enumerate(horizon.periods)
        if min(high, period.end_hours) > max(low, period.start_hours)
    )


def gpu_hour_demands(work: GpuHours, horizon: Horizon) -> tuple[FluidDemand, ...]:
    """GPU-hours of each GPU in each period; the last number holds for the periods after the list's end."""
    demands = []
    for gpu, hours in sorted(work.demand_gpu_hours.items()):
        for index, period in enumerate(horizon.periods):
            amount = hours[min(index, len(hours) - 1)]
            low = max(work.active_from_hours, period.start_hours)
            high = min(work.active_to_hours, period.end_hours)
            if high > low and amount > 0.0:
                demands.append(
                    FluidDemand(
                        workload=work.name,
                        key=gpu,
                        period=index,
                        from_hours=low,
                        to_hours=high,
                        work=amount,
                        recurring=high >= period.end_hours - 1e-9,
                        spot_share_fraction=work.spot.max_share_fraction,
                    )
                )
    return tuple(demands)


def batch_candidates(
    question: Question,
    capacity: Capacity,
    sizing: Sizing,
    job: BatchJob,
    pools: Iterable[str],
    sharing: Sharing,
) -> tuple[list[FluidCandidate], list[Rejection]]:
    """Every replica on every pool that the job admits: requests an hour, restarts on spot taken off."""
    candidates: list[FluidCandidate] = []
    rejections: list[Rejection] = []
    real: dict[bool, list[float]] = {True: [], False: []}
    least = {
        key: least_request_usd(job, capacity.pools[key], sharing.least_usd_per_hour.get(key, 0.0)) for key in pools
    }
    for key in sorted(least, key=lambda k: (least[k], k)):
        pool = capacity.pools[key]
        code = workload_admits(job, gpu=pool.gpu, region=pool.region, spot=pool.spot, onprem=pool.onprem)
        if code:
            rejections.append(Rejection(workload=job.name, subject=key, code=code, reason=f"not admitted ({code})"))
            continue
        if key not in sharing.must and beaten_run(least[key], real[pool.spot]):
            rejections.append(too_dear(job.name, key))
            continue
        shape = capacity.shapes[key]
        for option in sizing.replicas(job, shape):
            per_instance, instances = replica_packing(pool, option)
            if instances > 1 and not joins_instances(shape):
                continue
            rate = option.requests_per_second * per_instance * SECONDS_PER_HOUR * _uptime(pool, instances)
            rate = min(rate, job.requests * SECONDS_PER_HOUR)  # the least amount of work takes a second
            candidates.append(
                FluidCandidate(
                    workload=job.name,
                    pool=key,
                    instances=instances,
                    work_per_hour=rate,
                    gpu=pool.gpu,
                    option=option,
                    phase=Phase.DECODE_BATCH_64.value,
                    place_usd=place_usd(question, job, pool),
                )
            )
        rejections += list(sizing.rejections.get((job.name, shape.name), ()))
        if key in sharing.free:
            real[pool.spot] += _cheapest(pool, [c for c in candidates if c.pool == key])
    return candidates, rejections


def _cheapest(pool: Pool, candidates: list[FluidCandidate]) -> list[float]:
    """USD per unit of work of the best unit on a rented pool."""
    if not pool.rents:
        return []
    price = max(pool.rents[0].usd_per_instance_hour)
    costs = [price * c.instances / c.work_per_hour for c in candidates if not c.place_usd]
    return [min(costs)] if costs else []


def _uptime(pool: Pool, instances: int) -> float:
    """Part of the paid time that works on spot: each interruption costs one restart of the replica."""
    if not pool.spot:
        return 1.0
    rate = interruptions_per_instance_hour(pool.provider, pool.region, pool.instance_type).rate_per_hour
    return 1.0 / (1.0 + rate * instances * failure_rates()["large_cluster"].restart_hours)


def gpu_hour_candidates(
    question: Question, capacity: Capacity, work: GpuHours, gpu: str, pools: Iterable[str]
) -> list[FluidCandidate]:
    """Pools of the asked GPU, and of those that may stand in for it."""
    found = []
    for key in pools:
        pool = capacity.pools[key]
        ratio = 1.0 if pool.gpu == gpu else work.substitutes.get(pool.gpu, 0.0)
        if ratio <= 0.0 or workload_admits(work, gpu=pool.gpu, region=pool.region, spot=pool.spot, onprem=pool.onprem):
            continue
        found.append(
            FluidCandidate(
                workload=work.name,
                pool=key,
                instances=1,
                work_per_hour=pool.gpus * ratio,
                gpu=pool.gpu,
                option=None,
                phase=Phase.DENSE_TRAINING.value,
                place_usd=place_usd(question, work, pool),
            )
        )
    return found
