"""Numbers, durations and sizes with their units."""

import pytest

from gpu_opt.units import parse_duration_seconds, parse_number, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("800ms", 0.8),
        ("45s", 45),
        ("30min", 1800),
        ("30m", 1800),
        ("1.5h", 5400),
        ("30d", 30 * 86400),
        ("26w", 26 * 7 * 86400),
        (" 2 h ", 7200),
        ("1e3s", 1000),
    ],
)
def test_a_duration_is_a_number_with_a_unit_of_time(text, seconds):
    assert parse_duration_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "30", "30 days", "h", "-3h", "1,5h", "1__0h", "3h2m", "٣h", "1e400s", "3H"])
def test_anything_else_is_no_duration(text):
    with pytest.raises(ValueError):
        parse_duration_seconds(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("40", 40),
        ("1.4e12", 1.4e12),
        ("4_000_000", 4e6),
        ("15B", 15e9),
        ("2T", 2e12),
        ("30k", 30e3),
        ("1.5M", 1.5e6),
        ("-0.2", -0.2),
        ("+3", 3),
        (".5", 0.5),
        ("5.", 5),
        ("007", 7),
        ("1E-3", 0.001),
    ],
)
def test_a_number_may_have_underscores_an_exponent_and_a_multiple(text, number):
    assert parse_number(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "_1", "1_", "1__0", "0x10", "1.2.3", "15 billion", "15b", "nan", "inf", "1e999"])
def test_anything_else_is_no_number(text):
    with pytest.raises(ValueError):
        parse_number(text)


def test_gib_is_a_power_of_two_and_gb_a_power_of_ten():
    assert parse_size_bytes("80GiB") == 80 * 2**30
    assert parse_size_bytes("80GB") == 80 * 10**9
    assert parse_size_bytes("1.5 TiB") == 1.5 * 2**40


@pytest.mark.parametrize("text", ["80", "80Gi", "80gb", "-1GB", "GiB"])
def test_a_size_needs_a_unit_of_size(text):
    with pytest.raises(ValueError):
        parse_size_bytes(text)
