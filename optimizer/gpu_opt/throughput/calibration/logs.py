"""Runs from the logs that frameworks print: Megatron-LM, NeMo, torchtitan and the Hugging Face Trainer.

Each parser returns cells in the columns of measured training points; what a log doesn't say is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gpu_opt.throughput.accuracy.report import quantile

_WARM_UP_SHARE = 0.2
_GIB_GB = 1.073741824
_NUMBER = r"([0-9][0-9,]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)"
_MEGATRON_STEP = re.compile(rf"elapsed time per iteration \(ms\):\s*{_NUMBER}")
_MEGATRON_BATCH = re.compile(r"global batch size:\s*(\d+)")
_MEGATRON_ARGUMENT = re.compile(r"^\s*(?:\[?rank\d+\]?:)?\s*([a-z0-9_]+) \.{3,} (\S+)\s*$", re.MULTILINE)
_MEGATRON_WORLD = re.compile(r"using world size: (\d+)")
_NEMO_STEP = re.compile(rf"train_step_timing in s: {_NUMBER}")
_NEMO_BATCH = re.compile(r"global_batch_size: (\d+)")
_TITAN_STEP = re.compile(rf"memory:\s*{_NUMBER}GiB.*?\b(?:tps|wps):\s*{_NUMBER}")
_TRAINER_END = re.compile(r"['\"]train_runtime['\"]:\s*['\"]?" + _NUMBER)
_TRAINER_SAMPLES = re.compile(r"['\"]train_samples_per_second['\"]:\s*['\"]?" + _NUMBER)
_TRAINER_TOKENS = re.compile(r"['\"]train_tokens_per_second['\"]:\s*['\"]?" + _NUMBER)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_MEGATRON_COLUMNS = {
    "num_layers": "n_layers",
    "hidden_size": "hidden",
    "num_attention_heads": "n_heads",
    "num_query_groups": "n_kv_heads",
    "ffn_hidden_size": "ffn",
    "padded_vocab_size": "vocab",
    "num_experts": "experts",
    "moe_router_topk": "topk",
    "seq_length": "seq_len",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch_seqs",
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "world_size": "n_gpus",
}


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _steady(values: Sequence[float]) -> float:
    """The median after the warm-up."""
    return quantile(values[int(len(values) * _WARM_UP_SHARE) :], 0.5)


def _megatron(text: str) -> dict[str, str] | None:
    steps = [_value(each) for each in _MEGATRON_STEP.findall(text)]
    if not steps:
        return None
    cells = {"stack": "megatron", "step_time_s": f"{_steady(steps) / 1000.0:.6g}"}
    arguments = dict(_MEGATRON_ARGUMENT.findall(text))
    for name, column in _MEGATRON_COLUMNS.items():
        if arguments.get(name, "None") != "None":
            cells[column] = arguments[name]
    if arguments.get("use_distributed_optimizer") == "True":
        cells["zero_stage"] = "1"
    if arguments.get("recompute_granularity", "None") != "None":
        cells["act_recompute"] = arguments["recompute_granularity"]
    if arguments.get("bf16") == "True":
        cells["precision"] = "bf16"
    if arguments.get("fp8", "None") not in ("None", "False"):
        cells["precision"] = "fp8"
    for pattern, column in ((_MEGATRON_WORLD, "n_gpus"), (_MEGATRON_BATCH, "global_batch_seqs")):
        found = pattern.findall(text)
        if found:
            cells[column] = found[-1]
    return cells


def _nemo(text: str) -> dict[str, str] | None:
    steps = [_value(each) for each in _NEMO_STEP.findall(text)]
    if not steps:
        return None
    cells = {"stack": "megatron-bridge", "step_time_s": f"{_steady(steps):.6g}"}
    batch = _NEMO_BATCH.findall(text)
    if batch:
        cells["global_batch_seqs"] = batch[-1]
    return cells


def _titan(text: str) -> dict[str, str] | None:
    found = _TITAN_STEP.findall(text)
    if not found:
        return None
    return {
        "stack": "torchtitan",
        "tokens_per_s_per_gpu": f"{_steady([_value(speed) for _, speed in found]):.6g}",
        "peak_mem_gb": f"{max(_value(memory) for memory, _ in found) * _GIB_GB:.6g}",
        "mem_kind": "reserved",
    }


def _trainer(text: str) -> dict[str, str] | None:
    if not _TRAINER_END.search(text):
        return None
    cells = {"stack": "hf-trainer"}
    samples, tokens = _TRAINER_SAMPLES.findall(text), _TRAINER_TOKENS.findall(text)
    if tokens:
        cells["tokens_per_s"] = f"{_value(tokens[-1]):.6g}"
    if samples:
        cells["samples_per_s"] = f"{_value(samples[-1]):.6g}"
    return cells


_PARSERS: tuple[Callable[[str], dict[str, str] | None], ...] = (_megatron, _nemo, _titan, _trainer)


def parse_log(text: str) -> dict[str, str] | None:
    """Cells of the run that a log describes, None when no known framework wrote it."""
    plain = _ANSI.sub("", text)
    return next((cells for cells in (parse(plain) for parse in _PARSERS) if cells is not None), None)


def complete(cells: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """A row of measured training points from a log's cells and what the user adds; given cells win."""
    row = {**cells, **{name: value for name, value in given.items() if value}}
    gpus, sequence = float(row.get("n_gpus") or 0), float(row.get("seq_len") or 0)
    if row.get("tokens_per_s_per_gpu") or gpus <= 0:
        return row
    if row.get("tokens_per_s"):
        row["tokens_per_s_per_gpu"] = f"{float(row['tokens_per_s']) / gpus:.6g}"
    elif row.get("samples_per_s") and sequence:
        row["tokens_per_s_per_gpu"] = f"{float(row['samples_per_s']) * sequence / gpus:.6g}"
    elif row.get("step_time_s") and row.get("global_batch_seqs") and sequence:
        tokens = float(row["global_batch_seqs"]) * sequence
        row["tokens_per_s_per_gpu"] = f"{tokens / float(row['step_time_s']) / gpus:.6g}"
    return row
