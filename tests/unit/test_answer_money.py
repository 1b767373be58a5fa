"""Agreements, credits and overheads (contract, section 7.9)."""

from __future__ import annotations

import pytest
from tests.unit.planner_cases import horizon, job, offer, solve, spent

from gpu_opt.domain.question import Agreement


def test_an_agreement_takes_its_discount_off_every_price_and_charges_what_is_missing() -> None:
    when = horizon()
    agreement = Agreement(
        provider="aws", min_spend_usd_per_year=40_000.0, discount_fraction=0.1, other_spend_usd_per_year=4_000.0
    )
    found = solve(when, [job("x", 100, when)], [offer(usd=80)], agreements=(agreement,))
    # rent 100 h × $72 = $7,200; owed ($40,000 − $4,000) × 2,160 ÷ 8,760 = $8,876.71, so $1,676.71 are missing
    assert spent(found, "rent") == pytest.approx(7_200.00)
    assert spent(found, "agreement shortfall") == pytest.approx(1_676.71)
