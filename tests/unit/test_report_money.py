"""How numbers read, and text that could act."""

from __future__ import annotations

import pytest

from gpu_opt.report import money, text


@pytest.mark.parametrize(
    ("amount", "exact", "short", "rough"),
    [
        (0.0, "$0.00", "$0.00", "$0.00"),
        (-0.0, "$0.00", "$0.00", "$0.00"),
        (5133.6, "$5,133.60", "$5,134", "$5,130"),
        (999.994, "$999.99", "$999.99", "$1,000"),
        (-500.0, "-$500.00", "-$500.00", "-$500"),
        (1_433_250.08, "$1,433,250.08", "$1,433,250", "$1,430,000"),
        (2.614, "$2.61", "$2.61", "$2.61"),
        (-0.001, "$0.00", "$0.00", "$0.00"),
    ],
)
def test_money_reads_to_the_cent_short_or_rough(amount: float, exact: str, short: str, rough: str) -> None:
    assert (money.usd(amount), money.usd_short(amount), money.usd_rough(amount)) == (exact, short, rough)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(23.6, "$23.60"), (0.6, "$0.60"), (0.012361, "$0.01236"), (0.0000012, "$0.0000012"), (1234.5, "$1,234.50")],
)
def test_a_rate_keeps_four_digits_of_what_is_small(rate: float, shown: str) -> None:
    assert money.usd_rate(rate) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        (0.0, "0 %"),
        (0.003, "0.3 %"),
        (0.00004, "0 %"),
        (0.0123, "1.2 %"),
        (0.02, "2 %"),
        (0.12, "12 %"),
        (1.18, "118 %"),
        (-0.27, "-27 %"),
        (float("inf"), "unknown"),
    ],
)
def test_a_share_has_two_significant_digits(fraction: float, shown: str) -> None:
    assert money.percent(fraction) == shown


def test_quantities_and_durations_read_in_the_unit_that_suits() -> None:
    assert [money.quantity(value) for value in (0.0, 0.3171, 226.94, 32574.3, float("nan"))] == [
        *("0", "0.3171", "226.9", "32,574", "unknown")
    ]
    assert [money.count(value) for value in (2.0, 2.5, 0.125, 1200)] == ["2", "2.5", "0.12", "1,200"]
    assert [money.span(hours) for hours in (0.5, 6.51, 226.8)] == ["30 min", "6.5 h", "9.5 d"]
    assert money.minute("2027-01-05T04:00:00Z") == "2027-01-05 04:00"
    assert money.minute("someday") == "someday"
    assert money.days_between("2026-12-01", "2027-01-01") == 31
    assert money.days_between("unknown", "2027-01-01") is None


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\t=1", "\r=1"])
def test_a_cell_never_starts_a_formula(start: str) -> None:
    assert text.cell(start).lstrip().startswith(("'", "\\x"))
    assert text.cell("a=b") == "a=b"


def test_control_characters_and_bidirectional_marks_are_written_out() -> None:
    assert text.plain("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\u202eb\\x0a"


def test_html_and_markdown_show_markup_as_text() -> None:
    assert text.html("<b a=\"x\" c='y'>&") == "&lt;b a=&quot;x&quot; c=&#x27;y&#x27;&gt;&amp;"
    assert text.markdown("a|b `c` <i> [d](e) # *f*") == "a\\|b \\`c\\` &lt;i&gt; \\[d\\]\\(e\\) \\# \\*f\\*"
    assert text.markdown("- item") == "\\- item"
    assert text.markdown("1. item") == "\\1. item"
