"""vLLM `bench serve` and SGLang `bench_serving`: one flat JSON object a run, with `mean_ttft_ms` and the like."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.throughput.bench_files.rows import (
    COLUMNS,
    Row,
    engine_of,
    failures_note,
    load_cells,
    make_row,
    mapping,
    number,
    per,
)


def vllm_row(record: Mapping[str, object], identity: Mapping[str, object]) -> Row:
    """vLLM: TPOT excludes the first token, end-to-end is there only with `--percentile-metrics …,e2el`.

    `--metadata KEY=VALUE` puts further keys into the object; those named like a column (`gpu=H100-SXM`) are taken.
    """
    burstiness = number(record.get("burstiness"))
    arrivals = "Poisson" if burstiness in (None, 1.0) else "gamma"
    cells: dict[str, object] = {
        column: record[column] for column in COLUMNS if isinstance(record.get(column), (str, int, float))
    }
    cells |= _common(record, "e2el") | {
        "engine": cells.get("engine") or engine_of(record.get("backend") or record.get("endpoint_type")),
        "model": cells.get("model") or record.get("model_id"),
        "source_date": _date(record.get("date")),
        "throughput_total_tok_s": record.get("total_token_throughput"),
        "spec_decode": cells.get("spec_decode") or _acceptance(record.get("spec_decode_acceptance_length")),
        "notes": _notes(
            record.get("label"),
            failures_note(record.get("failed"), record.get("num_prompts")),
            "" if arrivals == "Poisson" else f"burstiness {burstiness:g}",
            _limited(record),
        ),
    }
    cells |= load_cells(
        rate=record.get("request_rate"),
        concurrency=record.get("max_concurrency"),
        requests=record.get("num_prompts") or record.get("completed"),
        arrivals=arrivals,
    )
    return make_row(cells | dict(identity))


def sglang_row(record: Mapping[str, object], identity: Mapping[str, object]) -> Row:
    """SGLang: the model, layout and precision come from the server's own information, where it answered."""
    server = mapping(record.get("server_info"))
    tp, pp, dp = (number(server.get(key)) for key in ("tp_size", "pp_size", "dp_size"))
    ranks = tp * (pp or 1) if tp else None
    if ranks and dp and not server.get("enable_dp_attention"):
        ranks *= dp
    cells = _common(record, "e2e_latency") | {
        "engine": engine_of(record.get("backend")),
        "engine_version": server.get("version"),
        "model": server.get("model_path") or server.get("served_model_name"),
        "n_gpus": ranks,
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "ep": server.get("ep_size"),
        "weight_precision": server.get("quantization"),
        "kv_precision": server.get("kv_cache_dtype"),
        "throughput_total_tok_s": record.get("total_throughput"),
        "spec_decode": _acceptance(record.get("accept_length")),
        "notes": _notes(record.get("tag"), record.get("dataset_name"), _limited(record)),
    }
    cells |= load_cells(
        rate=record.get("request_rate"), concurrency=record.get("max_concurrency"), requests=record.get("completed")
    )
    return make_row(cells | dict(identity))


def _common(record: Mapping[str, object], end_to_end: str) -> dict[str, object]:
    cells: dict[str, object] = {
        "input_len": per(record.get("total_input_tokens"), record.get("completed")),
        "output_len": per(record.get("total_output_tokens"), record.get("completed")),
        "throughput_out_tok_s": record.get("output_throughput"),
        "req_s": record.get("request_throughput"),
        "itl_p99_ms": record.get("p99_itl_ms"),
    }
    for metric, name in (("ttft", "ttft"), ("tpot", "tpot"), ("e2e", end_to_end)):
        cells[f"{metric}_ms"] = record.get(f"mean_{name}_ms")
        cells[f"{metric}_p50_ms"] = record.get(f"median_{name}_ms")
        for percent in (95, 99):
            cells[f"{metric}_p{percent}_ms"] = record.get(f"p{percent}_{name}_ms")
    return cells


def _acceptance(length: object) -> str:
    known = number(length)
    return f"acceptance length {known:.2f}" if known and known > 1 else ""


def _limited(record: Mapping[str, object]) -> str:
    rate, users = number(record.get("request_rate")), number(record.get("max_concurrency"))
    return f"at most {int(users)} requests at one time" if rate and users else ""


def _date(stamp: object) -> str:
    """`20260617-164242` → `2026-06-17`."""
    text = str(stamp or "")
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if text[:8].isdigit() else ""


def _notes(*parts: object) -> str:
    return "; ".join(str(part) for part in parts if part)
