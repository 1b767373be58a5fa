"""inference-perf: one `…_lifecycle_metrics.json` a stage; it names neither the model nor the GPU."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.throughput.bench_files.rows import Row, failures_note, load_cells, make_row, mapping, number

_MOST_DISAGREEMENT_FRACTION = 0.2


def inference_perf_row(report: Mapping[str, object], identity: Mapping[str, object]) -> Row:
    """One stage. Times are in seconds.

    Its time per output token averages the gaps between streamed chunks; where a server splits tokens over chunks that
    is too small. It is kept only where it agrees with (end-to-end − first token) / (output − 1): the mean here.
    """
    load, successes = mapping(report.get("load_summary")), mapping(report.get("successes"))
    failures = mapping(report.get("failures"))
    latency, throughput = mapping(successes.get("latency")), mapping(successes.get("throughput"))
    cells: dict[str, object] = {
        "input_len": _statistic(successes.get("prompt_len"), "mean"),
        "output_len": _statistic(successes.get("output_len"), "mean"),
        "throughput_out_tok_s": throughput.get("output_tokens_per_sec"),
        "throughput_total_tok_s": throughput.get("total_tokens_per_sec"),
        "req_s": throughput.get("requests_per_sec"),
        "notes": failures_note(failures.get("count"), load.get("count")),
    }
    cells |= _latency("ttft", latency.get("time_to_first_token"))
    cells |= _latency("e2e", latency.get("request_latency"))
    cells |= _tpot(cells, latency)
    rate = load.get("requested_rate")
    cells |= load_cells(rate=rate, concurrency=load.get("concurrency"), requests=load.get("count"), arrivals="constant")
    return make_row(cells | dict(identity))


def _tpot(cells: Mapping[str, object], latency: Mapping[str, object]) -> dict[str, object]:
    reported = _latency("tpot", latency.get("time_per_output_token"))
    end, first, output = (number(cells.get(name)) for name in ("e2e_ms", "ttft_ms", "output_len"))
    if end is None or first is None or output is None or output <= 1:
        return reported
    derived = (end - first) / (output - 1)
    mean = number(reported["tpot_ms"])
    if mean is None or abs(mean - derived) > _MOST_DISAGREEMENT_FRACTION * derived:
        note = "TPOT derived from end-to-end and TTFT: its own counts stream chunks"
        notes = "; ".join(part for part in (str(cells.get("notes") or ""), note) if part)
        return {"tpot_ms": derived, "notes": notes}
    gaps = _latency("itl", latency.get("inter_token_latency"))
    return reported | {"tpot_ms": derived, "itl_p99_ms": gaps["itl_p99_ms"]}


def _latency(name: str, summary: object) -> dict[str, object]:
    values = {
        f"{name}_ms": _statistic(summary, "mean"),
        f"{name}_p50_ms": _statistic(summary, "median", "p50"),
        f"{name}_p95_ms": _statistic(summary, "p95"),
        f"{name}_p99_ms": _statistic(summary, "p99"),
    }
    return {column: value * 1000 if value is not None else None for column, value in values.items()}


def _statistic(summary: object, *names: str) -> float | None:
    """A statistic beside its mean (as written so far) or under `percentiles` (as the native schema has it)."""
    tree = mapping(summary)
    percentiles = mapping(tree.get("percentiles"))
    found = (number(place.get(name)) for place in (tree, percentiles) for name in names)
    return next((value for value in found if value is not None), None)
