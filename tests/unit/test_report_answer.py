"""The answer in at most twelve lines."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.report_samples import sample_plan, training

from gpu_opt.domain.plan import Plan, PurchasePlan
from gpu_opt.report.answer import MAX_LINES, answer


def said(plan: Plan) -> dict[str, str]:
    """Texts by label; lines without one belong to the label above."""
    found: dict[str, str] = {}
    label = ""
    for line in answer(plan):
        label = line.label or label
        found[label] = f"{found[label]}\n{line.text}" if label in found else line.text
    return found


def test_the_answer_says_what_to_do_what_it_costs_and_how_far_to_trust_it() -> None:
    lines = said(sample_plan())
    assert lines["Do"].splitlines() == [
        "commit to 1 × g6e.12xlarge at aws/us-east-1 (reserved 1y), 2027-01-01 to 2027-12-31, $4,380 upfront",
        "train-70b: rent 2 × p5.48xlarge (8 × H100-SXM, on demand) at aws/us-east-1, 200 instance-hours; "
        "done 2027-01-05 04:00",
        "chat: use 1 × g6e.12xlarge (4 × L40S, reserved 1y) at aws/us-east-1, 4,344 instance-hours",
    ]
    assert lines["Cost"] == (
        "$57,120 effective for 2027-Q1 to 2027-Q2, P10–P90 $50,300–$64,000; billed in that time: $58,328"
    )
    # 3,000 / 57,120 = 5.3 %
    assert lines["Runner-up"] == (
        "gcp/us-central1/g2-standard-48/on_demand for chat: $3,000 more (+5.3 %); "
        "wins below $7.30 per instance-hour, now $8.00"
    )
    assert lines["Not promised"] == "aws/us-east-1/p5.48xlarge/on_demand: 2 at one time"
    assert lines["Prices"] == "as of 2026-12-20, the oldest in use of 2026-12-01 (31 days before the plan starts)"
    assert lines["Proof"] == (
        "optimal for these inputs within 0.3 %; the inputs move it ±12 %; re-checked independently"
    )
    assert lines["Mind"] == "1 warning and 1 gap in the prices"


def test_the_answer_has_at_most_twelve_lines_however_much_there_is_to_do() -> None:
    many = tuple(replace(training(), name=f"job-{number}") for number in range(40))
    lines = answer(replace(sample_plan(), workloads=many))
    assert len(lines) == MAX_LINES
    assert lines[5].text == "and 36 more; the tables below have all of them"  # 1 commitment + 40 jobs - 5 shown
    assert {line.label for line in lines} >= {"Do", "Cost", "Runner-up", "Not promised", "Prices", "Proof"}


def test_a_gap_wider_than_asked_for_is_not_called_optimal() -> None:
    plan = replace(sample_plan(), status="feasible", certified=False, gap=0.04)
    assert said(plan)["Proof"].startswith("feasible; the best may be up to 4 % cheaper (asked for: 0.5 %)")


def test_a_plan_that_was_not_rechecked_says_so() -> None:
    assert said(replace(sample_plan(), verified=False))["Proof"].endswith("NOT verified")


def test_uneven_ranges_show_both_sides() -> None:
    plan = replace(sample_plan(), low_usd=57_120 * 0.8, high_usd=57_120 * 1.4)
    assert "the inputs move it -20 % to +40 %" in said(plan)["Proof"]


def test_speeds_that_are_given_have_no_range() -> None:
    lines = said(replace(sample_plan(), low_usd=57_120.0, high_usd=57_120.0))
    assert "P10" not in lines["Cost"]
    assert "inputs move" not in lines["Proof"]


def test_without_a_runner_up_the_answer_says_that_none_is_known() -> None:
    assert said(replace(sample_plan(), runner_up=None))["Runner-up"].startswith("none known")


def test_capacity_that_is_all_held_is_promised() -> None:
    assert said(replace(sample_plan(), depends_on=()))["Not promised"].startswith("nothing")


def test_what_one_has_without_a_price_is_shown_as_paid() -> None:
    workload = training()
    held = replace(workload.allocations[0], market="existing", usd=0.0)
    plan = replace(sample_plan(), workloads=(replace(workload, allocations=(held,)),))
    assert "use 2 × p5.48xlarge (8 × H100-SXM, already paid)" in said(plan)["Do"]


def test_purchases_come_first_with_their_dates_and_price() -> None:
    purchase = PurchasePlan(
        system="hgx-h100-8",
        site="dc1",
        gpu="H100-SXM",
        instances=3,
        ordered="2027-01-01",
        delivered="2027-07-02",
        capex_usd=960_000.0,
        annuity_usd_per_hour=10.0,
        life_years=4.0,
        pays_if_used_until="2029-06-24",
        stops_paying_if_prices_fall_annually=None,
    )
    first = answer(replace(sample_plan(), purchases=(purchase,)))[0]
    assert first.text == "buy 3 × hgx-h100-8 for dc1 (order by 2027-01-01, there on 2027-07-02): $960,000"


def test_an_empty_plan_says_that_there_is_nothing_to_do() -> None:
    plan = replace(sample_plan(), workloads=(), commitments=(), objective_usd=0.0, low_usd=0.0, high_usd=0.0)
    assert said(plan)["Do"].startswith("nothing")
