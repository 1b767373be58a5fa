"""Money over time: what a price paid once costs by the year and by the hour, and how prices and demand drift."""

from __future__ import annotations

import math

from gpu_opt.costs.checks import Checks
from gpu_opt.units import HOURS_PER_YEAR

MONTHS_PER_YEAR = 12
_HALVINGS = 40  # of a range of 1: to 1e-12
_NO_INTEREST = 1e-15  # below it, the factor is 1/years to the last digit


def crf(w: float, years: float) -> float:
    """K3: the capital recovery factor, the yearly payment that repays 1 in `years` at the yearly rate `w`.

    1/years when `w` is 0.
    """
    checks = Checks()
    checks.rate("cost_of_capital", w)
    checks.positive("years", years)
    checks.done()
    if w < _NO_INTEREST:
        return 1 / years
    return w / -math.expm1(-years * math.log1p(w))  # 1 − (1 + w)^−years, exact for small w too


def annuity_usd_per_year(paid_usd: float, residual_usd: float, w: float, years: float) -> float:
    """K4: the yearly payment that a purchase is worth, less what it still fetches at the end of its life."""
    return (paid_usd - residual_usd / math.pow(1 + w, years)) * crf(w, years)


def straight_line_usd_per_year(paid_usd: float, residual_usd: float, years: float) -> float:
    """K4 without a cost of capital: what is lost in value, spread evenly."""
    return (paid_usd - residual_usd) * crf(0.0, years)


def annuity_per_hour(upfront_usd: float, term_months: float, w: float) -> float:
    """USD per hour of a 8,760 h year that an upfront payment is worth over its term."""
    return upfront_usd * crf(w, term_months / MONTHS_PER_YEAR) / HOURS_PER_YEAR


def price_path_multiplier(annual_change_fraction: float, years: float) -> float:
    """What a rented price has become after `years`, relative to the horizon's start; it compounds."""
    checks = Checks()
    if checks.number("annual_change", annual_change_fraction) and annual_change_fraction <= -1:
        checks.fail("annual_change", f"{annual_change_fraction:g} leaves no price.", "Write -0.2 for a fall of 20 %.")
    checks.at_least("years", years, 0)
    checks.done()
    return math.pow(1 + annual_change_fraction, years)


def demand_level_after_horizon(after: str, decline_per_year_fraction: float, years_after: float) -> float:
    """Recurring demand `years_after` the horizon's end, relative to the last period: hold, none or decline."""
    checks = Checks()
    if after not in ("hold", "none", "decline"):
        checks.fail("horizon.after", f"{after!r} is unknown.", "Use hold, none or decline_per_year.")
    checks.share("decline_per_year", decline_per_year_fraction)
    checks.at_least("years_after", years_after, 0)
    checks.done()
    if after == "hold":
        return 1.0
    if after == "none":
        return 0.0
    return math.pow(1 - decline_per_year_fraction, years_after)


def pays_from_hours(committed_usd: float, rent_usd_per_hour: float) -> float:
    """Hours of use from which a commitment of `committed_usd` in all is no dearer than rent."""
    checks = Checks()
    checks.at_least("committed_usd", committed_usd, 0)
    checks.positive("rent_usd_per_hour", rent_usd_per_hour)
    checks.done()
    return committed_usd / rent_usd_per_hour


def annual_fall_that_ends_its_worth(committed_usd_per_hour: float, rent_usd_per_hour: float, years: float) -> float:
    """The steady yearly fall of rent, as a fraction, at which a commitment in full use costs as much as renting.

    Rent that falls by f a year is, averaged over the term, rent × ((1 − f)^years − 1) / (years × ln(1 − f)).
    0 where the commitment is no cheaper than rent as it is.
    """
    checks = Checks()
    checks.at_least("committed_usd_per_hour", committed_usd_per_hour, 0)
    checks.positive("rent_usd_per_hour", rent_usd_per_hour)
    checks.positive("years", years)
    checks.done()
    wanted = committed_usd_per_hour / rent_usd_per_hour
    if wanted >= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        log_left = math.log1p(-middle)
        mean = math.expm1(years * log_left) / (years * log_left)
        low, high = (middle, high) if mean > wanted else (low, middle)
    return (low + high) / 2
