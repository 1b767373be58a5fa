"""Offer files: strict, counted, independent of order."""

from __future__ import annotations

from datetime import date
from itertools import permutations
from pathlib import Path

import pytest

from gpu_opt.domain.offer import Market
from gpu_opt.errors import InputError, PriceDataError
from gpu_opt_prices.columns import offers_csv
from gpu_opt_prices.reader import read_offers
from gpu_opt_prices.table import SPOT_EQUAL_NOTE

HEADER = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,usd_per_instance_hour,"
    "upfront_usd,term_months,max_instances,holds_capacity,purchasable,as_of,source"
)


def row(**changed: str) -> str:
    cells = {
        "provider": "aws", "region": "us-east-1", "zone": "", "instance_type": "p5.48xlarge", "gpu": "H100-SXM",
        "gpu_count": "8", "gpu_memory_gib": "80", "vcpus": "192", "memory_gib": "2048", "market": "on_demand",
        "usd_per_instance_hour": "55.04", "upfront_usd": "", "term_months": "", "max_instances": "",
        "holds_capacity": "", "purchasable": "", "as_of": "2026-08-19", "source": "a list",
    }  # fmt: skip
    return ",".join({**cells, **changed}.values())


def file(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def test_a_row_becomes_an_offer_with_its_units() -> None:
    (offer,) = read_offers(file(row(max_instances="4")), provider_data=False).offers
    assert (offer.provider, offer.gpu, offer.gpu_count, offer.usd_per_instance_hour) == ("aws", "H100-SXM", 8.0, 55.04)
    assert (offer.max_instances, offer.as_of, offer.market) == (4, date(2026, 8, 19), Market.ON_DEMAND)
    assert offer.id == "aws/us-east-1/p5.48xlarge/on_demand"


@pytest.mark.parametrize(
    ("changed", "code", "value"),
    [
        ({"usd_per_instance_hour": ""}, "price-missing", ""),
        ({"usd_per_instance_hour": "0"}, "price-zero", "0"),
        ({"usd_per_instance_hour": "0.0000000"}, "price-zero", "0"),
        ({"usd_per_instance_hour": "-1"}, "price-negative", "-1"),
        ({"usd_per_instance_hour": "nan"}, "price-not-finite", "nan"),
        ({"usd_per_instance_hour": "inf"}, "price-not-finite", "inf"),
        ({"usd_per_instance_hour": "1e999"}, "price-not-finite", "1e999"),
        ({"usd_per_instance_hour": "999.0"}, "price-sentinel", "999.0"),
        ({"usd_per_instance_hour": "700"}, "price-sentinel", "700"),
        ({"usd_per_instance_hour": "$3.20"}, "price-not-a-number", "$3.20"),
        ({"usd_per_instance_hour": "１２"}, "price-not-a-number", "１２"),
        ({"gpu_count": "0"}, "gpu_count", "0"),
        ({"gpu_count": "1.5"}, "gpu_count", "1.5"),
        ({"gpu_count": ""}, "gpu_count-missing", ""),
        ({"market": "preemptible"}, "market", "preemptible"),
        ({"market": "quote"}, "market", "quote"),
        ({"region": ""}, "empty", ""),
        ({"instance_type": "  "}, "empty", ""),
        ({"as_of": "2026-13-01"}, "as-of", "2026-13-01"),
        ({"as_of": "19.08.2026"}, "as-of", "19.08.2026"),
        ({"purchasable": "maybe"}, "purchasable-not-a-flag", "maybe"),
        ({"vcpus": "-4"}, "vcpus-not-positive", "-4"),
        ({"max_instances": "2.5"}, "max_instances-not-whole", "2.5"),
        ({"market": "reserved_1y", "term_months": "36"}, "term", "36"),
        ({"upfront_usd": "100"}, "upfront-on-rent", "100"),
        ({"market": "reserved_1y", "upfront_usd": "-5"}, "upfront-negative", "-5"),
        ({"source": "x" * 301}, "too-long", ""),
        ({"source": "a\x1b[31mb"}, "control-character", "a?[31mb"),
        ({"source": "a\0b"}, "nul", ""),
        ({"source": '"open'}, "quoting", ""),
        ({"source": "one,more"}, "cells", ""),
    ],
)
def test_a_bad_row_is_refused_and_counted_with_its_reason(changed: dict[str, str], code: str, value: str) -> None:
    table = read_offers(file(row(region="eu-west-1"), row(**changed)), provider_data=False)
    assert [offer.region for offer in table.offers] == ["eu-west-1"]
    (refused,) = table.refused
    assert (refused.line, refused.code, refused.value) == (3, code, value)
    assert refused.reason


def test_a_zero_price_with_an_upfront_is_a_price() -> None:
    rows = row(market="reserved_1y", usd_per_instance_hour="0", upfront_usd="300000")
    (offer,) = read_offers(file(rows), provider_data=False).offers
    assert (offer.upfront_usd, offer.term_months) == (300000.0, 12)


def test_spot_above_on_demand_is_refused_and_spot_equal_is_marked() -> None:
    table = read_offers(
        file(
            row(),
            row(market="spot", zone="use1-az1", usd_per_instance_hour="55.05"),
            row(market="spot", zone="use1-az2", usd_per_instance_hour="55.04"),
            row(market="spot", zone="use1-az3", usd_per_instance_hour="20"),
        ),
        provider_data=False,
    )
    assert [(refused.line, refused.code) for refused in table.refused] == [(3, "spot-above-on-demand")]
    notes = {offer.zone: offer.note for offer in table.offers}
    assert notes == {"": "", "use1-az2": SPOT_EQUAL_NOTE, "use1-az3": ""}


def test_spot_is_held_against_its_own_zone_where_that_has_a_price() -> None:
    table = read_offers(
        file(row(), row(zone="lax1", usd_per_instance_hour="70"), row(zone="lax1", market="spot",
             usd_per_instance_hour="60")), provider_data=False)  # fmt: skip
    assert not table.refused


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_rows_that_contradict_each_other_are_all_refused_whatever_their_order(order: tuple[int, ...]) -> None:
    rows = [row(), row(usd_per_instance_hour="98.32"), row(region="eu-west-1")]
    table = read_offers(file(*(rows[place] for place in order)), provider_data=False)
    assert [offer.region for offer in table.offers] == ["eu-west-1"]
    assert [refused.code for refused in table.refused] == ["contradiction", "contradiction"]


def test_a_row_that_repeats_another_is_counted_once() -> None:
    table = read_offers(file(row(), row()), provider_data=False)
    assert len(table.offers) == 1
    assert [(refused.line, refused.code) for refused in table.refused] == [(3, "duplicate")]


def test_an_alias_means_its_one_gpu_in_a_users_file_and_nothing_in_a_providers() -> None:
    text = file(row(), row(instance_type="x", gpu="H100"))
    assert {offer.gpu for offer in read_offers(text, provider_data=False).offers} == {"H100-SXM"}
    (refused,) = read_offers(text, provider_data=True).refused
    assert (refused.code, refused.value) == ("gpu", "H100")


def test_an_unknown_gpu_is_an_error_that_names_the_nearest_in_a_users_file() -> None:
    with pytest.raises(InputError, match=r"offers.csv:3: gpu: the GPU 'H100-SXN' is unknown. Did you mean H100-SXM\?"):
        read_offers(file(row(), row(gpu="H100-SXN")), provider_data=False, name="offers.csv")


def test_an_unknown_gpu_is_refused_and_counted_in_a_providers_data() -> None:
    table = read_offers(file(row(), row(instance_type="x", gpu="NVIDIA")), provider_data=True)
    assert [(refused.code, refused.value) for refused in table.refused] == [("gpu", "NVIDIA")]


def test_bid_floors_are_no_prices_in_a_providers_data() -> None:
    text = file(row(), row(market="spot", usd_per_instance_hour="0.00001"))
    assert [refused.code for refused in read_offers(text, provider_data=True).refused] == ["price-sentinel"]


def test_no_usable_row_is_an_error_of_price_data() -> None:
    with pytest.raises(PriceDataError, match=r"no usable row is left: the price is missing \(1\)"):
        read_offers(file(row(usd_per_instance_hour="")), provider_data=False)
    with pytest.raises(PriceDataError, match="there are no rows of prices"):
        read_offers(file(), provider_data=False)


def test_all_missing_columns_are_named_at_once_and_nothing_else_is_quoted() -> None:
    with pytest.raises(InputError) as caught:
        read_offers("provider,region,instance_type,gpu,usd_per_hour,SECRET\n", provider_data=False, name="f.csv")
    text = str(caught.value)
    assert all(f"the column {name} is missing" in text for name in ("gpu_count", "market", "usd_per_instance_hour"))
    assert "SECRET" not in text


def test_other_separators_are_recognised() -> None:
    with pytest.raises(InputError, match="Separate columns by commas"):
        read_offers(HEADER.replace(",", ";"), provider_data=False)


def test_a_column_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="the column gpu is there twice"):
        read_offers(f"{HEADER},gpu\n", provider_data=False)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    path.write_bytes(b"\xef\xbb\xbf" + file(row(), row(region="eu-west-1")).replace("\n", ending).encode())
    assert len(read_offers(path, provider_data=False).offers) == 2


def test_bytes_that_are_no_utf8_cost_their_row_only(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    path.write_bytes(file(row(), row(region="eu-west-1")).encode() + row(region="z").encode() + b"\xff\xfe")
    table = read_offers(path, provider_data=False)
    assert (len(table.offers), [refused.code for refused in table.refused]) == (2, ["encoding"])


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    path.write_bytes(file(row()).encode("utf-16"))
    with pytest.raises(InputError, match="is UTF-16"):
        read_offers(path, provider_data=False)


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_offers(tmp_path / "none.csv", provider_data=False)
    with pytest.raises(InputError, match="is a folder"):
        read_offers(tmp_path, provider_data=False)


def test_a_cell_that_spans_lines_loses_no_row_unseen() -> None:
    text = file(row(source='"first'), 'second"', row(region="eu-west-1"))
    table = read_offers(text, provider_data=False)
    assert [offer.region for offer in table.offers] == ["eu-west-1"]
    assert [refused.line for refused in table.refused] == [2, 3]


def test_rows_without_a_day_take_the_newest_of_the_file_and_say_so() -> None:
    table = read_offers(file(row(), row(region="eu-west-1", as_of="")), provider_data=False, name="f.csv")
    assert {offer.as_of for offer in table.offers} == {date(2026, 8, 19)}
    assert table.warnings == ("f.csv: 1 rows have no as_of and are taken as of 2026-08-19; their age is unknown.",)


def test_only_the_required_columns_are_needed() -> None:
    text = "provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour\nme,here,box,L4,1,spot,0.5\n"
    (offer,) = read_offers(text, provider_data=False, name="my/offers.csv").offers
    assert (offer.source, offer.purchasable, offer.vcpus) == ("file:offers.csv", True, None)


def test_us_gov_cn_and_list_only_are_known_and_not_purchasable() -> None:
    rows = [row(region="us-gov-west-1"), row(region="cn-north-1"), row(market="list_only", region="x"), row()]
    table = read_offers(file(*rows), provider_data=False)
    assert [(o.region, o.purchasable) for o in table.offers] == [
        ("cn-north-1", False), ("us-east-1", True), ("us-gov-west-1", False), ("x", False)]  # fmt: skip


def test_text_that_a_spreadsheet_would_run_comes_back_as_it_was() -> None:
    (offer,) = read_offers(file(row(instance_type='"=cmd|""x"", y"')), provider_data=False).offers
    assert offer.instance_type == '=cmd|"x", y'
    text = offers_csv([offer])
    assert '"\'=cmd|""x"", y"' in text
    assert read_offers(text, provider_data=False).offers == (offer,)


def test_the_same_offers_have_the_same_hash_whatever_the_order() -> None:
    one = read_offers(file(row(), row(region="eu-west-1")), provider_data=False)
    other = read_offers(file(row(region="eu-west-1"), row()), provider_data=False)
    assert one.sha256 == other.sha256
    assert one.sha256 != read_offers(file(row()), provider_data=False).sha256


def test_columns_that_are_not_used_yet_are_named() -> None:
    text = file(row() + ",30", header=f"{HEADER},lead_time_days")
    assert "lead_time_days is not supported yet" in read_offers(text, provider_data=False).warnings[0]


def test_ways_to_pay_are_offers_of_their_own() -> None:
    reserved = row(market="reserved_1y")
    text = file(reserved + ",", reserved + ",all_upfront", header=f"{HEADER},payment")
    ids = [offer.id for offer in read_offers(text, provider_data=False).offers]
    assert ids == [
        "aws/us-east-1/p5.48xlarge/reserved_1y", "aws/us-east-1/p5.48xlarge/reserved_1y+all_upfront"]  # fmt: skip
