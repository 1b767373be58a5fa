"""The snapshot's quick form holds what the CSV files hold, and steps back where they were changed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from gpu_opt.domain.offer import Offer
from gpu_opt_prices import snapshot_files
from gpu_opt_prices.columns import offers_csv
from gpu_opt_prices.compact import FILE, from_compact, to_compact
from gpu_opt_prices.effective import default_offers
from gpu_opt_prices.manifest import SNAPSHOT_DIR, manifest


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The snapshot in a folder of its own, and nothing remembered of it before or after."""
    folder = tmp_path / "snapshot"
    shutil.copytree(SNAPSHOT_DIR, folder)
    monkeypatch.setattr(snapshot_files, "SNAPSHOT_DIR", folder)
    cached = (snapshot_files.shipped, snapshot_files.snapshot_offers, snapshot_files.snapshot_providers)
    for one in cached:
        one.cache_clear()
    yield folder
    for one in cached:
        one.cache_clear()


def checked() -> tuple[Offer, ...]:
    return tuple(o for provider in snapshot_files.snapshot_providers() for o in snapshot_files.checked_offers(provider))


def test_it_holds_the_offers_of_the_files_and_their_hash() -> None:
    quick, slow = default_offers(None), checked()
    assert quick.offers == slow
    for field in fields(Offer):
        assert {type(getattr(o, field.name)) for o in quick.offers} == {type(getattr(o, field.name)) for o in slow}
    assert quick.known_sha256 == hashlib.sha256(offers_csv(slow).encode()).hexdigest()
    assert snapshot_files.files_sha256() == manifest().sha256


def test_it_is_what_the_builder_writes() -> None:
    text = to_compact(
        checked(), files_sha256=snapshot_files.files_sha256(), offers_sha256=default_offers(None).known_sha256
    )
    assert (SNAPSHOT_DIR / FILE).read_text(encoding="utf-8") == text


def test_a_changed_file_is_read_itself(copied: Path) -> None:
    aws = copied / "aws.csv"
    lines = aws.read_text(encoding="utf-8").splitlines(keepends=True)
    aws.write_text("".join(lines[:-1]), encoding="utf-8")
    table = default_offers(None)
    assert len(table.offers) == manifest().rows - 1
    assert table.known_sha256 == ""
    assert table.sha256 == hashlib.sha256(offers_csv(table.offers).encode()).hexdigest()


@pytest.mark.parametrize("text", ["", "{", "{}"])
def test_a_broken_or_missing_quick_form_costs_time_only(copied: Path, text: str) -> None:
    (copied / FILE).write_text(text, encoding="utf-8")
    assert len(default_offers(None).offers) == manifest().rows
    (copied / FILE).unlink()
    snapshot_files.shipped.cache_clear()
    assert snapshot_files.shipped() == ({}, "")


def test_one_of_other_files_is_not_used() -> None:
    text = (SNAPSHOT_DIR / FILE).read_text(encoding="utf-8")
    assert from_compact(text, "0" * 64) is None


def test_a_cache_over_the_snapshot_has_a_hash_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "vultr.json").write_text("{}", encoding="utf-8")
    table = default_offers(tmp_path)
    assert table.known_sha256 == ""
    assert table.sha256 == default_offers(None).sha256  # the damaged cache was set aside, and the snapshot serves
