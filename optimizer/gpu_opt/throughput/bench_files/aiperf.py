"""AIPerf and GenAI-Perf: a block of statistics per metric, in JSON or in a CSV of sections.

Their inter-token latency is (end-to-end − first token) / (output − 1) of each request: the TPOT of the other tools.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from gpu_opt.throughput.bench_files.rows import Row, find_value, load_cells, make_row, mapping, milliseconds, number

_NAMES = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "e2e": "request_latency",
}
_STATISTICS = {"_ms": "avg", "_p50_ms": "p50", "_p95_ms": "p95", "_p99_ms": "p99"}
_MODEL_KEYS = ("model_names", "model", "model_name")
_METRIC = re.compile(r"^(?P<name>.*?)(?:\s*\((?P<unit>[^()]*)\))?$")


def aiperf_json_row(report: Mapping[str, object], identity: Mapping[str, object]) -> Row:
    """One run's `profile_export_aiperf.json` or `profile_export_genai_perf.json`; GPUs from its telemetry, if any."""
    config = mapping(report.get("input_config"))
    gpus = _telemetry_gpus(report)
    cells = _metric_cells(report) | {
        "model": _model(config),
        "gpu": gpus[0] if gpus else None,
        "n_gpus": len(gpus) or None,
        "source_date": str(report.get("start_time") or "")[:10],
        "notes": "the run was cancelled" if report.get("was_cancelled") is True else "",
    }
    cells |= _load(config, mapping(report.get("request_count")).get("avg"))
    return make_row(cells | dict(identity))


def _load(config: Mapping[str, object], requests: object) -> dict[str, object]:
    """From the profiling phase (AIPerf), its older `loadgen`, or GenAI-Perf's `stimulus`."""
    phase = _profiling_phase(config.get("phases")) or config
    kind = str(find_value(phase, ("request_rate_mode", "arrival_pattern")) or phase.get("type") or "").lower()
    return load_cells(
        rate=find_value(phase, ("rate", "request_rate")),
        concurrency=find_value(phase, ("concurrency",)),
        requests=requests,
        arrivals={"constant": "constant", "gamma": "gamma"}.get(kind, "Poisson"),
    )


def _profiling_phase(phases: object) -> Mapping[str, object]:
    """The phase named `profiling`, else the last one: a list of named phases, or an object by name."""
    if isinstance(phases, list):
        named = {str(mapping(phase).get("name") or index): phase for index, phase in enumerate(phases)}
    else:
        named = dict(mapping(phases))
    return mapping(named.get("profiling") or (list(named.values())[-1] if named else None))


def aiperf_csv_row(text: str, identity: Mapping[str, object]) -> Row:
    """The same from CSV: `Metric,avg,…,p50` rows, then `Metric,Value` rows; it names neither model nor load."""
    report: dict[str, dict[str, object]] = {}
    header: list[str] = []
    gpus: set[str] = set()
    for fields in csv.reader(text.splitlines()):
        if not any(fields):
            header = []
        elif not header:
            header = fields
        elif header[0] == "Metric":
            name, block = _csv_metric(header, fields)
            report[name] = block
        elif {"GPU_UUID", "GPU_Name"} <= set(header) and len(fields) >= len(header):
            gpus.add(f"{fields[header.index('GPU_Name')]}\n{fields[header.index('GPU_UUID')]}")
    names = sorted(one.split("\n")[0] for one in gpus)
    cells = _metric_cells(report) | {"gpu": names[0] if names else None, "n_gpus": len(names) or None}
    return make_row(cells | dict(identity))


def _csv_metric(header: list[str], fields: list[str]) -> tuple[str, dict[str, object]]:
    """`Time To First Token (ms),"1,146.31",…` → (`time_to_first_token`, {unit, avg, p50 …})."""
    match = _METRIC.match(fields[0].strip())
    name, unit = (match["name"], match["unit"] or "") if match else (fields[0], "")
    block: dict[str, object] = {"unit": unit}
    for column, value in zip(header[1:], fields[1:], strict=False):
        block["avg" if column == "Value" else column] = number(value)
    return name.strip().lower().replace(" ", "_"), block


def _metric_cells(report: Mapping[str, object]) -> dict[str, object]:
    cells: dict[str, object] = {
        "input_len": _average(report, "input_sequence_length"),
        "output_len": _average(report, "output_sequence_length"),
        "throughput_out_tok_s": _average(report, "output_token_throughput"),
        "throughput_total_tok_s": _average(report, "total_token_throughput"),
        "req_s": _average(report, "request_throughput"),
    }
    for metric, name in _NAMES.items():
        block = mapping(report.get(name))
        for suffix, statistic in _STATISTICS.items():
            cells[metric + suffix] = milliseconds(block.get(statistic), str(block.get("unit") or "ms"))
    return cells


def _average(report: Mapping[str, object], name: str) -> float | None:
    return number(mapping(report.get(name)).get("avg"))


def _model(config: Mapping[str, object]) -> object:
    items = mapping(config.get("models")).get("items")
    named = find_value(items, ("name",)) if isinstance(items, list) else None
    return named or find_value(config, _MODEL_KEYS)


def _telemetry_gpus(report: Mapping[str, object]) -> list[str]:
    """The names of all GPUs that telemetry saw, each once by its id."""
    seen: dict[str, str] = {}
    for endpoint in mapping(mapping(report.get("telemetry_data")).get("endpoints")).values():
        for key, gpu in mapping(mapping(endpoint).get("gpus")).items():
            one = mapping(gpu)
            seen[str(one.get("gpu_uuid") or key)] = str(one.get("gpu_name") or "")
    return sorted(name for name in seen.values() if name)
