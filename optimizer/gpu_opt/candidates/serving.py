"""Services: their load in every period and block, and the replicas that could carry it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpu_opt.candidates.bounds import beaten_replica, least_request_usd, too_dear
from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import workload_admits
from gpu_opt.candidates.places import place_usd
from gpu_opt.candidates.prune import Sharing
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.costs.power import Phase
from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.option import Rejection, ReplicaOption
from gpu_opt.domain.program import BlockLoad, Pool, ReplicaCandidate, ServiceDemand
from gpu_opt.domain.question import Horizon, Question
from gpu_opt.domain.workload import Service, TrafficBlock
from gpu_opt.lp.data import ceiling
from gpu_opt.throughput.availability import spare_replicas
from gpu_opt.throughput.goodput import mtti_hours

LEAST_REPLICA_NETWORK_GBPS = 100.0  # engines' guides ask for 100 Gb/s and more between nodes of one replica
_TINY_SHARE = 1e-9
REPAIR_HOURS = {"rented": 1.0, "owned": 24.0}  # contract, section 7.5


def service_demands(service: Service, horizon: Horizon) -> tuple[ServiceDemand, ...]:
    """The load of each period that the service is active in, at peak-to-mean and over the autoscaler's efficiency."""
    demands = []
    for index, period in enumerate(horizon.periods):
        low = max(service.active_from_hours, period.start_hours)
        high = min(service.active_to_hours, period.end_hours)
        if high <= low:
            continue
        growth = (1.0 + service.growth_per_period_fraction) ** index
        demands.append(
            ServiceDemand(
                workload=service.name,
                period=index,
                from_hours=low,
                to_hours=high,
                blocks=_loads(service, horizon, growth * service.peak_to_mean_ratio),
                min_replicas=service.min_replicas,
                zone_share_fraction=service.max_share_per_zone_fraction,
                spot_share_fraction=service.spot.max_share_fraction,
                round_robin=service.round_robin,
                availability_fraction=service.availability_fraction,
            )
        )
    return tuple(demands)


def _loads(service: Service, horizon: Horizon, ratio: float) -> tuple[BlockLoad, ...]:
    peak = max((block.requests_per_second for block in service.blocks), default=0.0)
    efficiency = service.autoscale_efficiency_fraction
    if efficiency is None:
        return (BlockLoad(name="peak", low_fraction=0.0, high_fraction=1.0, requests_per_second=peak * ratio),)
    return tuple(
        BlockLoad(
            name=block.name,
            low_fraction=low,
            high_fraction=high,
            requests_per_second=block.requests_per_second * ratio / efficiency,
        )
        for block, low, high in _laid(service.blocks, horizon)
    )


def _laid(blocks: Sequence[TrafficBlock], horizon: Horizon) -> list[tuple[TrafficBlock, float, float]]:
    """Named blocks where the horizon has them; the others, highest load first, one after the other in what is left."""
    places: dict[str, tuple[float, float]] = {}
    at = 0.0
    for named in horizon.blocks:
        places[named.name] = (at, at + named.hours_share_fraction)
        at += named.hours_share_fraction
    laid = [(block, *places[block.name]) for block in blocks if block.name in places]
    gaps = _gaps([(low, high) for _, low, high in laid])
    for block in sorted((b for b in blocks if b.name not in places), key=lambda b: (-b.requests_per_second, b.name)):
        left = block.hours_share_fraction
        while left > _TINY_SHARE and gaps:
            low, high = gaps[0]
            end = high if high - low <= left + _TINY_SHARE else low + left
            laid.append((block, low, end))
            left -= end - low
            gaps = [(end, high), *gaps[1:]] if high - end > _TINY_SHARE else gaps[1:]
    return laid


def _gaps(taken: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """What is left of the day."""
    found, at = [], 0.0
    for low, high in sorted(taken):
        if low - at > _TINY_SHARE:
            found.append((at, low))
        at = max(at, high)
    return [*found, (at, 1.0)] if 1.0 - at > _TINY_SHARE else found


def replica_candidates(
    question: Question,
    capacity: Capacity,
    sizing: Sizing,
    service: Service,
    pools: Iterable[str],
    sharing: Sharing,
) -> tuple[list[ReplicaCandidate], list[Rejection]]:
    """Every replica on every pool that the service admits, and why the others can't carry it."""
    candidates: list[ReplicaCandidate] = []
    rejections: list[Rejection] = []
    real: dict[bool, list[tuple[float, float, int]]] = {True: [], False: []}
    least = {
        key: least_request_usd(service, capacity.pools[key], sharing.least_usd_per_hour.get(key, 0.0)) for key in pools
    }
    for key in sorted(least, key=lambda k: (least[k], k)):
        pool = capacity.pools[key]
        code = workload_admits(service, gpu=pool.gpu, region=pool.region, spot=pool.spot, onprem=pool.onprem)
        if code:
            rejections.append(Rejection(workload=service.name, subject=key, code=code, reason=f"not admitted ({code})"))
            continue
        most = pool.gpus if service.min_replicas > 1 else 1.0
        if key not in sharing.must and beaten_replica(
            least[key], sharing.least_usd_per_hour[key], most, real[pool.spot]
        ):
            rejections.append(too_dear(service.name, key))
            continue
        shape = capacity.shapes[key]
        for option in sizing.replicas(service, shape):
            per_instance, instances = replica_packing(pool, option)
            if instances > 1 and not joins_instances(shape):
                rejections.append(_too_thin(service.name, shape, instances))
                continue
            candidates.append(
                ReplicaCandidate(
                    workload=service.name,
                    pool=key,
                    instances=instances,
                    per_instance=per_instance,
                    requests_per_second=option.requests_per_second,
                    option=option,
                    phase=Phase.decode(option.concurrency or 64.0).value,
                    place_usd=place_usd(question, service, pool),
                )
            )
        rejections += list(sizing.rejections.get((service.name, shape.name), ()))
        if key in sharing.free and may_be_replaced(service):
            real[pool.spot] += best_instances(pool, [c for c in candidates if c.pool == key])
    return candidates, rejections


def best_instances(pool: Pool, candidates: Sequence[ReplicaCandidate]) -> list[tuple[float, float, int]]:
    """(USD per hour, requests per second, replicas) of the best replicas that fit one instance of a rented pool."""
    rates = [
        (c.requests_per_second * c.per_instance, c.per_instance)
        for c in candidates
        if c.instances == 1 and not c.place_usd
    ]
    return [(max(pool.rents[0].usd_per_instance_hour), *max(rates))] if pool.rents and rates else []


def may_be_replaced(service: Service) -> bool:
    """Whether only money decides among the replicas of a service: no rule counts them by kind, zone or market."""
    plain = service.availability_fraction is None and service.max_share_per_zone_fraction is None
    return plain and service.spot.max_share_fraction >= 1.0 and not service.round_robin


def joins_instances(shape: Shape) -> bool:
    """Whether one replica may span instances of a shape: only over a network that is known and fast."""
    return shape.network_gbps is not None and shape.network_gbps >= LEAST_REPLICA_NETWORK_GBPS


def _too_thin(workload: str, shape: Shape, instances: int) -> Rejection:
    network = "an unknown network" if shape.network_gbps is None else f"{shape.network_gbps:g} Gb/s"
    reason = f"a replica over {instances} × {shape.name} needs {LEAST_REPLICA_NETWORK_GBPS:g} Gb/s between them"
    return Rejection(workload=workload, subject=shape.name, code="network", reason=f"{reason}; it has {network}")


def replica_packing(pool: Pool, option: ReplicaOption) -> tuple[int, int]:
    """(replicas an instance holds, whole instances a replica takes): one of the two is 1."""
    if option.gpus <= pool.gpus + 1e-9:
        return int((pool.gpus + 1e-9) // option.gpus), 1
    return 1, ceiling(option.gpus / pool.gpus)


def replicas_with_spares(
    service: Service,
    candidates: Sequence[ReplicaCandidate],
    demands: Iterable[ServiceDemand],
    owned: Sequence[bool],
    extra_levels: Iterable[float] = (),
) -> dict[tuple[str, int, float], int]:
    """Replicas that each load needs, spares for the availability included, by (service, candidate, load)."""
    needed: dict[tuple[str, int, float], int] = {}
    if service.availability_fraction is None:
        return needed
    loads = {block.requests_per_second for demand in demands for block in demand.blocks}
    loads |= {load * level for load in loads for level in extra_levels}
    for index, candidate in enumerate(candidates):
        repair = service.repair_hours or REPAIR_HOURS["owned" if owned[index] else "rented"]
        for load in loads:
            n = max(ceiling(load / candidate.requests_per_second), service.min_replicas) if load else 0
            spares = (
                spare_replicas(
                    n,
                    availability_fraction=service.availability_fraction,
                    mtti_hours=mtti_hours(max(candidate.option.gpus, 1.0)),
                    repair_hours=repair,
                )
                if n
                else 0
            )
            needed[service.name, index, round(load, 9)] = n + spares
    return needed
