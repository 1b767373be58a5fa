"""Agreements, credits and overheads (contract, section 7.9)."""

from __future__ import annotations

from datetime import date

import pytest
from tests.unit.planner_cases import gpu_hours, horizon, job, lines, offer, solve, spent

from gpu_opt.domain.question import Agreement, Credit, Overhead


def test_an_agreement_takes_its_discount_off_every_price_and_charges_what_is_missing() -> None:
    when = horizon()
    agreement = Agreement(
        provider="aws", min_spend_usd_per_year=40_000.0, discount_fraction=0.1, other_spend_usd_per_year=4_000.0
    )
    found = solve(when, [job("x", 100, when)], [offer(usd=80)], agreements=(agreement,))
    # rent 100 h × $72 = $7,200; owed ($40,000 − $4,000) × 2,160 ÷ 8,760 = $8,876.71, so $1,676.71 are missing
    assert spent(found, "rent") == pytest.approx(7_200.00)
    assert spent(found, "agreement shortfall") == pytest.approx(1_676.71)


def test_an_agreement_that_is_reached_charges_nothing_more() -> None:
    when = horizon()
    agreement = Agreement(provider="aws", min_spend_usd_per_year=20_000.0, discount_fraction=0.1)
    found = solve(when, [job("x", 100, when)], [offer(usd=80)], agreements=(agreement,))
    # $20,000 × 2,160 ÷ 8,760 = $4,931.51 are owed, $7,200 are spent
    assert found.objective_usd == pytest.approx(7_200.00)


def test_a_shortfall_draws_work_to_the_provider_that_is_owed() -> None:
    when = horizon()
    agreement = Agreement(provider="aws", min_spend_usd_per_year=30_000.0)
    offers = [offer(usd=80), offer(usd=40, provider="gcp", region="us-central1")]
    found = solve(when, [job("x", 100, when)], offers, agreements=(agreement,))
    # $7,397.26 are owed either way: $8,000 at the one is cheaper than $4,000 at the other beside them
    assert found.objective_usd == 8_000


def test_credits_that_expire_first_pay_first() -> None:
    when = horizon(2, "month")
    work = gpu_hours("g", {"H100-SXM": (800.0, 800.0)}, when)
    credits = (
        Credit(provider="aws", usd=5_000.0, expires=date(2027, 2, 28)),
        Credit(provider="aws", usd=10_000.0, expires=date(2027, 1, 31)),
    )
    found = solve(when, [work], [offer(usd=80)], credits=credits)
    # $8,000 a month: January's on the credit that ends with it, whose rest is lost; $5,000 of February's on the other
    assert [(line.label, line.period, line.usd) for line in lines(found, "credit")] == [
        ("credit to 2027-01-31", "P1", -8_000.0),
        ("credit to 2027-02-28", "P2", -5_000.0),
    ]
    assert found.objective_usd == 3_000


def test_credits_pay_no_other_provider_and_never_more_than_is_owed() -> None:
    when = horizon()
    credits = (
        Credit(provider="gcp", usd=9_000.0, expires=date(2027, 12, 31)),
        Credit(provider="aws", usd=9_000.0, expires=date(2027, 12, 31)),
    )
    assert solve(when, [job("x", 100, when)], [offer(usd=80)], credits=credits).objective_usd == 0


def test_work_goes_where_credits_make_it_cheaper() -> None:
    when = horizon()
    offers = [offer(usd=80), offer(usd=90, provider="gcp", region="us-central1")]
    credit = (Credit(provider="gcp", usd=3_000.0, expires=date(2027, 12, 31)),)
    found = solve(when, [job("x", 100, when)], offers, credits=credit)
    assert found.objective_usd == 9_000 - 3_000


def test_support_is_a_fraction_of_what_is_spent_and_fixed_charges_are_paid_where_anything_is() -> None:
    when = horizon(2, "month")
    overheads = (
        Overhead(provider="aws", support_fraction=0.03, fixed_usd_per_period=1_000.0),
        Overhead(provider="gcp", fixed_usd_per_period=5_000.0),
    )
    found = solve(when, [job("x", 100, when)], [offer(usd=80)], overheads=overheads)
    assert found.objective_usd == 8_000 * 1.03 + 2 * 1_000


def test_a_fixed_charge_keeps_a_provider_out_that_saves_less() -> None:
    when = horizon()
    offers = [offer(usd=80), offer(usd=79, provider="gcp", region="us-central1")]
    fixed = (Overhead(provider="gcp", fixed_usd_per_period=200.0),)
    assert solve(when, [job("x", 100, when)], offers, overheads=fixed).objective_usd == 8_000
