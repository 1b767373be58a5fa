"""The page about the Llama guide: its tables are what the tool says now, and so is what its text claims."""

from __future__ import annotations

import re

import pytest
from tests.docs import guide
from tests.docs.pages import ROOT, generated_names, text_of

PAGE = ROOT / "docs/explanation/llama-guide.md"
PART = r"(<!-- generated: {name} -->\n)(.*?)(<!-- /generated -->)"


def cells(text):
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()[2:]]


def usd(text):
    return float(text.strip("$").replace(",", ""))


def test_every_part_of_the_page_is_made_and_the_other_way_round(shared):
    assert sorted(generated_names(PAGE)) == sorted(guide.makers(shared))


@pytest.mark.parametrize("name", generated_names(PAGE))
def test_a_table_of_the_page_is_what_the_tool_says(name, shared, update_docs):
    made = guide.makers(shared)[name]()
    pattern = re.compile(PART.format(name=name), re.DOTALL)
    if update_docs:
        PAGE.write_text(pattern.sub(lambda part: part[1] + made + part[3], text_of(PAGE)), encoding="utf-8")
    else:
        assert pattern.search(text_of(PAGE))[2] == made, "run pytest tests/docs --update-docs"


def test_training_a_7b_in_full_takes_more_than_a_hundred_gb(shared):
    full = next(row for row in cells(guide.memory(shared)) if row[:2] == ["llama-2-7b", "train in full"])
    # 6.74e9 parameters × 16 bytes are 100 GiB; nobody holds less
    assert float(full[2]) >= 100


def test_a_13b_in_16_bits_needs_more_than_one_card_of_16_gb(shared):
    by_precision = {row[0]: row[1] for row in cells(guide.thirteen(shared))}
    assert not by_precision["fp16"].startswith("1 ×")


def test_the_peaks_are_dense(shared):
    # H100 SXM: 1,979 with sparsity is 989.5 dense; A100: 312 FP16, 19.5 FP32
    rows = {row[0].strip("`"): row for row in cells(guide.accelerators(shared))}
    assert float(rows["H100-SXM"][3]) == pytest.approx(989.5, rel=1e-3)
    assert (rows["A100-40GB-SXM"][1], rows["A100-40GB-SXM"][3], rows["A100-40GB-SXM"][6]) == ("19.5", "312", "6912")


def test_cards_without_links_between_them_pay_for_it(shared):
    rows = cells(guide.links(shared))
    assert "pcie" in rows[0][0]
    assert "nvlink8" in rows[-1][0]
    assert float(rows[0][1].replace(",", "")) < 0.5 * float(rows[-1][1].replace(",", ""))


def test_short_use_is_rented_and_long_use_is_bought(shared):
    rows = cells(guide.renting(shared))
    assert rows[0][1] == "rent"
    assert rows[-1][1].startswith("buy")
    for row in rows:
        assert usd(row[2]) <= min(usd(row[3]), usd(row[4])) * 1.005


def test_a_small_service_of_a_70b_is_not_worth_a_cluster(shared):
    best, rule = cells(guide.above_33b(shared))
    assert usd(best[2]) < usd(rule[2])


def test_a_t4_is_no_card_for_100_ms(shared):
    said = {(row[0], row[1]): row[2] for row in cells(guide.under_100_ms(shared))}
    for model in guide.MODELS[:2]:
        assert not said[model, "T4"].startswith("yes")
    assert said["llama-2-7b", "H100-SXM"].startswith("yes")
