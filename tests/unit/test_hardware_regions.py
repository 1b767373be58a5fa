"""Which country a region lies in."""

from __future__ import annotations

import pytest

from gpu_opt.hardware import UnknownName, countries_in, country_of
from gpu_opt.hardware.regions import known_places, providers_with_region


@pytest.mark.parametrize(
    ("provider", "region", "country"),
    [
        ("aws", "us-east-1", "US"), ("aws", "eu-central-1", "DE"), ("aws", "eu-west-2", "GB"),
        ("gcp", "europe-west4", "NL"), ("azure", "swedencentral", "SE"), ("aws", "ap-northeast-1-tpe-1", "TW"),
        ("aws", "af-south-1-los-1", "NG"),  # a local zone of South Africa, abroad
        ("vast", "PL", "PL"),  # marketplaces name countries
    ],
)  # fmt: skip
def test_regions_lie_in_countries(provider: str, region: str, country: str) -> None:
    assert country_of(provider, region) == country


@pytest.mark.parametrize(
    ("provider", "region"), [("runpod", "global"), ("aws", "us-east-1-xyz-1"), ("nobody", "somewhere"), ("aws", "")]
)
def test_an_unknown_place_has_no_country(provider: str, region: str) -> None:
    assert country_of(provider, region) is None


def test_the_union_has_27_countries_and_the_economic_area_three_more() -> None:
    union, area = countries_in("EU"), countries_in("eea")
    assert len(union) == 27
    assert area - union == {"IS", "LI", "NO"}
    assert "GB" not in area
    assert "CH" not in area


def test_one_country_stands_for_itself() -> None:
    assert countries_in("de") == {"DE"}
    assert countries_in("UK") == {"GB"}


def test_a_name_in_place_of_a_code_is_answered_with_the_code() -> None:
    with pytest.raises(UnknownName) as caught:
        countries_in("Germany")
    assert caught.value.nearest == "DE"


def test_a_region_name_tells_its_providers() -> None:
    assert providers_with_region("eu-central-1") == ("aws",)
    assert providers_with_region("us-east-1") == ("aws", "lambda")
    assert providers_with_region("atlantis-1") == ()


def test_every_known_region_lies_in_a_known_country() -> None:
    assert len(known_places()) == 247
    for country in filter(None, (country_of(provider, region) for provider, region in known_places())):
        assert countries_in(country) == {country}
