"""Predictions of measured serving points, and the page that is made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_opt.throughput.accuracy.report import summary, to_json
from gpu_opt.throughput.accuracy.serving import columns_match, evaluate
from gpu_opt.throughput.accuracy.serving_page import POINTS, render
from gpu_opt.throughput.accuracy.serving_rows import drafts_of, scenario_of
from gpu_opt.throughput.serving.tables import read_rows

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "accuracy-serving.md"
ROW = {
    "id": "x-1",
    "engine": "vLLM",
    "model": "llama-3.1-8b",
    "params_b": "8.03",
    "gpu": "H100-SXM-80GB",
    "n_gpus": "1",
    "tp": "1",
    "weight_precision": "bf16",
    "input_len": "1024",
    "output_len": "256",
    "concurrency_or_batch": "16",
    "scenario": "closed-loop serving",
    "throughput_out_tok_s": "1500",
}


def metrics(**changes: str) -> dict[str, float]:
    return {row.metric: row.predicted for row in evaluate([{**ROW, **changes}]).rows}


def test_a_closed_loop_predicts_every_metric_measured_or_not() -> None:
    report = evaluate([ROW])
    by_metric = {row.metric: row for row in report.rows}
    assert {"throughput_out_tok_s", "tpot_ms", "ttft_ms", "e2e_ms", "ttft_p99_ms", "e2e_p99_ms"} <= set(by_metric)
    assert by_metric["throughput_out_tok_s"].measured == 1500.0
    assert by_metric["ttft_ms"].measured is None
    assert all(row.low <= row.predicted <= row.high for row in report.rows)


def test_throughput_is_that_of_the_whole_deployment() -> None:
    one = metrics()["throughput_out_tok_s"]
    two = metrics(n_gpus="2", concurrency_or_batch="32")["throughput_out_tok_s"]
    assert two == pytest.approx(2 * one, rel=0.01)


def test_a_blank_throughput_takes_what_the_latencies_imply() -> None:
    (row,) = (
        r
        for r in evaluate([{**ROW, "throughput_out_tok_s": "", "derived_out_tok_s": "900"}]).rows
        if r.metric == "throughput_out_tok_s"
    )
    assert row.measured == 900.0


def test_little_s_law_joins_the_metrics() -> None:
    # 16 users: throughput = 16 × 256 tokens over the time of one request
    found = metrics()
    assert found["throughput_out_tok_s"] == pytest.approx(16 * 256 / (found["e2e_ms"] / 1e3), rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"gpu": "Abacus-9000"}, "GPU"),
        ({"model": "nobody-knows", "params_b": ""}, "model"),
        ({"weight_precision": "int3"}, "precision"),
        ({"concurrency_or_batch": ""}, "concurrency"),
        ({"gpu": "T4", "weight_precision": "fp8"}, "FP8"),
    ],
)
def test_a_row_that_cannot_be_predicted_is_skipped_with_its_reason(changes: dict[str, str], word: str) -> None:
    report = evaluate([{**ROW, **changes}])
    assert not report.rows
    assert word in report.skipped[0].reason


@pytest.mark.parametrize(
    ("scenario", "rate", "expected"),
    [
        ("static-batch", "", "static"),
        ("latency (batch 1)", "", "static"),
        ("static-batch (decode)", "", "decode"),
        ("static-batch (prefill)", "", "prefill"),
        ("MLPerf server", "12", "server"),
        ("MLPerf offline", "", "offline"),
        ("offline (num prompts = concurrency col)", "", "burst"),
        ("burst (all 1000 requests at t=0)", "inf", "burst"),
        ("open-loop constant rate", "3.5", "open"),
        ("", "3.5", "open"),
        ("", "inf", "burst"),
        ("closed-loop serving", "", "closed"),
    ],
)
def test_kinds_of_benchmark_are_recognised(scenario: str, rate: str, expected: str) -> None:
    assert scenario_of({"scenario": scenario, "request_rate": rate}) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"scenario": "static-batch"},
        {"scenario": "static-batch (decode)"},
        {"scenario": "static-batch (prefill)"},
        {"scenario": "offline (max load, uniform lengths)", "concurrency_or_batch": ""},
        {"scenario": "burst (all 500 requests at t=0)", "concurrency_or_batch": ""},
        {"scenario": "open-loop", "request_rate": "4"},
        {"scenario": "MLPerf server", "request_rate": "4", "tp": "", "n_gpus": "8"},
        {"scenario": "MLPerf offline", "tp": "", "n_gpus": "8", "weight_precision": ""},
        {"disagg": "prefill 1x(tp1 dp1 ep1) decode 1x(tp1 dp1 ep1)", "n_gpus": "2"},
        {"spec_decode": "eagle3 k=4"},
        {"tp": "", "n_gpus": "4", "engine": "llama.cpp"},
        {"model": "deepseek-r1", "params_b": "671", "active_params_b": "37", "n_gpus": "64", "dp": "64", "ep": "8"},
        {"engine_version": "0.6.3"},
    ],
)
def test_every_kind_of_row_gets_a_positive_prediction(changes: dict[str, str]) -> None:
    report = evaluate([{**ROW, **changes}])
    assert report.rows
    assert all(row.predicted > 0 for row in report.rows)


def test_drafts_are_read_from_their_cell() -> None:
    # 1 + 0.65 + 0.65² + 0.65³ + 0.65⁴ = 2.5256 tokens a step
    assert drafts_of("eagle3 k=4") == (4.0, pytest.approx((1 - 0.65**5) / 0.35))
    assert drafts_of("") == (0.0, 1.0)
    assert drafts_of("mtp")[0] == 1.0


def test_columns_of_serving_files_are_recognised() -> None:
    assert columns_match(["id", "gpu", "scenario", "ttft_ms"])
    assert not columns_match(["id", "gpu", "tokens_per_s_per_gpu"])


def test_the_committed_points_are_few_and_tell_their_source() -> None:
    rows = read_rows(POINTS)
    assert 0 < len(rows) <= 1500
    assert all(row["source"] for row in rows)


def test_nearly_every_committed_point_is_predicted_and_most_lie_within_a_fifth() -> None:
    report = evaluate(read_rows(POINTS))
    predicted = {row.id for row in report.rows}
    assert len(predicted) >= 0.97 * (len(predicted) + len(report.skipped))
    throughput = summary(report)["throughput_out_tok_s"]
    assert throughput.median_ape < 0.16
    assert 0.70 <= throughput.interval_coverage <= 0.92


def test_the_report_has_the_contracts_keys() -> None:
    document = to_json(evaluate([ROW]))
    assert document["kind"] == "inference"


def test_the_accuracy_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render()
