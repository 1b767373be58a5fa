"""Budgets, quotas and providers (contract, section 7.8)."""

from __future__ import annotations

from datetime import date

import pytest
from tests.unit.planner_cases import gpu_hours, horizon, job, offer, service, solve, spent

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import Budget, ExistingCommitment, Quota
from gpu_opt.errors import Infeasible

JANUARY = 744.0


def months(instances: float, when_hours: float = JANUARY) -> dict[str, tuple[float, ...]]:
    return {"H100-SXM": (instances * 8 * when_hours,)}


def reserved(usd: float = 6.0) -> object:
    return offer(usd=usd, market=Market.RESERVED_1Y)


def test_reserved_instances_count_in_a_quota() -> None:
    when = horizon(1, "month")
    with pytest.raises(Infeasible) as problem:
        solve(
            when,
            [gpu_hours("g", months(3), when)],
            [offer(), reserved()],
            consider=(Market.RESERVED_1Y,),
            quotas=(Quota(name="q", provider="aws", max_instances=2),),
        )
    assert problem.value.repairs[0] == ("raise the quota q (instances) by 1.00 (to at most 3.00)", 3 * JANUARY * 6)


def test_a_quota_of_one_market_leaves_the_others_alone() -> None:
    when = horizon(1, "month")
    found = solve(
        when,
        [gpu_hours("g", months(3), when)],
        [offer(), reserved()],
        consider=(Market.RESERVED_1Y,),
        quotas=(Quota(name="q", market="on_demand", max_instances=1),),
    )
    assert found.objective_usd == 3 * JANUARY * 6


def test_existing_commitments_count_in_a_quota_and_its_repair_names_the_whole_limit() -> None:
    when = horizon(1, "month")
    held = ExistingCommitment(
        name="c",
        provider="aws",
        region="us-east-1",
        instance_type="p5.48xlarge",
        instances=1,
        ends=date(2027, 1, 31),
        usd_per_instance_hour=50.0,
    )
    with pytest.raises(Infeasible) as problem:
        solve(
            when,
            [gpu_hours("g", months(2), when)],
            [offer("p5.48xlarge")],
            existing=(held,),
            quotas=(Quota(name="q", max_instances=1),),
        )
    change, usd = problem.value.repairs[0]
    assert change == "raise the quota q (instances) by 1.00 (to at most 2.00)"
    assert usd == JANUARY * (50 + 80)


@pytest.mark.parametrize(
    ("quota", "binds"),
    [
        (Quota(name="q", max_gpus=15), True),
        (Quota(name="q", max_gpus=16), False),
        (Quota(name="q", max_vcpus=383), True),
        (Quota(name="q", max_vcpus=384), False),
        (Quota(name="q", region="eu-*", max_instances=0), False),
        (Quota(name="q", gpu="A100*", max_instances=0), False),
        (Quota(name="q", instance_types=("h*",), max_instances=1), True),
        (Quota(name="q", provider="gcp", max_instances=1), False),
        (Quota(name="q", max_instances=1, obtainable=True), True),
    ],
)
def test_keys_that_are_absent_match_all(quota: Quota, binds: bool) -> None:
    when = horizon(1, "month")
    both = [service("s", 20.0, when)]  # two instances of 8 GPUs and 192 vCPUs
    if binds:
        with pytest.raises(Infeasible):
            solve(when, both, [offer(vcpus=192.0)], quotas=(quota,))
    else:
        assert solve(when, both, [offer(vcpus=192.0)], quotas=(quota,)).objective_usd == 2 * JANUARY * 80


def test_gangs_of_512_fit_a_quota_of_128_instances_only_when_they_do_not_overlap() -> None:
    when = horizon()
    big = (("H100-SXM", 512, 1000.0),)
    runs = [job(name, 1000, when, speeds=big, deadline_hours=45 * 24.0) for name in ("a", "b")]
    together = solve(when, runs, [offer()], quotas=(Quota(name="q", max_instances=128),))
    assert together.objective_usd == 2 * 1000 * 64 * 80
    with pytest.raises(Infeasible):
        solve(when, runs, [offer()], quotas=(Quota(name="q", max_instances=127),))


def test_a_budget_per_period_makes_a_run_straddle_its_end() -> None:
    when = horizon(2, "month")
    found = solve(when, [job("x", 100, when)], [offer()], budget=Budget(per_period_usd=5_000.0))
    assert max(spent(found, period=name) for name in ("P1", "P2")) <= 5_000.0
    assert found.objective_usd == 8_000.0


def test_a_budget_per_period_that_no_calendar_keeps_is_infeasible() -> None:
    when = horizon(2, "month")
    with pytest.raises(Infeasible) as problem:
        solve(when, [job("x", 100, when)], [offer()], budget=Budget(per_period_usd=3_999.0))
    assert "the budget per period" in problem.value.conflict[0]


def test_what_is_charged_after_the_horizon_is_in_the_total_budget_and_in_no_period() -> None:
    when = horizon(2, after="none")
    work = [gpu_hours("g", {"H100-SXM": (8 * 2160.0, 8 * 2184.0)}, when)]
    offers = [offer(usd=80), offer(usd=30, market=Market.RESERVED_1Y)]
    # a year of reservation: 8,760 × $30 = $262,800, of which 4,416 h fall after the horizon; rent is $347,520
    free = solve(when, work, offers, consider=(Market.RESERVED_1Y,))
    assert free.objective_usd == 262_800
    kept = solve(when, work, offers, consider=(Market.RESERVED_1Y,), budget=Budget(per_period_usd=65_520.0))
    assert kept.objective_usd == 262_800
    with pytest.raises(Infeasible):
        solve(when, work, offers, consider=(Market.RESERVED_1Y,), budget=Budget(total_usd=262_799.0))


def test_a_billed_budget_counts_the_upfront_when_it_is_paid() -> None:
    when = horizon(4)
    work = [gpu_hours("g", {"H100-SXM": (8 * 2160.0,)}, when)]
    upfront = offer(usd=20, upfront_usd=100_000.0, term_months=12, market=Market.RESERVED_1Y)
    # cash: $100,000 + 8,760 × $20 = $275,200; effective: the annuity of 10 % adds interest
    found = solve(
        when, work, [offer(), upfront], consider=(Market.RESERVED_1Y,), budget=Budget(basis="billed", total_usd=275_200)
    )
    assert found.billed_usd == 275_200
    assert found.objective_usd == pytest.approx(100_000 * 1.1 + 175_200, abs=0.02)
    with pytest.raises(Infeasible):
        solve(when, work, [upfront], consider=(Market.RESERVED_1Y,), budget=Budget(basis="billed", total_usd=275_199))


def test_a_budget_per_hour_keeps_runs_apart() -> None:
    when = horizon()
    runs = [job("x", 100, when), job("y", 100, when)]
    found = solve(when, runs, [offer()], budget=Budget(per_hour_usd=80.0))
    first, second = found.schedule
    assert first.end_hours <= second.start_hours
    assert first.start_hours == 0.0
    with pytest.raises(Infeasible):
        solve(when, runs, [offer()], budget=Budget(per_hour_usd=79.0))


def test_at_most_so_many_providers_are_used() -> None:
    when = horizon()
    either = (("A100-80GB-SXM", 8, 1000.0), ("H100-SXM", 8, 1000.0))
    runs = [job("x", 10, when), job("y", 10, when, speeds=either)]
    offers = [offer(), offer("a8", 10, gpu="A100-80GB-SXM", provider="gcp", region="us-central1")]
    assert solve(when, runs, offers).objective_usd == 800 + 100
    assert solve(when, runs, offers, max_providers=1).objective_usd == 800 + 800


def test_one_more_unit_of_a_quota_is_worth_what_it_saves() -> None:
    when = horizon(1, "month")
    work = [service("s", 20.0, when)]
    offers = [offer(usd=80), offer(usd=90, region="us-west-2")]
    found = solve(when, work, offers, quotas=(Quota(name="q", region="us-east-1", max_instances=1),))
    assert found.objective_usd == JANUARY * (80 + 90)
    [binding] = found.binding
    assert (binding.limit, binding.value_of_one_more_usd) == ("q (instances)", JANUARY * 10)
