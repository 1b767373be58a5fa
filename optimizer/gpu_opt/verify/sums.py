"""Totals: lines, workloads, platform, cash, bound and gap, and the budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_opt.verify.costs import AFTER
from gpu_opt.verify.estate import Estate

_CENT = 0.006
_RELATIVE = 1e-6


def problems_of(have: Estate) -> list[str]:
    """What doesn't add up, or goes beyond the budget."""
    return [*_totals(have), *_billed(have), *_bound(have), *_budget(have)]


def _usd(cents: float) -> str:
    return f"${cents / 100:,.2f}"


def _totals(have: Estate) -> Iterator[str]:
    plan = have.plan
    by_workload: dict[str, int] = defaultdict(int)
    for line in plan["cost_lines"]:
        by_workload[line["workload"]] += round(line["usd"] * 100)
    objective = round(plan["objective_usd"] * 100)
    if sum(by_workload.values()) != objective:
        yield f"objective_usd: the cost lines add up to {_usd(sum(by_workload.values()))}, not {_usd(objective)}."
    if by_workload.get("", 0) != round(plan["platform_usd"] * 100):
        yield f"platform_usd: its lines add up to {_usd(by_workload.get('', 0))}, not ${plan['platform_usd']:,.2f}."
    names = [workload["name"] for workload in plan["workloads"]]
    if len(set(names)) < len(names):
        yield "workloads: two have the same name."
    total = round(plan["platform_usd"] * 100)
    for workload in plan["workloads"]:
        own = by_workload.get(workload["name"], 0)
        total += round(workload["usd"] * 100)
        if own != round(workload["usd"] * 100):
            yield f"workload {workload['name']}: its lines add up to {_usd(own)}, not ${workload['usd']:,.2f}."
    if total != objective:
        yield f"objective_usd: workloads and platform add up to {_usd(total)}, not {_usd(objective)}."


def _capital(have: Estate) -> tuple[float, float]:
    """USD of upfronts with their support, and of purchases, as they are paid."""
    support: dict[str, float] = defaultdict(float)
    for overhead in have.evidence["overheads"]:
        support[overhead["provider"]] += overhead["support_fraction"]
    upfront = capex = 0.0
    for source in have.evidence["capacity"]:
        provider = have.pools[source["pool"]]["provider"] if source["pool"] else source["id"].partition("/")[0]
        upfront += source["upfront_usd"] * source["instances"] * (1.0 + support.get(provider, 0.0))
        capex += source["capex_usd"] * source["instances"]
    return upfront, capex


def _billed(have: Estate) -> Iterator[str]:
    upfront, capex = _capital(have)
    plan = have.plan
    if not capex and abs(plan["straight_line_usd"] - plan["objective_usd"]) > _CENT:
        told = f"${plan['straight_line_usd']:,.2f}"
        yield f"straight_line_usd: {told} differ from the objective, though nothing is bought."
    if plan["low_usd"] > plan["high_usd"]:
        yield f"low_usd: ${plan['low_usd']:,.2f} is above high_usd of ${plan['high_usd']:,.2f}."
    lines = sum(round(x["usd"] * 100) for x in have.plan["cost_lines"] if x["billed"] and x["period"] != AFTER) / 100
    if abs(lines + upfront + capex - have.plan["billed_usd"]) > 2 * _CENT:
        cash = lines + upfront + capex
        yield f"billed_usd: lines and upfronts come to ${cash:,.2f}, not ${have.plan['billed_usd']:,.2f}."


def _bound(have: Estate) -> Iterator[str]:
    plan = have.plan
    minimized = plan["minimized_usd"]
    unpaid = have.evidence.get("unpaid_usd", 0.0)
    if not isinstance(unpaid, int | float) or abs(plan["objective_usd"] + unpaid - minimized) > _CENT:
        yield f"minimized_usd: ${minimized:,.2f} isn't the objective of ${plan['objective_usd']:,.2f}."
    status = "optimal" if plan["certified"] else "feasible"
    if plan["status"] != status:
        yield f"status: {plan['status']!r}, but `certified` says {status}."
    bound, gap = plan["bound_usd"], plan["gap"]
    if bound is None or gap is None:
        if plan["certified"]:
            yield "certified: there is no bound to certify by."
        return
    if bound > minimized + _CENT:
        yield f"bound_usd: ${bound:,.2f} is above the minimized ${minimized:,.2f}."
    size = abs(minimized)
    expected = max(0.0, minimized - bound) / size if size else 0.0
    if abs(gap - expected) > _RELATIVE + (_CENT / size if size else 0.0):
        yield f"gap: the bound of ${bound:,.2f} leaves {expected:.6%}, not {gap:.6%}."
    if plan["certified"] and max(gap, expected - _CENT / max(size, _CENT)) > plan["gap_asked"] + 1e-9:
        yield f"certified: the gap of {max(gap, expected):.6%} is beyond the {plan['gap_asked']:.6%} asked for."


def _budget(have: Estate) -> Iterator[str]:
    budget, plan = have.evidence["budget"], have.plan
    slack = _CENT * (1 + len(plan["cost_lines"]))
    total = sum(round(line["usd"] * 100) for line in plan["cost_lines"]) / 100
    if budget["basis"] not in ("effective", "billed"):
        yield f"evidence.budget.basis: {budget['basis']!r} is neither effective nor billed."
    spent = plan["billed_usd"] if budget["basis"] == "billed" else total
    if budget["total_usd"] is not None and spent > budget["total_usd"] + slack:
        yield f"budget total_usd: ${spent:,.2f} ({budget['basis']}), ${budget['total_usd']:,.2f} are allowed."
    if budget["per_period_usd"] is not None:
        by_period: dict[str, float] = defaultdict(float)
        for line in plan["cost_lines"]:
            by_period[line["period"]] += line["usd"]
        for name in have.names:
            if by_period[name] > budget["per_period_usd"] + slack:
                most = budget["per_period_usd"]
                yield f"budget per_period_usd: ${by_period[name]:,.2f} in {name}, ${most:,.2f} are allowed."
    _, capex = _capital(have)
    if budget["capex_usd"] is not None and capex > budget["capex_usd"] + _CENT:
        yield f"budget capex_usd: ${capex:,.2f} are paid for machines, ${budget['capex_usd']:,.2f} are allowed."
