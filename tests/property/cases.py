"""Questions made by hand, and random ones, for tests of the whole planner: measured speeds, so nothing is modelled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from gpu_opt.answer.document import to_json
from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.plan import Plan
from gpu_opt.domain.question import (
    Agreement,
    Budget,
    Credit,
    ExistingCommitment,
    Horizon,
    NamedBlock,
    Overhead,
    Owned,
    Period,
    Purchasable,
    Question,
    Quota,
    Site,
)
from gpu_opt.domain.workload import (
    BatchJob,
    CustomUnit,
    GpuHours,
    Measured,
    Service,
    SpotPolicy,
    TokenLength,
    TrafficBlock,
    TrainJob,
)
from gpu_opt.pipeline import PlanOptions, plan

START = date(2027, 1, 1)
MODEL = CustomUnit(unit="image", flops_per_unit=1e12, memory_gib=10.0)
MONTHS = {"month": 1, "quarter": 3, "year": 12}
GPUS = ("H100-SXM", "A100-80GB-SXM", "L4")


def horizon(count: int = 1, kind: str = "quarter", **rest: Any) -> Horizon:
    """Calendar periods from 2027-01-01 on."""
    periods, day = [], START
    for index in range(count):
        year, month = divmod(day.year * 12 + day.month - 1 + MONTHS[kind], 12)
        end = date(year, month + 1, 1)
        start_hours, end_hours = (day - START).days * 24.0, (end - START).days * 24.0
        periods.append(Period(name=f"P{index + 1}", start_hours=start_hours, end_hours=end_hours))
        day = end
    return Horizon(start=START, period_kind=kind, periods=tuple(periods), **rest)


def offer(
    provider: str, kind: str, gpu: str, gpus: float, price: float, market: Market = Market.ON_DEMAND, **rest: Any
) -> Offer:
    """A price of one instance type in us-east-1."""
    region = rest.pop("region", "us-east-1")
    return Offer(
        provider=provider,
        region=region,
        instance_type=kind,
        gpu=gpu,
        gpu_count=gpus,
        market=market,
        usd_per_instance_hour=price,
        as_of=date(2026, 12, 1),
        source="test",
        **rest,
    )


def job(name: str, when: Horizon, hours: dict[tuple[str, float], float], **rest: Any) -> TrainJob:
    """A run whose length in hours is given by (GPU, GPUs)."""
    work = 3.6e6
    measured = tuple(
        Measured(gpu=gpu, gpus=gpus, tokens_per_second=work / length / 3600.0, effective=True)
        for (gpu, gpus), length in hours.items()
    )
    rest.setdefault("deadline_hours", when.hours)
    rest.setdefault("active_to_hours", when.hours)
    return TrainJob(
        name=name,
        kind="pretrain",
        model=MODEL,
        tokens_per_run=work,
        sequence_length_tokens=2048,
        measured=measured,
        only_measured=True,
        **rest,
    )


def service(
    name: str, when: Horizon, loads: Sequence[tuple[float, float]], rates: dict[tuple[str, float], float], **rest: Any
) -> Service:
    """A service with (share of the hours, requests/s) blocks, and requests/s of a replica by (GPU, GPUs)."""
    rest.setdefault("active_to_hours", when.hours)
    return Service(
        name=name,
        kind="serve",
        model=MODEL,
        blocks=tuple(
            TrafficBlock(name=f"b{index}", hours_share_fraction=share, requests_per_second=load)
            for index, (share, load) in enumerate(loads)
        ),
        input_tokens=TokenLength(mean_tokens=500.0),
        output_tokens=TokenLength(mean_tokens=200.0),
        measured=tuple(Measured(gpu=g, gpus=n, requests_per_second=r) for (g, n), r in rates.items()),
        only_measured=True,
        **rest,
    )


def batch(name: str, when: Horizon, requests: float, rates: dict[tuple[str, float], float], **rest: Any) -> BatchJob:
    """Offline requests, with requests/s of a replica by (GPU, GPUs)."""
    rest.setdefault("active_to_hours", when.hours)
    rest.setdefault("deadline_hours", when.hours)
    rest.setdefault("per_period", False)
    return BatchJob(
        name=name,
        kind="batch",
        model=MODEL,
        requests=requests,
        input_tokens=TokenLength(mean_tokens=500.0),
        output_tokens=TokenLength(mean_tokens=200.0),
        measured=tuple(Measured(gpu=g, gpus=n, requests_per_second=r) for (g, n), r in rates.items()),
        only_measured=True,
        **rest,
    )


def gpu_hours(name: str, when: Horizon, demand: dict[str, Sequence[float]], **rest: Any) -> GpuHours:
    """GPU-hours by GPU and period."""
    rest.setdefault("active_to_hours", when.hours)
    amounts = {gpu: tuple(hours) for gpu, hours in demand.items()}
    return GpuHours(name=name, kind="gpu_hours", demand_gpu_hours=amounts, **rest)


def solve(question: Question, offers: Sequence[Offer], gap: float = 0.0, **rest: Any) -> Plan:
    """The plan, without a runner-up unless asked for."""
    rest.setdefault("runner_up", False)
    return plan(question, offers, PlanOptions(gap=gap, **rest))


def document(question: Question, offers: Sequence[Offer], gap: float = 0.0, **rest: Any) -> dict[str, Any]:
    """The plan as plan.json holds it."""
    return to_json(solve(question, offers, gap, **rest))


def random_offers(rng: random.Random, *, spot: bool = True, terms: bool = True) -> list[Offer]:
    """Offers of several providers, GPUs and ways to pay."""
    found = []
    base = {"H100-SXM": 30.0, "A100-80GB-SXM": 16.0, "L4": 0.8}
    for provider in rng.sample(("p", "q", "r"), rng.randint(1, 3)):
        for gpu in rng.sample(GPUS, rng.randint(1, 3)):
            count = 1.0 if gpu == "L4" else 8.0
            price = round(base[gpu] * rng.uniform(0.6, 1.4), 2)
            most = rng.choice((None, None, None, 3, 6))
            kind = f"{gpu.lower()}.{count:g}"
            found.append(offer(provider, kind, gpu, count, price, max_instances=most))
            if spot and rng.random() < 0.3:
                found.append(offer(provider, kind, gpu, count, round(price * 0.5, 2), Market.SPOT))
            if terms and rng.random() < 0.5:
                upfront = rng.choice((0.0, 0.0, 5000.0))
                found.append(
                    offer(
                        provider,
                        kind,
                        gpu,
                        count,
                        round(price * rng.uniform(0.4, 0.7), 2),
                        Market.RESERVED_1Y,
                        term_months=12,
                        upfront_usd=upfront,
                        holds_capacity=True,
                    )
                )
            if terms and rng.random() < 0.2:
                found.append(offer(provider, kind, gpu, count, round(price * 0.7, 2), Market.SAVINGS_PLAN_1Y))
    return found


def random_question(seed: int) -> tuple[Question, list[Offer]]:
    """A small question with a bit of everything; it need not be feasible."""
    rng = random.Random(seed)
    kind, count = rng.choice((("quarter", 1), ("quarter", 2), ("month", 2), ("month", 3), ("quarter", 4)))
    after = rng.choice(("hold", "none", "decline"))
    blocks = (NamedBlock(name="b0", hours_share_fraction=0.25), NamedBlock(name="b1", hours_share_fraction=0.75))
    when = horizon(count, kind, after=after, decline_per_year_fraction=0.3, blocks=blocks if rng.random() < 0.5 else ())
    offers = random_offers(rng)
    workloads: list[Any] = [_random_workload(rng, f"w{index}", when) for index in range(rng.randint(1, 4))]
    sites = (Site(name="dc", country="US", power_kw_free=rng.choice((None, 40.0)), racks_free=rng.choice((None, 4.0))),)
    own = rng.random()
    first = offers[0]
    existing = ExistingCommitment(
        name="cud",
        provider=first.provider,
        region=first.region,
        instance_type=first.instance_type,
        instances=rng.randint(1, 2),
        ends=START + timedelta(days=rng.choice((40, 59, 400))),
        usd_per_instance_hour=9.0,
    )
    gone = Owned(name="dc-old", system="hgx-h100-8", instances=1, purchased=date(2025, 6, 1), site="dc")
    question = Question(
        horizon=when,
        workloads=tuple(workloads),
        consider=(Market.RESERVED_1Y, Market.SAVINGS_PLAN_1Y),
        budget=Budget(
            per_period_usd=rng.choice((None, None, 500_000.0)), per_hour_usd=rng.choice((None, None, None, 400.0))
        ),
        quotas=_random_quotas(rng),
        max_providers=rng.choice((None, None, None, 2)),
        inventory=(gone,) if own < 0.25 else (),
        purchasable=(Purchasable(system="hgx-h100-8", site="dc", max_instances=3, lead_time_hours=500.0),)
        if 0.15 < own < 0.4
        else (),
        sites=sites,
        existing=(existing,) if own > 0.7 and first.market is Market.ON_DEMAND else (),
        agreements=(Agreement(provider="p", min_spend_usd_per_year=200_000.0, other_spend_usd_per_year=50_000.0),)
        if rng.random() < 0.15
        else (),
        credits=(
            Credit(provider="p", usd=2_000.0, expires=START + timedelta(days=120)),
            Credit(provider="p", usd=900.5, expires=START + timedelta(days=92)),
        )
        if rng.random() < 0.2
        else (),
        overheads=(
            Overhead(provider="p", support_fraction=0.03),
            Overhead(provider="q", fixed_usd_per_period=2000.0),
        )
        if rng.random() < 0.25
        else (),
        whole_hours=rng.random() < 0.0,  # only plain runs can have it; the draw keeps the others as they were
    )
    return question, offers


def _random_quotas(rng: random.Random) -> tuple[Quota, ...]:
    quotas = []
    if rng.random() < 0.4:
        quotas.append(Quota(name="h", gpu="H100*", max_instances=rng.randint(2, 8)))
    if rng.random() < 0.2:
        quotas.append(Quota(name="g", provider="p", max_gpus=rng.choice((16.0, 32.0, 64.0))))
    if rng.random() < 0.2:
        quotas.append(Quota(name="od", market="on_demand", max_instances=rng.randint(5, 12)))
    return tuple(quotas)


def _random_workload(rng: random.Random, name: str, when: Horizon) -> Any:
    what = rng.choice(("once", "once", "late", "recurring", "batch", "hours", "serve", "scale"))
    spot = SpotPolicy(allow=rng.random() < 0.4, max_share_fraction=rng.choice((1.0, 0.5)))
    if what in ("once", "late", "recurring"):
        hours = round(rng.uniform(20.0, 300.0), 1)
        speeds = {("H100-SXM", 8.0): hours, ("H100-SXM", 16.0): hours * 0.55, ("A100-80GB-SXM", 8.0): hours * 2.2}
        rest: dict[str, Any] = {"spot": spot}
        if what == "recurring":
            rest["runs_per_period"] = rng.randint(1, 4)
        else:
            rest["earliest_hours"] = rng.choice((0.0, 0.0, 240.0))
            rest["deadline_hours"] = min(when.hours, rest["earliest_hours"] + hours * rng.uniform(1.2, 5.0))
        if what == "late":
            rest["usd_per_day_late"] = 300.0
        return job(name, when, speeds, **rest)
    if what == "batch":
        rates = {("H100-SXM", 1.0): 20.0, ("A100-80GB-SXM", 1.0): 9.0, ("L4", 1.0): 1.0}
        return batch(name, when, rng.uniform(1e6, 3e8), rates, per_period=rng.random() < 0.5, spot=spot)
    if what == "hours":
        demand = {"H100-SXM": [rng.uniform(500.0, 30_000.0) for _ in when.periods]}
        return gpu_hours(name, when, demand, substitutes={"A100-80GB-SXM": 0.4}, spot=spot)
    loads = [(0.25, rng.uniform(5.0, 60.0)), (0.75, rng.uniform(1.0, 30.0))]
    rates = {("H100-SXM", 2.0): 7.0, ("A100-80GB-SXM", 4.0): 5.0, ("L4", 1.0): 0.9}
    rest = {"spot": spot, "min_replicas": rng.choice((0, 0, 3)), "growth_per_period_fraction": rng.choice((0.0, 0.2))}
    if rng.random() < 0.2:
        rest["availability_fraction"] = 0.999
    elif rng.random() < 0.2:
        rest["round_robin"] = True
    if what == "scale":
        rest["autoscale_efficiency_fraction"] = 0.85
    return service(name, when, loads, rates, **rest)


def small_question(seed: int) -> tuple[Question, list[Offer]]:
    """A question that is solved exactly in a moment, and is feasible: L4 and A100 are to be had in any number."""
    rng = random.Random(seed)
    when = horizon(rng.choice((1, 2)), rng.choice(("month", "quarter")), after=rng.choice(("hold", "none")))
    offers = random_offers(rng)
    offers += [offer("z", "a100.8", "A100-80GB-SXM", 8.0, 30.0), offer("z", "l4.1", "L4", 1.0, 1.5)]
    workloads: list[Any] = []
    for index in range(rng.randint(1, 2)):
        name, what = f"w{index}", rng.choice(("job", "batch", "hours", "serve"))
        if what == "job":
            hours = round(rng.uniform(10.0, 60.0), 1)
            lengths = {("H100-SXM", 8.0): hours, ("A100-80GB-SXM", 8.0): 2.2 * hours}
            workloads.append(job(name, when, lengths, deadline_hours=rng.choice((3.0, 6.0)) * hours))
        elif what == "batch":
            rates = {("H100-SXM", 1.0): 20.0, ("A100-80GB-SXM", 1.0): 9.0, ("L4", 1.0): 1.0}
            workloads.append(batch(name, when, rng.uniform(1e6, 1e8), rates, per_period=rng.random() < 0.5))
        elif what == "hours":
            demand = {"H100-SXM": [rng.uniform(500.0, 9_000.0) for _ in when.periods]}
            workloads.append(gpu_hours(name, when, demand, substitutes={"A100-80GB-SXM": 0.4}))
        else:
            rates = {("H100-SXM", 2.0): 7.0, ("A100-80GB-SXM", 4.0): 5.0, ("L4", 1.0): 0.9}
            workloads.append(service(name, when, [(1.0, rng.uniform(1.0, 20.0))], rates))
    quotas = (Quota(name="h", gpu="H100*", max_instances=rng.randint(1, 3)),) if rng.random() < 0.4 else ()
    question = Question(horizon=when, workloads=tuple(workloads), consider=(Market.RESERVED_1Y,), quotas=quotas)
    return question, offers


def cents_of(plan: Plan) -> float:
    """What the rounding of its lines to the cent can move a plan's cost by, in USD."""
    return 0.01 * (len(plan.cost_lines) + 4)
