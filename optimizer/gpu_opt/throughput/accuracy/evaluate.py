"""Which of the three kinds of measured points a file holds, and its report."""

from __future__ import annotations

import csv
import io
from importlib import import_module

from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.accuracy import gpu_hours, training
from gpu_opt.throughput.accuracy.report import Report

_SERVING = {"id", "input_len", "output_len"}
_LARGEST_CELL = 1_000_000


def evaluate_csv(text: str, file: str) -> Report:
    """The report of a CSV file's text; InputError when its columns are none of the known sets."""
    csv.field_size_limit(_LARGEST_CELL)
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    try:
        columns = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = columns
        rows = [{name: (cell or "").strip() for name, cell in row.items() if name} for row in reader]
    except csv.Error as error:
        raise InputError(Problem(file=file, what=f"not readable as CSV: {error}.")) from error
    if set(columns) >= _SERVING:
        report: Report = import_module("gpu_opt.throughput.accuracy.serving").evaluate(rows)
        return report
    if gpu_hours.columns_match(columns):
        return gpu_hours.evaluate(rows)
    if training.columns_match(columns):
        return training.evaluate(rows)
    what = "the columns are those of no known measurement."
    remedy = (
        "Training rows need id, gpu, n_gpus and tokens_per_s_per_gpu or peak_mem_gb; "
        "serving rows id, gpu, input_len and output_len; whole runs id, gpu, tokens_b and gpu_hours."
    )
    raise InputError(Problem(file=file, line=1, what=what, remedy=remedy))
