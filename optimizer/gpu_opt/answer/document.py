"""plan.json: the answer for machines (contract, section 4). Same plan, same document; no clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from gpu_opt.domain.plan import Allocation, CostLine, Plan, WorkloadPlan

SCHEMA = "gpu-opt/plan/1"


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, ready for JSON. What is unknown or without bound is null."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "status": plan.status,
        "certified": plan.certified,
        "objective_usd": plan.objective_usd,
        "minimized_usd": plan.minimized_usd,
        "bound_usd": plan.bound_usd,
        "gap": plan.gap,
        "gap_asked": plan.gap_asked,
        "verified": plan.verified,
        "solver": {"name": plan.solver_name, "version": plan.solver_version},
        "prices": {
            "sha256": plan.prices_sha256,
            "as_of": plan.prices_as_of,
            "oldest_as_of": plan.prices_oldest_as_of,
        },
        "workload_sha256": plan.workload_sha256,
        "model_version": plan.model_version,
        "start": plan.start,
        "periods": [{"name": name, "hours": hours} for name, hours in plan.periods],
        "workloads": [_workload(workload) for workload in plan.workloads],
        "platform_usd": plan.platform_usd,
        "billed_usd": plan.billed_usd,
        "straight_line_usd": plan.straight_line_usd,
        "low_usd": plan.low_usd,
        "high_usd": plan.high_usd,
        "schedule": [asdict(run) for run in plan.schedule],
        "fleet": [asdict(entry) for entry in plan.fleet],
        "purchases": [asdict(purchase) for purchase in plan.purchases],
        "commitments": [asdict(commitment) for commitment in plan.commitments],
        "cost_lines": _cost_lines(plan),
        "unfunded": [dict(entry) for entry in plan.unfunded],
        "depends_on": list(plan.depends_on),
        "binding": [asdict(binding) for binding in plan.binding],
        "rejections": dict(plan.rejections),
        "rejected": [dict(entry) for entry in plan.rejected],
        "coverage_gaps": list(plan.coverage_gaps),
        "assumptions": list(plan.assumptions),
        "warnings": list(plan.warnings),
        "runner_up": None if plan.runner_up is None else asdict(plan.runner_up),
        "evidence": dict(plan.evidence),
    }
    return {key: _plain(value) for key, value in document.items()}


def infeasible_json(conflict: Iterable[str], repairs: Iterable[tuple[str, float]]) -> dict[str, Any]:
    """What is printed and written where no plan exists: the conflict, and the cheapest ways out of it."""
    return {
        "schema": SCHEMA,
        "status": "infeasible",
        "conflict": list(conflict),
        "repairs": [{"change": change, "usd": _plain(usd)} for change, usd in repairs],
    }


def _workload(workload: WorkloadPlan) -> dict[str, Any]:
    return {
        "name": workload.name,
        "kind": workload.kind,
        "team": workload.team,
        "usd": workload.usd,
        "gpu_hours": workload.gpu_hours,
        "allocations": [_allocation(allocation) for allocation in workload.allocations],
    }


def _allocation(allocation: Allocation) -> dict[str, Any]:
    return {
        "offer": allocation.offer,
        "provider": allocation.provider,
        "region": allocation.region,
        "instance_type": allocation.instance_type,
        "market": allocation.market,
        "gpu": allocation.gpu,
        "period": allocation.period,
        "instances": allocation.instances,
        "instance_hours": allocation.instance_hours,
        "gpu_hours": allocation.gpu_hours,
        "usd": allocation.usd,
        "layout": None if allocation.layout is None else asdict(allocation.layout),
        "tokens_per_second_per_gpu": allocation.tokens_per_second_per_gpu,
        "requests_per_second": allocation.requests_per_second,
        "replicas": allocation.replicas,
        "memory_gib_per_gpu": memory_gib(allocation),
        "memory": [asdict(line) for line in allocation.memory],
        "latency": {latency_key(key): value for key, value in allocation.latency_ms.items()},
        "source": allocation.source,
        "interval": None if allocation.interval is None else list(allocation.interval),
        "engine": allocation.engine,
        "energy_kwh": allocation.energy_kwh,
        "carbon_kg": allocation.carbon_kg,
        "notes": list(allocation.notes),
    }


def memory_gib(allocation: Allocation) -> float | None:
    """What the fullest GPU holds in all; None where it isn't known (a measured configuration)."""
    return sum(line.gib for line in allocation.memory) if allocation.memory else None


def latency_key(name: str) -> str:
    """`ttft_p95` as it is called in plan.json: `ttft_p95_ms`."""
    return name if name.endswith("_ms") else f"{name}_ms"


def _cost_lines(plan: Plan) -> list[dict[str, Any]]:
    teams = {workload.name: workload.team for workload in plan.workloads}
    return [{**_cost_line(line), "team": teams.get(line.workload, "")} for line in plan.cost_lines]


def _cost_line(line: CostLine) -> dict[str, Any]:
    return asdict(line)


def _plain(value: Any) -> Any:
    """Tuples as lists, mappings with text keys, no infinity, no negative zero."""
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return value
