"""How a workload fits on GPUs, for people and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from gpu_opt.fitting import Fit, FitReport, Misfit, WorkloadFit
from gpu_opt.report import money
from gpu_opt.report.section import Line, Report, Section, table
from gpu_opt.report.sections import layout_text

SCHEMA = "gpu-opt/fit/1"
_NONE = "–"
_REST = "shown with --all"


def fit_json(report: FitReport) -> dict[str, Any]:
    """Everything, with each option of each machine."""
    return {
        "schema": SCHEMA,
        "workloads": [
            {
                "name": workload.name,
                "kind": workload.kind,
                "model": workload.model,
                "model_shape_assumed": workload.assumed_shape,
                "precision": workload.precision,
                "fits": [_fit_json(fit) for fit in workload.fits],
                "does_not_fit": [asdict(misfit) for misfit in workload.misfits],
            }
            for workload in report.workloads
        ],
        "warnings": list(report.warnings),
    }


def _fit_json(fit: Fit) -> dict[str, Any]:
    interval = None if fit.low is None else [fit.low, fit.high]
    return {
        "gpu": fit.gpu,
        "shape": fit.shape,
        "gpus": fit.gpus,
        "layout": asdict(fit.layout),
        "software": fit.software,
        "memory": [asdict(line) for line in fit.memory],
        "memory_gib_per_gpu": fit.memory_gib,
        "device_gib": fit.device_gib,
        "tokens_per_second_per_gpu": fit.tokens_per_second_per_gpu,
        "interval": interval,
        "requests_per_second": fit.requests_per_second,
        "latency": fit.latency_ms,
        "verdict": fit.verdict,
        "source": fit.source,
        "notes": list(fit.notes),
    }


def fit_report(report: FitReport, *, every_gpu: bool, limit: int | None) -> Report:
    """For each workload the smallest configuration on each GPU, its memory by line, and why the others don't fit.

    Without `every_gpu`: on those that are rented or sold. `limit` bounds the rows of each table.
    """
    workloads = report.workloads if every_gpu else [_on_offer(w, report.on_offer) for w in report.workloads]
    lines = [line for workload in workloads for line in _answer(workload)]
    sections = [overview(workloads, limit)] if len(workloads) > 1 else []
    limit = limit // len(workloads) if limit and workloads else limit
    for workload in workloads:
        sections += [smallest(workload, limit), memory(workload, limit), misfits(workload, limit)]
    kept = tuple(section for section in sections if section.rows or section.items)
    return Report(title="What fits", answer=tuple(lines), sections=kept)


def _on_offer(workload: WorkloadFit, gpus: Collection[str]) -> WorkloadFit:
    fits = tuple(fit for fit in workload.fits if fit.gpu in gpus)
    return replace(workload, fits=fits, misfits=tuple(misfit for misfit in workload.misfits if misfit.gpu in gpus))


def _answer(workload: WorkloadFit) -> list[Line]:
    least = by_gpu(workload.fits)
    parts = len({fit.gpu for fit in workload.fits} | {misfit.gpu for misfit in workload.misfits})
    if not least:
        return [Line(label=workload.name, text=f"fits on none of {parts} GPUs; the reasons are below")]
    first, fastest = least[0], max(workload.fits, key=lambda f: (f.tokens_per_second_per_gpu or 0.0, f.gpu))
    assumed = "; the model's shape is assumed from its size" if workload.assumed_shape else ""
    text = f"{len(least)} of {parts} GPUs; on the least: {_count(first)}{_of(first)}{assumed}"
    lines = [Line(label=workload.name, text=text)]
    if fastest.tokens_per_second_per_gpu:
        speed = f"{money.quantity(fastest.tokens_per_second_per_gpu)} tokens/s per GPU"
        lines.append(Line(label="", text=f"fastest per GPU: {_count(fastest)}, {speed} ({_layout(fastest)})"))
    return lines


def by_gpu(fits: Iterable[Fit]) -> list[Fit]:
    """The smallest configuration of each GPU: the fewest GPUs, then the fastest, then the smallest machine."""
    best: dict[str, Fit] = {}
    for fit in fits:
        old = best.get(fit.gpu)
        if old is None or _smaller(fit, old):
            best[fit.gpu] = fit
    return sorted(best.values(), key=lambda f: (f.gpus, f.device_gib, f.gpu))


def _smaller(new: Fit, old: Fit) -> bool:
    speed = (new.tokens_per_second_per_gpu or 0.0) > (old.tokens_per_second_per_gpu or 0.0)
    return new.gpus < old.gpus or (new.gpus == old.gpus and speed)


def overview(workloads: Sequence[WorkloadFit], limit: int | None) -> Section:
    """Smallest configurations of several workloads side by side."""
    cells = {workload.name: {fit.gpu: fit for fit in by_gpu(workload.fits)} for workload in workloads}
    gpus = {gpu: fit.device_gib for held in cells.values() for gpu, fit in held.items()}
    rows = [
        (gpu, f"{gpus[gpu]:g}", *(_cell(cells[workload.name].get(gpu)) for workload in workloads))
        for gpu in sorted(gpus, key=lambda name: (-gpus[name], name))
    ]
    columns = ("GPU", ">GiB", *(workload.name for workload in workloads))
    return table("overview", "GPUs that it takes, and GiB on the fullest", columns, rows, limit=limit, rest_is=_REST)


def _cell(fit: Fit | None) -> str:
    if fit is None:
        return _NONE
    held = "" if fit.memory_gib is None else f" ({fit.memory_gib:.1f})"
    return f"{money.count(fit.gpus)}{held}"


def smallest(workload: WorkloadFit, limit: int | None) -> Section:
    """The smallest configuration on each GPU, with its speed."""
    rows = [
        (
            _count(fit),
            fit.shape,
            _layout(fit),
            fit.software,
            "" if fit.memory_gib is None else f"{fit.memory_gib:.1f}",
            f"{fit.device_gib:g}",
            "" if fit.tokens_per_second_per_gpu is None else money.quantity(fit.tokens_per_second_per_gpu),
            "" if fit.low is None or fit.high is None else f"{money.quantity(fit.low)}–{money.quantity(fit.high)}",
            "" if fit.requests_per_second is None else money.quantity(fit.requests_per_second),
            fit.verdict,
        )
        for fit in by_gpu(workload.fits)
    ]
    columns = ("GPUs", "machine", "layout", "software", ">GiB used", ">of GiB", ">tokens/s/GPU", ">P10–P90")
    more = (">requests/s", "verdict")
    title = f"{workload.name}: {workload.model}, {workload.precision}: the smallest configuration on each GPU"
    return table(f"fits-{workload.name}", title, (*columns, *more), rows, limit=limit, rest_is=_REST)


def memory(workload: WorkloadFit, limit: int | None) -> Section:
    """What a GPU holds, line by line, in the smallest configurations."""
    least = by_gpu(workload.fits)
    labels = list(dict.fromkeys(line.label for fit in least for line in fit.memory))
    rows = []
    for fit in least:
        held = {line.label: line.gib for line in fit.memory}
        if held:
            rows.append(
                (_count(fit), *(f"{held[n]:.1f}" if n in held else "" for n in labels), f"{fit.memory_gib:.1f}")
            )
    columns = ("GPUs", *(f">{label}" for label in labels), ">in all")
    title = f"{workload.name}: GiB on the fullest GPU, by line"
    return table(f"memory-{workload.name}", title, columns, rows, limit=limit, rest_is=_REST)


def misfits(workload: WorkloadFit, limit: int | None) -> Section:
    """One reason for each GPU on which nothing fits: that of its largest machine."""
    fitting = {fit.gpu for fit in workload.fits}
    last: dict[str, Misfit] = {}
    for misfit in workload.misfits:
        if misfit.gpu not in fitting:
            last[misfit.gpu] = misfit
    rows = [(name, last[name].code, last[name].reason) for name in sorted(last)]
    columns = ("GPU", "because of", "reason")
    title = f"{workload.name}: why not on the others"
    return table(f"misfits-{workload.name}", title, columns, rows, limit=limit, rest_is=_REST)


def _count(fit: Fit) -> str:
    return f"{money.count(fit.gpus)} × {fit.gpu}"


def _of(fit: Fit) -> str:
    if fit.memory_gib is None:
        return ""
    return f" with {fit.memory_gib:.1f} of {fit.device_gib:g} GiB"


def _layout(fit: Fit) -> str:
    return layout_text(fit.layout) if fit.source != "measured" else "measured"
