"""The answer in at most twelve lines: what to do, what it costs, what would win otherwise, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from gpu_opt.domain.plan import Allocation, CommitmentPlan, Plan, PurchasePlan, WorkloadPlan
from gpu_opt.report import money
from gpu_opt.report.section import Line

MAX_LINES = 12
_FIXED_LINES = 6  # cost, runner-up, capacity, prices, proof, attention
_RENTED = {"on_demand": "on demand", "spot": "spot", "flex_start": "flex start"}
_HELD = {"existing": "existing commitment", "purchase": "bought"}


def answer(plan: Plan) -> tuple[Line, ...]:
    """At most twelve lines. Lines without a label go on with the one above."""
    actions = _actions(plan)
    room = MAX_LINES - _FIXED_LINES
    if len(actions) > room:
        rest = len(actions) - room + 1
        actions = [*actions[: room - 1], f"and {rest} more; the tables below have all of them"]
    lines = [Line(label="" if place else "Do", text=text) for place, text in enumerate(actions)]
    lines += [
        Line(label="Cost", text=_cost(plan)),
        Line(label="Runner-up", text=_runner_up(plan)),
        Line(label="Not promised", text=_not_promised(plan)),
        Line(label="Prices", text=_prices(plan)),
        Line(label="Proof", text=_proof(plan)),
    ]
    attention = _attention(plan)
    if attention:
        lines.append(Line(label="Mind", text=attention))
    return tuple(lines)


def market_words(market: str) -> str:
    """How a market is called: `on demand`, `reserved 1y`, `bought`."""
    return _RENTED.get(market) or _HELD.get(market) or market.replace("_", " ")


def gpus_per_instance(allocation: Allocation) -> float:
    """GPUs that one instance of an allocation has (0 for an allocation without hours)."""
    return allocation.gpu_hours / allocation.instance_hours if allocation.instance_hours else 0.0


def _actions(plan: Plan) -> list[str]:
    bought = [_purchase(purchase) for purchase in plan.purchases]
    committed = [_commitment(commitment) for commitment in plan.commitments if not commitment.existing]
    run = [_run(plan, workload) for workload in plan.workloads if workload.allocations]
    unfunded = [str(entry.get("name", "")) for entry in plan.unfunded]
    left_out = [f"leave out {_names(unfunded)}: not funded"] if unfunded else []
    return [*bought, *committed, *run, *left_out] or ["nothing: no workload needs anything in this time"]


def _purchase(purchase: PurchasePlan) -> str:
    when = f"order by {purchase.ordered}, there on {purchase.delivered}"
    price = money.usd_short(purchase.capex_usd)
    return f"buy {purchase.instances} × {purchase.system} for {purchase.site} ({when}): {price}"


def _commitment(commitment: CommitmentPlan) -> str:
    what = f"{money.count(commitment.units)} × {commitment.instance_type}"
    if commitment.market.startswith("savings_plan"):
        what = f"{money.usd_rate(commitment.units)} an hour"
    upfront = f", {money.usd_short(commitment.upfront_usd)} upfront" if commitment.upfront_usd else ""
    return (
        f"commit to {what} at {commitment.provider}/{commitment.region} ({market_words(commitment.market)}), "
        f"{commitment.start} to {commitment.end}{upfront}"
    )


def _run(plan: Plan, workload: WorkloadPlan) -> str:
    """`train-70b: rent 16 × p5.48xlarge (8 × H100-SXM) on demand at aws/us-east-1, 5,002 instance-hours; done …`."""
    by_offer = _by_offer(workload.allocations)
    main, hours = by_offer[0]
    verb = "rent" if main.market in _RENTED else "use"
    text = f"{workload.name}: {verb} {_machines(plan, workload, main)}, {money.quantity(hours)} instance-hours"
    for other, _ in by_offer[1:2]:
        text += f"; and {_machines(plan, workload, other, brief=True)}"
    if len(by_offer) > 2:
        text += f"; and {len(by_offer) - 2} more offer{'s' if len(by_offer) > 3 else ''}"
    return text + _done(plan, workload.name)


def peak_instances(plan: Plan, workload: WorkloadPlan, allocation: Allocation) -> float:
    """The most instances of an offer at one time in a period: those of the fleet where nothing else uses them."""
    for entry in plan.fleet:
        if (entry.offer, entry.period, entry.used_by) == (allocation.offer, allocation.period, (workload.name,)):
            return entry.instances
    return allocation.instances


def _machines(plan: Plan, workload: WorkloadPlan, allocation: Allocation, *, brief: bool = False) -> str:
    """`2 × p5.48xlarge (8 × H100-SXM, on demand) at aws/us-east-1`."""
    count = f"{money.count(peak_instances(plan, workload, allocation))} × {allocation.instance_type}"
    gpus = gpus_per_instance(allocation)
    inside = f"{money.count(gpus)} × {allocation.gpu}" if gpus else allocation.gpu
    how = market_words(allocation.market)
    if allocation.market == "existing" and not allocation.usd:
        how = "already paid"
    place = f"{allocation.provider}/{allocation.region}"
    return f"{count} ({how}) at {place}" if brief else f"{count} ({inside}, {how}) at {place}"


def _by_offer(allocations: Sequence[Allocation]) -> list[tuple[Allocation, float]]:
    """(the allocation with most instances, instance-hours over all periods) of each offer, most GPU-hours first."""
    found = []
    for _, group in groupby(sorted(allocations, key=lambda a: a.offer), key=lambda a: a.offer):
        held = list(group)
        largest = max(held, key=lambda a: (a.instances, a.instance_hours, a.period))
        found.append((sum(a.gpu_hours for a in held), largest, sum(a.instance_hours for a in held)))
    found.sort(key=lambda entry: (-entry[0], entry[1].offer))
    return [(largest, hours) for _, largest, hours in found]


def _done(plan: Plan, workload: str) -> str:
    ends = [run.end for run in plan.schedule if run.workload == workload]
    if not ends:
        return ""
    runs = f"{len(ends)} runs, last " if len(ends) > 1 else ""
    return f"; {runs}done {money.minute(max(ends))}"


def _cost(plan: Plan) -> str:
    text = f"{money.usd_short(plan.objective_usd)} effective for {_time(plan)}"
    if plan.low_usd != plan.high_usd:
        text += f", P10–P90 {money.usd_rough(plan.low_usd)}–{money.usd_rough(plan.high_usd)}"
    if abs(plan.billed_usd - plan.objective_usd) >= 0.01:
        text += f"; billed in that time: {money.usd_short(plan.billed_usd)}"
    return text


def _time(plan: Plan) -> str:
    names = [name for name, _ in plan.periods]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _runner_up(plan: Plan) -> str:
    other = plan.runner_up
    if other is None:
        return "none known: no other offer was found to meet every requirement, or none was looked for"
    extra = f" (+{money.percent(other.extra_usd / plan.objective_usd)})" if plan.objective_usd > 0 else ""
    text = f"{other.offer} for {other.workload}: {money.usd_short(other.extra_usd)} more{extra}"
    if other.wins_below_usd_per_instance_hour is None:
        return f"{text}; no price of its own would make it win"
    now = other.usd_per_instance_hour
    at = f", now {money.usd_rate(now)}" if now is not None else ""
    return f"{text}; wins below {money.usd_rate(other.wins_below_usd_per_instance_hour)} per instance-hour{at}"


def _not_promised(plan: Plan) -> str:
    if not plan.depends_on:
        return "nothing: all capacity of this plan is owned or held by a commitment"
    return _names(plan.depends_on, shown=2, joint="; ")


def _prices(plan: Plan) -> str:
    text = f"as of {plan.prices_as_of}"
    oldest = plan.prices_oldest_as_of
    if oldest and oldest != plan.prices_as_of:
        text += f", the oldest in use of {oldest}"
    days = money.days_between(oldest or plan.prices_as_of, plan.start)
    return text if days is None or days <= 0 else f"{text} ({days} days before the plan starts)"


def _proof(plan: Plan) -> str:
    gap = money.percent(plan.gap)
    if plan.certified:
        text = "optimal for these inputs" + (f" within {gap}" if plan.gap > 0 else "")
    elif plan.gap > plan.gap_asked:
        text = f"feasible; the best may be up to {gap} cheaper (asked for: {money.percent(plan.gap_asked)})"
    else:
        text = "feasible; that nothing is cheaper is not proven, for the search was narrowed"
    if plan.low_usd != plan.high_usd and plan.objective_usd > 0:
        text += f"; the inputs move it {_moves(plan)}"
    return text + ("; re-checked independently" if plan.verified else "; NOT verified")


def _moves(plan: Plan) -> str:
    down, up = 1.0 - plan.low_usd / plan.objective_usd, plan.high_usd / plan.objective_usd - 1.0
    if abs(down - up) < 0.02:
        return f"±{money.percent((down + up) / 2)}"
    return f"-{money.percent(down)} to +{money.percent(up)}"


def _attention(plan: Plan) -> str:
    parts = [
        _counted(len(plan.warnings), "warning"),
        _counted(len(plan.coverage_gaps), "gap in the prices", "gaps in the prices"),
    ]
    return " and ".join(part for part in parts if part)


def _counted(number: int, one: str, many: str = "") -> str:
    return "" if not number else f"{number} {one if number == 1 else many or f'{one}s'}"


def _names(names: Iterable[str], shown: int = 3, joint: str = ", ") -> str:
    listed = list(names)
    more = f"{joint}and {len(listed) - shown} more" if len(listed) > shown else ""
    return joint.join(listed[:shown]) + more
