"""Annuities, drift of prices, and demand after the horizon."""

import pytest

from gpu_opt.costs.finance import (
    annual_fall_that_ends_its_worth,
    annuity_per_hour,
    annuity_usd_per_year,
    crf,
    demand_level_after_horizon,
    pays_from_hours,
    price_path_multiplier,
    straight_line_usd_per_year,
)
from gpu_opt.errors import InputError


@pytest.mark.parametrize(
    ("w", "years", "factor"), [(0.10, 4, 0.315471), (0.06, 4, 0.288591), (0.10, 15, 0.1314738), (0, 4, 0.25)]
)
def test_capital_recovery_factor(w, years, factor):
    assert crf(w, years) == pytest.approx(factor, abs=5e-7)


def test_a_vanishing_cost_of_capital_is_the_straight_line():
    assert crf(1e-12, 4) == pytest.approx(0.25, rel=1e-9)
    assert annuity_usd_per_year(320_120, 45_300, 0, 4) == pytest.approx(straight_line_usd_per_year(320_120, 45_300, 4))
    # (320,120 − 45,300) / 4
    assert straight_line_usd_per_year(320_120, 45_300, 4) == pytest.approx(68_705)


def test_an_annuity_pays_the_debt_off_exactly():
    debt = 100_000.0
    for _ in range(5):
        debt = debt * 1.08 - annuity_usd_per_year(100_000, 0, 0.08, 5)
    assert debt == pytest.approx(0, abs=1e-6)


def test_an_upfront_payment_by_the_hour():
    # one year at 10 %: 8,760 × 1.1 / 8,760 = 1.1 USD/h; without a cost of capital 1 USD/h
    assert annuity_per_hour(8_760, 12, 0.10) == pytest.approx(1.1)
    assert annuity_per_hour(8_760, 12, 0) == pytest.approx(1.0)
    # three years at 10 %: CRF 0.402115
    assert annuity_per_hour(8_760, 36, 0.10) == pytest.approx(0.402115, abs=5e-7)


def test_prices_fall_compounding():
    assert price_path_multiplier(-0.2, 0) == 1
    assert price_path_multiplier(-0.2, 2) == pytest.approx(0.64)
    assert price_path_multiplier(0.1, 0.5) == pytest.approx(1.0488088)
    with pytest.raises(InputError, match="leaves no price"):
        price_path_multiplier(-1, 1)
    with pytest.raises(InputError, match="years: -1 is below 0"):
        price_path_multiplier(-0.2, -1)
    with pytest.raises(InputError, match="not a finite number"):
        price_path_multiplier(float("nan"), 1)


def test_demand_after_the_horizon_holds_ends_or_declines():
    assert demand_level_after_horizon("hold", 0, 7) == 1
    assert demand_level_after_horizon("none", 0, 0.25) == 0
    assert demand_level_after_horizon("decline", 0.3, 2) == pytest.approx(0.49)
    with pytest.raises(InputError, match="'stay' is unknown"):
        demand_level_after_horizon("stay", 0, 1)


def test_a_commitment_pays_from_the_hours_that_rent_would_cost_as_much():
    # a year at 62 % of 60 USD/h is 325,872 USD, which rents 5,431.2 h
    assert pays_from_hours(0.62 * 60 * 8_760, 60) == pytest.approx(5_431.2)


@pytest.mark.parametrize(("w", "years"), [(0.1, 0), (0.1, -1), (1.5, 4), (-0.1, 4)])
def test_impossible_terms_are_refused(w, years):
    with pytest.raises(InputError):
        crf(w, years)


def test_a_commitment_stops_paying_when_rent_falls_fast_enough():
    fall = annual_fall_that_ends_its_worth(62, 100, 3)
    # the mean of what rent becomes, day by day over three years, is then 62 % of today's
    days = [(1 - fall) ** ((day + 0.5) / 365) for day in range(3 * 365)]
    assert sum(days) / len(days) == pytest.approx(0.62, abs=1e-5)
    assert annual_fall_that_ends_its_worth(100, 100, 1) == 0
    assert annual_fall_that_ends_its_worth(120, 100, 1) == 0
    assert annual_fall_that_ends_its_worth(0, 100, 1) == pytest.approx(1)
