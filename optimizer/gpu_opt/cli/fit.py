"""`gpu-opt fit`: memory, speed and layout on each GPU, and why the others don't fit. No prices."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpu_opt.cli._calibrations import of_serving, of_training, read_calibration
from gpu_opt.cli._common import write_json
from gpu_opt.cli._shown import terminal_width, wants_colour, warn
from gpu_opt.cli._watch import watched
from gpu_opt.errors import InputError, Problem

if TYPE_CHECKING:
    from gpu_opt.domain.question import Question
    from gpu_opt.fitting import FitOptions
    from gpu_opt.workload_file.reader import WorkloadFile

_ROWS = 60
# What is fitted when only a model is named, and what stands in for the amounts that don't matter to it.
_ALL_WAYS = ("serve", "qlora", "lora", "full")
_TOKENS, _RPS, _INPUT_TOKENS, _OUTPUT_TOKENS = "1B", "1", "1024", "256"


def command(
    workload: Annotated[Path | None, typer.Argument(help="A workload file; or name a model.")] = None,
    model: Annotated[str | None, typer.Option(help="A model's name, a size (7B), a config.json.")] = None,
    train: Annotated[str | None, typer.Option(help="Train it: pretrain, full, lora or qlora.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve it.")] = False,
    gpu: Annotated[list[str] | None, typer.Option(help="Only these GPUs: 'H100*'; repeatable.")] = None,
    precision: Annotated[str | None, typer.Option(help="bf16, fp8, int8, int4 …")] = None,
    sequence_length: Annotated[str | None, typer.Option("--sequence-length", "--seq", help="Training: tokens.")] = None,
    input_: Annotated[str | None, typer.Option("--input", help="Serving: tokens of a prompt (1024).")] = None,
    output_: Annotated[str | None, typer.Option("--output", help="Serving: tokens of an answer (256).")] = None,
    ttft_p95: Annotated[str | None, typer.Option(help="Serving: first token within: 800ms.")] = None,
    tpot_p95: Annotated[str | None, typer.Option(help="Serving: each further token within: 50ms.")] = None,
    max_gpus: Annotated[str | None, typer.Option(help="Training: at most so many GPUs.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a.b=c over the file's values; repeatable.")] = None,
    calibration: Annotated[Path | None, typer.Option(help="Speeds refitted by `gpu-opt calibrate`.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every GPU and every row.")] = False,
    form: Annotated[Literal["table", "json", "md"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Show memory, speed and layout on each GPU, and why the others don't fit. Without --train or --serve: for serving
    and for each way of fine-tuning.
    """
    asked: dict[str, str | None] = {
        "sequence_length": sequence_length,
        "max_gpus": max_gpus,
        "input": input_,
        "output": output_,
        "ttft_p95": ttft_p95,
        "tpot_p95": tpot_p95,
    }
    from gpu_opt.fitting import FitOptions

    if workload is not None:
        given = {"model": model, "train": train, "serve": serve or None, "precision": precision, **asked}
        file = _of_file(workload, given, set_ or ())
    else:
        ways = [*([train] if train else []), *(["serve"] if serve else [])] or list(_ALL_WAYS)
        file = _of_model(model, ways, precision, asked, set_ or ())
    found = read_calibration(calibration)
    options = FitOptions(
        gpus=_gpus(gpu or ()), training_calibration=of_training(found), serving_calibration=of_serving(found)
    )
    _show(_question(file), options, form, every=all_)


def _of_file(workload: Path, given: Mapping[str, object], overrides: Sequence[str]) -> WorkloadFile:
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if names:
        what = f"{', '.join(names)}: a question by options goes without a workload file."
        raise InputError(Problem(what=what, remedy="Change the file's values with --set a.b=c."))
    from gpu_opt.workload_file.reader import load

    return load(workload, overrides)


def _of_model(
    model: str | None, ways: Sequence[str], precision: str | None, asked: Mapping[str, str | None], sets: Sequence[str]
) -> WorkloadFile:
    """One workload for each way of using the model."""
    if model is None:
        what = "there is no question: name a workload file or a model."
        raise InputError(Problem(what=what, remedy="Such as: gpu-opt fit --model llama-2-7b --train lora"))
    from gpu_opt.workload_file.overrides import apply_overrides
    from gpu_opt.workload_file.reader import from_data
    from gpu_opt.workload_file.shortcut import ShortcutOptions, shortcut

    workloads: list[Any] = []
    options: dict[tuple[str | int, ...], str] = {}
    for place, way in enumerate(ways):
        short = shortcut(ShortcutOptions(model=model, precision=precision, **dict(_taken(way, asked, len(ways)))))
        entries = short.data["workloads"]
        workloads += entries if isinstance(entries, list) else []
        options |= {(path[0], place, *path[2:]): said for path, said in short.options.items() if len(path) > 1}
    data: dict[str, Any] = {"version": "1", "workloads": workloads}
    changed = apply_overrides(data, sets)
    return from_data(data, options={**options, **changed})


def _taken(way: str, asked: Mapping[str, str | None], ways: int) -> Iterator[tuple[str, Any]]:
    """The options that concern a way; those of the other ways are left to them."""
    serving = way == "serve"
    own = ("input", "output", "ttft_p95", "tpot_p95") if serving else ("sequence_length", "max_gpus")
    for name, value in asked.items():
        if value is not None and (name in own or ways == 1):
            yield name, value
    if serving:
        yield from {"serve": True, "rps": _RPS}.items()
        for name, usual in (("input", _INPUT_TOKENS), ("output", _OUTPUT_TOKENS)):
            if asked.get(name) is None:
                yield name, usual
    else:
        yield from {"train": way, "tokens": _TOKENS}.items()


def _question(file: WorkloadFile) -> Question:
    """Prices play no part; a horizon without a start begins after the shipped ones."""
    from gpu_opt.workload_file.to_question import to_question
    from gpu_opt_prices.manifest import manifest

    return to_question(file, newest_as_of=manifest().newest_as_of, known_regions={})


def _gpus(patterns: Sequence[str]) -> tuple[str, ...]:
    from gpu_opt.hardware import UnknownName, match_gpus

    names: dict[str, None] = {}
    problems = []
    for pattern in patterns:
        try:
            names.update(dict.fromkeys(match_gpus(pattern)))
        except UnknownName as unknown:
            remedy = f"Did you mean {unknown.nearest}?" if unknown.nearest else ""
            problems.append(Problem(what=f"--gpu: the GPU {pattern[:60]!r} is unknown.", remedy=remedy))
    if problems:
        raise InputError(problems)
    return tuple(names)


def _show(question: Question, options: FitOptions, form: str, *, every: bool) -> None:
    from gpu_opt.fitting import fit
    from gpu_opt.report.fit_report import fit_json, fit_report

    with watched("sizing"):
        found = fit(question, options)
    warn(found.warnings)
    if form == "json":
        write_json(fit_json(found))
        return
    report = fit_report(found, every_gpu=every or bool(options.gpus), limit=None if every else _ROWS)
    if form == "md":
        from gpu_opt.report.markdown import render as render_markdown

        sys.stdout.write(render_markdown(report))
        return
    from gpu_opt.report.table import render

    sys.stdout.write(render(report, width=terminal_width(), colour=wants_colour()))
