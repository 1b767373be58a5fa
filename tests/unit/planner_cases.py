"""Questions built by hand for tests of the planner: measured speeds and own prices, so that no model has a say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.plan import CostLine, Plan
from gpu_opt.domain.question import Horizon, Period, Question
from gpu_opt.domain.workload import (
    BatchJob,
    CustomUnit,
    GpuHours,
    Measured,
    Service,
    TokenLength,
    TrafficBlock,
    TrainJob,
    Workload,
)
from gpu_opt.pipeline import PlanOptions, plan

START = date(2027, 1, 1)
AS_OF = date(2026, 12, 1)
TOKENS_PER_SECOND = 1000.0  # of every measured gang, unless a test says otherwise: h hours are 3.6e6 × h tokens
MODEL = CustomUnit(unit="token", flops_per_unit=1e9, memory_gib=10.0)
LENGTH = TokenLength(mean_tokens=100.0)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
Speeds = Iterable[tuple[str, float, float]]


def horizon(periods: int = 1, kind: str = "quarter", start: date = START, **more: Any) -> Horizon:
    """Calendar periods named P1, P2 …"""
    found = []
    day = start
    for index in range(periods):
        year, month = divmod(day.year * 12 + day.month - 1 + _MONTHS[kind], 12)
        following = date(year, month + 1, 1)
        low, high = (day - start).days * 24.0, (following - start).days * 24.0
        found.append(Period(name=f"P{index + 1}", start_hours=low, end_hours=high))
        day = following
    return Horizon(start=start, period_kind=kind, periods=tuple(found), **more)


def offer(
    instance_type: str = "h8",
    usd: float = 80.0,
    *,
    gpu: str = "H100-SXM",
    gpus: float = 8,
    market: Market = Market.ON_DEMAND,
    provider: str = "aws",
    region: str = "us-east-1",
    **more: Any,
) -> Offer:
    """One price; `h8` at $80 an hour is 8 × H100 unless told otherwise."""
    return Offer(
        provider=provider,
        region=region,
        instance_type=instance_type,
        gpu=gpu,
        gpu_count=gpus,
        market=market,
        usd_per_instance_hour=usd,
        as_of=AS_OF,
        source="test",
        **more,
    )


def job(
    name: str,
    hours: float,
    when: Horizon,
    *,
    speeds: Speeds = (("H100-SXM", 8, TOKENS_PER_SECOND),),
    effective: bool = True,
    **more: Any,
) -> TrainJob:
    """A run that takes `hours` at 1,000 tokens/s. `speeds` are (GPU, GPUs, tokens per second) as measured."""
    settings: dict[str, Any] = {
        "kind": "pretrain",
        "active_to_hours": when.hours,
        "deadline_hours": when.hours,
        "only_measured": True,
        **more,
    }
    measured = tuple(Measured(gpu=g, gpus=n, tokens_per_second=s, effective=effective) for g, n, s in speeds)
    return TrainJob(
        name=name,
        model=MODEL,
        tokens_per_run=hours * 3600.0 * TOKENS_PER_SECOND,
        sequence_length_tokens=2048,
        measured=measured,
        **settings,
    )


def service(
    name: str,
    rps: float | Iterable[tuple[str, float, float]],
    when: Horizon,
    *,
    rates: Speeds = (("H100-SXM", 8, 10.0),),
    **more: Any,
) -> Service:
    """A service of a mean rate, or of (block, share of hours, rate). `rates` are (GPU, GPUs, requests per second)."""
    blocks = [("all", 1.0, rps)] if isinstance(rps, int | float) else list(rps)
    settings: dict[str, Any] = {"active_to_hours": when.hours, "only_measured": True, **more}
    return Service(
        name=name,
        kind="serve",
        model=settings.pop("model", MODEL),
        blocks=tuple(TrafficBlock(name=n, hours_share_fraction=h, requests_per_second=r) for n, h, r in blocks),
        input_tokens=LENGTH,
        output_tokens=LENGTH,
        measured=tuple(Measured(gpu=g, gpus=n, requests_per_second=r) for g, n, r in rates),
        **settings,
    )


def batch(
    name: str,
    requests: float,
    when: Horizon,
    *,
    rates: Speeds = (("H100-SXM", 8, 10.0),),
    per_period: bool = False,
    **more: Any,
) -> BatchJob:
    """Divisible work; at 10 requests/s, 36,000 requests are one hour."""
    settings: dict[str, Any] = {
        "active_to_hours": when.hours,
        "deadline_hours": when.hours,
        "only_measured": True,
        **more,
    }
    return BatchJob(
        name=name,
        kind="batch",
        model=MODEL,
        requests=requests,
        per_period=per_period,
        input_tokens=LENGTH,
        output_tokens=LENGTH,
        measured=tuple(Measured(gpu=g, gpus=n, requests_per_second=r) for g, n, r in rates),
        **settings,
    )


def gpu_hours(name: str, hours: dict[str, tuple[float, ...]], when: Horizon, **more: Any) -> GpuHours:
    """Explicit demand, a number for each period."""
    settings: dict[str, Any] = {"active_to_hours": when.hours, **more}
    return GpuHours(name=name, kind="gpu_hours", demand_gpu_hours=hours, **settings)


def solve(when: Horizon, workloads: Iterable[Workload], offers: Iterable[Offer], **more: Any) -> Plan:
    """The exact optimum of a question; every plan is re-checked on the way out."""
    question = Question(horizon=when, workloads=tuple(workloads), **more)
    return plan(question, tuple(offers), PlanOptions(gap=0.0))


def lines(found: Plan, label: str = "", workload: str | None = None, period: str = "") -> list[CostLine]:
    """Cost lines whose label starts so."""
    return [
        line
        for line in found.cost_lines
        if line.label.startswith(label)
        and (workload is None or line.workload == workload)
        and (not period or line.period == period)
    ]


def spent(found: Plan, label: str = "", workload: str | None = None, period: str = "") -> float:
    """USD of cost lines whose label starts so."""
    return round(sum(line.usd for line in lines(found, label, workload, period)), 2)
