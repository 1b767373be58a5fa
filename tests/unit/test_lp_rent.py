"""Rent (contract, sections 1.4, 7.2): hours that run, several prices of one place, what an offer itself allows."""

from __future__ import annotations

from datetime import date

import pytest
from tests.unit.planner_cases import gpu_hours, horizon, job, lines, offer, solve, spent

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import PricePath
from gpu_opt.domain.workload import SpotPolicy


def test_rent_is_paid_by_the_fraction_of_an_hour_unless_whole_hours_are_asked() -> None:
    when = horizon()
    work = [job("x", 100.25, when)]
    assert solve(when, work, [offer()]).objective_usd == 100.25 * 80
    assert solve(when, work, [offer()], whole_hours=True).objective_usd == 101 * 80


def test_what_an_offer_allows_at_one_time_is_rented_first_and_the_dearer_after_it() -> None:
    when = horizon(1, "month")
    work = gpu_hours("g", {"H100-SXM": (3 * 744 * 8.0,)}, when)
    found = solve(when, [work], [offer(usd=50, max_instances=2, payment="a"), offer(usd=80)])
    assert found.objective_usd == 744 * (2 * 50 + 80)


def test_spot_prices_of_one_place_each_keep_their_limit() -> None:
    when = horizon(1, "month")
    work = gpu_hours("g", {"H100-SXM": (2 * 744 * 8.0,)}, when, spot=SpotPolicy(allow=True))
    offers = [
        offer(usd=20, market=Market.SPOT, max_instances=1),
        offer(usd=30, market=Market.SPOT, payment="b"),
    ]
    assert solve(when, [work], offers).objective_usd == 744 * (20 + 30)


def test_waiting_for_a_spot_instance_is_not_paid_where_the_offer_has_a_limit() -> None:
    when = horizon()
    run = job("x", 100, when, effective=False, checkpoint_interval_hours=0.5, spot=SpotPolicy(allow=True))
    free = solve(when, [run], [offer(usd=20, market=Market.SPOT)])
    limited = solve(when, [run], [offer(usd=20, market=Market.SPOT, max_instances=1)])
    assert limited.objective_usd == free.objective_usd == limited.bound_usd
    [placed] = limited.schedule
    [line] = lines(limited, "rent")
    assert line.quantity < placed.end_hours - placed.start_hours


def test_a_quote_without_a_term_is_rent_from_its_first_day() -> None:
    when = horizon()
    quote = offer(usd=10, quoted=True, payment="quote", available_from=date(2027, 3, 1))
    early = solve(when, [job("x", 100, when, deadline_hours=200.0)], [offer(), quote])
    late = solve(when, [job("x", 100, when)], [offer(), quote])
    assert early.objective_usd == 100 * 80
    assert late.objective_usd == 100 * 10
    assert late.schedule[0].start_hours >= 59 * 24  # January and February 2027 have 59 days


def test_a_quote_without_a_term_that_has_a_minimum_is_left_out_by_name() -> None:
    when = horizon()
    quote = offer(usd=10, quoted=True, payment="quote", min_instances=4)
    found = solve(when, [job("x", 100, when)], [offer(), quote])
    assert found.objective_usd == 100 * 80
    assert any("quote" in warning and "isn't supported yet" in warning for warning in found.warnings)


def test_prices_drift_by_each_periods_start() -> None:
    when = horizon(2, "year")
    work = gpu_hours("g", {"H100-SXM": (8 * 1000.0, 8 * 1000.0)}, when)
    found = solve(when, [work], [offer()], price_paths=(PricePath(gpu="H100*", annual_change_fraction=-0.2),))
    # the second year begins after 8,760 h, so at 0.8 of the price
    assert spent(found, "rent", "g", "P1") == 80_000.00
    assert spent(found, "rent", "g", "P2") == pytest.approx(64_000.00)


def test_a_job_waits_for_the_cheaper_period_when_its_window_allows() -> None:
    when = horizon(2, "year")
    path = (PricePath(gpu="H100*", annual_change_fraction=-0.2),)
    assert solve(when, [job("x", 1000, when)], [offer()], price_paths=path).objective_usd == pytest.approx(64_000.0)
    hurried = job("x", 1000, when, deadline_hours=2000.0)
    assert solve(when, [hurried], [offer()], price_paths=path).objective_usd == 80_000.0
