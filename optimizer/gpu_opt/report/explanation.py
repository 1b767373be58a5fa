"""Why a plan is what it is: what would win otherwise, what binds, and why the rest could not be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

from gpu_opt.domain.plan import Plan
from gpu_opt.report import money
from gpu_opt.report.answer import answer
from gpu_opt.report.cost_sections import commitments, purchases
from gpu_opt.report.section import Line, Report, Section, table
from gpu_opt.report.sections import rejections

_KEPT_LINES = ("Cost", "Prices", "Proof")
_EXAMPLES = 12


def explanation(plan: Plan) -> Report:
    """The runner-up with its switch price, what one more unit of each limit is worth, and the rejections."""
    kept = [line for line in answer(plan) if line.label in _KEPT_LINES]
    sections = [runner_up(plan), limits(plan), commitments(plan), purchases(plan), rejections(plan), reasons(plan)]
    shown = tuple(section for section in sections if section.rows or section.items)
    return Report(title="Why this plan", answer=tuple(kept), sections=shown)


def runner_up(plan: Plan) -> Section:
    """What would be done instead, and at which price that would be right."""
    other = plan.runner_up
    if other is None:
        items: tuple[str, ...] = ("No other plan is known: nothing else was found to meet every requirement.",)
        return Section(key="runner_up", title="The runner-up", items=items)
    items = (
        f"{other.workload} would run on {other.offer} instead of {other.instead_of}.",
        f"The whole plan would cost {money.usd(other.total_usd)}: {money.usd(other.extra_usd)} more than "
        f"{money.usd(plan.objective_usd)}.",
        _switch(other.wins_below_usd_per_instance_hour, other.usd_per_instance_hour),
    )
    return Section(key="runner_up", title="The runner-up", items=items)


def _switch(wins: float | None, now: float | None) -> str:
    if wins is None:
        return "No price of its own above zero would make it win."
    text = f"It wins below {money.usd_rate(wins)} per instance-hour"
    if not now:
        return f"{text}."
    return f"{text}; it costs {money.usd_rate(now)} now and would have to fall by {money.percent(1 - wins / now)}."


def limits(plan: Plan) -> Section:
    """Limits that the plan touches, with what one more unit of each is worth where it was worked out."""
    rows = [(entry.limit, _worth(entry.value_of_one_more_usd)) for entry in plan.binding]
    if not rows:
        return Section(key="limits", title="Limits that bind", items=("None: no quota or budget holds the plan back.",))
    return table("limits", "Limits that bind", ("limit", "one more unit"), rows)


def _worth(usd: float | None) -> str:
    if usd is None:
        return "not worked out"
    return f"saves {money.usd(usd)}" if usd > 0 else "saves nothing"


def reasons(plan: Plan) -> Section:
    """One line for each distinct reason, with what it concerns."""
    subjects: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in plan.rejected:
        subjects[entry.get("workload", ""), entry.get("code", ""), entry.get("reason", "")].append(
            entry.get("subject", "")
        )
    ordered = sorted(subjects.items(), key=lambda item: (item[0][0], item[0][1], -len(item[1]), item[0][2]))
    rows = [(workload, code.replace("_", " "), _some(names), reason) for (workload, code, reason), names in ordered]
    columns = ("workload", "because of", "on", "reason")
    return table("reasons", "Reasons", columns, rows, limit=_EXAMPLES)


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def why_not(plan: Plan, wanted: str, shapes: Collection[str], known: Mapping[str, str]) -> Report:
    """Why an offer is not in the plan. `wanted` is an id, the start of one, or a pattern; `known` are the offers that
    it means in the prices, with why each can't be bought ("" where it can), `shapes` the names of their shapes."""
    used = meant(wanted, {line.offer for line in plan.cost_lines if line.offer})
    subjects = meant(wanted, {entry.get("subject", "") for entry in plan.rejected}) | set(shapes)
    rows = sorted(
        {
            (entry.get("workload", ""), entry.get("subject", ""), entry.get("reason", ""))
            for entry in plan.rejected
            if entry.get("subject", "") in subjects
        }
    )
    lines = [Line(label="In the plan", text=offer) for offer in sorted(used)]
    if known and all(known.values()):
        lines += [
            Line(label="Not for sale", text=f"{offer}: {why}") for offer, why in sorted(known.items())[:_EXAMPLES]
        ]
    if not lines and not rows:
        lines = [Line(label="", text=_nothing_said(plan, wanted, known))]
    section = table("why_not", f"Why not {wanted}", ("workload", "on", "reason"), rows, limit=4 * _EXAMPLES)
    return Report(title=f"Why not {wanted}", answer=tuple(lines), sections=(section,) if rows else ())


def _nothing_said(plan: Plan, wanted: str, known: Mapping[str, str]) -> str:
    if not known:
        return f"No price of {wanted} is known. `gpu-opt offers` lists what is."
    return (
        f"Nothing speaks against {wanted} but its price: scope or markets left it out, or its provider has the same "
        f"hardware for less elsewhere, or a plan with it costs more than {money.usd(plan.objective_usd)}."
    )


def meant(wanted: str, names: Iterable[str]) -> set[str]:
    """The names that an id, a part of one or a pattern means: those that it is, else those that it begins."""
    low = wanted.casefold()
    known = {name for name in names if name}
    if any(mark in low for mark in "*?["):
        return {n for n in known if fnmatchcase(n.casefold(), low) or fnmatchcase(n.casefold(), f"*/{low}/*")}
    exact = {n for n in known if _is_part(low, n.casefold())}
    return exact or {n for n in known if low and n.casefold().startswith(low)}


def _is_part(low: str, name: str) -> bool:
    return bool(low) and (
        name.startswith(f"{low}/") or low == name or low.startswith(f"{name}/") or low in name.split("/")
    )
