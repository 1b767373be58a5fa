"""Every example plans; its cost lines add up, and the same input gives the same bytes."""

from __future__ import annotations

import json

import pytest
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
TWICE = ("jetson-edge", "measured-h100-vs-a100")
CENT = 0.01


def of_example(path):
    return "plan", str(path.relative_to(ROOT)), "--format", "json"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_plans_and_its_cost_lines_add_up(path, shared):
    printed = shared(*of_example(path))
    assert printed.code == 0, printed.err
    plan = json.loads(printed.out)
    total = plan["objective_usd"]
    assert plan["verified"]
    assert plan["status"] in ("optimal", "feasible")
    assert round(sum(line["usd"] for line in plan["cost_lines"]), 2) == pytest.approx(total, abs=CENT)
    for line in plan["cost_lines"]:
        assert line["quantity"] * line["rate_usd"] == pytest.approx(line["usd"], abs=CENT)
    by_workload = sum(workload["usd"] for workload in plan["workloads"])
    assert by_workload + plan["platform_usd"] == pytest.approx(total, abs=CENT)


@pytest.mark.parametrize("name", TWICE)
def test_the_same_input_gives_the_same_bytes(name, shared, run_line):
    arguments = of_example(ROOT / f"examples/{name}.yaml")
    assert run_line(ROOT, *arguments).out == shared(*arguments).out


def test_the_measured_example_is_the_arithmetic_by_hand(shared):
    # 82.8e9 tokens / 230,000 a second / 3,600 = 100 h; 100 h × $23.60 = $2,360.00
    plan = json.loads(shared(*of_example(ROOT / "examples/measured-h100-vs-a100.yaml")).out)
    assert plan["objective_usd"] == pytest.approx(2360.00, abs=CENT)
