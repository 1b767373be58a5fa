"""What plans cost (contract, section 7.3): commitments, machines, the time after the horizon; every sum to the cent."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from tests.unit.planner_cases import batch, gpu_hours, horizon, job, lines, offer, service, solve, spent

from gpu_opt.answer.document import to_json
from gpu_opt.domain.offer import Market
from gpu_opt.domain.plan import Plan
from gpu_opt.domain.question import (
    Agreement,
    Budget,
    Credit,
    ExistingCommitment,
    Overhead,
    Owned,
    Purchasable,
    Question,
    Scope,
    Site,
)
from gpu_opt.pipeline import PlanOptions, plan

SITE = Site(name="dc1", country="US", pue_ratio=1.3, usd_per_kwh=0.09, colo_usd_per_kw_month=195.0)
TERMS = (Market.RESERVED_1Y,)


def steady(when: Any, instances: float = 1) -> Any:
    return gpu_hours("g", {"H100-SXM": tuple(8 * instances * p.hours for p in when.periods)}, when)


def bought(after: str, **more: Any) -> Plan:
    when = horizon(4, after=after, **more)
    purchasable = (Purchasable(system="hgx-h100-8", site="dc1", max_instances=5),)
    return solve(when, [steady(when, 2)], [offer()], sites=(SITE,), purchasable=purchasable)


def test_an_upfront_costs_its_annuity_by_the_hour_of_8760() -> None:
    when = horizon(4)
    upfront = offer(usd=20, upfront_usd=100_000.0, term_months=12, market=Market.RESERVED_1Y)
    found = solve(when, [steady(when)], [offer(), upfront], consider=TERMS)
    # one year at 10 %: $110,000 over the 8,760 h of 2027
    assert spent(found, "upfront, as annuity") == pytest.approx(110_000, abs=0.02)
    assert spent(found, "committed") == 8_760 * 20
    assert found.billed_usd == 100_000 + 8_760 * 20
    [commitment] = found.commitments
    assert (commitment.start, commitment.end, commitment.upfront_usd) == ("2027-01-01", "2028-01-01", 100_000.0)
    # 8,760 × $32.557 ÷ $80 = 3,565 h of rent: 148.5 days
    assert commitment.pays_if_used_until == "2027-05-29"


def test_a_reservation_is_paid_for_all_hours_used_or_not() -> None:
    when = horizon(4)
    work = gpu_hours("g", {"H100-SXM": (8 * 2000.0,)}, when)
    found = solve(when, [work], [offer(), offer(usd=50, market=Market.RESERVED_1Y)], consider=TERMS)
    # 8,760 h × $50 = $438,000 against 4 × 2,000 h × $80 = $640,000
    assert found.objective_usd == 438_000
    assert spent(found, "committed, idle") == (8_760 - 8_000) * 50 == found.platform_usd


@pytest.mark.parametrize(("start", "end"), [(date(2027, 4, 1), "2028-04-01"), (date(2028, 1, 1), "2029-01-01")])
def test_a_reservation_stands_for_whole_calendar_months(start: date, end: str) -> None:
    when = horizon(4, start=start)
    found = solve(when, [steady(when)], [offer(), offer(usd=50, market=Market.RESERVED_1Y)], consider=TERMS)
    [commitment] = found.commitments
    assert (commitment.start, commitment.end) == (start.isoformat(), end)


def test_a_reservation_may_start_at_a_later_period() -> None:
    when = horizon(4, after="hold")
    work = gpu_hours("g", {"H100-SXM": (0.0, 8 * 2184.0, 8 * 2208.0, 8 * 2208.0)}, when)
    found = solve(when, [work], [offer(), offer(usd=50, market=Market.RESERVED_1Y)], consider=TERMS)
    assert [c.start for c in found.commitments] == ["2027-04-01"]
    assert found.objective_usd == (2184 + 2208 + 2208) * 50


def test_after_the_horizon_demand_that_holds_takes_over_the_rest_of_a_term() -> None:
    when = horizon(2, after="hold")
    found = solve(when, [steady(when)], [offer(), offer(usd=50, market=Market.RESERVED_1Y)], consider=TERMS)
    assert found.objective_usd == (2160 + 2184) * 50
    assert lines(found, period="after-horizon") == []


def test_where_demand_ends_the_rest_of_a_term_is_charged_now() -> None:
    when = horizon(2, after="none")
    cheap = solve(when, [steady(when)], [offer(), offer(usd=30, market=Market.RESERVED_1Y)], consider=TERMS)
    assert spent(cheap, period="after-horizon") == (8_760 - 4_344) * 30
    assert cheap.objective_usd == 8_760 * 30
    # at $50 the whole year is $438,000, two quarters of rent $347,520
    dear = solve(when, [steady(when)], [offer(), offer(usd=50, market=Market.RESERVED_1Y)], consider=TERMS)
    assert dear.commitments == ()


def test_work_that_happens_once_takes_over_nothing_after_the_horizon() -> None:
    when = horizon(1, after="hold")
    offers = [offer(usd=80), offer(usd=15, market=Market.RESERVED_1Y)]
    found = solve(when, [job("x", 2000, when)], offers, consider=TERMS)
    # the year costs $131,400, of which 6,600 h come after March; rent would be $160,000
    assert found.objective_usd == 8_760 * 15
    assert spent(found, period="after-horizon") == (8_760 - 2_160) * 15


def test_a_purchase_costs_its_annuity_and_runs_while_demand_lasts() -> None:
    hold = bought("hold")
    [purchase] = hold.purchases
    rate = purchase.annuity_usd_per_hour
    assert purchase.instances == 2
    assert spent(hold, "annuity") == pytest.approx(2 * 8_760 * rate, abs=0.05)
    assert lines(hold, period="after-horizon") == []
    ended = bought("none")
    # four years of life; three of them after the horizon, in which only the annuity is charged
    assert spent(ended, "annuity, after the horizon") == pytest.approx(2 * 3 * 8_760 * rate, abs=0.01)
    assert {line.label for line in lines(ended, period="after-horizon")} == {"annuity, after the horizon"}
    assert ended.objective_usd - hold.objective_usd == pytest.approx(2 * 3 * 8_760 * rate, abs=0.05)


def test_a_decline_compounds_and_leaves_the_fallen_part_to_pay_now() -> None:
    found = bought("decline", decline_per_year_fraction=0.5)
    [purchase] = found.purchases
    # quarters of 2,190 h after 8,760 h; the last period began at 6,552 h, so the level of the k-th is
    # 0.5 ^ ((2,208 + 2,190 k) ÷ 8,760); what is left of 2 × 26,280 h is charged
    taken = sum(2 * 2_190 * 0.5 ** ((2_208 + 2_190 * k) / 8_760) for k in range(12))
    [line] = lines(found, period="after-horizon")
    assert line.quantity == pytest.approx(2 * 26_280 - taken, rel=1e-6)
    assert line.rate_usd == purchase.annuity_usd_per_hour


def test_an_owned_machine_is_never_free() -> None:
    when = horizon(4)
    owned = Owned(name="o", system="hgx-h100-8", instances=1, purchased=date(2026, 1, 1), site="dc1")
    found = solve(when, [gpu_hours("g", {"H100-SXM": (8_000.0,)}, when)], [offer()], sites=(SITE,), inventory=(owned,))
    [annuity] = {line.rate_usd for line in lines(found, "annuity")}
    assert spent(found, "annuity") == pytest.approx(8_760 * annuity, abs=0.05)
    assert spent(found, "energy of work", "g") > 0
    assert spent(found, "rent") == 0
    # cash leaves the annuity out: it was paid when the machine was bought
    assert found.billed_usd == pytest.approx(found.objective_usd - spent(found, "annuity"), abs=0.01)


def test_regions_of_the_scope_do_not_bind_ones_own_sites_but_residency_does() -> None:
    when = horizon(4)
    owned = Owned(name="o", system="hgx-h100-8", instances=1, purchased=date(2026, 1, 1), site="dc1")
    work = [gpu_hours("g", {"H100-SXM": (8_000.0,)}, when, regions=("eu-*",))]
    offers = [offer(usd=90, region="eu-central-1")]
    estate = {"sites": (SITE,), "inventory": (owned,)}
    home = solve(when, work, offers, scope=Scope(regions=("eu-*",)), **estate)
    assert spent(home, "rent") == 0
    away = solve(when, work, offers, scope=Scope(data_residency=("DE",)), **estate)
    assert spent(away, "rent") == 4 * 1_000 * 90
    assert spent(away, "annuity, idle") == spent(home, "annuity")  # paid for, used or not
    assert any("paid for, and not used" in warning for warning in away.warnings)


def test_residency_binds_commitments_that_exist_too() -> None:
    when = horizon()
    held = ExistingCommitment(
        name="c",
        provider="aws",
        region="us-east-1",
        instance_type="p5.48xlarge",
        instances=1,
        ends=date(2027, 2, 1),
        usd_per_instance_hour=50.0,
    )
    offers = [offer(usd=90, region="eu-central-1"), offer()]
    found = solve(when, [job("x", 100, when)], offers, scope=Scope(data_residency=("DE",)), existing=(held,))
    assert spent(found, "rent", "x") == 100 * 90
    assert spent(found, "existing commitment, idle") == 32 * 24 * 50


def test_a_savings_plan_covers_dollars_an_hour_of_any_instance() -> None:
    when = horizon(4)
    other = gpu_hours("a", {"A100-80GB-SXM": tuple(8 * p.hours for p in when.periods)}, when)
    offers = [
        offer(usd=80),
        offer(usd=50, market=Market.SAVINGS_PLAN_1Y),
        offer("a8", 40, gpu="A100-80GB-SXM"),
        offer("a8", 25, gpu="A100-80GB-SXM", market=Market.SAVINGS_PLAN_1Y),
    ]
    found = solve(when, [steady(when), other], offers, consider=(Market.SAVINGS_PLAN_1Y,))
    # one plan of $75 an hour for the year: $50 of it for one workload, $25 for the other
    assert [commitment.units for commitment in found.commitments] == [75.0]
    assert spent(found, "committed", "g") == 8_760 * 50
    assert spent(found, "committed", "a") == 8_760 * 25


def everything() -> tuple[Question, list[Any]]:
    when = horizon(2)
    owned = Owned(name="o", system="hgx-h100-8", instances=1, purchased=date(2026, 1, 1), site="dc1")
    workloads = (
        job("train", 300, when, deadline_hours=900.0),
        job("tune", 20, when, kind="finetune", runs_per_period=7),
        batch("bulk", 36_000 * 50.0, when, per_period=True),
        service("chat", [("peak", 0.3, 25.0), ("rest", 0.7, 4.0)], when, autoscale_efficiency_fraction=0.8),
        service("twin", 7.0, when, pool="both", rates=[("H100-SXM", 2, 5.0)]),
        service("other", 9.0, when, pool="both", rates=[("H100-SXM", 2, 5.0)]),
    )
    question = Question(
        horizon=when,
        workloads=workloads,
        consider=TERMS,
        budget=Budget(total_usd=5_000_000.0),
        sites=(SITE,),
        inventory=(owned,),
        agreements=(Agreement(provider="aws", min_spend_usd_per_year=1_000_000.0, discount_fraction=0.05),),
        credits=(Credit(provider="aws", usd=10_000.0, expires=date(2027, 6, 30)),),
        overheads=(Overhead(provider="aws", support_fraction=0.03, fixed_usd_per_period=500.0),),
    )
    return question, [offer(usd=81.37), offer(usd=52.19, market=Market.RESERVED_1Y), offer("h4", 43.7, gpus=4)]


def test_every_line_multiplies_out_and_all_sums_agree_to_the_cent() -> None:
    question, offers = everything()
    found = plan(question, offers, PlanOptions(gap=0.0, time_limit_seconds=20.0, runner_up=False))
    for line in found.cost_lines:
        assert line.usd == pytest.approx(line.quantity * line.rate_usd, abs=0.005001)
    assert round(sum(line.usd for line in found.cost_lines), 2) == found.objective_usd
    assert round(sum(w.usd for w in found.workloads) + found.platform_usd, 2) == found.objective_usd
    for workload in found.workloads:
        assert workload.usd == spent(found, "", workload.name)
    trained = [run for run in found.schedule if run.workload in ("train", "tune")]
    assert len(trained) == 1 + 2 * 7
    assert found.verified


def test_the_order_of_the_input_does_not_change_a_byte() -> None:
    question, offers = everything()
    options = PlanOptions(gap=0.0, time_limit_seconds=20.0, runner_up=False)
    assert to_json(plan(question, offers, options)) == to_json(plan(question, offers[::-1], options))
