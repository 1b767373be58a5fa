"""`gpu-opt calibrate`: refit the speed model to one's own runs."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from gpu_opt.cli._common import echo_err, write_json
from gpu_opt.cli.accuracy import read_text
from gpu_opt.errors import InputError, Problem

_SCHEMA_HINT = (
    "Use the columns of `gpu-opt accuracy`, a log of Megatron-LM, NeMo, torchtitan or the HF Trainer, "
    "or a result file of a serving benchmark."
)
_SERVING_COLUMNS = {"id", "input_len", "output_len"}


def command(
    files: Annotated[
        list[Path],
        typer.Argument(help="Measured runs as CSV, logs of runs, or results of serving benchmarks.", metavar="FILE..."),
    ],
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write it; default: stdout.")] = None,
    model: Annotated[str, typer.Option(help="Model of the logged runs.")] = "",
    gpu: Annotated[str, typer.Option(help="GPU of the logged runs.")] = "",
    gpus: Annotated[int, typer.Option(help="GPUs of each logged run.")] = 0,
    sequence_length: Annotated[int, typer.Option(help="Tokens in a sequence.")] = 0,
    global_batch: Annotated[int, typer.Option(help="Sequences in a step.")] = 0,
    precision: Annotated[str, typer.Option(help="bf16, fp8, …")] = "",
    stack: Annotated[str, typer.Option(help="Software stack, over what the file says.")] = "",
    method: Annotated[str, typer.Option(help="pretrain, full, lora or qlora.")] = "",
    engine: Annotated[str, typer.Option(help="Serving engine: vllm, sglang, tensorrt-llm, llama.cpp.")] = "",
    tp: Annotated[int, typer.Option(help="Tensor-parallel GPUs of the served replica.")] = 0,
) -> None:
    """Refit a few constants to 3-10 runs of yours, or to benchmarks of serving, and show the error that is left."""
    from gpu_opt.throughput.calibration.refit import calibrate
    from gpu_opt.throughput.calibration.store import dump_calibration

    given = {
        "model": model,
        "gpu": gpu,
        "n_gpus": str(gpus or ""),
        "seq_len": str(sequence_length or ""),
        "global_batch_seqs": str(global_batch or ""),
        "precision": precision,
        "stack": stack,
        "method": method,
    }
    served = {"engine": engine, "model": model, "gpu": gpu, "n_gpus": str(gpus or ""), "tp": str(tp or "")}
    serving = [_serving_rows(file, {**served, "weight_precision": precision}) for file in files]
    if any(found is not None for found in serving):
        _calibrate_serving([row for found in serving for row in found or ()], files, serving, out)
        return
    rows = [row for file in files for row in _rows(file, given)]
    name = (out or files[0]).stem
    calibration = calibrate(rows, name)
    _write(dump_calibration(calibration), out)
    echo_err(
        f"{calibration.stack}, {calibration.runs} runs: median error {calibration.median_error_before:.1%} before, "
        f"{calibration.median_error_after:.1%} after (each run left out in turn); "
        f"P10-P90 {calibration.low_ratio:.2f}-{calibration.high_ratio:.2f} of a prediction"
    )


def _serving_rows(file: Path, given: dict[str, str]) -> list[dict[str, str]] | None:
    """Measured points of serving: a benchmark's result file, or a CSV in the columns of `accuracy`; None for others."""
    from gpu_opt.throughput.bench_files import read_bench_file, sniff

    known = {name: value for name, value in given.items() if value}
    if sniff(file):
        return read_bench_file(file, given=known)
    text = read_text(file)
    if not set(text.partition("\n")[0].strip().split(",")) >= _SERVING_COLUMNS:
        return None
    rows = csv.DictReader(io.StringIO(text))
    return [{**known, **{name: cell for name, cell in row.items() if name and cell}} for row in rows]


def _calibrate_serving(
    rows: list[dict[str, str]], files: list[Path], found: list[list[dict[str, str]] | None], out: Path | None
) -> None:
    from gpu_opt.throughput.calibration.serving import calibrate_serving, dump_serving

    for file, each in zip(files, found, strict=True):
        if each is None:
            what = "holds no points of serving, as the other files do."
            raise InputError(Problem(file=file.name, what=what, remedy="Calibrate training and serving one at a time."))
    calibration = calibrate_serving(rows, (out or files[0]).stem)
    _write(dump_serving(calibration), out)
    echo_err(
        f"serving, {calibration.points} points: median error {calibration.median_error_before:.1%} before, "
        f"{calibration.median_error_after:.1%} after (on points left out)"
    )


def _write(document: dict[str, object], out: Path | None) -> None:
    if out is None:
        write_json(document)
        return
    with out.open("w", encoding="utf-8", newline="\n") as stream:
        write_json(document, stream)


def _rows(file: Path, given: dict[str, str]) -> list[dict[str, str]]:
    """Rows of a CSV file, or the one run of a log."""
    from gpu_opt.throughput.calibration.logs import complete, parse_log

    text = read_text(file)
    header = text.partition("\n")[0]
    if "," in header and "gpu" in header.split(","):
        found = csv.DictReader(io.StringIO(text))
        return [complete({name: cell or "" for name, cell in row.items() if name}, given) for row in found]
    cells = parse_log(text)
    if cells is None:
        raise InputError(Problem(file=file.name, what="neither a CSV of runs nor a known log.", remedy=_SCHEMA_HINT))
    return [complete(cells, given)]
