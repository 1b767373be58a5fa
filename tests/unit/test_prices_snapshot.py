"""The snapshot that ships, and the cache over it."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path

import pytest

from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.partition import is_apart, names_region, purchasable_in
from gpu_opt.errors import InputError
from gpu_opt_prices.columns import offers_csv
from gpu_opt_prices.effective import default_offers
from gpu_opt_prices.invariants import check_offers
from gpu_opt_prices.manifest import SNAPSHOT_DIR, manifest
from gpu_opt_prices.reader import read_offers
from gpu_opt_prices.snapshot_files import snapshot_offers, snapshot_providers, unusable_rows
from gpu_opt_prices.store import Cached, cache_file, history_files, locked, read_cached, write_cached
from gpu_opt_prices.table import OfferTable
from gpu_opt_prices.update import Keep, store_rows

NOW = "2026-12-01T10:00:00Z"


def shipped() -> tuple[Offer, ...]:
    return default_offers(None).offers


def offer(region: str = "eastus", price: float = 7.0, **changed: object) -> Offer:
    values: dict[str, object] = {
        "provider": "azure", "region": region, "instance_type": "Standard_NC40ads_H100_v5", "gpu": "H100-NVL",
        "gpu_count": 1.0, "market": Market.ON_DEMAND, "usd_per_instance_hour": price, "as_of": date(2026, 12, 1),
        "source": "a test",
    }  # fmt: skip
    return Offer(**{**values, **changed})  # type: ignore[arg-type]


def test_every_row_of_the_snapshot_is_an_offer() -> None:
    for provider in snapshot_providers():
        table = read_offers(SNAPSHOT_DIR / f"{provider}.csv", provider_data=True)
        assert not table.refused
    assert len(shipped()) == manifest().rows == 4658


def test_the_manifest_belongs_to_the_files() -> None:
    files = [*(SNAPSHOT_DIR / f"{provider}.csv" for provider in snapshot_providers()), SNAPSHOT_DIR / "unusable.csv"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    assert digest == manifest().sha256
    assert manifest().newest_as_of == max(offer.as_of for offer in shipped())


def test_every_source_is_explained() -> None:
    sources = {offer.source.removeprefix("snapshot:") for offer in shipped()}
    assert all(offer.source.startswith("snapshot:") for offer in shipped())
    text = (SNAPSHOT_DIR.parent / "SOURCES.md").read_text(encoding="utf-8")
    families = ("skypilot-catalog-v8-", "skypilot-catalog-v9-", "gcp-calculator-commitments")
    for source in sources:
        assert f"`{source}`" in text or source.startswith(families), source


@pytest.mark.parametrize(
    ("name", "usd"),
    [  # published prices per instance-hour, providers' lists of 2026
        ("aws/us-east-1/p5.48xlarge/on_demand", 55.04),
        ("aws/us-east-1/p5en.48xlarge/on_demand", 63.296),
        ("azure/eastus/Standard_ND96isr_H100_v5/on_demand", 98.32),
        # 208 vCPU and 1,872 GiB at 9.46006 + 8 x 9.79655 + 6,000 GiB x 0.08 / 730 h = 88.49
        ("gcp/us-central1/a3-highgpu-8g/on_demand", 88.49),
        ("lambda/us-east-1/gpu_8x_h100_sxm5/on_demand", 31.92),
        ("runpod/global/1x_H100-SXM_SECURE/on_demand", 3.29),
    ],
)
def test_anchors_hold(name: str, usd: float) -> None:
    (found,) = [offer for offer in shipped() if offer.id == name]
    assert found.usd_per_instance_hour == pytest.approx(usd, abs=0.005)


def test_no_rule_among_prices_is_broken() -> None:
    assert [finding for finding in check_offers(shipped()) if finding.error] == []


def test_what_is_not_sold_on_demand_is_never_purchasable() -> None:
    listed = [offer for offer in shipped() if offer.market is Market.LIST_ONLY]
    assert len(listed) == 48
    assert not any(offer.purchasable for offer in listed)
    assert sum(not offer.purchasable for offer in shipped()) == 397


def test_us_gov_is_purchasable_where_a_scope_names_it() -> None:
    gov = [offer for offer in shipped() if is_apart(offer.region)]
    assert len(gov) == 91
    assert not any(purchasable_in(offer, patterns) for offer in gov for patterns in ((), ("us-*",), ("*",)))
    assert all(purchasable_in(offer, ("us-gov-*",)) for offer in gov)


@pytest.mark.parametrize(
    ("pattern", "region", "named"),
    [
        ("us-gov-west-1", "us-gov-west-1", True),
        ("us-gov-west-1", "us-gov-east-1", False),
        ("cn-*", "cn-north-1", True),
        ("us-g*", "us-gov-west-1", False),
        ("usgov*", "usgovvirginia", True),
        ("china*", "chinaeast2", True),
        ("us-gov*-9", "us-gov-west-1", False),
        ("us-east-1", "us-east-1", False),
    ],
)
def test_a_pattern_names_a_partition_by_its_own_letters(pattern: str, region: str, named: bool) -> None:
    assert names_region((pattern,), region) is named


def test_rows_without_a_usable_accelerator_are_known() -> None:
    assert {row.instance_type for row in unusable_rows()} == {
        "dl1.24xlarge", "dl2q.24xlarge", "Standard_NC8lds_xl_RTXPRO6000BSE_v6"}  # fmt: skip


def test_offers_survive_a_round_trip_through_csv() -> None:
    assert read_offers(offers_csv(shipped()), provider_data=False).offers == shipped()


def test_a_region_that_answered_replaces_its_rows_and_no_others(tmp_path: Path) -> None:
    change, _ = store_rows(tmp_path, "azure", [offer()], answered={"eastus"}, moment=NOW)
    table = default_offers(tmp_path)
    assert [o for o in table.offers if o.provider == "azure" and o.region == "eastus"] == [offer()]
    others = [o for o in shipped() if (o.provider, o.region) != ("azure", "eastus")]
    assert [o for o in table.offers if (o.provider, o.region) != ("azure", "eastus")] == others
    # eastus had this offer at 6.98 in the snapshot
    assert [(old, new) for _, old, new in change.changed] == [(6.98, 7.0)]


def test_a_refresh_of_all_regions_drops_the_snapshot_but_for_regions_that_failed(tmp_path: Path) -> None:
    store_rows(
        tmp_path, "azure", [offer()], answered={"eastus"}, failed={"westus3"}, complete=True, moment=NOW
    )  # fmt: skip
    azure = [o for o in default_offers(tmp_path).offers if o.provider == "azure"]
    assert {o.region for o in azure} == {"eastus", "westus3"}
    assert [o for o in azure if o.region == "westus3"] == [o for o in snapshot_offers("azure") if o.region == "westus3"]


def test_a_region_that_failed_keeps_its_old_rows_with_their_age(tmp_path: Path) -> None:
    old = offer(region="westus3", as_of=date(2026, 11, 1))
    store_rows(tmp_path, "azure", [offer(), old], answered={"eastus", "westus3"}, complete=True, moment=NOW)
    store_rows(
        tmp_path, "azure", [offer(price=8.0)], answered={"eastus"}, failed={"westus3"}, complete=True, moment=NOW
    )
    azure = [o for o in default_offers(tmp_path).offers if o.provider == "azure"]
    assert azure == [offer(price=8.0), old]


def test_a_later_refresh_of_one_region_leaves_the_snapshot_dropped(tmp_path: Path) -> None:
    store_rows(tmp_path, "azure", [offer()], answered={"eastus"}, complete=True, moment=NOW)
    store_rows(tmp_path, "azure", [offer(region="uksouth")], answered={"uksouth"}, moment=NOW)
    assert {o.region for o in default_offers(tmp_path).offers if o.provider == "azure"} == {"eastus", "uksouth"}


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"schema": "gpu-opt/prices/1"}', "null", "\x00", "[" * 5000])
def test_a_damaged_cache_file_is_set_aside_and_the_snapshot_serves(tmp_path: Path, content: str) -> None:
    path = cache_file(tmp_path, "azure")
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    table = default_offers(tmp_path)
    assert table.offers == shipped()
    assert "azure is damaged" in table.warnings[0]
    assert not path.exists()
    assert default_offers(tmp_path).warnings == ()


def test_a_cache_file_whose_rows_were_edited_is_damaged(tmp_path: Path) -> None:
    store_rows(tmp_path, "azure", [offer()], answered={"eastus"}, moment=NOW)
    path = cache_file(tmp_path, "azure")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["csv"] = document["csv"].replace(",7,", ",1,")
    path.write_text(json.dumps(document), encoding="utf-8")
    assert "its hash is another" in default_offers(tmp_path).warnings[0]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_rows(tmp_path, "azure", [offer()], answered={"eastus"}, moment=NOW)

    def fails(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match="can't be written: No space left on device"):
        store_rows(tmp_path, "azure", [offer(price=8.0)], answered={"eastus"}, moment=NOW)
    monkeypatch.undo()
    cached, _ = read_cached(tmp_path, "azure")
    assert cached is not None
    assert cached.table.offers == (offer(),)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_cache_that_is_a_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="can't be used as the price cache"), locked(tmp_path / "cache"):
        pass


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "A", "x" * 80])
def test_a_provider_that_can_be_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="can't be cached"):
        cache_file(tmp_path, name)


def test_history_keeps_one_copy_a_day(tmp_path: Path) -> None:
    table = OfferTable(offers=(offer(),))
    cached = Cached(provider="azure", complete=False, regions={"eastus": NOW}, table=table)
    for moment in ("2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-01T09:00:00Z"):
        write_cached(tmp_path, cached, moment=moment)
    assert [path.stem for path in history_files(tmp_path, "azure")] == ["2026-11-30", "2026-12-01"]


def test_rules_among_prices_find_what_breaks_them() -> None:
    broken = [
        offer(price=7.0),
        offer(price=8.0, market=Market.SPOT),
        offer(price=7.5, market=Market.RESERVED_1Y, term_months=12),
        offer(region="x", price=999.0),
        offer(region="x", price=5.0, instance_type="two", gpu_count=2.0),
    ]
    found = {(finding.error, finding.rule) for finding in check_offers(broken)}
    assert found == {
        (True, "spot not above on_demand"),
        (False, "reserved_1y not above on_demand"),
        (True, "no placeholders"),
        (False, "price follows the GPU count"),
    }


def test_old_rows_stay_where_an_answer_leaves_them_out_on_purpose(tmp_path: Path) -> None:
    spot = offer(market=Market.SPOT, price=3.0, as_of=date(2026, 11, 1))
    elsewhere = offer(region="uksouth", market=Market.SPOT, price=3.0)
    store_rows(tmp_path, "azure", [offer(), spot, elsewhere], answered={"eastus", "uksouth"}, complete=True, moment=NOW)
    keep = [Keep(region="eastus", market="spot")]
    store_rows(tmp_path, "azure", [offer(price=6.0)], answered={"eastus"}, complete=True, keep=keep, moment=NOW)
    azure = [o for o in default_offers(tmp_path).offers if o.provider == "azure"]
    assert azure == [offer(price=6.0), spot]


def test_an_old_spot_row_above_a_new_on_demand_price_is_refused_and_counted(tmp_path: Path) -> None:
    spot = offer(market=Market.SPOT, price=5.0)
    store_rows(tmp_path, "azure", [offer(price=4.0), spot], answered={"eastus"}, moment=NOW)
    assert [refused.code for refused in default_offers(tmp_path).refused] == ["spot-above-on-demand"]


def test_a_second_writer_waits_and_gives_up_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_opt_prices.store.LOCK_SECONDS", 0.05)
    with locked(tmp_path), pytest.raises(InputError, match="another process has been writing"):
        store_rows(tmp_path, "azure", [offer()], answered={"eastus"}, moment=NOW)
