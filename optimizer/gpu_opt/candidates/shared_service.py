"""Services of one model that share replicas: their loads add up, and a replica's rate is that of the mix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpu_opt.domain.program import BlockLoad, ReplicaCandidate, ServiceDemand
from gpu_opt.domain.workload import Service, Workload
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record


@record
class Group:
    """A service by itself, or all that name one pool."""

    name: str
    members: tuple[Service, ...]


@record
class MergedDemands:
    """Demands of a group, and in each of its blocks the share of the load that each member has."""

    demands: list[ServiceDemand]
    shares: list[tuple[float, ...]]


def merged_services(workloads: Iterable[Workload]) -> list[Group]:
    """Groups in the order of their first member; InputError when members of a pool differ in model."""
    groups: dict[str, list[Service]] = {}
    for workload in workloads:
        if isinstance(workload, Service):
            groups.setdefault(f"pool:{workload.pool}" if workload.pool else workload.name, []).append(workload)
    for name, members in groups.items():
        if any(member.model != members[0].model for member in members):
            names = ", ".join(member.name for member in members)
            what = f"the services {names} share replicas but have different models."
            raise InputError(Problem(path=f"workloads {name}", what=what, remedy="Give each model its own pool."))
    return [
        Group(name=name if members[1:] else members[0].name, members=tuple(members)) for name, members in groups.items()
    ]


def merge_demands(name: str, members: Sequence[Service], demands: Sequence[tuple[ServiceDemand, ...]]) -> MergedDemands:
    """Loads of a group, period by period, on the cuts of all members' blocks."""
    if len(members) == 1:
        return MergedDemands(demands=list(demands[0]), shares=[(1.0,)])
    merged: list[ServiceDemand] = []
    shares: list[tuple[float, ...]] = []
    for period in sorted({d.period for each in demands for d in each}):
        parts = [next((d for d in each if d.period == period), None) for each in demands]
        times = sorted({t for d in parts if d for t in (d.from_hours, d.to_hours)})
        for start, end in itertools.pairwise(times):
            active = [d if d and d.from_hours <= start and end <= d.to_hours else None for d in parts]
            if any(active):
                demand, mixes = _merged(name, active, start, end)
                merged.append(demand)
                shares += mixes
    return MergedDemands(demands=merged, shares=shares or [tuple(1.0 / len(members) for _ in members)])


def _merged(
    name: str, parts: Sequence[ServiceDemand | None], start: float, end: float
) -> tuple[ServiceDemand, list[tuple[float, ...]]]:
    """The demand of those that are active together, under the strictest of their rules; the share of each by block."""
    known = [part for part in parts if part is not None]
    marks = sorted({m for d in known for b in d.blocks for m in (b.low_fraction, b.high_fraction)})
    blocks, shares = [], []
    for low, high in itertools.pairwise(marks):
        loads = [_load(part, (low + high) / 2) for part in parts]
        total = sum(loads)
        blocks.append(
            BlockLoad(name=f"{low:.3g}-{high:.3g}", low_fraction=low, high_fraction=high, requests_per_second=total)
        )
        if total > 0.0:
            shares.append(tuple(load / total for load in loads))
    demand = replace(
        known[0],
        workload=name,
        blocks=tuple(blocks),
        from_hours=start,
        to_hours=end,
        min_replicas=max(d.min_replicas for d in known),
        availability_fraction=strictest_availability(known),
        zone_share_fraction=min(
            (d.zone_share_fraction for d in known if d.zone_share_fraction is not None), default=None
        ),
        spot_share_fraction=min(d.spot_share_fraction for d in known),
        round_robin=any(d.round_robin for d in known),
    )
    return demand, shares


def strictest_availability(users: Iterable[Service | ServiceDemand]) -> float | None:
    """The highest availability that any of those who share replicas asks for."""
    return max((u.availability_fraction for u in users if u.availability_fraction), default=None)


def _load(demand: ServiceDemand | None, at: float) -> float:
    if demand is None:
        return 0.0
    return sum(b.requests_per_second for b in demand.blocks if b.low_fraction <= at < b.high_fraction)


def merge_candidates(
    name: str,
    members: Sequence[Service],
    candidates: Sequence[Sequence[ReplicaCandidate]],
    shares: Sequence[tuple[float, ...]],
) -> list[ReplicaCandidate]:
    """Replicas that every member can use, at the lowest rate that any block's mix of them gives."""
    if len(members) == 1:
        return list(candidates[0])
    merged = []
    for first in candidates[0]:
        same = [first]
        for others in candidates[1:]:
            match = [o for o in others if o.pool == first.pool and o.option.gpus == first.option.gpus]
            if not match:
                break
            same.append(max(match, key=lambda o: o.requests_per_second))
        if len(same) < len(members):
            continue
        rate = min(
            1.0 / sum(share / one.requests_per_second for share, one in zip(mix, same, strict=True)) for mix in shares
        )
        merged.append(replace(first, workload=name, requests_per_second=rate))
    return merged
