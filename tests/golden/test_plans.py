"""Small questions with their whole plans. Prices and speeds are the cases' own, so only the planner moves them.

A change is reviewed as the difference that `pytest tests/golden --update-golden` leaves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/workload.yaml"))
_NOT_THE_PLANNERS = ("model_version", "solver", "assumptions", "coverage_gaps")
_TABLES = ("energy_kwh", "carbon_kg")  # estimates of tables that are dated anew


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """A plan without what other parts of the tool say of it."""
    plan = {key: value for key, value in document.items() if key not in _NOT_THE_PLANNERS}
    for workload in plan["workloads"]:
        for allocation in workload["allocations"]:
            for name in _TABLES:
                allocation.pop(name)
    return plan


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_is_the_one_that_was_reviewed(
    name: str, gpu_opt: Callable[..., Any], update_golden: bool, tmp_path: Path
) -> None:
    ran = gpu_opt("plan", CASES / name / "workload.yaml", "--gap", "0", "--format", "json", "--offline")
    assert ran.code == 0, ran.err
    found = kept(json.loads(ran.out))
    golden = CASES / name / "plan.json"
    if update_golden:
        golden.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == json.loads(golden.read_text(encoding="utf-8"))


def test_every_case_has_its_plan() -> None:
    assert len(NAMES) >= 6
    assert all((CASES / name / "plan.json").exists() for name in NAMES)
