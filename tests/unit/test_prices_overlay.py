"""Discounts, private prices and quotes over list prices."""

from __future__ import annotations

from datetime import date

import pytest

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.overlay import Discount, Overlay, PriceRow, Quote
from gpu_opt.errors import InputError
from gpu_opt_prices.overlay import apply_overlays
from gpu_opt_prices.table import OfferTable

NEWEST = date(2026, 8, 19)


def listed(region: str = "us-east-1", price: float = 55.04, **changed: object) -> Offer:
    values: dict[str, object] = {
        "provider": "aws", "region": region, "instance_type": "p5.48xlarge", "gpu": "H100-SXM", "gpu_count": 8.0,
        "vcpus": 192.0, "market": Market.ON_DEMAND, "usd_per_instance_hour": price, "as_of": NEWEST, "source": "list",
    }  # fmt: skip
    return Offer(**{**values, **changed})  # type: ignore[arg-type]


def with_overlay(*offers: Offer, **overlay: tuple[object, ...]) -> OfferTable:
    return apply_overlays(OfferTable(offers=offers), [Overlay(**overlay)])  # type: ignore[arg-type]


def test_a_discount_is_off_the_list_price_of_what_it_matches() -> None:
    discount = Discount(
        provider="aws", instance_types=("P5.*",), regions=("us-*",), markets=(Market.ON_DEMAND,), discount_fraction=0.42
    )
    table = with_overlay(
        listed(), listed(market=Market.SPOT, price=20.0), listed(region="eu-west-1"), discounts=(discount,)
    )
    # 55.04 x 0.58 = 31.9232
    prices = {(o.region, o.market.value): o.usd_per_instance_hour for o in table.offers}
    assert prices["us-east-1", "on_demand"] == pytest.approx(31.9232)
    assert prices["us-east-1", "spot"] == 20.0
    assert prices["eu-west-1", "on_demand"] == 55.04


def test_discounts_do_not_add_up_the_last_that_matches_counts() -> None:
    discounts = (Discount(discount_fraction=0.1), Discount(provider="aws", discount_fraction=0.2))
    (offer,) = with_overlay(listed(price=100.0), discounts=discounts).offers
    assert offer.usd_per_instance_hour == pytest.approx(80.0)


def test_a_discount_takes_its_share_of_an_upfront_too() -> None:
    reserved = listed(market=Market.RESERVED_1Y, term_months=12, upfront_usd=1000.0, price=10.0)
    (offer,) = with_overlay(reserved, discounts=(Discount(discount_fraction=0.25),)).offers
    assert (offer.upfront_usd, offer.usd_per_instance_hour) == (750.0, 7.5)


def test_a_private_price_replaces_the_offer_and_keeps_its_size() -> None:
    price = PriceRow(
        provider="aws", region="us-east-1", instance_type="p5.48xlarge", gpu="H100-SXM", gpu_count=8.0,
        usd_per_gpu_hour=4.0, where="d.yaml:3",
    )  # fmt: skip
    table = with_overlay(listed(), listed(region="eu-west-1"), prices=(price,))
    private = next(o for o in table.offers if o.region == "us-east-1")
    assert (private.usd_per_instance_hour, private.vcpus, private.source) == (32.0, 192.0, "overlay:d.yaml:3")
    assert len(table.offers) == 2


def test_a_private_price_without_a_zone_holds_for_all_zones() -> None:
    spots = [listed(zone=zone, market=Market.SPOT, price=20.0) for zone in ("az1", "az2")]
    price = PriceRow(
        provider="aws", region="us-east-1", instance_type="p5.48xlarge", gpu="H100-SXM", gpu_count=8.0,
        market=Market.SPOT, usd_per_instance_hour=15.0,
    )  # fmt: skip
    assert [o.zone for o in with_overlay(*spots, prices=(price,)).offers] == [""]


def test_a_discount_leaves_a_private_price_alone() -> None:
    price = PriceRow(provider="me", region="r", gpu="L4", gpu_count=1.0, usd_per_instance_hour=1.0)
    table = with_overlay(listed(), prices=(price,), discounts=(Discount(discount_fraction=0.5),))
    assert {o.provider: o.usd_per_instance_hour for o in table.offers} == {"aws": 27.52, "me": 1.0}
    assert next(o for o in table.offers if o.provider == "me").instance_type == "1x-L4"


def quote(**changed: object) -> Quote:
    values: dict[str, object] = {
        "provider": "nebius", "region": "eu-north1", "gpu": "H100-SXM", "gpu_count": 8.0, "usd_per_gpu_hour": 2.0,
    }  # fmt: skip
    return Quote(**{**values, **changed})  # type: ignore[arg-type]


def test_a_quote_without_a_term_is_rent_beside_the_list() -> None:
    table = with_overlay(listed(), quotes=(quote(min_instances=4, max_instances=32),))
    found = next(o for o in table.offers if o.quoted)
    assert (found.market, found.usd_per_instance_hour, found.upfront_usd) == (Market.ON_DEMAND, 16.0, 0.0)
    assert (found.min_instances, found.max_instances, found.holds_capacity) == (4, 32, False)
    assert found.id == "nebius/eu-north1/8x-H100-SXM/on_demand+quote"


def test_a_quote_with_a_term_prepays_its_fraction_of_the_terms_hours() -> None:
    found = with_overlay(listed(), quotes=(quote(term_months=6, prepay_fraction=0.2),)).offers[-1]
    # 16 USD x 4,380 h x 0.2 = 14,016; by the hour 16 x 0.8 = 12.8
    assert found.market is Market.QUOTE
    assert (found.upfront_usd, found.usd_per_instance_hour) == (pytest.approx(14016.0), pytest.approx(12.8))
    assert (found.term_months, found.holds_capacity) == (6, True)


def test_two_quotes_for_one_place_are_two_offers() -> None:
    table = with_overlay(listed(), quotes=(quote(max_instances=8), quote(min_instances=9, usd_per_gpu_hour=1.8)))
    assert len({o.id for o in table.offers}) == 3


def test_a_quote_that_expired_before_the_newest_price_is_refused() -> None:
    last_day, day_before = quote(expires=NEWEST), quote(expires=date(2026, 8, 18))
    table = with_overlay(listed(), quotes=(last_day, day_before))
    assert sum(o.quoted for o in table.offers) == 1
    assert [refused.code for refused in table.refused] == ["quote-expired"]
    assert "expired before the newest price of 2026-08-19: 2026-08-18" in table.warnings[0]


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ({"discounts": (Discount(discount_fraction=1.0),)}, "leaves no price"),
        ({"quotes": (quote(usd_per_instance_hour=1.0),)}, "one of usd_per_instance_hour"),
        ({"quotes": (quote(usd_per_gpu_hour=0.0),)}, "above zero"),
        ({"quotes": (quote(usd_per_gpu_hour=float("nan")),)}, "above zero"),
        ({"quotes": (quote(prepay_fraction=0.2),)}, "nothing of it is prepaid"),
        ({"quotes": (quote(prepay_fraction=1.2, term_months=12),)}, "from 0 to 1"),
        ({"quotes": (quote(min_instances=5, max_instances=4),)}, "below the minimum of 5"),
    ],
)
def test_numbers_that_make_no_price_are_input_errors(overlay: dict[str, tuple[object, ...]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_overlay(listed(), **overlay)
