"""One measured point as a row of text, and the words that its columns use."""

from __future__ import annotations

import math
from collections.abc import Mapping

Row = dict[str, str]

COLUMNS = (
    "id", "source", "source_date", "engine", "engine_version", "model", "params_b", "active_params_b", "gpu",
    "gpu_mem_gb", "n_gpus", "tp", "pp", "ep", "dp", "weight_precision", "kv_precision", "input_len", "output_len",
    "concurrency_or_batch", "request_rate", "scenario", "disagg", "spec_decode", "throughput_out_tok_s",
    "throughput_total_tok_s", "req_s", "derived_out_tok_s", "ttft_ms", "ttft_p50_ms", "ttft_p95_ms", "ttft_p99_ms",
    "tpot_ms", "tpot_p50_ms", "tpot_p95_ms", "tpot_p99_ms", "itl_p99_ms", "e2e_ms", "e2e_p50_ms", "e2e_p95_ms",
    "e2e_p99_ms", "notes",
)  # fmt: skip
_MS_PER_UNIT = {"ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3, "us": 1e-3, "ns": 1e-6, "min": 6e4}


def make_row(cells: Mapping[str, object]) -> Row:
    """All columns as text: unknown, not finite and negative values stay empty, and so do latencies of zero."""
    row = {column: text_of(cells.get(column)) for column in COLUMNS}
    return {column: "" if column.endswith("_ms") and value == "0" else value for column, value in row.items()}


def text_of(value: object) -> str:
    """A cell: numbers to six digits, whole ones without a point."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, (int, float)):
        if not math.isfinite(value) or value < 0:
            return ""
        return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
    return str(value)


def number(value: object) -> float | None:
    """A finite number from JSON or CSV (`"1,146.31"` too), else None."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        result = float(value.replace(",", "")) if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return result if math.isfinite(result) else None


def per(total: object, count: object) -> float | None:
    """total / count, None where either is unknown or the count is zero."""
    numerator, denominator = number(total), number(count)
    return numerator / denominator if numerator is not None and denominator else None


def milliseconds(value: object, unit: str) -> float | None:
    """A latency in ms from a value in the unit that a file names."""
    known = number(value)
    factor = _MS_PER_UNIT.get(unit.strip().lower())
    return known * factor if known is not None and factor is not None else None


def load_cells(
    *, rate: object, concurrency: object, requests: object = None, arrivals: str = "Poisson"
) -> dict[str, object]:
    """`scenario`, `request_rate` and `concurrency_or_batch` of a run.

    A finite rate is an open loop, `trace` a replay; without one, users that each wait for their answer are a closed
    loop, and requests without either all come at once.
    """
    if rate == "trace":
        return {"scenario": "trace replay", "request_rate": None, "concurrency_or_batch": None}
    per_second, users = number(rate), number(concurrency)
    if per_second is not None and per_second > 0:
        scenario = f"open-loop {arrivals} rate"
        return {"scenario": scenario, "request_rate": per_second, "concurrency_or_batch": None}
    if users is not None and users > 0:
        return {"scenario": "closed-loop serving", "request_rate": None, "concurrency_or_batch": users}
    count = number(requests)
    if count is None:
        return {}
    scenario = f"burst (all {int(count)} requests at t=0)"
    return {"scenario": scenario, "request_rate": "inf", "concurrency_or_batch": count}


def failures_note(failed: object, total: object) -> str:
    """A sentence when requests failed: their latencies are not in the file."""
    count = number(failed)
    if not count:
        return ""
    known = number(total)
    return f"{int(count)} of {int(known)} requests failed" if known else f"{int(count)} requests failed"


def engine_of(backend: object) -> str:
    """The engine's name from a benchmark's backend; empty for a protocol (`openai`), which tells nothing."""
    text = str(backend or "").lower()
    known = {"vllm": "vLLM", "sglang": "SGLang", "trt": "TensorRT-LLM", "tensorrt": "TensorRT-LLM", "tgi": "TGI"}
    return next((name for prefix, name in known.items() if text.startswith(prefix)), "")


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one where the file has something else."""
    return value if isinstance(value, dict) else {}


def find_value(tree: object, names: tuple[str, ...]) -> object:
    """The first scalar (or first of a list of them) under one of `names` in a tree, nearest the root first."""
    level: list[object] = [tree]
    while level:
        for node in level:
            for name in names:
                found = _scalar(mapping(node).get(name))
                if found is not None:
                    return found
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(child, (dict, list))
        ]
    return None


def _scalar(value: object) -> object:
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "" else None
