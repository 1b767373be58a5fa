"""Pruning drops nothing that a cheapest plan could need."""

from __future__ import annotations

import pytest
from tests.unit.planner_cases import horizon, job, offer, service, solve, spent

from gpu_opt.domain.offer import Market
from gpu_opt.domain.workload import DataLocation, SpotPolicy

GANGS = (("H100-SXM", 8, 1000.0), ("H100-SXM", 16, 1800.0))  # 100 h on one instance, 55.56 h on two


def test_a_dearer_gang_stays_where_being_late_costs_more() -> None:
    when = horizon()
    late = job("x", 100, when, speeds=GANGS, deadline_hours=60.0, usd_per_day_late=24_000.0)
    found = solve(when, [late], [offer(usd=80)])
    # one instance: 100 h × $80 and 40 h × $1,000 late; two: 2 × 55.56 h × $80 = $8,888.89, in time
    assert found.objective_usd == pytest.approx(8_888.89)


def test_a_dearer_gang_stays_where_the_cheaper_one_misses_a_short_month() -> None:
    when = horizon(2, "month")
    tuned = job("x", 700, when, speeds=GANGS, kind="finetune", runs_per_period=1)
    found = solve(when, [tuned], [offer(usd=80)])
    # January has 744 h: 700 h × $80. February has 672 h: two instances for 388.89 h, 777.78 × $80 = $62,222.22
    assert [spent(found, "rent", "x", period) for period in ("P1", "P2")] == [56_000.00, 62_222.22]


def test_runs_that_share_a_move_of_data_go_where_all_of_them_are_cheapest() -> None:
    when = horizon(1, "month")
    data = DataLocation(tib=1.0, location="aws/us-east-1")
    tuned = job("x", 50, when, kind="finetune", runs_per_period=40, data=data)
    found = solve(when, [tuned], [offer(usd=80), offer(usd=79, region="us-west-2")])
    # 40 runs × 50 h × $1 saved is $2,000, the move of 1 TiB (1,099.5 GB) within the continent costs far less, once
    assert spent(found, "rent") == 40 * 50 * 79.0
    assert len([line for line in found.cost_lines if line.label == "data to aws/us-west-2"]) == 1
    assert found.objective_usd < 40 * 50 * 80.0


def test_zones_that_are_needed_to_spread_stay_though_others_are_cheaper() -> None:
    when = horizon(1, "month")
    kinds = ("H100-SXM", "A100-80GB-SXM", "L40S", "L4", "T4")
    cheap = [offer(f"k{i}", 10.0 + i, gpu=gpu, zone="a", market=Market.SPOT) for i, gpu in enumerate(kinds)]
    dear = offer("h8", 50.0, zone="b", market=Market.SPOT)
    spread = service(
        "s",
        20.0,
        when,
        rates=[(gpu, 8, 10.0) for gpu in kinds],
        spot=SpotPolicy(allow=True),
        max_share_per_zone_fraction=0.5,
    )
    found = solve(when, [spread], [*cheap, dear])
    # two replicas, at most one in zone a: $10 + $50 an hour for the 744 h of January
    assert found.objective_usd == 744 * 60.0


def test_many_small_replicas_stay_where_a_number_of_replicas_is_asked() -> None:
    when = horizon(1, "month")
    kinds = ("H200-SXM", "A100-80GB-SXM", "L40S", "A100-40GB-SXM", "RTX-4090")
    whole = [offer(f"k{i}", 9.0 + 0.1 * i, gpu=gpu, gpus=1) for i, gpu in enumerate(kinds)]
    packed = offer("h8", 10.0)
    small = service("s", 8.0, when, rates=[*((gpu, 1, 8.0) for gpu in kinds), ("H100-SXM", 1, 1.0)], min_replicas=8)
    found = solve(when, [small], [*whole, packed])
    # eight replicas on one instance at $10 an hour; eight instances of the cheapest other kind would be $72
    assert found.objective_usd == 744 * 10.0
