"""GuideLLM: a report with one benchmark per rate or concurrency, each with distributions by request status."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.throughput.bench_files.rows import (
    Row,
    failures_note,
    find_value,
    load_cells,
    make_row,
    mapping,
    number,
    per,
)


def guidellm_rows(report: Mapping[str, object], identity: Mapping[str, object]) -> list[Row]:
    """One row a benchmark. Latencies are those of successful requests.

    Its inter-token latency is (last − first token) / (tokens − 1) of each request, weighted by tokens: the TPOT of the
    other tools. Its own time per output token counts the first token too, and is not used.
    """
    benchmarks = report.get("benchmarks")
    listed = benchmarks if isinstance(benchmarks, list) else []
    return [
        _row(mapping(one), report, dict(identity) | {"id": f"{identity['id']}-{index}"})
        for index, one in enumerate(listed, start=1)
    ]


def _row(benchmark: Mapping[str, object], report: Mapping[str, object], identity: Mapping[str, object]) -> Row:
    metrics = mapping(benchmark.get("metrics"))
    totals = mapping(metrics.get("request_totals"))
    cells: dict[str, object] = {
        "model": _model(benchmark, report),
        "input_len": _mean(metrics.get("prompt_token_count")),
        "output_len": _mean(metrics.get("output_token_count")),
        "throughput_out_tok_s": _mean(metrics.get("output_tokens_per_second")),
        "throughput_total_tok_s": _mean(metrics.get("tokens_per_second")),
        "req_s": _mean(metrics.get("requests_per_second")),
        "notes": failures_note(totals.get("errored"), totals.get("total")),
    }
    cells |= _latency("ttft", metrics.get("time_to_first_token_ms"), 1.0)
    cells |= _latency("tpot", metrics.get("inter_token_latency_ms"), 1.0)
    cells |= _latency("e2e", metrics.get("request_latency"), 1000.0)
    return make_row(cells | _load(benchmark, totals) | dict(identity))


def _load(benchmark: Mapping[str, object], totals: Mapping[str, object]) -> dict[str, object]:
    holders = (mapping(benchmark.get("config")), mapping(benchmark.get("args")))
    strategy = next((mapping(one["strategy"]) for one in holders if "strategy" in one), {})
    kind = str(strategy.get("type_") or "")
    users = strategy.get("streams") or strategy.get("max_concurrency")
    rate = strategy.get("rate") if kind in ("constant", "poisson", "async") else None
    arrivals = "Poisson" if kind == "poisson" else "constant"
    if kind == "synchronous":
        users = 1
    return load_cells(rate=rate, concurrency=users, requests=totals.get("total"), arrivals=arrivals)


def _model(benchmark: Mapping[str, object], report: Mapping[str, object]) -> object:
    places = (
        mapping(benchmark.get("config")).get("backend"),
        mapping(mapping(report.get("config")).get("spec")).get("backend"),
        report.get("args"),
        benchmark.get("worker"),
    )
    for place in places:
        found = find_value(place, ("model", "backend_model", "processor"))
        if found is not None:
            return found
    return None


def _successful(metric: object) -> Mapping[str, object]:
    return mapping(mapping(metric).get("successful"))


def _mean(metric: object) -> float | None:
    summary = _successful(metric)
    mean = number(summary.get("mean"))
    return mean if mean is not None else per(summary.get("total_sum"), summary.get("count"))


def _latency(name: str, metric: object, ms_per_unit: float) -> dict[str, object]:
    summary = _successful(metric)
    percentiles = mapping(summary.get("percentiles"))
    values = {
        f"{name}_ms": summary.get("mean"),
        f"{name}_p50_ms": summary.get("median"),
        f"{name}_p95_ms": percentiles.get("p95"),
        f"{name}_p99_ms": percentiles.get("p99"),
    }
    known = {column: number(value) for column, value in values.items()}
    return {column: value * ms_per_unit if value else None for column, value in known.items()}
