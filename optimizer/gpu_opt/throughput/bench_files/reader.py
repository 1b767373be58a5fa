"""Which tool wrote a file, and its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.bench_files.aiperf import aiperf_csv_row, aiperf_json_row
from gpu_opt.throughput.bench_files.flat import sglang_row, vllm_row
from gpu_opt.throughput.bench_files.guidellm import guidellm_rows
from gpu_opt.throughput.bench_files.inference_perf import inference_perf_row
from gpu_opt.throughput.bench_files.rows import COLUMNS, Row, mapping

FORMATS = ("vllm", "sglang", "guidellm", "inference-perf", "aiperf", "genai-perf", "aiperf-csv")
_TOOLS = {
    "vllm": "vLLM bench serve", "sglang": "SGLang bench_serving", "guidellm": "GuideLLM",
    "inference-perf": "inference-perf", "aiperf": "AIPerf", "genai-perf": "GenAI-Perf", "aiperf-csv": "AIPerf",
}  # fmt: skip
_STAGES = "stage_*_lifecycle_metrics.json"


def sniff(path: str | Path) -> str | None:
    """The format of a result file, one of FORMATS; None for anything else, an unreadable file included."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    if _is_metric_csv(text):
        return "aiperf-csv"
    records = _records(text)
    return _format_of(records[0][1]) if records else None


def read_bench_file(path: str | Path, given: Mapping[str, str] | None = None) -> list[Row]:
    """The measured points of one result file, or of a folder of inference-perf stages.

    `given` fills or replaces columns that the file doesn't know (`{"gpu": "H100-SXM", "n_gpus": "8"}`). A cell that
    stays empty is unknown. InputError: the file can't be read, is of no known format, or holds no run.
    """
    path = Path(path)
    unknown = sorted(set(given or {}) - set(COLUMNS))
    if unknown:
        what = f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} no column of a measured point."
        raise InputError(Problem(what=what, remedy=f"Known: {', '.join(COLUMNS)}."))
    if path.is_dir():
        rows = [row for stage in sorted(path.glob(_STAGES), key=_stage_number) for row in _read(stage)]
        if not rows:
            raise InputError(
                Problem(file=path.name, what=f"no {_STAGES} in this folder.", remedy="Give a result file.")
            )
    else:
        rows = _read(path)
    return [row | dict(given or {}) for row in rows]


def _read(path: Path) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        what = f"the benchmark file can't be read: {reason}."
        raise InputError(Problem(file=path.name, what=what, remedy="Check the path.")) from error
    if _is_metric_csv(text):
        return [aiperf_csv_row(text, _identity(path, "aiperf-csv", 0))]
    rows: list[Row] = []
    problems: list[Problem] = []
    records = _records(text)
    for index, (line, record) in enumerate(records, start=1):
        kind = _format_of(record)
        if kind is None:
            remedy = "Known: vLLM bench serve, SGLang bench_serving, GuideLLM, inference-perf, AIPerf and GenAI-Perf."
            problems.append(Problem(file=path.name, line=line, what="not a benchmark result.", remedy=remedy))
            continue
        rows.extend(_rows_of(kind, mapping(record), _identity(path, kind, index if len(records) > 1 else 0)))
    if problems or not rows:
        raise InputError(problems or Problem(file=path.name, what="no run in this file.", remedy="Give a result file."))
    return rows


def _rows_of(kind: str, record: Mapping[str, object], identity: Mapping[str, object]) -> list[Row]:
    if kind == "guidellm":
        return guidellm_rows(record, identity)
    if kind == "vllm":
        return [vllm_row(record, identity)]
    if kind == "sglang":
        return [sglang_row(record, identity)]
    if kind == "inference-perf":
        return [inference_perf_row(record, identity)]
    return [aiperf_json_row(record, identity)]


def _identity(path: Path, kind: str, index: int) -> dict[str, object]:
    suffix = f"-{index}" if index else ""
    return {"id": f"{path.stem}{suffix}", "source": f"{_TOOLS[kind]} {path.name}"}


def _records(text: str) -> list[tuple[int, object]]:
    """The JSON values of a file with their lines: one document, or one a line (results appended by later runs)."""
    try:
        return [(1, json.loads(text))]
    except ValueError:
        pass
    records: list[tuple[int, object]] = []
    for line, part in enumerate(text.splitlines(), start=1):
        if part.strip():
            try:
                records.append((line, json.loads(part)))
            except ValueError:
                records.append((line, None))
    return records


def _format_of(record: object) -> str | None:
    keys = mapping(record)
    if isinstance(keys.get("benchmarks"), list):
        return "guidellm"
    if "successes" in keys and "load_summary" in keys:
        return "inference-perf"
    if "output_throughput" in keys and "mean_e2e_latency_ms" in keys:
        return "sglang"
    if "output_throughput" in keys and "total_token_throughput" in keys:
        return "vllm"
    if any("avg" in mapping(keys.get(name)) for name in ("request_throughput", "request_latency")):
        return "aiperf" if "aiperf_version" in keys or "schema_version" in keys else "genai-perf"
    return None


def _is_metric_csv(text: str) -> bool:
    return text.lstrip().startswith(("Metric,avg", "Metric,Value"))


def _stage_number(path: Path) -> tuple[int, str]:
    middle = path.name.removeprefix("stage_").split("_")[0]
    return (int(middle) if middle.isdigit() else 0, path.name)
