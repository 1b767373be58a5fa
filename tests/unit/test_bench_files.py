"""Result files of serving benchmarks, on small samples in the formats that the tools write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_opt.errors import InputError
from gpu_opt.throughput.bench_files import COLUMNS, FORMATS, Row, read_bench_file, sniff

VLLM: dict[str, object] = {
    "date": "20260617-164242", "endpoint_type": "vllm", "backend": "vllm", "label": None,
    "model_id": "meta-llama/Llama-3.1-8B-Instruct", "tokenizer_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 128, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "duration": 40.0,
    "completed": 128, "failed": 0, "total_input_tokens": 131072, "total_output_tokens": 25600,
    "request_throughput": 3.2, "request_goodput": None, "output_throughput": 640.0, "total_token_throughput": 3916.8,
    "max_output_tokens_per_s": 900.0, "max_concurrent_requests": 33, "rtfx": 0.0,
    "mean_ttft_ms": 240.5, "median_ttft_ms": 200.25, "std_ttft_ms": 90.0, "p95_ttft_ms": 410.0, "p99_ttft_ms": 512.0,
    "mean_tpot_ms": 45.1, "median_tpot_ms": 44.9, "std_tpot_ms": 2.0, "p99_tpot_ms": 51.5,
    "mean_itl_ms": 45.0, "median_itl_ms": 41.0, "std_itl_ms": 12.0, "p99_itl_ms": 120.0,
    "mean_e2el_ms": 9215.4, "median_e2el_ms": 9100.0, "std_e2el_ms": 500.0, "p99_e2el_ms": 10750.0,
}  # fmt: skip
SGLANG: dict[str, object] = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": None,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 1.0,
    "server_info": {
        "model_path": "deepseek-ai/DeepSeek-V3", "tp_size": 8, "pp_size": 1, "dp_size": 8, "ep_size": 8,
        "enable_dp_attention": True, "quantization": "fp8", "kv_cache_dtype": "auto", "version": "0.5.10",
    },
    "duration": 75.0, "completed": 300, "total_input_tokens": 307200, "total_output_tokens": 38400,
    "total_output_tokens_retokenized": 38350, "request_throughput": 4.0, "input_throughput": 4096.0,
    "output_throughput": 512.0, "total_throughput": 4608.0, "mean_e2e_latency_ms": 3600.0,
    "median_e2e_latency_ms": 3500.0, "std_e2e_latency_ms": 300.0, "p99_e2e_latency_ms": 5100.0, "mean_ttft_ms": 350.0,
    "median_ttft_ms": 300.0, "std_ttft_ms": 80.0, "p99_ttft_ms": 900.0, "mean_tpot_ms": 25.6, "median_tpot_ms": 25.0,
    "std_tpot_ms": 1.0, "p99_tpot_ms": 31.0, "mean_itl_ms": 25.5, "median_itl_ms": 22.0, "std_itl_ms": 9.0,
    "p95_itl_ms": 60.0, "p99_itl_ms": 88.0, "concurrency": 14.4, "accept_length": 2.345,
}  # fmt: skip


def distribution(mean: float, median: float, p95: float, p99: float) -> dict[str, object]:
    summary = {
        "mean": mean,
        "median": median,
        "std_dev": 1.0,
        "min": 0.0,
        "max": p99,
        "count": 100,
        "total_sum": mean * 100,
    }
    nothing = {"mean": 0.0, "median": 0.0, "std_dev": 0.0, "count": 0, "total_sum": 0.0, "percentiles": {}}
    return {
        "successful": summary | {"percentiles": {"p50": median, "p90": p95, "p95": p95, "p99": p99, "p999": p99}},
        "errored": nothing,
        "incomplete": nothing,
    }


def guidellm_benchmark(strategy: dict[str, object]) -> dict[str, object]:
    return {
        "type_": "generative_benchmark",
        "config": {
            "run_id": "r", "run_index": 0, "strategy": strategy,
            "backend": {"target": "http://localhost:8000", "model": "Qwen/Qwen3-8B"},
        },
        "metrics": {
            "request_totals": {"successful": 100, "errored": 4, "incomplete": 6, "total": 110},
            "requests_per_second": distribution(2.5, 2.5, 3.0, 3.0),
            "request_latency": distribution(3.25, 3.0, 4.5, 5.125),
            "prompt_token_count": distribution(512.0, 512.0, 512.0, 512.0),
            "output_token_count": distribution(128.0, 128.0, 128.0, 128.0),
            "time_to_first_token_ms": distribution(120.0, 110.0, 180.0, 210.0),
            "time_per_output_token_ms": distribution(25.4, 25.0, 33.0, 36.0),
            "inter_token_latency_ms": distribution(24.6, 24.5, 27.0, 29.0),
            "output_tokens_per_second": distribution(320.0, 318.0, 400.0, 410.0),
            "tokens_per_second": distribution(1600.0, 1590.0, 1700.0, 1710.0),
        },
    }  # fmt: skip


GUIDELLM: dict[str, object] = {
    "metadata": {"version": 1, "guidellm_version": "0.6.0"},
    "args": {"data": ["prompt_tokens=512,output_tokens=128"], "profile": "sweep", "backend": "openai_http"},
    "benchmarks": [
        guidellm_benchmark({"type_": "concurrent", "streams": 16, "max_concurrency": 16}),
        guidellm_benchmark({"type_": "poisson", "rate": 2.5, "max_concurrency": 512}),
        guidellm_benchmark({"type_": "constant", "rate": 2.5}),
        guidellm_benchmark({"type_": "synchronous"}),
        guidellm_benchmark({"type_": "throughput"}),
    ],
}


def perf_summary(mean: float, median: float, p95: float, p99: float) -> dict[str, float]:
    return {"mean": mean, "min": 0.0, "median": median, "p90": p95, "p95": p95, "p99": p99, "p99.9": p99, "max": p99}


def inference_perf(tpot_seconds: float) -> dict[str, object]:
    """End-to-end 3.0 s, first token 0.06 s, 128 tokens out: (3.0 − 0.06) / 127 = 23.15 ms a token."""
    return {
        "load_summary": {
            "count": 1657, "schedule_delay": perf_summary(0.0, 0.0, 0.0, 0.0), "send_duration": 59.9,
            "requested_rate": 27.63, "achieved_rate": 27.65,
        },
        "successes": {
            "count": 1650,
            "latency": {
                "request_latency": perf_summary(3.0, 3.1, 3.4, 3.5),
                "normalized_time_per_output_token": perf_summary(0.0234, 0.0235, 0.027, 0.028),
                "time_per_output_token": perf_summary(tpot_seconds, tpot_seconds, tpot_seconds, tpot_seconds),
                "time_to_first_token": perf_summary(0.06, 0.061, 0.08, 0.087),
                "inter_token_latency": perf_summary(tpot_seconds, 0.0001, 0.03, 0.036),
            },
            "throughput": {
                "input_tokens_per_sec": 3635.7, "output_tokens_per_sec": 3464.5, "total_tokens_per_sec": 7100.2,
                "requests_per_sec": 26.9,
            },
            "prompt_len": perf_summary(135.0, 135.0, 139.0, 142.0),
            "output_len": perf_summary(128.0, 129.0, 131.0, 133.0),
        },
        "failures": {"count": 7, "request_latency": None, "prompt_len": None},
    }  # fmt: skip


def stats(unit: str, avg: float, p50: float, p95: float, p99: float) -> dict[str, object]:
    return {
        "unit": unit,
        "avg": avg,
        "p50": p50,
        "p90": p95,
        "p95": p95,
        "p99": p99,
        "min": 0.0,
        "max": p99,
        "std": 1.0,
    }


AIPERF: dict[str, object] = {
    "schema_version": "1.5", "aiperf_version": "0.12.0", "start_time": "2026-08-01T10:00:00",
    "request_throughput": {"unit": "requests/sec", "avg": 1.81},
    "request_count": {"unit": "requests", "avg": 256.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 228.47},
    "request_latency": stats("ms", 17525.9, 16980.0, 22000.0, 23110.8),
    "time_to_first_token": stats("ms", 1240.09, 786.0, 1900.0, 2093.6),
    "inter_token_latency": stats("ms", 129.8, 121.4, 190.0, 204.3),
    "input_sequence_length": stats("tokens", 16384.0, 16384.0, 16384.0, 16384.0),
    "output_sequence_length": stats("tokens", 126.5, 127.0, 128.0, 128.0),
    "input_config": {
        "models": {"items": [{"name": "openai/gpt-oss-120b"}]},
        "endpoint": {"urls": ["http://localhost:8000"]},
        "phases": [
            {"name": "warmup", "type": "concurrency", "concurrency": 4},
            {"name": "profiling", "type": "concurrency", "concurrency": 32},
        ],
    },
    "telemetry_data": {
        "endpoints": {
            "localhost:9400": {
                "gpus": {
                    "gpu_0": {"gpu_index": 0, "gpu_name": "NVIDIA H100 80GB HBM3", "gpu_uuid": "GPU-a", "metrics": {}},
                    "gpu_1": {"gpu_index": 1, "gpu_name": "NVIDIA H100 80GB HBM3", "gpu_uuid": "GPU-b", "metrics": {}},
                }
            }
        }
    },
    "was_cancelled": False,
}  # fmt: skip
GENAI_PERF: dict[str, object] = {
    key: value for key, value in AIPERF.items() if key not in ("schema_version", "aiperf_version", "telemetry_data")
} | {
    "input_config": {
        "model": ["llama-3-70b"], "perf_analyzer": {"path": "perf_analyzer", "stimulus": {"request_rate": 10.0}}
    }
}  # fmt: skip
GENAI_CSV = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),"1,146.31",249.48,"3,485.23","3,457.97","3,349.56","3,215.06","1,330.93",640.07,286.52
Request Latency (ms),"6,406.20","5,371.47","9,608.72","9,436.13","9,046.58","9,028.16","6,549.60","5,690.23","5,493.63"
Inter Token Latency (ms),30.35,27.59,35.60,35.23,33.88,32.53,31.05,30.13,29.04
Output Sequence Length (tokens),174.45,164.00,187.00,186.22,183.10,180.10,177.00,174.00,171.75
Input Sequence Length,"3,000.05","2,999.00","3,001.00","3,001.00","3,001.00","3,000.00","3,000.00","3,000.00","3,000.00"

Metric,Value
Output Token Throughput (per sec),261.25
Request Throughput (per sec),1.50
Request Count (count),40.00
"""
AIPERF_CSV = """Metric,avg,min,max,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
Inter Token Latency (ms),2.83,2.78,2.91,2.78,2.78,2.79,2.80,2.82,2.85,2.88,2.90,2.91,0.03
Time to First Token (ms),49.87,17.15,99.91,17.2,17.9,18.8,30.0,48.0,60.0,90.0,95.0,99.00,20.0

Metric,Value
Output Token Throughput (tokens/sec),320.50
Request Throughput (requests/sec),2.50


Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min,max
localhost:9400,0,NVIDIA L40S,GPU-a,GPU Power Usage (W),310.0,300.0,320.0
localhost:9400,0,NVIDIA L40S,GPU-a,GPU Utilization (%),85.0,80.0,90.0
localhost:9400,1
"""


def saved(folder: Path, content: object, name: str = "result.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def only(rows: list[Row]) -> Row:
    assert len(rows) == 1
    return rows[0]


def shown(row: Row, *columns: str) -> list[str]:
    return [row[column] for column in columns]


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (VLLM, "a.json", "vllm"),
        (SGLANG, "a.jsonl", "sglang"),
        (GUIDELLM, "a.json", "guidellm"),
        (inference_perf(0.02315), "stage_0_lifecycle_metrics.json", "inference-perf"),
        (AIPERF, "a.json", "aiperf"),
        (GENAI_PERF, "a.json", "genai-perf"),
        (GENAI_CSV, "a.csv", "aiperf-csv"),
        (AIPERF_CSV, "a.csv", "aiperf-csv"),
    ],
)
def test_every_format_is_recognised_and_gives_all_columns(
    tmp_path: Path, content: object, name: str, kind: str
) -> None:
    path = saved(tmp_path, content, name)
    assert sniff(path) == kind
    assert kind in FORMATS
    for row in read_bench_file(path):
        assert tuple(row) == COLUMNS
        assert all(isinstance(value, str) for value in row.values())


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "id,source,model\n1,a,b\n", '{"duration": 3}', "\n"])
def test_anything_else_is_not_recognised(tmp_path: Path, content: str) -> None:
    path = saved(tmp_path, content)
    assert sniff(path) is None
    with pytest.raises(InputError, match=r"result\.json"):
        read_bench_file(path)


def test_what_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    assert sniff(tmp_path / "missing.json") is None
    with pytest.raises(InputError, match="can't be read: No such file"):
        read_bench_file(tmp_path / "missing.json")
    binary = tmp_path / "x.json"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert sniff(binary) is None
    with pytest.raises(InputError, match="it is not text"):
        read_bench_file(binary)


def test_vllm_closed_loop(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, VLLM)))
    # 131,072 / 128 = 1,024 in, 25,600 / 128 = 200 out
    assert shown(row, "input_len", "output_len", "concurrency_or_batch") == ["1024", "200", "32"]
    assert shown(row, "scenario", "request_rate") == ["closed-loop serving", ""]
    assert shown(row, "model", "engine", "source_date") == ["meta-llama/Llama-3.1-8B-Instruct", "vLLM", "2026-06-17"]
    assert shown(row, "throughput_out_tok_s", "throughput_total_tok_s", "req_s") == ["640", "3916.8", "3.2"]
    assert shown(row, "ttft_ms", "ttft_p50_ms", "ttft_p95_ms", "ttft_p99_ms") == ["240.5", "200.25", "410", "512"]
    assert shown(row, "tpot_ms", "tpot_p50_ms", "tpot_p95_ms", "tpot_p99_ms") == ["45.1", "44.9", "", "51.5"]
    assert shown(row, "e2e_ms", "e2e_p99_ms", "itl_p99_ms") == ["9215.4", "10750", "120"]
    assert shown(row, "id", "source", "gpu", "notes") == ["result", "vLLM bench serve result.json", "", ""]


def test_vllm_open_loop_burst_and_failures(tmp_path: Path) -> None:
    open_loop = VLLM | {"request_rate": 5.5, "max_concurrency": 64, "failed": 3, "backend": "openai-chat"}
    row = only(read_bench_file(saved(tmp_path, open_loop)))
    assert shown(row, "scenario", "request_rate", "concurrency_or_batch", "engine") == [
        "open-loop Poisson rate",
        "5.5",
        "",
        "",
    ]
    assert row["notes"] == "3 of 128 requests failed; at most 64 requests at one time"
    bursty = only(read_bench_file(saved(tmp_path, VLLM | {"request_rate": 5.5, "burstiness": 0.25})))
    assert bursty["scenario"] == "open-loop gamma rate"
    burst = only(read_bench_file(saved(tmp_path, VLLM | {"max_concurrency": None})))
    assert shown(burst, "scenario", "request_rate") == ["burst (all 128 requests at t=0)", "inf"]


def test_vllm_metadata_named_like_columns_and_appended_results_are_read(tmp_path: Path) -> None:
    first = VLLM | {"gpu": "H100-SXM", "tp": "2", "spec_decode_acceptance_length": 2.5}
    path = saved(tmp_path, json.dumps(first) + "\n" + json.dumps(VLLM | {"max_concurrency": 64}) + "\n", "sweep.json")
    one, two = read_bench_file(path)
    assert shown(one, "id", "gpu", "tp", "spec_decode") == ["sweep-1", "H100-SXM", "2", "acceptance length 2.50"]
    assert shown(two, "id", "gpu", "concurrency_or_batch") == ["sweep-2", "", "64"]


def test_sglang_takes_layout_and_precision_from_the_server(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, SGLANG, "run.jsonl")))
    # attention data parallelism shares the 8 GPUs of tensor parallelism
    assert shown(row, "n_gpus", "tp", "pp", "dp", "ep") == ["8", "8", "1", "8", "8"]
    assert shown(row, "model", "engine", "engine_version") == ["deepseek-ai/DeepSeek-V3", "SGLang", "0.5.10"]
    assert shown(row, "weight_precision", "kv_precision", "spec_decode") == ["fp8", "auto", "acceptance length 2.35"]
    assert shown(row, "input_len", "output_len", "request_rate") == ["1024", "128", "4"]
    assert shown(row, "e2e_ms", "e2e_p99_ms", "ttft_p50_ms", "tpot_p99_ms") == ["3600", "5100", "300", "31"]


def test_sglang_without_server_information_and_with_plain_data_parallelism(tmp_path: Path) -> None:
    bare = SGLANG | {"server_info": None, "request_rate": float("inf"), "max_concurrency": 16}
    plain = SGLANG | {"server_info": {"tp_size": 2, "dp_size": 4}, "request_rate": "trace"}
    path = saved(tmp_path, json.dumps(bare) + "\n\n" + json.dumps(plain) + "\n", "run.jsonl")
    one, two = read_bench_file(path)
    assert shown(one, "model", "n_gpus", "scenario", "concurrency_or_batch") == ["", "", "closed-loop serving", "16"]
    assert shown(two, "n_gpus", "scenario") == ["8", "trace replay"]


def test_guidellm_gives_one_row_a_benchmark_with_its_load(tmp_path: Path) -> None:
    rows = read_bench_file(saved(tmp_path, GUIDELLM, "benchmarks.json"))
    assert [shown(row, "id", "scenario", "request_rate", "concurrency_or_batch") for row in rows] == [
        ["benchmarks-1", "closed-loop serving", "", "16"],
        ["benchmarks-2", "open-loop Poisson rate", "2.5", ""],
        ["benchmarks-3", "open-loop constant rate", "2.5", ""],
        ["benchmarks-4", "closed-loop serving", "", "1"],
        ["benchmarks-5", "burst (all 110 requests at t=0)", "inf", "110"],
    ]
    row = rows[0]
    assert shown(row, "model", "input_len", "output_len", "notes") == [
        "Qwen/Qwen3-8B",
        "512",
        "128",
        "4 of 110 requests failed",
    ]
    # end-to-end in seconds; TPOT from the inter-token latency
    assert shown(row, "e2e_ms", "e2e_p50_ms", "e2e_p95_ms", "e2e_p99_ms") == ["3250", "3000", "4500", "5125"]
    assert shown(row, "tpot_ms", "tpot_p99_ms", "ttft_ms", "ttft_p99_ms") == ["24.6", "29", "120", "210"]
    assert shown(row, "throughput_out_tok_s", "throughput_total_tok_s", "req_s") == ["320", "1600", "2.5"]


def test_guidellm_finds_the_model_in_newer_and_older_reports(tmp_path: Path) -> None:
    nameless = guidellm_benchmark({"type_": "concurrent", "streams": 2})
    nameless["config"] = {"strategy": {"type_": "concurrent", "streams": 2}}
    newer = {"config": {"spec": {"backend": {"model": "new-model"}}}, "benchmarks": [nameless]}
    older = {"args": {"backend_kwargs": {"model": "old-model"}}, "benchmarks": [nameless]}
    without = {"benchmarks": [nameless | {"metrics": {}}]}
    models = [only(read_bench_file(saved(tmp_path, report)))["model"] for report in (newer, older, without)]
    assert models == ["new-model", "old-model", ""]


def test_inference_perf_is_in_seconds_at_a_constant_rate(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, inference_perf(0.02315), "stage_1_lifecycle_metrics.json")))
    assert shown(row, "scenario", "request_rate", "input_len", "output_len") == [
        "open-loop constant rate",
        "27.63",
        "135",
        "128",
    ]
    assert shown(row, "ttft_ms", "ttft_p99_ms", "e2e_ms", "e2e_p95_ms") == ["60", "87", "3000", "3400"]
    # (3,000 − 60) / 127 = 23.1496 ms agrees with 23.15 ms
    assert shown(row, "tpot_ms", "tpot_p99_ms", "itl_p99_ms") == ["23.1496", "23.15", "36"]
    assert row["notes"] == "7 of 1657 requests failed"


def test_inference_perf_counting_chunks_instead_of_tokens_is_corrected(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, inference_perf(0.0115))))
    assert shown(row, "tpot_ms", "tpot_p50_ms", "tpot_p99_ms", "itl_p99_ms") == ["23.1496", "", "", ""]
    assert row["notes"].endswith("TPOT derived from end-to-end and TTFT: its own counts stream chunks")


def test_inference_perf_stages_of_a_folder_come_in_order_and_closed_loops_are_known(tmp_path: Path) -> None:
    for stage in (10, 2):
        report = inference_perf(0.02315)
        report["load_summary"] = {"count": 100, "concurrency": stage}
        saved(tmp_path, report, f"stage_{stage}_lifecycle_metrics.json")
    saved(tmp_path, inference_perf(0.02315), "summary_lifecycle_metrics.json")
    rows = read_bench_file(tmp_path)
    assert [row["concurrency_or_batch"] for row in rows] == ["2", "10"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="in this folder"):
        read_bench_file(tmp_path / "empty")


def test_inference_perf_with_percentiles_under_their_own_key_and_single_tokens(tmp_path: Path) -> None:
    report = inference_perf(0.02315)
    latency = {"percentiles": {"p50": 0.05, "p95": 0.07, "p99": 0.09}, "mean": 0.06, "min": 0.0, "max": 0.1}
    report["successes"] = {
        "latency": {"time_to_first_token": latency, "request_latency": latency},
        "output_len": {"mean": 1.0},
    }
    row = only(read_bench_file(saved(tmp_path, report)))
    assert shown(row, "ttft_p50_ms", "ttft_p99_ms", "tpot_ms") == ["50", "90", ""]


def test_aiperf_takes_the_profiling_phase_and_the_gpus_that_telemetry_saw(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, AIPERF)))
    assert shown(row, "model", "gpu", "n_gpus") == ["openai/gpt-oss-120b", "NVIDIA H100 80GB HBM3", "2"]
    assert shown(row, "scenario", "concurrency_or_batch") == ["closed-loop serving", "32"]
    assert shown(row, "ttft_ms", "ttft_p95_ms", "tpot_ms", "e2e_p99_ms") == ["1240.09", "1900", "129.8", "23110.8"]
    assert shown(row, "input_len", "output_len", "throughput_out_tok_s") == ["16384", "126.5", "228.47"]
    assert shown(row, "source", "source_date") == ["AIPerf result.json", "2026-08-01"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"loadgen": {"request_rate": 3.0, "request_rate_mode": "constant"}}, ["open-loop constant rate", "3", ""]),
        ({"loadgen": {"concurrency": 8}}, ["closed-loop serving", "", "8"]),
        ({"phases": {"profiling": {"type": "gamma", "rate": 2.0}}}, ["open-loop gamma rate", "2", ""]),
        ({"phases": [{"concurrency": 5}]}, ["closed-loop serving", "", "5"]),
        ({}, ["burst (all 256 requests at t=0)", "inf", "256"]),
        ({"phases": []}, ["burst (all 256 requests at t=0)", "inf", "256"]),
    ],
)
def test_aiperf_load_in_all_its_shapes(tmp_path: Path, config: dict[str, object], expected: list[str]) -> None:
    row = only(read_bench_file(saved(tmp_path, AIPERF | {"input_config": config, "was_cancelled": True})))
    assert shown(row, "scenario", "request_rate", "concurrency_or_batch") == expected
    assert row["notes"] == "the run was cancelled"


def test_a_run_that_tells_nothing_of_its_load_leaves_it_open(tmp_path: Path) -> None:
    silent = {key: value for key, value in AIPERF.items() if key not in ("request_count", "input_config")}
    row = only(read_bench_file(saved(tmp_path, silent)))
    assert shown(row, "scenario", "request_rate", "concurrency_or_batch", "model") == ["", "", "", ""]


def test_units_are_those_that_the_file_names(tmp_path: Path) -> None:
    in_seconds = AIPERF | {"time_to_first_token": stats("s", 1.25, 1.0, 2.0, 3.0)}
    row = only(read_bench_file(saved(tmp_path, in_seconds)))
    assert shown(row, "ttft_ms", "ttft_p99_ms") == ["1250", "3000"]
    strange = AIPERF | {"time_to_first_token": stats("parsec", 1.25, 1.0, 2.0, 3.0)}
    assert only(read_bench_file(saved(tmp_path, strange)))["ttft_ms"] == ""


def test_genai_perf_names_its_model_and_rate(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, GENAI_PERF)))
    assert shown(row, "model", "scenario", "request_rate", "gpu") == ["llama-3-70b", "open-loop Poisson rate", "10", ""]


def test_csv_exports_of_genai_perf_and_aiperf(tmp_path: Path) -> None:
    row = only(read_bench_file(saved(tmp_path, GENAI_CSV, "g.csv")))
    assert shown(row, "ttft_ms", "ttft_p50_ms", "ttft_p99_ms") == ["1146.31", "640.07", "3457.97"]
    assert shown(row, "tpot_ms", "e2e_ms", "input_len", "output_len") == ["30.35", "6406.2", "3000.05", "174.45"]
    assert shown(row, "throughput_out_tok_s", "req_s", "scenario") == ["261.25", "1.5", ""]
    row = only(read_bench_file(saved(tmp_path, AIPERF_CSV, "a.csv")))
    assert shown(row, "ttft_ms", "ttft_p95_ms", "tpot_p99_ms") == ["49.87", "95", "2.91"]
    assert shown(row, "gpu", "n_gpus", "throughput_out_tok_s") == ["NVIDIA L40S", "1", "320.5"]


def test_what_the_caller_knows_fills_and_replaces_cells(tmp_path: Path) -> None:
    given = {"gpu": "H100-SXM", "n_gpus": "1", "model": "llama-3.1-8b"}
    row = only(read_bench_file(saved(tmp_path, VLLM), given))
    assert shown(row, "gpu", "n_gpus", "model") == ["H100-SXM", "1", "llama-3.1-8b"]
    with pytest.raises(InputError, match="gpus is no column"):
        read_bench_file(saved(tmp_path, VLLM), {"gpus": "8"})


def test_a_latency_of_zero_and_values_that_are_no_numbers_stay_empty(tmp_path: Path) -> None:
    odd = VLLM | {"mean_ttft_ms": 0.0, "p99_ttft_ms": float("nan"), "mean_tpot_ms": None, "completed": 0}
    row = only(read_bench_file(saved(tmp_path, odd)))
    assert shown(row, "ttft_ms", "ttft_p99_ms", "tpot_ms", "input_len") == ["", "", "", ""]


def test_one_bad_line_among_results_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, json.dumps(SGLANG) + "\nnot json\n" + json.dumps({"x": 1}), "run.jsonl")
    with pytest.raises(InputError) as caught:
        read_bench_file(path)
    assert [problem.line for problem in caught.value.problems] == [2, 3]
