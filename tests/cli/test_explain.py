"""`gpu-opt explain` and `gpu-opt verify`, on a plan's file alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_plan import OFFERS, WORKLOAD
from tests.conftest import Ran
from tests.unit.report_samples import sample_plan

from gpu_opt.report.plan_json import infeasible_json, to_json

GpuOpt = Callable[..., Ran]


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """The sample plan in a file."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(to_json(sample_plan())), encoding="utf-8")
    return path


def test_explain_tells_what_would_win_otherwise(gpu_opt: GpuOpt, plan_file: Path) -> None:
    ran = gpu_opt("explain", plan_file)
    assert ran.code == 0
    assert "chat would run on gcp/us-central1/g2-standard-48/on_demand" in ran.out
    assert "It wins below $7.30 per instance-hour" in ran.out
    assert "saves $120.00" in ran.out


def test_explain_answers_as_json_and_markdown(gpu_opt: GpuOpt, plan_file: Path) -> None:
    document = json.loads(gpu_opt("explain", plan_file, "--format", "json").out)
    assert document["schema"] == "gpu-opt/explain/1"
    limits = next(section for section in document["sections"] if section["key"] == "limits")
    assert limits["rows"] == [{"limit": "quotas[0]", "one more unit": "saves $120.00"}]
    assert gpu_opt("explain", plan_file, "--format", "md").out.startswith("# Why this plan\n")


def test_why_not_finds_the_reason_by_the_shape_of_the_instance_type(gpu_opt: GpuOpt, plan_file: Path) -> None:
    ran = gpu_opt("explain", plan_file, "--why-not", "aws/us-east-1/g4dn.xlarge/on_demand")
    assert ran.code == 0
    assert "TTFT p95 is at best 2 s." in ran.out
    assert "In the plan" in gpu_opt("explain", plan_file, "--why-not", "p5.48xlarge").out
    assert "No price of nowhere is known" in gpu_opt("explain", plan_file, "--why-not", "nowhere").out


def test_explain_says_when_the_workload_file_is_another(gpu_opt: GpuOpt, plan_file: Path, tmp_path: Path) -> None:
    (tmp_path / "offers.csv").write_text(OFFERS, encoding="utf-8")
    workload = tmp_path / "workload.yaml"
    workload.write_text(WORKLOAD, encoding="utf-8")
    assert "is not the file that this plan was made from" in gpu_opt("explain", plan_file, workload).err
    own = tmp_path / "own.json"
    gpu_opt("plan", workload, "-o", own)
    assert gpu_opt("explain", own, workload).err == ""


def test_an_infeasible_file_is_explained_and_not_verified(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text(json.dumps(infeasible_json(["the total budget"], [("raise it by 2", 120.0)])), encoding="utf-8")
    ran = gpu_opt("explain", path)
    assert ran.code == 0
    assert "the total budget" in ran.out
    assert "raise it by 2: $120.00" in ran.out
    assert gpu_opt("verify", path).code == 2


@pytest.mark.parametrize("command", ["explain", "verify"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[]", "holds no JSON object"),
        (b"{}", "it has no schema"),
        (b'{"schema": "gpu-opt/plan/9"}', "its schema is 'gpu-opt/plan/9'"),
        (b'{"schema": NaN}', "NaN is no number"),
        (b'{"schema": 1, "schema": 2}', "stands twice"),
        (b"[" * 100_000, "too deep"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_with_words(
    gpu_opt: GpuOpt, tmp_path: Path, command: str, content: bytes | None, said: str
) -> None:
    path = tmp_path / "plan.json"
    if content is not None:
        path.write_bytes(content)
    ran = gpu_opt(command, path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_explain_names_what_is_missing_in_a_plan(gpu_opt: GpuOpt, plan_file: Path) -> None:
    document: dict[str, Any] = json.loads(plan_file.read_text(encoding="utf-8"))
    del document["objective_usd"]
    plan_file.write_text(json.dumps(document), encoding="utf-8")
    ran = gpu_opt("explain", plan_file)
    assert ran.code == 2
    assert "objective_usd: is missing." in ran.err


def test_verify_says_what_was_checked_and_that_it_holds(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    (tmp_path / "offers.csv").write_text(OFFERS, encoding="utf-8")
    workload, plan = tmp_path / "workload.yaml", tmp_path / "plan.json"
    workload.write_text(WORKLOAD, encoding="utf-8")
    gpu_opt("plan", workload, "-o", plan)
    ran = gpu_opt("verify", plan)
    assert ran.code == 0
    assert "1 workload, 1 scheduled run" in ran.out
    assert "The plan holds. It costs $2,360.00." in ran.out
    assert json.loads(gpu_opt("verify", plan, "--format", "json").out) == {
        "schema": "gpu-opt/verify/1",
        "holds": True,
        "problems": [],
    }


def test_verify_exits_5_when_a_plan_does_not_hold(
    gpu_opt: GpuOpt, plan_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_opt.verify.check", lambda plan: ["cost_lines[0]: 2 × 3 is not 7"])
    ran = gpu_opt("verify", plan_file)
    assert ran.code == 5
    assert "It does NOT hold:\n  - cost_lines[0]: 2 × 3 is not 7" in ran.out
    assert json.loads(gpu_opt("verify", plan_file, "--format", "json").out)["holds"] is False
