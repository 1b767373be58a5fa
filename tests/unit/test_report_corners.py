"""Plans that have what the sample lacks: purchases, savings plans, credits below zero, long horizons."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report_samples import sample_plan, serving

from gpu_opt.cli._plan_files import check_writable, write_document
from gpu_opt.domain.option import Layout
from gpu_opt.domain.plan import Plan, PurchasePlan
from gpu_opt.errors import InputError
from gpu_opt.report import html
from gpu_opt.report.answer import answer
from gpu_opt.report.charts import Series, columns
from gpu_opt.report.explanation import explanation
from gpu_opt.report.focus import focus_rows
from gpu_opt.report.money import usd_short
from gpu_opt.report.section import Section
from gpu_opt.report.sections import layout_text, report_of

PURCHASE = PurchasePlan(
    system="hgx-h100-8",
    site="dc1",
    gpu="H100-SXM",
    instances=2,
    ordered="2027-01-01",
    delivered="2027-04-02",
    capex_usd=600_000.0,
    annuity_usd_per_hour=10.0,
    life_years=4.0,
    pays_if_used_until="",
    stops_paying_if_prices_fall_annually=0.2,
)


def section(plan: Plan, key: str) -> Section:
    """One section of a plan's report."""
    return next(found for found in report_of(plan).sections if found.key == key)


def test_purchases_have_a_table_and_a_row_of_cash_in_their_month() -> None:
    plan = replace(sample_plan(), purchases=(PURCHASE,))
    row = section(plan, "purchases").rows[0]
    assert row[-2:] == ("never beats rent", "20 % a year")
    bought = focus_rows(plan)[-1]
    assert (bought["BilledCost"], bought["EffectiveCost"], bought["RegionId"]) == (600_000.0, 0.0, "dc1")
    assert bought["BillingPeriodStart"] == "2027-04-01T00:00:00Z"
    later = replace(sample_plan(), purchases=(replace(PURCHASE, delivered="2028-01-01"),))
    assert len(focus_rows(later)) == len(focus_rows(sample_plan()))  # paid after the horizon


def test_a_savings_plan_is_so_many_dollars_an_hour() -> None:
    plan = sample_plan()
    held = replace(plan.commitments[0], market="savings_plan_3y", units=12.5, upfront_usd=0.0)
    texts = [line.text for line in answer(replace(plan, commitments=(held,)))]
    assert texts[0].startswith("commit to $12.50 an hour at aws/us-east-1 (savings plan 3y)")
    existing = replace(held, existing=True)
    assert not any(line.text.startswith("commit") for line in answer(replace(plan, commitments=(existing,))))
    assert section(replace(plan, commitments=(existing,)), "commitments").rows[0][1] == "existing"


def test_a_capacity_block_is_a_reservation_of_capacity() -> None:
    plan = sample_plan()
    line = replace(plan.cost_lines[0], market="capacity_block")
    row = focus_rows(replace(plan, cost_lines=(line,)))[0]
    assert (row["CapacityReservationId"], row["CapacityReservationStatus"]) == (line.offer, "Used")


def test_what_is_not_funded_is_said_first_and_listed() -> None:
    unfunded = ({"name": "extra", "usd_to_fund": 1200.0, "delay_days": 30}, {"name": "nice"})
    plan = replace(sample_plan(), unfunded=unfunded)
    assert "leave out extra, nice: not funded" in [line.text for line in answer(plan)]
    assert section(plan, "unfunded").items == ("extra: $1,200 to fund, or 30 days later", "nice")


def test_a_single_period_has_no_column_of_totals() -> None:
    plan = sample_plan()
    lines = tuple(line for line in plan.cost_lines if line.period == "2027-Q1")
    one = replace(plan, periods=plan.periods[:1], cost_lines=lines)
    assert section(one, "by_workload").header == ("workload", "team", "2027-Q1")
    assert "2027-Q1 to" not in html.render(one)


def test_a_plan_that_costs_the_same_on_every_basis_has_no_table_of_them() -> None:
    plan = replace(sample_plan(), billed_usd=57_120.0)
    assert "bases" not in [found.key for found in report_of(plan).sections]


def test_a_long_horizon_is_marked_by_periods_and_a_short_one_by_months() -> None:
    assert ">2027-02<" in html.render(sample_plan())
    years = tuple((f"{year}", 8760.0) for year in range(2027, 2032))
    page = html.render(replace(sample_plan(), periods=years))
    assert ">2031<" in page
    assert ">2027-02<" not in page


def test_many_lanes_are_cut_and_counted() -> None:
    runs = tuple(replace(sample_plan().schedule[0], workload=f"job-{number}") for number in range(50))
    assert "10 more lanes are left out." in html.render(replace(sample_plan(), schedule=runs, workloads=()))


def test_what_lies_below_zero_is_drawn_downwards() -> None:
    series = [Series(name="cost", values=(300.0,)), Series(name="credit", values=(-200.0,))]
    drawn = columns("c", "C", "c", ["Q1"], series, usd_short)
    bars = [tuple(map(float, found)) for found in re.findall(r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', drawn)]
    (top, tall), (below, deep) = bars
    assert tall == pytest.approx(1.5 * deep, rel=0.01)  # 300 against 200
    assert below == pytest.approx(top + tall, abs=0.11)  # both start at the axis
    assert ">$100.00</text>" in drawn  # the sum over the column: 300 - 200


def test_the_explanation_says_so_when_there_is_nothing_else_and_nothing_binds() -> None:
    plan = replace(sample_plan(), runner_up=None, binding=())
    texts = [item for found in explanation(plan).sections for item in found.items]
    assert any("No other plan is known" in text for text in texts)
    assert any("no quota or budget holds the plan back" in text for text in texts)


def test_a_runner_up_without_a_price_of_its_own_has_no_switch_price() -> None:
    plan = sample_plan()
    assert plan.runner_up is not None
    other = replace(plan.runner_up, wins_below_usd_per_instance_hour=None, usd_per_instance_hour=None)
    texts = [item for found in explanation(replace(plan, runner_up=other)).sections for item in found.items]
    assert "No price of its own above zero would make it win." in texts
    assert any("no price of its own would make it win" in line.text for line in answer(replace(plan, runner_up=other)))
    cheap = replace(plan.runner_up, usd_per_instance_hour=None)
    texts = [item for found in explanation(replace(plan, runner_up=cheap)).sections for item in found.items]
    assert "It wins below $7.30 per instance-hour." in texts


def test_three_offers_of_one_workload_are_two_named_and_the_rest_counted() -> None:
    chat = serving()
    many = tuple(replace(chat.allocations[0], offer=f"aws/us-east-1/g6e.{n}xlarge/on_demand") for n in (1, 2, 4))
    plan = replace(sample_plan(), workloads=(replace(chat, allocations=many),), commitments=())
    assert answer(plan)[0].text.endswith("; and 1 more offer")


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (None, ""),
        (Layout(), "one GPU"),
        (Layout(tp=8, pp=2, ep=4, recompute="full"), "tp 8, pp 2, ep 4, recompute full"),
    ],
)
def test_a_layout_tells_only_what_is_spread(layout: Layout | None, words: str) -> None:
    assert layout_text(layout) == words


def test_a_write_that_fails_leaves_the_older_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    path.write_text("older", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="can't be written: No space left on device"):
        write_document(path, {"a": 1})
    assert path.read_text(encoding="utf-8") == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("older", encoding="utf-8")
    link.symlink_to(target)
    write_document(link, {"a": 1})
    assert link.is_symlink()
    assert json.loads(target.read_text(encoding="utf-8")) == {"a": 1}


def test_a_folder_that_is_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="its folder can't be written to"):
        check_writable(tmp_path / "plan.json")
