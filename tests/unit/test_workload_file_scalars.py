"""Single values: what they accept from a file and from Python, and the unit that they become."""

from datetime import date, timedelta

import pytest

from gpu_opt.workload_file import scalars
from gpu_opt.workload_file.scalars import Wrong
from gpu_opt.workload_file.starter import starter


@pytest.mark.parametrize(
    ("parse", "value", "expected"),
    [
        (scalars.number, 40, 40.0),
        (scalars.number, "15B", 15e9),
        (scalars.boolean, True, True),
        (scalars.boolean, "Off", False),
        (scalars.hours, "90min", 1.5),
        (scalars.milliseconds, "0.8s", 800.0),
        (scalars.gib, 18, 18.0),
        (scalars.gib, "18", 18.0),
        (scalars.gib, "1TiB", 1024.0),
        (scalars.gib, "80GB", 80e9 / 2**30),
        (scalars.tib, "512GiB", 0.5),
        (scalars.day, date(2027, 1, 31), date(2027, 1, 31)),
        (scalars.day, "2027-01-31", date(2027, 1, 31)),
        (scalars.moment, timedelta(hours=3), timedelta(hours=3)),
        (scalars.moment, "1000h", timedelta(hours=1000)),
        (scalars.moment, "2027-01-31", date(2027, 1, 31)),
        (scalars.text, 7, "7"),
        (scalars.country, "uk", "GB"),
        (scalars.residency, "eea", "EEA"),
        (scalars.gpu_name, "nvidia h100", "H100-SXM"),
        (scalars.gpu_pattern, "H100*", "H100*"),
        (scalars.gpu_pattern, "H100", "H100-SXM"),
        (scalars.between(0, 1, percent=True), "20%", 0.2),
    ],
)
def test_a_value_becomes_its_unit(parse, value, expected):
    assert parse(value) == pytest.approx(expected) if isinstance(expected, float) else parse(value) == expected


@pytest.mark.parametrize(
    ("parse", "value", "said"),
    [
        (scalars.number, True, "'True' is not a number."),
        (scalars.number, [1], "a list is not a number."),
        (scalars.number, float("nan"), "no number that fits here"),
        (scalars.number, "1e999", "is not a number"),
        (scalars.hours, 5, "'5' is not a duration."),
        (scalars.hours, None, "an empty value is not a duration."),
        (scalars.gib, "80XB", "'80XB' is not a number."),
        (scalars.gib, -1, "'-1' is negative."),
        (scalars.gib, None, "an empty value is not a number."),
        (scalars.day, "20270131", "is not a day."),
        (scalars.day, "2027-1-31", "is not a day."),
        (scalars.day, "2027-W05-1", "is not a day."),
        (scalars.day, "1999-12-31", "is not a day."),
        (scalars.moment, None, "an empty value is neither a day nor a duration."),
        (scalars.text, "x" * 501, "has 501 characters."),
        (scalars.text, True, "'True' is not text."),
    ],
)
def test_a_wrong_value_is_told_in_words(parse, value, said):
    with pytest.raises(Wrong) as error:
        parse(value)
    assert said in error.value.what
    assert error.value.remedy


def test_there_is_no_starter_of_an_unknown_kind():
    with pytest.raises(KeyError):
        starter("../secrets")
