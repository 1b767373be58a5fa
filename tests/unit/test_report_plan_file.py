"""plan.json: written, read back, and refused with words when it is broken; the explanation made from it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.report_samples import P5, sample_plan

from gpu_opt.errors import InputError
from gpu_opt.report.explanation import explanation, meant, why_not
from gpu_opt.report.plan_file import from_json
from gpu_opt.report.plan_json import infeasible_json, to_json

CONTRACT_KEYS = {
    *("schema", "status", "certified", "objective_usd", "minimized_usd", "bound_usd", "gap", "verified", "solver"),
    *("prices", "workload_sha256", "model_version", "periods", "workloads", "platform_usd", "schedule", "fleet"),
    *("purchases", "commitments", "cost_lines", "unfunded", "depends_on", "binding", "rejections", "coverage_gaps"),
}


def written() -> dict[str, Any]:
    """The sample as it stands in a file."""
    document: dict[str, Any] = json.loads(json.dumps(to_json(sample_plan()), sort_keys=True, allow_nan=False))
    return document


def test_the_document_has_every_key_of_the_contract() -> None:
    document = written()
    assert set(document) >= CONTRACT_KEYS
    assert document["schema"] == "gpu-opt/plan/1"
    assert set(document["workloads"][0]["allocations"][0]) >= {
        *("offer", "provider", "region", "instance_type", "market", "gpu", "period", "instances", "instance_hours"),
        *("gpu_hours", "usd", "layout", "tokens_per_second_per_gpu", "memory_gib_per_gpu", "latency", "source"),
        *("interval", "energy_kwh", "carbon_kg"),
    }
    assert document["workloads"][1]["allocations"][0]["latency"]["ttft_p95_ms"] == 612.0
    assert document["workloads"][0]["allocations"][0]["memory_gib_per_gpu"] == 53.5
    assert document["cost_lines"][0]["team"] == "research"
    assert document["prices"] == {"sha256": "ab" * 32, "as_of": "2026-12-20", "oldest_as_of": "2026-12-01"}


def test_a_plan_reads_back_as_it_was_written() -> None:
    again = from_json(written(), "plan.json")
    chat = again.workloads[1].allocations[0]
    assert chat.latency_ms == {"ttft_p95_ms": 612.0, "tpot_p95_ms": 31.0, "e2e_mean_ms": 7000.0}
    assert to_json(again) == to_json(sample_plan())


def test_a_bound_that_does_not_exist_is_null_and_reads_back() -> None:
    plan = replace(sample_plan(), bound_usd=float("-inf"), gap=float("inf"), certified=False, status="feasible")
    document = json.loads(json.dumps(to_json(plan), allow_nan=False))
    assert (document["bound_usd"], document["gap"]) == (None, None)
    assert from_json(document, "plan.json").gap == float("inf")


@pytest.mark.parametrize("key", sorted(CONTRACT_KEYS - {"schema", "unfunded", "coverage_gaps", "rejections"}))
@pytest.mark.parametrize("broken", [[1], {"a": 1}, "text", None], ids=["list", "object", "text", "null"])
def test_a_broken_file_is_refused_with_the_path_of_what_is_wrong(key: str, broken: object) -> None:
    document = written()
    if isinstance(broken, type(document[key])) and isinstance(broken, str):
        broken = 1.5  # text is right there; a number is not
    if broken is None and key in ("bound_usd", "gap"):
        broken = "text"  # null means that there is none
    document[key] = broken
    if key in ("solver", "prices"):
        document.pop(key)
    with pytest.raises(InputError) as caught:
        from_json(document, "plan.json")
    assert all(line.startswith(f"plan.json: {key}") for line in str(caught.value).splitlines())


def test_missing_parts_are_named_all_at_once() -> None:
    document = written()
    del document["objective_usd"]
    del document["workloads"][0]["allocations"][0]["gpu"]
    document["schedule"][0]["instances"] = "two"
    with pytest.raises(InputError) as caught:
        from_json(document, "plan.json")
    assert str(caught.value).splitlines() == [
        "plan.json: objective_usd: is missing.",
        "plan.json: workloads[0].allocations[0].gpu: is missing.",
        "plan.json: schedule[0].instances: a whole number is expected, not text.",
    ]


def test_unknown_keys_are_left_alone() -> None:
    document: Mapping[str, Any] = {**copy.deepcopy(written()), "later_addition": {"a": [1]}}
    assert from_json(document, "plan.json").objective_usd == 57_120.0


def test_an_infeasible_answer_has_the_contracts_form() -> None:
    assert infeasible_json(["the quota x"], [("raise x by 2", 120.0)]) == {
        "schema": "gpu-opt/plan/1",
        "status": "infeasible",
        "conflict": ["the quota x"],
        "repairs": [{"change": "raise x by 2", "usd": 120.0}],
    }


def test_the_explanation_tells_the_runner_up_the_switch_price_and_what_limits_are_worth() -> None:
    report = explanation(sample_plan())
    by_key = {section.key: section for section in report.sections}
    assert by_key["runner_up"].items[1] == "The whole plan would cost $60,120.00: $3,000.00 more than $57,120.00."
    # 1 - 7.30 / 8.00 = 8.75 %
    assert by_key["runner_up"].items[2] == (
        "It wins below $7.30 per instance-hour; it costs $8.00 now and would have to fall by 8.8 %."
    )
    assert by_key["limits"].rows == (("quotas[0]", "saves $120.00"),)
    assert ("chat", "latency", "1xT4 pcie 5Gbps", "TTFT p95 is at best 2 s.") in by_key["reasons"].rows


def test_why_not_tells_the_reason_the_use_or_that_nothing_is_known() -> None:
    plan = sample_plan()
    by_shape = why_not(plan, "g4dn.xlarge", {"1xT4 pcie 5Gbps"}, {"aws/us-east-1/g4dn.xlarge/on_demand": ""})
    assert by_shape.sections[0].rows == (("chat", "1xT4 pcie 5Gbps", "TTFT p95 is at best 2 s."),)
    by_place = why_not(
        plan, "gcp/us-central1/a2-highgpu-8g/on_demand", (), {"gcp/us-central1/a2-highgpu-8g/on_demand": ""}
    )
    assert by_place.sections[0].rows == (("train-70b", "gcp/us-central1/a2-highgpu-8g", "late"),)
    assert why_not(plan, "p5.48xlarge", (), {P5: ""}).answer[0].label == "In the plan"
    assert "No price of nowhere is known" in why_not(plan, "nowhere", (), {}).answer[0].text
    assert (
        "Nothing speaks against p4d"
        in why_not(plan, "p4d", (), {"aws/us-east-1/p4d.24xlarge/on_demand": ""}).answer[0].text
    )
    assert why_not(plan, "gov", (), {"aws/us-gov-west-1/x/on_demand": "apart"}).answer[0].label == "Not for sale"


def test_an_offer_is_meant_by_its_id_a_part_a_beginning_or_a_pattern() -> None:
    names = {"aws/us-east-1/p5.48xlarge/on_demand", "aws/us-east-1/p5.4xlarge/on_demand", "gcp/us-central1/a3/spot"}
    assert meant("p5.4xlarge", names) == {"aws/us-east-1/p5.4xlarge/on_demand"}
    assert meant("aws/us-east-1/p5", names) == {n for n in names if n.startswith("aws")}
    assert meant("AWS", names) == {n for n in names if n.startswith("aws")}
    assert meant("p5.*", names) == {n for n in names if n.startswith("aws")}
    assert meant("gcp/us-central1/a3/spot", {"gcp/us-central1/a3"}) == {"gcp/us-central1/a3"}
    assert meant("", names) == set()
