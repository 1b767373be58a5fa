"""The tables behind the answer: what runs where and when, what it costs, what binds, what was assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from gpu_opt.answer.document import latency_key, memory_gib
from gpu_opt.domain.option import Layout
from gpu_opt.domain.plan import Allocation, Plan
from gpu_opt.report import money
from gpu_opt.report.answer import answer, gpus_per_instance, market_words, peak_instances
from gpu_opt.report.cost_sections import cost_sections
from gpu_opt.report.section import Report, Section, table

_RUN_ROWS = 24
_LATENCIES = (("ttft", "ttft_p95_ms"), ("tpot", "tpot_p95_ms"))
_REJECTION_ROWS = 12
_REJECTED = {
    "market": "a market that is not asked for",
    "purchasable": "only a list price: not for sale as it stands",
    "scope": "outside the scope",
    "too-dear": "dearer than what does the same",
    "memory": "memory is too small",
    "precision": "precision is missing",
    "latency": "too slow for a latency limit",
    "network": "network is too slow or unknown",
    "deadline": "too slow for the deadline",
    "allow-list": "not among the GPUs allowed",
    "region": "not in the regions allowed",
    "residency": "outside the countries allowed",
    "spot": "spot is not allowed",
    "measured": "not measured",
}
_UNIT_BY_SOURCE = {"model": "modelled", "calibrated": "calibrated", "measured": "measured"}


def report_of(plan: Plan) -> Report:
    """Everything about a plan, in the order in which it is read."""
    sections = [
        where(plan),
        how(plan),
        when(plan),
        *cost_sections(plan),
        fleet(plan),
        binding(plan),
        _list("unfunded", "Not funded", (_unfunded(entry) for entry in plan.unfunded)),
        _list("depends_on", "Capacity that nobody has promised", plan.depends_on),
        _list("assumptions", "Assumptions", plan.assumptions),
        _list("warnings", "Warnings", plan.warnings),
        _list("coverage_gaps", "Known but without a usable price", plan.coverage_gaps),
        rejections(plan),
    ]
    kept = tuple(section for section in sections if section.rows or section.items)
    return Report(title="GPU plan", answer=answer(plan), sections=kept)


def where(plan: Plan) -> Section:
    """What each workload uses, by offer and period."""
    rows = [
        (
            workload.name,
            allocation.period,
            f"{allocation.provider}/{allocation.region}",
            allocation.instance_type,
            market_words(allocation.market),
            money.count(peak_instances(plan, workload, allocation)),
            _gpus(allocation),
            money.quantity(allocation.instance_hours),
            money.usd(allocation.usd),
        )
        for workload in plan.workloads
        for allocation in workload.allocations
    ]
    columns = ("workload", "period", "place", "instance type", "market", ">instances", "GPUs in each")
    return table("where", "What runs where", (*columns, ">instance-hours", ">cost"), rows)


def how(plan: Plan) -> Section:
    """Layout, speed, memory and latency of each way of running, once."""
    rows: list[tuple[str, ...]] = []
    for workload in plan.workloads:
        for allocation in workload.allocations:
            row = (
                workload.name,
                f"{_gpus(allocation)} ({allocation.provider})",
                layout_text(allocation.layout),
                allocation.engine,
                _speed(allocation),
                _interval(allocation),
                _memory(allocation),
                _latency(allocation),
                _UNIT_BY_SOURCE.get(allocation.source, allocation.source),
            )
            if row not in rows:
                rows.append(row)
    columns = (
        "workload",
        "on",
        "layout",
        "software",
        ">speed",
        ">P10–P90 tokens/s/GPU",
        ">GiB per GPU",
        "latency",
        "source",
    )
    return table("how", "How it runs", columns, rows)


def when(plan: Plan) -> Section:
    """The runs in calendar time (UTC)."""
    rows = [
        (
            run.workload,
            str(run.run),
            run.offer,
            str(run.instances),
            money.minute(run.start),
            money.minute(run.end),
            money.span(run.end_hours - run.start_hours),
        )
        for run in plan.schedule
    ]
    columns = ("workload", ">run", "offer", ">instances", "start (UTC)", "end (UTC)", ">takes")
    return table("when", "When it runs", columns, rows, limit=_RUN_ROWS)


def fleet(plan: Plan) -> Section:
    """Peak instances by offer and period; shared capacity once."""
    periods = [name for name, _ in plan.periods]
    rows = []
    for (offer, gpu), group in groupby(
        sorted(plan.fleet, key=lambda e: (e.offer, e.gpu)), key=lambda e: (e.offer, e.gpu)
    ):
        held = {entry.period: entry for entry in group}
        counts = [money.count(held[name].instances) if name in held else "" for name in periods]
        users = sorted({user for entry in held.values() for user in entry.used_by})
        rows.append((offer, gpu, *counts, ", ".join(users)))
    columns = ("offer", "GPU", *(f">{name}" for name in periods), "used by")
    return table("fleet", "What stands: instances at the peak", columns, rows)


def binding(plan: Plan) -> Section:
    """Limits that the plan touches."""
    rows = [
        (
            entry.limit,
            ""
            if entry.value_of_one_more_usd is None
            else f"{money.usd_short(entry.value_of_one_more_usd)} less per unit more",
        )
        for entry in plan.binding
    ]
    return table("binding", "Limits that bind", ("limit", "worth"), rows)


def rejections(plan: Plan) -> Section:
    """Why what was looked at was not taken, by reason."""
    ordered = sorted(plan.rejections.items(), key=lambda item: (-item[1], item[0]))
    rows = [(_REJECTED.get(reason, reason.replace("-", " ")), f"{number:,}") for reason, number in ordered]
    note = "`gpu-opt explain PLAN --why-not OFFER` tells why an offer was not taken."
    columns = ("reason", ">candidates")
    return table("rejections", "What could not be used", columns, rows, limit=_REJECTION_ROWS, note=note)


def layout_text(layout: Layout | None) -> str:
    """`tp 8, pp 2, dp 4, zero 1`: what differs from doing nothing."""
    if layout is None:
        return ""
    sizes = (("tp", layout.tp), ("pp", layout.pp), ("cp", layout.cp), ("ep", layout.ep), ("dp", layout.dp))
    parts = [f"{name} {size}" for name, size in sizes if size > 1]
    if layout.zero:
        parts.append(f"zero {layout.zero}")
    if layout.recompute not in ("", "none"):
        parts.append(f"recompute {layout.recompute}")
    if layout.micro_batch > 1:
        parts.append(f"micro-batch {layout.micro_batch}")
    return ", ".join(parts) or "one GPU"


def _gpus(allocation: Allocation) -> str:
    gpus = gpus_per_instance(allocation)
    return f"{money.count(gpus)} × {allocation.gpu}" if gpus else allocation.gpu


def _speed(allocation: Allocation) -> str:
    if allocation.requests_per_second is not None:
        replicas = f"{allocation.replicas} × " if allocation.replicas else ""
        return f"{replicas}{money.quantity(allocation.requests_per_second)} requests/s"
    if allocation.tokens_per_second_per_gpu is not None:
        return f"{money.quantity(allocation.tokens_per_second_per_gpu)} tokens/s/GPU"
    return ""


def _interval(allocation: Allocation) -> str:
    if allocation.interval is None:
        return ""
    low, high = allocation.interval
    return money.quantity(low) if low == high else f"{money.quantity(low)}–{money.quantity(high)}"


def _memory(allocation: Allocation) -> str:
    gib = memory_gib(allocation)
    return "" if gib is None else f"{gib:.1f}"


def _latency(allocation: Allocation) -> str:
    """`p95: ttft 612 ms, tpot 31 ms`; all of them are in plan.json."""
    known = {latency_key(name): value for name, value in allocation.latency_ms.items()}
    shown = [f"{name} {_milliseconds(known[key])}" for name, key in _LATENCIES if key in known]
    if shown:
        return f"p95: {', '.join(shown)}"
    first = sorted(known)[:1]
    return "".join(f"{key.removesuffix('_ms').replace('_', ' ')}: {_milliseconds(known[key])}" for key in first)


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 10 else f"{money.quantity(value)} ms"


def _unfunded(entry: Mapping[str, object]) -> str:
    text = str(entry.get("name", ""))
    cost, delay = entry.get("usd_to_fund"), entry.get("delay_days")
    if isinstance(cost, int | float):
        text += f": {money.usd_short(float(cost))} to fund"
    if isinstance(delay, int | float):
        text += f", or {money.count(float(delay))} days later"
    return text


def _list(key: str, title: str, items: Iterable[str] | Sequence[str]) -> Section:
    return Section(key=key, title=title, items=tuple(items))
