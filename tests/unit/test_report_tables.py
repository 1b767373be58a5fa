"""Sections, the terminal, Markdown, CSV, FOCUS and HTML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.unit.report_samples import BILLED_USD, OBJECTIVE_USD, sample_plan, training

from gpu_opt.domain.plan import Plan
from gpu_opt.report import csvs, focus, html, markdown, table
from gpu_opt.report.charts import Series, fewer
from gpu_opt.report.cost_sections import cost_matrix
from gpu_opt.report.section import Section
from gpu_opt.report.section import table as make_table
from gpu_opt.report.sections import report_of

EVIL = '=HYPERLINK("http://x")|<script>alert(1)</script>\x1b[2J`*_#\n- x'


def section(plan: Plan, key: str) -> Section:
    """One section of a plan's report."""
    return next(found for found in report_of(plan).sections if found.key == key)


def evil_plan() -> Plan:
    """The sample with text that would act, wherever a user can put text."""
    plan = sample_plan()
    workload = replace(plan.workloads[0], name=EVIL, team=EVIL)
    lines = tuple(
        replace(line, workload=EVIL if line.workload == "train-70b" else line.workload) for line in plan.cost_lines
    )
    return replace(
        plan, workloads=(workload, plan.workloads[1]), cost_lines=lines, warnings=(EVIL,), depends_on=(EVIL,)
    )


def test_rows_and_columns_of_the_cost_table_add_up_to_the_objective() -> None:
    periods, matrix = cost_matrix(sample_plan())
    assert periods == ["2027-Q1", "2027-Q2", "after-horizon"]
    assert matrix == [
        ("train-70b", [11_008.0, 0.0, 0.0]),
        ("chat", [22_680.0, 22_932.0, 0.0]),
        ("", [-500.0, 0.0, 1_000.0]),
    ]
    found = section(sample_plan(), "by_workload")
    assert found.has_total
    assert found.rows[-1] == ("total", "", "$33,188.00", "$22,932.00", "$1,000.00", "$57,120.00")


def test_costs_by_kind_add_up_too() -> None:
    rows = section(sample_plan(), "by_kind").rows
    assert rows[0] == ("committed", "aws", "reserved 1y", "$43,440.00")
    assert rows[-1] == ("total", "", "", "$57,120.00")


def test_what_runs_shows_layout_speed_memory_latency_and_source() -> None:
    rows = section(sample_plan(), "how").rows
    header = section(sample_plan(), "how").header
    training_row = dict(zip(header, rows[0], strict=True))
    assert training_row["layout"] == "tp 4, dp 4, zero 1, micro-batch 2"
    assert training_row["speed"] == "1,250 tokens/s/GPU"
    assert training_row["GiB per GPU"] == "53.5"  # 32.5 + 21.0
    chat_row = dict(zip(header, rows[1], strict=True))
    assert chat_row["latency"] == "p95: ttft 612 ms, tpot 31 ms"
    assert chat_row["source"] == "measured"
    assert len(rows) == 2  # the same way of running in both periods stands once


def test_limits_commitments_and_rejections_are_shown() -> None:
    plan = sample_plan()
    assert section(plan, "binding").rows == (("quotas[0]", "$120.00 less per unit more"),)
    assert "2027-09-14" in section(plan, "commitments").rows[0]
    assert section(plan, "rejections").rows[0] == ("memory is too small", "7")


def test_a_long_table_says_what_was_left_out() -> None:
    made = make_table("x", "X", ("a", ">b"), [(str(n), "") for n in range(5)], limit=4)
    assert made.header == ("a",)  # an empty column is left out
    assert len(made.rows) == 4
    assert made.note == "1 more row is in plan.json."


def test_the_table_starts_with_the_answer_and_fits_the_terminal() -> None:
    text = table.render(report_of(sample_plan()), width=100)
    assert text.startswith("Do ")
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "\x1b" not in text
    unbounded = table.render(report_of(sample_plan()))
    assert len(unbounded.partition("\n\n")[0].splitlines()) <= 12


def test_colour_comes_only_when_asked_for() -> None:
    assert "\x1b[1m" in table.render(report_of(sample_plan()), colour=True)


def test_a_cell_that_is_too_wide_goes_on_below() -> None:
    long = Section(
        key="x", title="X", header=("offer", "cost"), align="lr", rows=(("aws/us-east-1/p5.48xlarge", "$1.00"),)
    )
    assert table.grid(long, width=22) == [
        "offer             cost",
        "---------------  -----",
        "aws/us-east-1/   $1.00",
        "p5.48xlarge",
    ]


def test_numbers_line_up_on_the_right_and_totals_under_a_rule() -> None:
    sums = Section(
        key="x",
        title="X",
        header=("for", "cost"),
        align="lr",
        rows=(("a", "$1.00"), ("total", "$10.00")),
        has_total=True,
    )
    assert table.grid(sums) == ["for      cost", "-----  ------", "a       $1.00", "-----  ------", "total  $10.00"]


def test_nothing_a_user_names_acts_in_the_terminal() -> None:
    text = table.render(report_of(evil_plan()))
    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_nothing_a_user_names_is_markup_in_markdown() -> None:
    text = markdown.render(report_of(evil_plan()))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "HYPERLINK" in line]
    assert rows
    columns = {len(re.findall(r"(?<!\\)\|", row)) for row in rows if "2027-Q1" in row}
    assert columns == {10}  # nine cells, whatever pipes the name has


def test_markdown_has_the_answer_as_a_list_and_the_total_in_bold() -> None:
    text = markdown.render(report_of(sample_plan()))
    assert text.startswith("# GPU plan\n\n- **Do**: commit to 1 × g6e.12xlarge")
    assert "| **total** |  | **$33,188.00** | **$22,932.00** | **$1,000.00** | **$57,120.00** |" in text


def rows_of(text: str) -> list[dict[str, str]]:
    """CSV back as rows."""
    return list(csv.DictReader(io.StringIO(text)))


def test_cost_lines_in_csv_add_up_and_never_start_a_formula() -> None:
    rows = rows_of(csvs.cost_lines(evil_plan()))
    assert round(sum(float(row["usd"]) for row in rows), 2) == OBJECTIVE_USD
    assert rows[0]["workload"].startswith("'=HYPERLINK")
    assert rows[0]["team"].startswith("'=HYPERLINK")
    credit = next(row for row in rows if row["label"].startswith("credit"))
    assert credit["rate_usd"] == "-1"  # a number is no formula
    assert "\n" not in rows[0]["workload"]


def test_focus_rows_add_up_to_the_effective_and_the_billed_cost() -> None:
    rows = rows_of(focus.focus_csv(sample_plan()))
    assert round(sum(float(row["EffectiveCost"]) for row in rows), 2) == OBJECTIVE_USD
    assert round(sum(float(row["BilledCost"]) for row in rows), 2) == BILLED_USD
    purchase = rows[-1]
    assert (purchase["ChargeCategory"], purchase["BilledCost"], purchase["EffectiveCost"]) == ("Purchase", "4380", "0")
    assert (purchase["BillingPeriodStart"], purchase["BillingPeriodEnd"]) == (
        "2027-01-01T00:00:00Z",
        "2027-02-01T00:00:00Z",
    )


def test_focus_tells_prices_commitments_and_gpu_hours_apart() -> None:
    rows = rows_of(focus.focus_csv(sample_plan()))
    rent = next(row for row in rows if row["ChargeDescription"] == "rent")
    assert (rent["PricingCategory"], rent["x_GpuHours"], rent["x_GpuModel"]) == ("Standard", "1600", "H100-SXM")
    assert (rent["ChargePeriodStart"], rent["ChargePeriodEnd"]) == ("2027-01-01T00:00:00Z", "2027-04-01T00:00:00Z")
    assert rent["ListUnitPrice"] == ""  # unknown is never zero
    committed = [row for row in rows if row["PricingCategory"] == "Committed" and row["ChargeCategory"] == "Usage"]
    assert {row["CommitmentDiscountStatus"] for row in committed} == {"Used", "Unused"}
    assert sum(float(row["x_GpuHours"] or 0) for row in rows) == 1600 + 17_376
    assert rows[0]["Tags"] == '{"team": "research"}'
    assert next(row for row in rows if row["ChargeCategory"] == "Credit")["EffectiveCost"] == "-500"


class Page(HTMLParser):
    """Collects tags and checks that they pair up."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(plan: Plan) -> Page:
    """The page, parsed."""
    page = Page()
    page.feed(html.render(plan))
    page.close()
    assert page.open == []
    return page


@pytest.mark.parametrize("plan", [sample_plan(), evil_plan()], ids=["plain", "evil"])
def test_the_page_is_one_file_without_script_or_anything_from_elsewhere(plan: Plan) -> None:
    page = page_of(plan)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe", "object"} & set(names)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "url(" not in html.render(plan)
    assert "alert(1)</script>" not in html.render(plan)


def test_every_chart_has_a_title_and_a_description() -> None:
    page = page_of(sample_plan())
    charts = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(charts) == 3  # cost, time, fleet
    known = {attributes.get("id") for _, attributes in page.tags}
    for chart in charts:
        assert chart["role"] == "img"
        assert set(str(chart["aria-labelledby"]).split()) <= known


def test_the_page_has_colours_for_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in html.render(sample_plan())


def test_the_page_is_the_same_for_the_same_plan() -> None:
    assert html.render(sample_plan()) == html.render(sample_plan())


def test_many_series_become_eight_of_which_one_is_the_rest() -> None:
    series = [Series(name=f"s{n}", values=(float(n), 1.0)) for n in range(1, 21)]
    kept = fewer(series, "others")
    assert len(kept) == 8
    assert kept[-1].name == "others"
    assert sum(entry.values[0] for entry in kept) == 210.0  # 1 + 2 + … + 20


def test_a_plan_without_cost_has_a_page_too() -> None:
    empty = replace(
        sample_plan(), cost_lines=(), workloads=(), schedule=(), fleet=(), commitments=(), objective_usd=0.0
    )
    page = page_of(empty)
    assert "svg" not in [tag for tag, _ in page.tags]


def test_runs_beyond_a_screenful_are_counted() -> None:
    plan = sample_plan()
    runs = tuple(replace(plan.schedule[0], run=number) for number in range(90))
    assert section(replace(plan, schedule=runs), "when").note == "66 more rows are in plan.json."  # 90 - 24


def test_a_workload_with_measured_speed_has_no_layout() -> None:
    bare = replace(training().allocations[0], layout=None, memory=(), source="measured")
    plan = replace(sample_plan(), workloads=(replace(training(), allocations=(bare,)),))
    row = dict(zip(section(plan, "how").header, section(plan, "how").rows[0], strict=True))
    assert "layout" not in row
    assert row["source"] == "measured"
