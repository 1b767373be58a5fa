"""What `verify` needs to re-check a plan from its file alone: demands, choices, capacity, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_opt.answer.sources import sources_of
from gpu_opt.candidates.serving import REPAIR_HOURS
from gpu_opt.candidates.shared_service import merged_services
from gpu_opt.domain.program import Purchase, Term
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import GpuHours, TrainJob
from gpu_opt.lp.data import LpData
from gpu_opt.lp.decision import Decision
from gpu_opt.lp.evaluate import sources
from gpu_opt.lp.grid import Grid
from gpu_opt.lp.schedule import Placement
from gpu_opt.throughput.goodput import mtti_hours

Json = dict[str, Any]


def evidence(
    question: Question,
    data: LpData,
    grid: Grid,
    decision: Decision,
    placements: Iterable[Placement],
    shares: Mapping[str, Mapping[str, float]],
) -> Json:
    """Plain values only. Keys of rent weights are `pool|market`; times are hours from the horizon's start.

    `shares` says how the cost of services that share replicas falls on each of them.
    """
    return {
        "horizon_hours": data.horizon.hours,
        "periods": [
            {"name": p.name, "start_hours": p.start_hours, "end_hours": p.end_hours} for p in data.horizon.periods
        ],
        "pools": _pools(data),
        "runs": _runs(question, data, placements),
        "work": _work(question, data, grid, decision),
        "services": _services(question, data, decision),
        "shares": {group: dict(sorted(parts.items())) for group, parts in sorted(shares.items())},
        "whole_hours": data.whole_hours,
        "capacity": _capacity(data, decision),
        "after": [
            {"start_hours": a.start_hours, "end_hours": a.end_hours, "level_fraction": a.level_fraction}
            for a in data.after
        ],
        "limits": _limits(data),
        "budget": {
            "basis": data.budget.basis,
            "total_usd": data.budget.total_usd,
            "per_period_usd": data.budget.per_period_usd,
            "per_hour_usd": data.budget.per_hour_usd,
            "capex_usd": data.budget.capex_usd,
        },
        "max_providers": data.max_providers,
        "occupancy_fraction": data.occupancy_fraction,
        **_charges(data),
        "sites": [{"name": s.name, "power_kw_free": s.power_kw_free, "racks_free": s.racks_free} for s in data.sites],
    }


def _limits(data: LpData) -> list[Json]:
    return [
        {
            "id": limit.id,
            "maximum": limit.maximum,
            "unit": limit.unit,
            "rent_weight": {f"{pool}|{market}": w for (pool, market), w in sorted(limit.rent_weight.items())},
            "term_weight": dict(sorted(limit.term_weight.items())),
            "standing_weight": dict(sorted(limit.standing_weight.items())),
        }
        for limit in data.limits
    ]


def _charges(data: LpData) -> Json:
    return {
        "overheads": [
            {
                "provider": o.provider,
                "support_fraction": o.support_fraction,
                "fixed_usd_per_period": o.fixed_usd_per_period,
            }
            for o in data.overheads
        ],
        "agreements": [
            {
                "provider": a.provider,
                "min_spend_usd_per_year": a.min_spend_usd_per_year,
                "other_spend_usd_per_year": a.other_spend_usd_per_year,
            }
            for a in data.agreements
        ],
        "credits": [{"provider": c.provider, "usd": c.usd, "expires": c.expires.isoformat()} for c in data.credits],
    }


def _pools(data: LpData) -> Json:
    return {
        pool.id: {
            "provider": pool.provider,
            "region": pool.region,
            "zone": pool.zone,
            "instance_type": pool.instance_type,
            "gpu": pool.gpu,
            "gpus": pool.gpus,
            "vcpus": pool.vcpus,
            "spot": pool.spot,
            "onprem": pool.onprem,
            "busy_usd_per_hour": dict(sorted(pool.busy_usd_per_hour.items())),
            "rents": [
                {
                    "offer": r.offer.id,
                    "market": str(r.offer.market),
                    "max_instances": r.max_instances,
                    "usd_per_instance_hour": list(r.usd_per_instance_hour),
                    "as_of": r.offer.as_of.isoformat(),
                    "source": r.offer.source,
                }
                for r in pool.rents
            ],
        }
        for pool in data.pools.values()
    }


def _runs(question: Question, data: LpData, placements: Iterable[Placement]) -> Json:
    tokens = {w.name: w.tokens_per_run for w in question.workloads if isinstance(w, TrainJob)}
    return {
        "asked": [
            {
                "workload": d.workload,
                "period": d.period,
                "runs": d.runs,
                "from_hours": d.from_hours,
                "deadline_hours": d.deadline_hours,
                "latest_hours": d.latest_hours,
                "usd_per_hour_late": d.usd_per_hour_late,
                "spot_share_fraction": d.spot_share_fraction,
                "recurring": d.recurring,
                "tokens": tokens[d.workload],
            }
            for d in data.runs
        ],
        "placed": [
            {
                "workload": p.workload,
                "run": p.run,
                "pool": p.pool,
                "instances": p.instances,
                "start_hours": p.start_hours,
                "end_hours": p.end_hours,
                "elapsed_hours": p.candidate.elapsed_hours,
                "p95_hours": p.candidate.p95_hours,
                "paid_hours": p.candidate.paid_hours,
                "phase": p.candidate.phase,
                "gpus": p.candidate.option.gpus,
                "tokens_per_second": p.candidate.option.tokens_per_second,
                "place_usd": p.candidate.place_usd,
            }
            for p in placements
        ],
    }


def _work(question: Question, data: LpData, grid: Grid, decision: Decision) -> Json:
    substitutes = {w.name: dict(sorted(w.substitutes.items())) for w in question.workloads if isinstance(w, GpuHours)}
    done = []
    for (d, c, index), hours in sorted(decision.fluid.items()):
        demand = data.fluids[d]
        unit = data.fluid_candidates[demand.workload, demand.key][c]
        cell = grid.cells[unit.pool][index]
        done.append(
            {
                "demand": d,
                "workload": demand.workload,
                "pool": unit.pool,
                "instances": unit.instances,
                "unit_hours": hours,
                "work_per_hour": unit.work_per_hour,
                "gpus": unit.option.gpus if unit.option else None,
                "requests_per_second": unit.option.requests_per_second if unit.option else None,
                "phase": unit.phase,
                "place_usd": unit.place_usd,
                "start_hours": cell.start_hours,
                "end_hours": cell.end_hours,
                "low_fraction": cell.low_fraction,
                "high_fraction": cell.high_fraction,
            }
        )
    return {
        "asked": [
            {
                "workload": d.workload,
                "key": d.key,
                "period": d.period,
                "from_hours": d.from_hours,
                "to_hours": d.to_hours,
                "work": d.work,
                "spot_share_fraction": d.spot_share_fraction,
                "recurring": d.recurring,
                "substitutes": substitutes.get(d.workload, {}),
            }
            for d in data.fluids
        ],
        "done": done,
    }


def _services(question: Question, data: LpData, decision: Decision) -> Json:
    repairs = {group.name: group.members[0].repair_hours for group in merged_services(question.workloads)}
    standing = []
    for (d, c, b), replicas in sorted(decision.replicas.items()):
        candidate = data.replica_candidates[data.services[d].workload][c]
        load = data.services[d].blocks[b].requests_per_second
        usual = REPAIR_HOURS["owned" if data.pools[candidate.pool].onprem else "rented"]
        standing.append(
            {
                "demand": d,
                "block": b,
                "pool": candidate.pool,
                "replicas": replicas,
                "gpus": candidate.option.gpus,
                "hosts": decision.hosts.get((d, c, b), 0),
                "per_instance": candidate.per_instance,
                "instances": candidate.instances,
                "requests_per_second": candidate.requests_per_second,
                "needed": data.replicas_needed(data.services[d].workload, c, load),
                "mtti_hours": mtti_hours(max(candidate.option.gpus, 1.0)),
                "repair_hours": repairs[data.services[d].workload] or usual,
                "phase": candidate.phase,
                "place_usd": candidate.place_usd,
            }
        )
    return {
        "asked": [
            {
                "workload": d.workload,
                "period": d.period,
                "from_hours": d.from_hours,
                "to_hours": d.to_hours,
                "min_replicas": d.min_replicas,
                "round_robin": d.round_robin,
                "availability_fraction": d.availability_fraction,
                "spot_share_fraction": d.spot_share_fraction,
                "zone_share_fraction": d.zone_share_fraction,
                "blocks": [
                    {
                        "name": b.name,
                        "low_fraction": b.low_fraction,
                        "high_fraction": b.high_fraction,
                        "requests_per_second": b.requests_per_second,
                    }
                    for b in d.blocks
                ],
            }
            for d in data.services
        ],
        "standing": standing,
    }


def _capacity(data: LpData, decision: Decision) -> list[Json]:
    table = sources_of(data)
    places = {s.id: s.pool for s in data.standing} | {t.id: t.pool for t in data.terms}
    places |= {p.id: p.pool for p in data.purchases}
    bought = {p.id: p for p in data.purchases}
    terms = {t.id: t for t in data.terms}
    found = []
    for name, start, end, count in sources(data, decision):
        source = table[name]
        found.append(
            {
                "id": name,
                "pool": places[name],
                "kind": source.market,
                "instances": count,
                "start_hours": start,
                "end_hours": end,
                "left_hours": decision.left_hours.get(name, 0.0),
                "lines": {line.label: line.usd_per_instance_hour for line in source.lines},
                "after": {line.label: line.usd_per_instance_hour for line in source.after},
                "plan_rates": dict(sorted(terms[name].plan_rates.items())) if name in terms else {},
                "upfront_usd": terms[name].upfront_usd if name in terms else 0.0,
                "capex_usd": bought[name].capex_usd if name in bought else 0.0,
                "min_units": terms[name].min_units if name in terms else 0,
                "max_units": _most(terms.get(name), bought.get(name)),
                "site": bought[name].site if name in bought else "",
                "kw_per_instance": bought[name].kw_per_instance if name in bought else 0.0,
                "racks_per_instance": bought[name].racks_per_instance if name in bought else 0.0,
            }
        )
    return found


def _most(term: Term | None, purchase: Purchase | None) -> int | None:
    if term is not None:
        return term.max_units
    return purchase.max_instances if purchase is not None else None
