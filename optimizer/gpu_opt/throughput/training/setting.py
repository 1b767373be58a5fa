"""A job on a shape made ready for the search: stack, precision, batch, columns, and what was assumed."""

from __future__ import annotations

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import Interval, Rejection
from gpu_opt.domain.workload import TrainJob
from gpu_opt.records import record
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.memory_training import is_known_optimizer, rules_of
from gpu_opt.throughput.training.columns import (
    device_of,
    dims_of,
    half_peak_tflops,
    linear_peak_tflops,
    stack_of,
    task_of,
)
from gpu_opt.throughput.training.constants import StackInfo, is_fitted, stack_constants
from gpu_opt.throughput.training.defaults import default_batch_tokens, resolve_stack
from gpu_opt.throughput.training.layouts import Space
from gpu_opt.throughput.training.search import Setting

_GIB_BYTES = 2.0**30
_LEAST_BYTES = {"full": 3.0, "lora": 1.0}  # of a parameter, unsharded: low weights and half gradients


@record
class Prepared:
    """What the search needs, and what a reader should know about it."""

    setting: Setting
    stack: StackInfo
    method: str
    stack_known: bool
    calibrated: bool
    interval: Interval | None
    notes: tuple[str, ...]


def precision_gap(job: TrainJob, shape: Shape, accelerator: Accelerator) -> Rejection | None:
    """A rejection when the part lacks the precision, or the 16-bit type that everything else runs in."""
    precision = base_precision(job.precision)
    has = sorted(accelerator.peak_tflops)
    hint = ": set `precision: fp16`" if precision == "bf16" and "fp16" in has else ""
    if linear_peak_tflops(accelerator, precision) is None:
        reason = f"{accelerator.name} has no {precision}; it computes in {', '.join(has)}{hint}"
        return Rejection(workload=job.name, subject=shape.name, code="precision", reason=reason)
    if half_peak_tflops(accelerator, precision) is None and precision not in ("fp32", "tf32"):
        reason = f"{accelerator.name} has no bf16 for what stays in 16 bits; it computes in {', '.join(has)}"
        return Rejection(workload=job.name, subject=shape.name, code="precision", reason=reason)
    return None


def base_precision(precision: str) -> str:
    """The precision of the multiplies: 4-bit integer weights (a quantised base) compute in bf16."""
    return "bf16" if precision in ("int4", "nf4") else precision


def prepare(
    job: TrainJob, model: ModelSpec, shape: Shape, accelerator: Accelerator, *, calibration: Calibration | None
) -> Prepared:
    """Everything a search needs, with notes on what was assumed."""
    method = "full" if job.kind == "pretrain" else job.method
    stack, stack_known, notes = resolve_stack(job.stack, accelerator, kind=job.kind, method=method)
    constants = stack_constants(stack.name)
    ours = calibration if calibration is not None and calibration.stack == stack.name else None
    if ours is not None:
        constants.update(ours.constants)
        notes = (*notes, f"calibrated by {ours.name} ({ours.runs} runs)")
    precision = base_precision(job.precision)
    batch = job.global_batch_tokens
    if batch is None:
        batch = default_batch_tokens(model, kind=job.kind, method=method, tokens=job.tokens_per_run)
        notes = (*notes, f"global batch of {batch:,.0f} tokens assumed")
    sequences = max(1, round(batch / job.sequence_length_tokens))
    setting = Setting(
        accelerator=accelerator,
        shape=shape,
        dims=dims_of(model),
        task=task_of(
            sequence=job.sequence_length_tokens,
            batch_sequences=sequences,
            method=method,
            lora_rank=job.lora_rank,
            precision=precision,
        ),
        device=device_of(accelerator, shape, precision),
        stack=stack_of(constants),
        rules=rules_of(stack.memory, job.optimizer),
        space=_space(job, model, shape, stack, sequences, method),
        weights_per_capacity=model.params * _LEAST_BYTES.get(method, 0.5) / (shape.memory_gib_per_gpu * _GIB_BYTES),
    )
    return Prepared(
        setting=setting,
        stack=stack,
        method=method,
        stack_known=stack_known and is_fitted(stack.name),
        calibrated=ours is not None,
        interval=_own_interval(ours, accelerator),
        notes=(*notes, *_unknowns(job, shape)),
    )


def _own_interval(calibration: Calibration | None, accelerator: Accelerator) -> Interval | None:
    """A calibration's interval, on the GPUs that it measured."""
    if calibration is None or accelerator.name not in calibration.gpus:
        return None
    return Interval(low_ratio=calibration.low_ratio, high_ratio=calibration.high_ratio, own_log_sd=calibration.log_sd)


def _unknowns(job: TrainJob, shape: Shape) -> tuple[str, ...]:
    """Notes on what the tables don't know."""
    notes = []
    if not is_known_optimizer(job.optimizer):
        notes.append(f"optimizer {job.optimizer!r} is not known: memory of Adam")
    if shape.network_gbps is None:
        notes.append("network unknown: 100 Gb/s per GPU assumed on linked boards, else 25 Gb/s in all")
    return tuple(notes)


def _space(job: TrainJob, model: ModelSpec, shape: Shape, stack: StackInfo, sequences: int, method: str) -> Space:
    fixed = job.parallel
    zero = stack.zero if method == "full" else tuple(sorted({0, *stack.zero}))
    domain = max(shape.scaleup_domain_gpus, round(shape.gpus)) if shape.scaleup_gb_per_second > 0 else shape.gpus
    return Space(
        layers=model.layers,
        heads=model.heads,
        experts=model.experts,
        sequence=job.sequence_length_tokens,
        batch_sequences=sequences,
        tp_limit=max(1, min(8, int(domain))) if stack.has_tp else 1,
        has_pp=stack.has_pp,
        has_cp=stack.has_cp,
        has_ep=stack.has_ep,
        zero=zero,
        recompute=stack.recompute,
        fixed=fixed,
    )
