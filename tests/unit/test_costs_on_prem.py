"""The cost of an owned node: 20 worked cases, the base node by hand, break-even, and what is refused."""

import csv
import math
from dataclasses import asdict
from pathlib import Path

import pytest

from gpu_opt.costs.finance import straight_line_usd_per_year
from gpu_opt.costs.on_prem import break_even_utilisation, cost, facility_usd_per_kw_month
from gpu_opt.errors import InputError

TABLE = Path(__file__).with_name("costs_on_prem_cases.csv")
CASES = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
OUTPUTS = [name for name in CASES[0] if name not in ("case", "changes")]


def changes(case: dict[str, str]) -> dict[str, float]:
    pairs = (pair.split("=") for pair in case["changes"].split())
    return {name: float(value) for name, value in pairs}


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_every_figure_of_a_worked_case_holds(case):
    result = cost(**changes(case))
    # the table is rounded to six decimals
    assert asdict(result) == pytest.approx({name: float(case[name]) for name in OUTPUTS}, rel=0, abs=1e-6)


def test_the_base_node_by_hand():
    result = cost()
    # equipment: 260,000 + 8 × (4,250 + 1,000) = 302,000; paid with 3 % + 3 %: 320,120
    assert (result.equip, result.capex0) == (302_000, pytest.approx(320_120))
    # 1.8 + 0.7 × (7.75 − 1.8) + 0.55 = 6.515 kW; × 1.3 × 8,760 = 74,192.82 kWh; × 0.09 = 6,677.35 USD
    assert result.pavg == pytest.approx(6.515)
    assert result.energy == pytest.approx(6_677.3538)
    # 12 × 195 × (10.2 + 0.55) = 25,155
    assert result.colo == pytest.approx(25_155)
    # 8 × 8,760 × 0.97 = 67,977.6 h, of which 70 % are used
    assert (result.avail_h, result.used_h) == (pytest.approx(67_977.6), pytest.approx(47_584.32))
    assert result.per_avail == pytest.approx(2.1030, abs=5e-5)
    assert result.per_used == pytest.approx(3.0044, abs=5e-5)


def test_nothing_left_at_the_end_of_life_costs_more():
    # capital: 320,120 × 0.315471 = 100,988.5; with 51,732.35 running: 152,720.9 over 67,977.6 h
    assert cost(resid=0).per_avail == pytest.approx(2.2466, abs=5e-5)


def test_results_are_read_by_attribute_by_name_and_as_a_dictionary():
    result = cost(util=0.5)
    assert result["per_used"] == result.per_used == result.as_dict()["per_used"] == dict(result)["per_used"]
    assert list(result) == OUTPUTS
    assert len(result) == 23
    with pytest.raises(KeyError):
        result["as_dict"]


def test_an_idle_node_has_no_finite_cost_per_used_hour():
    result = cost(util=0)
    assert result.used_h == 0
    assert math.isinf(result.per_used)
    assert math.isfinite(result.per_avail)


@pytest.mark.parametrize(
    ("cloud_usd", "utilisation"), [(2.50, 0.8465), (3.00, 0.7010), (4.00, 0.5218), (6.155, 0.3364)]
)
def test_break_even_utilisation_of_the_base_node(cloud_usd, utilisation):
    assert break_even_utilisation(cloud_usd) == pytest.approx(utilisation, abs=5e-5)


def test_at_the_break_even_the_used_hour_costs_what_the_cloud_asks():
    utilisation = break_even_utilisation(3.0, srv=200_000, e=0.2)
    assert utilisation is not None
    assert cost(util=utilisation, srv=200_000, e=0.2).per_used == pytest.approx(3.0)


@pytest.mark.parametrize("cloud_usd", [2.00, 0.01])
def test_a_cheap_cloud_is_never_reached(cloud_usd):
    assert break_even_utilisation(cloud_usd) is None


def test_break_even_takes_no_utilisation():
    with pytest.raises(InputError, match="util: the break-even is a utilisation itself"):
        break_even_utilisation(3.0, util=0.5)
    with pytest.raises(InputError, match="cloud_usd_per_gpu_hour: 0 is not above zero"):
        break_even_utilisation(0)


def test_an_own_building_by_the_kilowatt_month():
    # 11,500 USD/kW × CRF(10 %, 15 y) 0.1314738 = 1,511.95 a year = 126.00 a month; upkeep 3 %: + 28.75
    assert facility_usd_per_kw_month(0.10, opex_fraction_per_year=0) == pytest.approx(126.00, abs=5e-3)
    assert facility_usd_per_kw_month(0.10) == pytest.approx(154.75, abs=5e-3)
    assert facility_usd_per_kw_month(0.10, usd_per_watt=9, opex_fraction_per_year=0) == pytest.approx(98.61, abs=5e-3)
    assert facility_usd_per_kw_month(0.10, usd_per_watt=15.2, opex_fraction_per_year=0) == pytest.approx(
        166.53, abs=5e-3
    )


def test_a_quarter_of_an_owned_node_by_the_straight_line():
    # 290,000 × 0.85 / 4 = 61,625 a year, and 51,732.35 running: 113,357.35, of which a quarter is 28,339.34
    a_year = straight_line_usd_per_year(290_000, 0.15 * 290_000, 4) + cost().opex
    assert a_year / 4 == pytest.approx(28_339.34, abs=5e-3)


def test_residual_value_is_of_the_equipment_not_of_what_was_paid():
    result = cost(install=0.5, spares=0.5)
    assert result.rv == pytest.approx(0.15 * 302_000)
    assert result.capex0 == pytest.approx(2 * 302_000)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"srv": -1}, "srv: -1 is below 0"),
        ({"e": math.nan}, "e: nan is not a finite number"),
        ({"srv": math.inf}, "srv: inf is not a finite number"),
        ({"N": 0}, "N: 0 is not above zero"),
        ({"L": 0}, "L: 0 is not above zero"),
        ({"L": -2}, "L: -2 is not above zero"),
        ({"resid": 1.2}, "resid: 1.2 is not a share"),
        ({"resid": -0.1}, "resid: -0.1 is not a share"),
        ({"util": 70}, "util: 70 is not a share. A share is a number from 0 to 1"),
        ({"avail": 0}, "avail: 0 is not a share.*Here it must be above 0"),
        ({"w": 10}, "w: 10 is not a yearly rate"),
        ({"w": -0.01}, "w: -0.01 is not a yearly rate"),
        ({"pue": 0.9}, "pue: 0.9 is below 1. PUE is all energy over IT energy"),
        ({"P_idle": 9}, "P_idle: 9 kW is above P_busy, 7.75 kW"),
        ({"P_busy": 12}, "P_busy: 12 kW is above P_max, 10.2 kW"),
        ({"colo": "195"}, "colo: '195' is not a number"),
        ({"maint": True}, "maint: True is not a number"),
    ],
)
def test_what_cannot_be_is_refused_by_name(inputs, message):
    with pytest.raises(InputError, match=message):
        cost(**inputs)


def test_everything_wrong_is_told_at_once():
    with pytest.raises(InputError) as caught:
        cost(srv=-1, L=0, util=2)
    assert [problem.path for problem in caught.value.problems] == ["L", "util", "srv"]
