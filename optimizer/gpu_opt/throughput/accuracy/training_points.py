"""Measured training points: what each row says, and what is assumed where a cell is blank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.names import UnknownName
from gpu_opt.domain.workload import Parallelism
from gpu_opt.errors import GpuOptError
from gpu_opt.hardware.accelerators import canonical_gpu, load_accelerators
from gpu_opt.hardware.shapes import shape_of
from gpu_opt.records import record
from gpu_opt.throughput.accuracy.notes import Hints, read_hints
from gpu_opt.throughput.accuracy.report import Skipped
from gpu_opt.throughput.accuracy.row_model import model_of, number, positive
from gpu_opt.throughput.training.columns import linear_peak_tflops
from gpu_opt.throughput.training.constants import StackInfo, family_of, is_fitted, stacks, table_rows
from gpu_opt.throughput.training.defaults import resolve_stack

_NODE_GPUS = 8
_DEFAULT_SEQUENCE = 4096.0
_MOST_GPUS = 1_000_000
_RECOMPUTE = {"none": "none", "no": "none", "off": "none", "false": "none", "0": "none"}
_PRECISIONS = (  # first match wins
    (r"nvfp4|fp4", "nvfp4"),
    (r"mx-?fp8|fp8-mx", "mxfp8"),
    (r"fp8|float8", "fp8"),
    (r"int8(?!.*nf4)", "int8"),
    (r"bf16|bfloat", "bf16"),
    (r"fp16|float16|16-true|16-mixed", "fp16"),
    (r"tf32", "tf32"),
    (r"fp32|32-true|float32", "fp32"),
)


@record
class Point:
    """One measured training run, ready to predict. `gpus` is the whole gang; blank layout cells are None."""

    id: str
    model: ModelSpec
    accelerator: Accelerator
    shape: Shape
    stack: StackInfo
    stack_fitted: bool
    kind: str
    method: str
    precision: str
    cast: str
    sequence: float
    batch_sequences: float | None
    gpus: int
    layout: Parallelism
    hints: Hints
    memory_kind: str
    row: Mapping[str, str]


@cache
def _clusters() -> Mapping[str, tuple[float, int]]:
    return {
        row["family"]: (float(row["network_gbps_per_gpu"]), int(row["scaleup_domain"]))
        for row in table_rows("training_clusters.csv")
    }


def cluster_shape(accelerator: Accelerator, gpus: int, node_network_gbps: float | None) -> Shape:
    """The usual machine of an accelerator in a cluster, for points that don't describe theirs."""
    node = min(gpus, _NODE_GPUS)
    shape = shape_of("", "", accelerator.name, float(node))
    per_gpu, domain = _clusters()[family_of(accelerator)]
    domain = domain or shape.scaleup_domain_gpus
    if "NVL72" in accelerator.form_factor:
        domain = 72
    network = node_network_gbps if node_network_gbps is not None else per_gpu * node
    return replace(shape, network_gbps=network, scaleup_domain_gpus=domain)


def normal_precision(text: str, accelerator: Accelerator) -> str:
    """A precision as sources spell it, in the product's words; what a part lacks runs in its 16-bit type."""
    lowered = text.lower()
    found = next((name for pattern, name in _PRECISIONS if re.search(pattern, lowered)), "bf16")
    if linear_peak_tflops(accelerator, found) is None:
        found = next((each for each in ("bf16", "fp16", "fp32") if each in accelerator.peak_tflops), "bf16")
    return found


def _method(row: Mapping[str, str]) -> tuple[str, str]:
    """(kind, method) of a row; a quantised frozen base makes LoRA a QLoRA."""
    text = row.get("method", "").lower()
    precision = row.get("precision", "").lower()
    if "qlora" in text or ("lora" in text and re.search(r"nf4|gptq|4bit|4-bit|int4", precision)):
        return "finetune", "qlora"
    if "lora" in text:
        return "finetune", "lora"
    return ("finetune", "full") if "ft" in text or "fine" in text or "sft" in text else ("pretrain", "full")


def _whole(text: str | None) -> int | None:
    value = number(text)
    return round(value) if value is not None and value >= 0 else None


def _recompute(text: str) -> str | None:
    lowered = text.strip().lower()
    if not lowered:
        return None
    if lowered in _RECOMPUTE:
        return _RECOMPUTE[lowered]
    return "selective" if lowered.startswith("sel") else "full"


def _layout(row: Mapping[str, str], stack: StackInfo, gpus: int, hints: Hints) -> Parallelism:
    """The layout's given cells. Data parallelism follows from the others, whatever its cell counts."""
    tp, pp, cp, ep = (_whole(row.get(name)) or None for name in ("tp", "pp", "cp", "ep"))
    ep = ep if ep is None or ep <= gpus else None
    tp = tp if stack.has_tp or (tp or 1) > 1 else 1
    pp = pp if stack.has_pp or (pp or 1) > 1 else 1
    if tp and gpus % tp:
        tp = None
    if tp and pp and gpus % (tp * pp):
        pp = None
    if (
        tp
        and pp
        and cp
        and (gpus % (tp * pp * cp) or gpus / (tp * pp * cp) > (positive(row.get("global_batch_seqs")) or gpus))
    ):
        cp = None
    return Parallelism(
        tp=tp,
        pp=pp,
        cp=cp,
        ep=ep,
        zero=_whole(row.get("zero_stage")),
        recompute=_recompute(row.get("act_recompute", "")),
        micro_batch=_whole(row.get("micro_batch")) or None,
    )


def _batch(row: Mapping[str, str], layout: Parallelism, gpus: int, hints: Hints) -> float | None:
    given = positive(row.get("global_batch_seqs"))
    if given:
        return given
    if layout.micro_batch and layout.tp and layout.pp == 1:
        replicas = gpus / (layout.tp * (layout.cp or 1))
        return layout.micro_batch * replicas * (hints.accumulation or 1)
    return None


def point_of(row: Mapping[str, str]) -> Point | Skipped:
    """A row as a point, or why it can't be predicted."""
    name = row.get("id", "")
    try:
        accelerator = load_accelerators()[canonical_gpu(row.get("gpu", ""))]
        model = model_of(row)
    except (UnknownName, GpuOptError) as error:
        return Skipped(id=name, reason=str(error))
    if model is None:
        return Skipped(id=name, reason="neither a known model name nor its size is given")
    gpus = min(_whole(row.get("n_gpus")) or 1, _MOST_GPUS)
    kind, method = _method(row)
    stack, stack_known, _ = resolve_stack(row.get("stack", ""), accelerator, kind=kind, method=method)
    hints = read_hints(row.get("notes", ""), row.get("source", ""))
    if _whole(row.get("zero_stage")) == 3 and stack.name == "megatron":
        stack = stacks()["deepspeed"]
    layout = _layout(row, stack, gpus, hints)
    precision_cell = row.get("precision", "")
    return Point(
        id=name,
        model=model,
        accelerator=accelerator,
        shape=cluster_shape(accelerator, gpus, hints.node_network_gbps),
        stack=stack,
        stack_fitted=stack_known and is_fitted(stack.name),
        kind=kind,
        method=method,
        precision=normal_precision(precision_cell, accelerator),
        cast="rowwise" if "row" in precision_cell.lower() else "",
        sequence=positive(row.get("seq_len")) or _DEFAULT_SEQUENCE,
        batch_sequences=_batch(row, layout, gpus, hints),
        gpus=gpus,
        layout=layout,
        hints=hints,
        memory_kind=row.get("mem_kind", "") or "allocated",
        row=row,
    )
