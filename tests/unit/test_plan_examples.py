"""Whole plans whose answers are known: published examples, and what was wrong once."""

from dataclasses import replace

import pytest
from tests.property import cases

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import Owned, Period, Purchasable, Question, Quota, Site, SystemOverride
from gpu_opt.errors import Infeasible
from gpu_opt.pipeline import PlanOptions, plan

H100, A100 = "H100-SXM", "A100-80GB-SXM"


def test_100_hours_on_h100s_are_cheaper_than_230_hours_on_a100s():
    """100 h × $23.60 = $2,360.00 on 8 H100; 230 h × $22.32 = $5,133.60 on 8 A100, by work 2.2 times as dear."""
    when = cases.horizon(1)
    offers = [cases.offer("a", "h8", H100, 8, 23.60), cases.offer("b", "a8", A100, 8, 22.32)]
    wanted = cases.job("train", when, {(H100, 8): 100.0, (A100, 8): 230.0})
    question = Question(horizon=when, workloads=(wanted,))
    best = plan(question, offers, PlanOptions(gap=0.0))
    assert best.objective_usd == 2360.00
    assert best.workloads[0].allocations[0].offer == "a/us-east-1/h8/on_demand"
    assert best.runner_up is not None
    assert best.runner_up.total_usd == 5133.60
    assert cases.solve(question, offers[1:]).objective_usd == 5133.60


def two_gangs(most):
    when = cases.horizon(1)
    jobs = tuple(cases.job(name, when, {(H100, 512): 1000.0}, deadline_hours=45 * 24.0) for name in ("g1", "g2"))
    question = Question(horizon=when, workloads=jobs, quotas=(Quota(name="q", max_instances=most),))
    return cases.solve(question, [cases.offer("a", "h8", H100, 8, 23.6)])


def test_two_gangs_of_64_nodes_due_on_day_45_need_128_nodes():
    """Both take 1,000 h of the 1,080 h until then, so they run at one time: a quarter's average says 59 nodes."""
    with pytest.raises(Infeasible):
        two_gangs(127)
    found = two_gangs(128)
    assert found.objective_usd == 2 * 64 * 1000 * 23.6
    assert [entry.instances for entry in found.fleet] == [128.0]


def quarters(after):
    """Eight quarters of 2,190 h."""
    periods = tuple(Period(name=f"Q{k + 1}", start_hours=k * 2190.0, end_hours=(k + 1) * 2190.0) for k in range(8))
    return replace(cases.horizon(8, after=after), periods=periods)


def growing_fleet(after, *, purchase=False):
    """8, 9, … 15 nodes over eight quarters; $60 an hour on demand, 38 % off for a year, or $290,000 to buy one."""
    when = quarters(after)
    demand = {H100: [(8 + k) * 8 * 2190.0 for k in range(8)]}
    offers = [
        cases.offer("a", "h8", H100, 8, 60.0),
        cases.offer("a", "h8", H100, 8, 37.2, Market.RESERVED_1Y, term_months=12),
    ]
    override = SystemOverride(price_usd=290_000.0, life_years=4.0, residual_fraction=0.15, install_fraction=0.0)
    bought = Purchasable(system="hgx-h100-8", site="dc", lead_time_hours=2190.0, override=override)
    question = Question(
        horizon=when,
        workloads=(cases.gpu_hours("fleet", when, demand),),
        consider=(Market.RESERVED_1Y,),
        sites=(Site(name="dc", country="US"),),
        purchasable=(bought,) if purchase else (),
        cost_of_capital_fraction_per_year=0.0,
    )
    return cases.solve(question, offers)


def started(found):
    by_start = {}
    for commitment in found.commitments:
        by_start[commitment.start] = commitment.units
    return [units for _, units in sorted(by_start.items())]


def priced(units, *, after):
    """What a choice of commitments costs by hand: rent for what they lack, and the rest of terms that nobody uses."""
    total = 0.0
    for k in range(12):
        alive = sum(n for start, n in enumerate(units) if start <= k < start + 4)
        if k < 8:
            total += alive * 81_468.0 + max(0, 8 + k - alive) * 131_400.0
        else:
            total += (alive - (min(alive, 15) if after == "hold" else 0)) * 81_468.0
    return total


def test_commitments_of_a_growing_fleet_whose_demand_goes_on():
    """92 node-quarters are committed at $81,468: $7.495M. A term of a calendar year is 8,760 h or 8,784 h, so that
    ends in 2028 differ from quarters of 2,190 h by a day."""
    found = growing_fleet("hold")
    assert started(found) == [8, 1, 1, 1, 9, 2, 2, 2]
    assert priced([8, 1, 1, 1, 9, 2, 2, 2], after="hold") == pytest.approx(7.495e6, rel=1e-4)
    assert found.objective_usd == pytest.approx(7.495e6, rel=0.002)


def test_commitments_of_a_growing_fleet_whose_demand_ends():
    """8, 1, 1, 1, 9, 2, 0, 0 costs $7.958M; no plan may cost more, calendar days aside."""
    by_hand = priced([8, 1, 1, 1, 9, 2, 0, 0], after="none")
    assert by_hand == pytest.approx(7.958e6, rel=1e-4)
    assert growing_fleet("none").objective_usd <= by_hand * 1.002


def test_a_fleet_that_goes_on_is_bought_nine_at_first_and_then_one_a_quarter():
    """The first quarter's 8 nodes are rented until the first delivery."""
    found = growing_fleet("hold", purchase=True)
    assert [p.instances for p in found.purchases] == [9, 1, 1, 1, 1, 1, 1]
    assert found.commitments == ()
    first = [line for line in found.cost_lines if line.label == "rent"]
    assert [(line.period, line.quantity) for line in first] == [("Q1", 8 * 2190.0)]


def test_recurring_runs_leave_room_for_divisible_work_on_owned_machines():
    """One owned machine, 744 h: a run of 300 h due by 310 h, two recurring ones of 100 h, 200 h of divisible work.
    The calendar puts recurring runs where it likes, and the work has to make way."""
    when = cases.horizon(1, "month")
    owned = Owned(name="old", system="hgx-h100-8", instances=1, purchased=cases.START.replace(year=2026), site="dc")
    question = Question(
        horizon=when,
        workloads=(
            cases.job("due", when, {(H100, 8): 300.0}, deadline_hours=310.0),
            cases.job("often", when, {(H100, 8): 100.0}, runs_per_period=2),
            cases.gpu_hours("lab", when, {H100: [8 * 200.0]}),
        ),
        inventory=(owned,),
        sites=(Site(name="dc", country="US"),),
        occupancy_fraction=1.0,
    )
    found = cases.solve(question, [])
    assert {line.market for line in found.cost_lines} == {"owned"}
    assert found.verified


def test_a_savings_plan_does_not_lift_what_an_offer_has():
    """Three instances are to be had on demand; a plan makes them cheaper, not more."""
    when = cases.horizon(1)
    offers = [
        cases.offer("p", "h8", H100, 8, 30.0, max_instances=3),
        cases.offer("p", "h8", H100, 8, 15.0, Market.SAVINGS_PLAN_1Y),
    ]
    four = cases.gpu_hours("w", when, {H100: [4 * 8 * 2160.0]})
    with pytest.raises(Infeasible):
        cases.solve(Question(horizon=when, workloads=(four,), consider=(Market.SAVINGS_PLAN_1Y,)), offers)


def test_work_nobody_asked_for_takes_over_no_rest_of_a_term():
    """One reserved instance half used: half of its rest after the horizon is charged now, however idle it is.
    2,190 of 8,760 h lie inside (2,160 with 2027-Q1): $10 × 2,160 + $10 × half of 6,600 h."""
    when = cases.horizon(1)
    offers = [
        cases.offer("p", "h8", H100, 8, 60.0),
        cases.offer("p", "h8", H100, 8, 10.0, Market.RESERVED_1Y, term_months=12),
    ]
    half = cases.gpu_hours("w", when, {H100: [4 * 2160.0]})
    found = cases.solve(Question(horizon=when, workloads=(half,), consider=(Market.RESERVED_1Y,)), offers)
    assert found.objective_usd == 21_600.0 + 33_000.0


@pytest.mark.parametrize("least", [0, 1])
def test_replicas_nobody_needs_take_over_no_rest_of_a_term(least):
    """Two replicas in the first quarter, one in the second: both reserved, and one's rest of 4,416 h is charged now.
    2 × 4,344 h × $10 + 4,416 h × $10 = $131,040."""
    when = cases.horizon(2)
    offers = [
        cases.offer("p", "h8", H100, 8, 60.0),
        cases.offer("p", "h8", H100, 8, 10.0, Market.RESERVED_1Y, term_months=12),
    ]
    rates = {(H100, 8): 10.0}
    asked = cases.service("s", when, [(1.0, 20.0)], rates, growth_per_period_fraction=-0.5, min_replicas=least)
    found = cases.solve(Question(horizon=when, workloads=(asked,), consider=(Market.RESERVED_1Y,)), offers)
    assert found.objective_usd == 131_040.0


@pytest.mark.parametrize(("most", "usd"), [(12.0, 24_000.0 + 400 * 40.0), (16.0, 1200 * 30.0)])
def test_a_quota_in_gpus_counts_whole_instances(most, usd):
    """1,200 instance-hours in 800 h: of 12 GPUs one instance of 8 runs at a time, 800 h at $30, and 400 h at $40
    elsewhere; of 16 GPUs two do, all of it at $30."""
    when = cases.horizon(1)
    offers = [cases.offer("p", "h8", H100, 8, 30.0), cases.offer("q", "h8", H100, 8, 40.0)]
    work = cases.gpu_hours("w", when, {H100: [1200 * 8.0]}, active_to_hours=800.0)
    quota = Quota(name="g", provider="p", max_gpus=most)
    found = cases.solve(Question(horizon=when, workloads=(work,), quotas=(quota,)), offers)
    assert found.objective_usd == usd
