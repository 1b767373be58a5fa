"""What the planner is told about a machine on a site."""

import pytest

from gpu_opt.costs.energy import Carbon, Unknown
from gpu_opt.costs.machine_inputs import residual_fraction
from gpu_opt.costs.machines import machine_cost, on_prem_inputs
from gpu_opt.costs.on_prem import break_even_utilisation, cost
from gpu_opt.costs.power import Phase
from gpu_opt.domain.hardware import System
from gpu_opt.domain.question import Site, SystemOverride
from gpu_opt.errors import InputError

NODE = System(
    name="hgx-h100-8", gpu="H100-SXM", gpus=8, price_usd=260_000, price_low_usd=200_000, price_high_usd=320_000,
    price_date="2026-12", max_kw=10.2, train_kw=7.75, infer_kw=5.6, idle_kw=1.8, rack_units=8, liquid_fraction=0.0,
    network_gbps=3200, confidence="medium", source="quotes",
)  # fmt: skip
RACK = System(
    name="vera-rubin-nvl72", gpu="Rubin-VR200", gpus=72, price_usd=None, price_low_usd=None, price_high_usd=None,
    price_date="2026", max_kw=230, train_kw=None, infer_kw=None, idle_kw=None, rack_units=48, liquid_fraction=1.0,
    network_gbps=115_200, confidence="none", source="no public price",
)  # fmt: skip
DESKTOP = System(
    name="jetson", gpu="Jetson", gpus=1, price_usd=1_999, price_low_usd=1_599, price_high_usd=2_499, price_date="2025",
    max_kw=0.075, train_kw=0.05, infer_kw=0.04, idle_kw=0.012, rack_units=0, liquid_fraction=0.0, network_gbps=10,
    confidence="medium", source="list",
)  # fmt: skip
SITE = Site(name="dc1", country="US", pue_ratio=1.3, usd_per_kwh=0.09, colo_usd_per_kw_month=195, carbon_g_per_kwh=380)


def machine(system=NODE, site=SITE, w=0.10, override=None, **more):
    return machine_cost(system, override or SystemOverride(), site, cost_of_capital_fraction_per_year=w, **more)


def running(found):
    return {line.label: line.usd_per_hour * 8760 for line in found.running}


def test_the_base_node_on_its_site():
    found = machine()
    assert (found.server_usd, found.price_usd, found.capex_usd) == (260_000, 302_000, pytest.approx(320_120))
    assert found.annuity_usd_per_year == pytest.approx(91_227.69, abs=5e-3)
    assert found.annuity_usd_per_hour == pytest.approx(91_227.69 / 8_760)
    assert found.straight_line_usd_per_year == pytest.approx(68_705)
    assert found.straight_line_usd_per_hour == pytest.approx(68_705 / 8_760)
    assert (found.life_years, found.residual_usd) == (4, pytest.approx(45_300))
    assert found.committed_kw == pytest.approx(10.75)
    assert found.racks == pytest.approx(8 / 48)
    assert running(found) == {
        "colocation": pytest.approx(25_155),
        "maintenance": pytest.approx(12_080),
        "insurance and tax": pytest.approx(3_020),
        "staff": pytest.approx(4_800),
        # (1.8 + 0.55) × 1.3 × 8,760 × 0.09
        "idle energy": pytest.approx(2_408.562),
    }


def test_standing_and_working_add_up_to_the_formula():
    found = machine()
    whole = cost(util=0.7)
    a_year = found.annuity_usd_per_year + 8760 * (found.running_usd_per_hour + 0.7 * found.busy_usd_per_hour)
    assert a_year == pytest.approx(whole.total)
    # (7.75 − 1.8) × 1.3 × 0.09
    assert found.busy_usd_per_hour == pytest.approx(0.696150)


def test_energy_and_carbon_of_idle_and_busy_hours():
    found = machine()
    assert found.idle_kwh_per_hour == pytest.approx(2.35 * 1.3)
    assert found.busy_kwh_per_hour == pytest.approx(8.30 * 1.3)
    assert found.idle_carbon_g_per_hour == pytest.approx(2.35 * 1.3 * 380)
    assert found.busy_carbon_g_per_hour == pytest.approx(8.30 * 1.3 * 380)


def test_carbon_of_the_base_node_over_a_year():
    # 74,192.82 kWh at 369.5 g: 27.41 t; per used GPU-hour 576.1 g
    found = machine(site=Site(name="dc1", country="US", pue_ratio=1.3))
    grams = 8760 * (0.3 * found.idle_carbon_g_per_hour + 0.7 * found.busy_carbon_g_per_hour)
    assert grams / 1e6 == pytest.approx(27.41, abs=5e-3)
    assert grams / 47_584.32 == pytest.approx(576.1, abs=5e-2)


def test_other_work_changes_only_what_work_adds():
    training, decoding = machine(), machine().at_phase(Phase.DECODE_BATCH_8)
    assert decoding.busy_kw == pytest.approx(5.6 + 0.55)
    assert decoding.busy_usd_per_hour < training.busy_usd_per_hour
    assert decoding.running == training.running
    assert machine(phase=Phase.DECODE_BATCH_8) == decoding


def test_break_even_is_the_closed_form():
    found = machine()
    # (annuity + idle power + running) / (rent × H − (kW busy − kW idle) × PUE × price × H) with rent 60 USD/h
    closed = (91_227.69 + 25_155 + 12_080 + 3_020 + 4_800 + 2_408.56) / (60 * 8760 - 5.95 * 1.3 * 0.09 * 8760)
    assert found.break_even_busy_fraction(60) == pytest.approx(closed, abs=1e-6)
    # the same as K10 without downtime
    assert found.break_even_busy_fraction(8 * 3.0) == pytest.approx(break_even_utilisation(3.0, avail=1.0))
    assert found.break_even_busy_fraction(10) is None
    assert found.break_even_busy_fraction(0) is None


def test_the_inputs_for_the_formulas_reproduce_the_known_break_even():
    inputs = on_prem_inputs(NODE, SystemOverride(), SITE, cost_of_capital_fraction_per_year=0.10)
    assert break_even_utilisation(3.0, **inputs) == pytest.approx(0.7010, abs=5e-5)


def test_every_number_that_was_not_given_is_listed_with_its_source():
    found = machine(site=Site(name="x", country="DE"))
    listed = {assumption.name: assumption for assumption in found.assumptions}
    assert listed["price_usd"].source == "quotes, 2026-12"
    assert listed["price_usd"].confidence == "medium"
    assert listed["usd_per_kwh"].value == 0.227
    assert listed["colo_usd_per_kw_month"].value == 195
    assert listed["carbon_g_per_kwh"].value == 380.9
    assert listed["life_years"].unit == "years"
    assert "hgx-h100-8" in listed["train_kw"].source
    assert all(assumption.source and assumption.unit for assumption in found.assumptions)
    assert found.confidence == "medium"  # the price's


def test_a_given_number_is_no_assumption():
    given = SystemOverride(
        price_usd=290_000, life_years=4, residual_fraction=0.15, max_kw=10.2, train_kw=7.75, infer_kw=5.6, idle_kw=1.8,
        fabric_usd_per_gpu=0, fabric_kw=0, storage_usd_per_gpu=0, maintenance_fraction_per_year=0.04,
        staff_usd_per_gpu_year=600, software_usd_per_gpu_year=0, install_fraction=0, spares_fraction=0,
        insurance_fraction_per_year=0.01,
    )  # fmt: skip
    found = machine(override=given, site=Site(**{**_fields(SITE), "demand_usd_per_kw_month": 0}))
    assert found.assumptions == ()
    assert found.confidence == "high"
    assert found.capex_usd == found.price_usd == 290_000
    # 290,000 × 0.85 / 4
    assert found.straight_line_usd_per_year == pytest.approx(61_625)


def _fields(site):
    return {name: getattr(site, name) for name in site.__dataclass_fields__}


def test_an_own_building_in_place_of_rent():
    found = machine(site=Site(name="own", country="US", mode="owned", pue_ratio=1.3, usd_per_kwh=0.09))
    # 154.75 USD/kW-month × 12 × 10.75 kW
    assert running(found)["facility"] == pytest.approx(154.7457 * 12 * 10.75, abs=0.1)
    assert "colocation" not in running(found)


def test_a_demand_charge_is_billed_on_the_highest_draw_whatever_the_work():
    charged = Site(name="x", country="US", pue_ratio=1.3, demand_usd_per_kw_month=15)
    assert running(machine(site=charged))["demand charge"] == pytest.approx(1_942.2)
    assert running(machine(site=charged, phase=Phase.DECODE_BATCH_1))["demand charge"] == pytest.approx(1_942.2)


def test_the_climate_sets_the_pue_by_how_much_is_cooled_by_liquid():
    site = Site(name="x", country="SE", climate="cold")
    assert machine(site=site).pue_ratio == pytest.approx(1.2073, abs=5e-5)
    rack = machine(system=RACK, site=site, override=SystemOverride(price_usd=5e6))
    assert rack.pue_ratio == pytest.approx(1.13)  # 1 + 1/25 + 0.01 + 0.06 + 0.02


def test_a_site_without_anything_uses_the_defaults_and_says_so():
    found = machine(site=Site(name="x", country=""))
    assert (found.pue_ratio, found.usd_per_kwh) == (1.3, 0.09)
    assert isinstance(found.carbon, Unknown)
    assert found.idle_carbon_g_per_hour is None
    assert found.busy_carbon_g_per_hour is None


def test_a_country_without_a_price_of_energy_shows_the_average_taken():
    found = machine(site=Site(name="x", country="HK"))
    source = next(item.source for item in found.assumptions if item.name == "usd_per_kwh")
    assert source.startswith("Asia:")
    assert source.endswith("(none for HK)")
    assert isinstance(found.carbon, Carbon)


def test_a_system_without_a_price_needs_one():
    with pytest.raises(InputError, match=r"onprem.purchasable\[0\].price_usd: vera-rubin-nvl72 has no public price"):
        machine(system=RACK, where="onprem.purchasable[0]")


def test_unknown_draws_are_estimated_and_marked():
    found = machine(system=RACK, override=SystemOverride(price_usd=5e6))
    assert found.power.estimated == ("idle_kw", "train_kw", "infer_kw")
    marked = {item.name: item for item in found.assumptions}
    assert marked["train_kw"].source == "estimate from the rating (K13)"
    assert marked["train_kw"].confidence == "low"
    assert found.confidence == "low"
    assert 0 < found.idle_kw < found.busy_kw < found.committed_kw
    assert found.racks == 1


def test_what_stands_on_a_desk_needs_no_fabric_storage_or_rack():
    found = machine(system=DESKTOP)
    assert found.price_usd == 1_999
    assert found.racks == 0
    assert found.committed_kw == 0.075


def test_no_fabric_no_draw_of_it_unless_given():
    assert machine(override=SystemOverride(fabric_usd_per_gpu=0)).fabric_kw == 0
    assert machine(override=SystemOverride(fabric_usd_per_gpu=0, fabric_kw=0.55)).fabric_kw == 0.55
    assert machine(override=SystemOverride(fabric_usd_per_gpu=100)).fabric_kw == pytest.approx(0.55)
    assert machine(cluster_instances=1).price_usd == 260_000 + 8 * 1_600


@pytest.mark.parametrize(
    ("years", "left"), [(1, 0.30), (3, 0.30), (3.5, 0.225), (4, 0.15), (5, 0.10), (6, 0.05), (7, 0), (9, 0)]
)
def test_what_is_left_falls_with_age(years, left):
    assert residual_fraction(years) == pytest.approx(left)


def test_another_life_brings_its_own_residual():
    assert machine(override=SystemOverride(life_years=3)).residual_usd == pytest.approx(0.30 * 302_000)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"price_usd": 0}, "inventory.a.price_usd: 0 is not above zero"),
        ({"price_usd": float("nan")}, "inventory.a.price_usd: nan is not a finite number"),
        ({"life_years": 0}, "inventory.a.life_years: 0 is not above zero"),
        ({"residual_fraction": 15}, "inventory.a.residual_fraction: 15 is not a share"),
        ({"staff_usd_per_gpu_year": -5}, "inventory.a.staff_usd_per_gpu_year: -5 is below 0"),
        ({"max_kw": 5}, "inventory.a.train_kw: 7.75 kW is above max_kw, 5 kW"),
        ({"idle_kw": 6}, "inventory.a.infer_kw: 5.6 kW is below idle_kw, 6 kW"),
    ],
)
def test_an_impossible_override_is_refused_by_its_path(override, message):
    with pytest.raises(InputError, match=message):
        machine(override=SystemOverride(**override), where="inventory.a")


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ({"mode": "rented"}, "onprem.sites.x.mode: 'rented' is unknown"),
        ({"mode": "owned", "colo_usd_per_kw_month": 195}, "an owned site pays no rent"),
        ({"facility_usd_per_watt": 11}, "colocation rent holds the building"),
        ({"pue_ratio": 0.8}, "onprem.sites.x.pue: 0.8 is below 1"),
        ({"usd_per_kwh": -1}, "onprem.sites.x.usd_per_kwh: -1 is below 0"),
        ({"climate": "lunar"}, "onprem.sites.x.climate: 'lunar' is unknown"),
    ],
)
def test_an_impossible_site_is_refused_by_its_path(site, message):
    with pytest.raises(InputError, match=message):
        machine(site=Site(name="x", country="US", **site))


def test_an_impossible_cost_of_capital_is_refused():
    with pytest.raises(InputError, match=r"defaults.cost_of_capital_annual: 10 is not a yearly rate"):
        machine(w=10)
