"""The pages about owned machines say what the tables and the code say."""

import re
from pathlib import Path

import pytest

from gpu_opt.costs.cooling import climate_pue_ratio, climates
from gpu_opt.costs.defaults import defaults
from gpu_opt.costs.on_prem import break_even_utilisation, cost
from gpu_opt.costs.power import phase_draws

ROOT = Path(__file__).parents[2]
EXPLANATION = (ROOT / "docs/explanation/on-prem-cost.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/defaults.md").read_text(encoding="utf-8")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "optimizer/gpu_opt/costs").glob("*.py"))


def cells(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_the_page_lists_every_default_with_its_value():
    part = REFERENCE.split("<!-- costs-defaults -->")[1].split("<!-- /costs-defaults -->")[0]
    shown = {row[0].strip("`"): row[1:] for row in cells(part)[2:]}
    assert shown.keys() == defaults().keys()
    for name, (value, _range, unit, source, date) in shown.items():
        known = defaults()[name]
        assert float(value.replace(",", "")) == pytest.approx(known.value, rel=1e-3), name
        assert (unit, source, date) == (known.unit, known.source, known.date)


def test_every_formula_tag_is_on_the_page_and_in_the_code():
    on_page = set(re.findall(r"^\| (K\d+) \|", EXPLANATION, flags=re.MULTILINE))
    assert on_page == {f"K{number}" for number in range(1, 15)}
    assert on_page <= set(re.findall(r"\bK\d+\b", SOURCES))


def test_the_page_shows_the_phases_and_climates_of_the_tables():
    shown = [(row[1], row[2]) for row in cells(EXPLANATION) if re.fullmatch(r"0\.\d\d", row[1])]
    ranges = [
        (f"{draw.fraction:.2f}", f"{draw.low_fraction:.2f}–{draw.high_fraction:.2f}") for draw in phase_draws().values()
    ]
    assert [pair for pair in shown if "–" in pair[1]] == ranges
    pues = {row[0].split(" ")[0]: (row[4], row[5]) for row in cells(EXPLANATION) if row[0].split(" ")[0] in climates()}
    assert pues == {
        name: (f"{climate_pue_ratio(climate):.4f}", f"{climate_pue_ratio(climate, 0.85):.4f}")
        for name, climate in climates().items()
    }


def test_the_example_of_the_page_holds():
    found = (round(cost().per_avail, 2), round(cost().per_used, 2), round(break_even_utilisation(4.0), 2))
    assert [f"{value:.2f}" for value in found] == ["2.10", "3.00", "0.52"]
    for value in found:
        assert f"{value:.2f}" in EXPLANATION
