"""Electricity and carbon by place, spot interruptions, moving data, and the tables behind them."""

import csv
import math
from pathlib import Path

import pytest

from gpu_opt.costs import transfer as moves
from gpu_opt.costs._tables import rows
from gpu_opt.costs.defaults import default, defaults, value_of
from gpu_opt.costs.energy import (
    Carbon,
    Unknown,
    carbon_g_per_kwh,
    continent_of,
    electricity,
    grid_carbon,
)
from gpu_opt.costs.spot import hourly_rate, interruptions_per_instance_hour
from gpu_opt.errors import InputError

TABLES = ("defaults", "phases", "climates", "cloud_grids", "fabric", "spot_aws", "spot_default", "storage", "transfer")
ROOT = Path(__file__).parents[2]
GB_PER_TIB = 1_099.511627776


def test_electricity_of_a_country_by_either_code_and_of_a_state():
    assert electricity("DE") == electricity("deu")
    assert electricity("DE").usd_per_kwh == 0.227
    assert electricity("UK") == electricity("GB")
    texas = electricity("US-TX")
    assert (texas.usd_per_kwh, texas.confidence, texas.fallback) == (0.0725, "high", False)


@pytest.mark.parametrize(
    ("place", "region", "usd"),
    [
        ("US-WY", "US", 0.086),
        ("AT", "EU", 0.219),
        ("HK", "Asia", 0.107),
        ("NG", "Africa", 0.123),
        ("XX", "World", 0.161),
    ],
)
def test_a_place_without_a_price_takes_the_next_wider_average_and_says_so(place, region, usd):
    found = electricity(place)
    assert (found.region, found.usd_per_kwh, found.fallback, found.confidence) == (region, usd, True, "low")


def test_carbon_of_a_region_is_the_providers_own_figure_where_there_is_one():
    found = carbon_g_per_kwh("gcp", "us-central1")
    assert isinstance(found, Carbon)
    assert (found.g_per_kwh, found.fallback) == (430, False)


def test_carbon_of_another_region_is_its_states_or_countrys():
    virginia, ireland = carbon_g_per_kwh("aws", "us-east-1"), carbon_g_per_kwh("azure", "northeurope")
    assert isinstance(virginia, Carbon)
    assert isinstance(ireland, Carbon)
    assert (virginia.g_per_kwh, virginia.region, virginia.fallback) == (244.8, "US-VA", True)
    assert (ireland.g_per_kwh, ireland.region, ireland.fallback) == (290.8, "IE", True)


def test_carbon_of_a_marketplace_that_names_the_country():
    found = carbon_g_per_kwh("newcloud", "SE")
    assert isinstance(found, Carbon)
    assert found.g_per_kwh == 40.7


@pytest.mark.parametrize(("provider", "region"), [("runpod", "global"), ("aws", "af-south-1-los-1"), ("vast", "VN")])
def test_unknown_carbon_is_said_and_never_zero(provider, region):
    assert isinstance(carbon_g_per_kwh(provider, region), Unknown)


def test_grid_carbon_falls_back_from_state_to_country_and_not_further():
    wyoming = grid_carbon("US-WY")
    assert isinstance(wyoming, Carbon)
    assert (wyoming.g_per_kwh, wyoming.fallback) == (369.5, True)
    unknown = grid_carbon("")
    assert isinstance(unknown, Unknown)
    assert unknown.subject == "carbon of the grid in an unnamed country"


def test_countries_know_their_continent():
    assert (continent_of("CH"), continent_of("AUS"), continent_of("")) == ("Europe", "Oceania", "")


def test_every_country_of_a_region_has_a_continent_with_a_price():
    regions = ROOT / "optimizer/gpu_opt/hardware/regions.csv"
    countries = {row["country"] for row in csv.DictReader(regions.read_text(encoding="utf-8").splitlines())}
    for country in countries - {""}:
        assert continent_of(country), country
        assert electricity(country).region != "World", country


def test_every_default_lies_in_its_range_and_names_its_source():
    assert len(defaults()) > 40
    for item in defaults().values():
        assert item.source, item.name
        assert item.date, item.name
        assert item.unit, item.name
        if item.low is not None and item.high is not None:
            wanted = (item.low, item.value, item.high)
            assert item.low <= item.value <= item.high or item.name == "demand_usd_per_kw_month", wanted
    assert default("life_years").value == value_of("life_years") == 4


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_its_columns_a_source_and_a_date(table):
    for row in rows(table):
        assert None not in row, row  # a comma that isn't quoted makes a further column
        assert row["source"], row
        assert row["date"], row


def test_a_monthly_band_becomes_an_hourly_rate():
    # 7.5 % of instances within 730 h: −ln(0.925) / 730
    assert hourly_rate(0.075) == pytest.approx(-math.log(0.925) / 730)
    assert 1 - math.exp(-hourly_rate(0.25) * 730) == pytest.approx(0.25)


def test_aws_names_its_band_by_type_and_region():
    found = interruptions_per_instance_hour("aws", "us-east-2", "p5.48xlarge")
    assert not found.assumed
    assert found.rate_per_hour == pytest.approx(-math.log(0.925) / 730)
    assert found.source == "AWS Spot Instance Advisor: 5% to 10% a month"
    assert found.date == "2025-07-28"


def test_the_open_band_is_taken_as_a_quarter():
    found = interruptions_per_instance_hour("aws", "us-east-1", "p5.48xlarge")
    assert found.rate_per_hour == pytest.approx(-math.log(0.75) / 730)
    assert found.source == "AWS Spot Instance Advisor: above 20% a month"


@pytest.mark.parametrize(
    ("provider", "rate"), [("aws", 0.000394085), ("gcp", 0.0044), ("azure", 0.0257), ("someone", 0.01)]
)
def test_other_rates_are_assumed_and_positive(provider, rate):
    found = interruptions_per_instance_hour(provider, "nowhere-1", "h100.8x")
    assert found.assumed
    assert found.low_per_hour < found.rate_per_hour == rate < found.high_per_hour


def test_an_aws_type_in_a_region_without_a_band_is_assumed():
    assert interruptions_per_instance_hour("aws", "us-east-1", "p9.48xlarge").assumed
    assert interruptions_per_instance_hour("gcp", "us-east-2", "p5.48xlarge").assumed


def test_data_that_stays_costs_nothing():
    stays = moves.transfer(100, "aws", "us-east-1", "aws", "us-east-1")
    assert (stays.usd, stays.route) == (0, "same_region")


def test_leaving_aws_is_charged_by_volume():
    # 20 TiB = 21,990.23 GB: 10,000 × 0.09 + 11,990.23 × 0.085
    move = moves.transfer(20, "aws", "us-east-1", "lambda", "us-south-1")
    assert move.usd == pytest.approx(900 + (20 * GB_PER_TIB - 10_000) * 0.085)
    assert move.route == "internet"
    assert move.usd == pytest.approx(move.gb * move.usd_per_gb)
    # 200 TiB passes all tiers: 900 + 40,000 × 0.085 + 100,000 × 0.07 + 69,902.3 × 0.05
    assert moves.transfer_usd(200, "aws", "us-east-1", "onprem", "dc1") == pytest.approx(
        900 + 3_400 + 7_000 + (200 * GB_PER_TIB - 150_000) * 0.05
    )


def test_between_regions_of_one_cloud_its_own_network_is_charged():
    assert moves.transfer_usd(1, "aws", "us-east-1", "aws", "us-west-2") == pytest.approx(0.02 * GB_PER_TIB)
    assert moves.transfer_usd(1, "gcp", "us-central1", "gcp", "europe-west4") == pytest.approx(0.08 * GB_PER_TIB)
    assert moves.transfer(1, "gcp", "us-central1", "gcp", "us-east4").route == "same_continent"
    assert moves.transfer_usd(1, "aws", "ap-northeast-1", "aws", "us-east-1") == pytest.approx(0.09 * GB_PER_TIB)


def test_a_cloud_without_inter_region_prices_charges_as_to_the_internet():
    assert moves.transfer_usd(1, "nebius", "eu-north1", "nebius", "us-central1") == pytest.approx(0.015 * GB_PER_TIB)


def test_several_neoclouds_and_own_sites_charge_nothing_and_oracle_above_its_allowance():
    assert moves.transfer_usd(50, "coreweave", "global", "aws", "us-east-1") == 0
    assert moves.transfer_usd(50, "onprem", "dc1", "aws", "us-east-1") == 0
    assert moves.transfer_usd(9, "oci", "eu-stockholm-1", "onprem", "dc1") == 0
    assert moves.transfer_usd(10, "oci", "eu-stockholm-1", "onprem", "dc1") == pytest.approx(
        (10 * GB_PER_TIB - 10_000) * 0.0085
    )


def test_an_unknown_origin_is_assumed_to_charge():
    move = moves.transfer(1, "newcloud", "x", "aws", "us-east-1")
    assert move.assumed
    assert move.usd == pytest.approx(0.09 * GB_PER_TIB)


def test_nothing_to_move_costs_nothing_at_a_known_rate():
    move = moves.transfer(0, "azure", "eastus", "onprem", "dc1")
    assert (move.usd, move.usd_per_gb) == (0, 0.087)
    with pytest.raises(InputError, match="tib: -1 is below 0"):
        moves.transfer(-1, "azure", "eastus", "onprem", "dc1")


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("aws/us-east-1", ("aws", "us-east-1")),
        ("AWS:us-east-1", ("aws", "us-east-1")),
        ("europe-west4", ("gcp", "europe-west4")),
        ("dc1", ("onprem", "dc1")),
    ],
)
def test_locations_are_understood(location, place):
    assert moves.split_location(location, sites=["dc1"]) == place


@pytest.mark.parametrize("location", ["s3://bucket", "atlantis", "aws/", "/x", ""])
def test_a_location_that_is_no_place_is_refused(location):
    with pytest.raises(InputError, match=r"is no known place. Write provider/region"):
        moves.split_location(location)


def test_an_ambiguous_region_names_its_owners():
    with pytest.raises(InputError, match=r"several providers. Write aws/us-east-1 or lambda/us-east-1"):
        moves.split_location("us-east-1")


def test_keeping_data_costs_by_the_month_and_is_part_of_a_sites_machines():
    assert moves.storage_usd(1, "aws", 2) == pytest.approx(2 * 0.023 * GB_PER_TIB)
    assert moves.storage_usd(1, "newcloud", 1) == pytest.approx(0.07 * GB_PER_TIB)
    assert moves.storage_usd(1, "onprem", 12) == 0
