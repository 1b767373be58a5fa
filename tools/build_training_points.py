"""Build the table of measured training points that the accuracy page and its test are made from.

    python tools/build_training_points.py runs.csv memory.csv

Of the noisy sweep an even share of its clean runs and of its failures is kept, everything of the other sources. Speeds
that a source gives in TFLOP/s are turned into tokens per second by that source's own count.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent))

from fit_training import DATA, clean, published_tokens, read

from gpu_opt.throughput.accuracy.notes import read_hints
from gpu_opt.throughput.accuracy.report import Skipped
from gpu_opt.throughput.accuracy.training_points import point_of
from gpu_opt.throughput.training.columns import dims_of, task_of
from gpu_opt.throughput.training.compute import model_flops_per_token

COLUMNS = (
    "id", "stack", "source", "source_date", "model", "params_b", "active_params_b", "n_layers", "hidden", "n_heads",
    "n_kv_heads", "ffn", "vocab", "experts", "topk", "gpu", "n_gpus", "precision", "seq_len", "global_batch_seqs",
    "micro_batch", "dp", "tp", "pp", "cp", "ep", "zero_stage", "act_recompute", "method", "tokens_per_s_per_gpu",
    "peak_mem_gb", "mem_kind", "notes",
)  # fmt: skip
_SWEEP = "nanotron"
_SWEEP_RUNS = 440
_SWEEP_FAILURES = 200


def even(rows: Sequence[Mapping[str, str]], count: int) -> list[Mapping[str, str]]:
    """At most `count` rows, evenly spread over the table."""
    if len(rows) <= count:
        return list(rows)
    return [rows[place * len(rows) // count] for place in range(count)]


def own_words(row: Mapping[str, str]) -> str:
    """What the notes and the source tell about a run, in this project's words."""
    hints = read_hints(row["notes"], row["source"])
    parts = [
        f"{hints.node_network_gbps:g} Gbps node network" if hints.node_network_gbps else "",
        f"VP={hints.virtual_stages}" if hints.virtual_stages else "",
        f"zero1 group={hints.shard_group}" if hints.shard_group else "",
        f"grad_accum={hints.accumulation}" if hints.accumulation else "",
        f"lora r={hints.lora_rank}" if hints.lora_rank else "",
        "chunked loss" if hints.chunked_loss else "",
        "fused kernels" if hints.fused_kernels else "",
        "" if row["tokens_per_s_per_gpu"] or not row["tflops_per_gpu"] else "speed from TFLOP/s",
    ]
    return "; ".join(filter(None, parts))


def with_speed(row: Mapping[str, str]) -> dict[str, str]:
    """The row with a speed in tokens per second, where its source gives one in TFLOP/s."""
    point = point_of(row)
    if row["tokens_per_s_per_gpu"] or not row["tflops_per_gpu"] or isinstance(point, Skipped):
        return {**row, "notes": own_words(row)}
    task = task_of(
        sequence=point.sequence, batch_sequences=1.0, method=point.method, lora_rank=16, precision=point.precision
    )
    flops = float(model_flops_per_token(dims_of(point.model), task)[0])
    tokens = published_tokens(row, point, flops)
    return {**row, "tokens_per_s_per_gpu": f"{tokens:.6g}", "notes": own_words(row)}


def main(arguments: Sequence[str]) -> None:
    """Write the table."""
    runs, memory = read(Path(arguments[0])), read(Path(arguments[1]))
    known = {row["id"] for row in runs}
    swept = [row for row in clean(runs) if row["stack"] == _SWEEP]
    others = [row for row in runs if row["stack"] != _SWEEP and (row["tokens_per_s_per_gpu"] or row["tflops_per_gpu"])]
    failures = [row for row in memory if row["id"] not in known]
    swept_failures = [row for row in failures if row["stack"] == _SWEEP]
    kept = [*others, *even(swept, _SWEEP_RUNS), *even(swept_failures, _SWEEP_FAILURES)]
    kept += [row for row in failures if row["stack"] != _SWEEP]
    with (DATA / "training_points.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted((with_speed(row) for row in kept), key=lambda row: row["id"]))


if __name__ == "__main__":
    main(sys.argv[1:])
