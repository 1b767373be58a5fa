"""`gpu-opt plan`: the cheapest mix of GPUs for a workload file, or for a question asked by options."""

# Annotations are evaluated here and now: as text, Typer would compile and evaluate each of them twice at every start.
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpu_opt import __version__
from gpu_opt.cli._ages import age_words, used_as_of
from gpu_opt.cli._calibrations import of_serving, of_training, read_calibration
from gpu_opt.cli._common import echo_err, silent_stdout
from gpu_opt.cli._inputs import Inputs, read_inputs
from gpu_opt.cli._plan_files import check_writable, write_whole
from gpu_opt.cli._shown import PlanFormat, show_infeasible, show_plan, warn
from gpu_opt.cli._watch import watched
from gpu_opt.errors import Infeasible, InputError, Problem

if TYPE_CHECKING:
    from gpu_opt.domain.plan import Plan
    from gpu_opt.throughput.calibration.profile import Calibration
    from gpu_opt.throughput.calibration.serving import ServingCalibration
    from gpu_opt.workload_file.reader import WorkloadFile

    AnyCalibration = Calibration | ServingCalibration | None

_HAVE = "What one has: 8xp5.48xlarge@us-east-1:2027-08-31[:USD_PER_HOUR]; without a price it is paid already."


def command(  # long: the signature is the list of options
    workload: Annotated[Path | None, typer.Argument(help="A workload file; or ask by options.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--out", help="Write the plan as JSON here.")] = None,
    form: Annotated[PlanFormat, typer.Option("--format", help="How to print.")] = PlanFormat.TABLE,
    prices: Annotated[Path | None, typer.Option(help="Use exactly the offers of this CSV file.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network; planning never does.")] = False,
    gap: Annotated[float, typer.Option(min=0.0, max=1.0, help="How near to the optimum is near enough.")] = 0.005,
    time_limit: Annotated[float, typer.Option(min=1.0, help="Seconds for the solver.")] = 60.0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a.b=c over the file's values; repeatable.")] = None,
    whole_hours: Annotated[bool, typer.Option("--whole-hours", help="Round rented hours up.")] = False,
    calibration: Annotated[Path | None, typer.Option(help="Speeds refitted by `gpu-opt calibrate`.")] = None,
    fund: Annotated[bool, typer.Option("--fund", help="Not supported yet.", hidden=True)] = False,
    cvar: Annotated[bool, typer.Option("--cvar", help="Not supported yet.", hidden=True)] = False,
    regret: Annotated[bool, typer.Option("--regret", help="Not supported yet.", hidden=True)] = False,
    model: Annotated[str | None, typer.Option(help="A model's name, a size (7B), a config.json.")] = None,
    train: Annotated[str | None, typer.Option(help="Train it: pretrain, full, lora or qlora.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve it.")] = False,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    tokens: Annotated[str | None, typer.Option(help="Tokens to train on: 15B.")] = None,
    sequence_length: Annotated[str | None, typer.Option(help="Tokens of a training sequence.")] = None,
    by: Annotated[str | None, typer.Option(help="Done by: 2w, or 2027-03-01.")] = None,
    max_gpus: Annotated[str | None, typer.Option(help="At most so many GPUs in one run.")] = None,
    rps: Annotated[str | None, typer.Option(help="Requests per second.")] = None,
    input_: Annotated[str | None, typer.Option("--input", help="Tokens of a prompt.")] = None,
    output_: Annotated[str | None, typer.Option("--output", help="Tokens of an answer.")] = None,
    ttft_p95: Annotated[str | None, typer.Option(help="First token within: 800ms.")] = None,
    tpot_p95: Annotated[str | None, typer.Option(help="Each further token within: 50ms.")] = None,
    precision: Annotated[str | None, typer.Option(help="bf16, fp8, int8, int4 …")] = None,
    have: Annotated[list[str] | None, typer.Option(help=_HAVE)] = None,
    discount: Annotated[list[str] | None, typer.Option(help="Off the list price: aws=0.42; repeatable.")] = None,
    gpu: Annotated[list[str] | None, typer.Option(help="Only these GPUs: 'H100*'; repeatable.")] = None,
    provider: Annotated[list[str] | None, typer.Option(help="Only this provider; repeatable.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Only these regions: 'us-*'; repeatable.")] = None,
    market: Annotated[list[str] | None, typer.Option(help="on_demand, spot, reserved_1y …; repeatable.")] = None,
    write: Annotated[Path | None, typer.Option(help="Keep the question as a workload file.")] = None,
) -> None:
    """Choose the cheapest GPU mix for a workload, with its proof.

    Give a workload file (`gpu-opt init` writes one), or ask by options:
    --model llama-3.1-70b --train lora --tokens 15B --by 2w, or
    --model llama-3.1-8b --serve --rps 40 --input 500 --output 200 --ttft-p95 800ms.
    """
    del offline
    _refuse_not_yet(fund=fund, cvar=cvar, regret=regret)
    calibrated = read_calibration(calibration)
    asked: dict[str, str | bool | tuple[str, ...] | None] = {
        "model": model,
        "train": train,
        "serve": serve,
        "name": name,
        "tokens": tokens,
        "by": by,
        "sequence_length": sequence_length,
        "max_gpus": max_gpus,
        "rps": rps,
        "input": input_,
        "output": output_,
        "ttft_p95": ttft_p95,
        "tpot_p95": tpot_p95,
        "precision": precision,
        "have": tuple(have or ()),
        "discount": tuple(discount or ()),
        "gpu": tuple(gpu or ()),
        "provider": tuple(provider or ()),
        "region": tuple(region or ()),
        "market": tuple(market or ()),
    }
    file = _question_file(workload, asked, tuple(set_ or ()), write)
    if output is not None:
        check_writable(output, workload, prices, write, calibration, *file.named_files())
    inputs = read_inputs(file, prices=prices, whole_hours=whole_hours)
    try:
        plan = _planned(inputs, gap=gap, time_limit_seconds=time_limit, calibration=calibrated)
    except Infeasible as error:
        show_infeasible(error, json=form is PlanFormat.JSON, output=output)
        raise typer.Exit(Infeasible.exit_code) from None
    show_plan(plan, form, output)


def _refuse_not_yet(**asked: bool) -> None:
    problems = [Problem(file=f"--{name}", what="not supported yet.") for name, wanted in asked.items() if wanted]
    if problems:
        raise InputError(problems)


def _question_file(
    workload: Path | None, asked: Mapping[str, Any], overrides: Sequence[str], write: Path | None
) -> "WorkloadFile":
    """The workload file, or what the options ask in its place; kept under `write` where that is wanted."""
    given = [f"--{key.replace('_', '-')}" for key, value in asked.items() if value not in (None, False, ())]
    if workload is not None:
        given += ["--write"] if write is not None else []
        if given:
            what = f"{', '.join(given)}: a question by options goes without a workload file."
            raise InputError(Problem(what=what, remedy="Change the file's values with --set a.b=c."))
        from gpu_opt.workload_file.reader import load

        return load(workload, overrides)
    if not given:
        what = "there is no question: name a workload file, or ask by options."
        remedy = (
            "`gpu-opt init` writes a starter; or: gpu-opt plan --model llama-3.1-8b --train lora --tokens 100M --by 2w"
        )
        raise InputError(Problem(what=what, remedy=remedy))
    from gpu_opt.workload_file.overrides import apply_overrides
    from gpu_opt.workload_file.reader import from_data
    from gpu_opt.workload_file.shortcut import ShortcutOptions, shortcut

    short = shortcut(ShortcutOptions(**asked))
    changed = apply_overrides(short.data, overrides)
    file = from_data(short.data, options={**short.options, **changed})
    if write is not None:
        _keep(write, short.data)
    return file


def _keep(path: Path, data: dict[str, Any]) -> None:
    from gpu_opt.workload_file.emit import to_yaml

    text = to_yaml(data, "Written by gpu-opt plan --write. Plan it: gpu-opt plan THIS-FILE")
    if path.is_file() and path.read_bytes() != text.encode():
        what = "exists already, with other content."
        raise InputError(Problem(file=str(path), what=what, remedy="Name another file for --write."))
    check_writable(path)
    write_whole(path, text)


def _planned(inputs: Inputs, *, gap: float, time_limit_seconds: float, calibration: "AnyCalibration") -> "Plan":
    """The plan, and on stderr what a person should know about its inputs."""
    from gpu_opt.pipeline import PlanOptions
    from gpu_opt.pipeline import plan as make_plan

    table = inputs.table
    warn(inputs.question.warnings)
    with watched("planning") as tell, silent_stdout():
        plan = make_plan(
            inputs.question,
            table.offers,
            PlanOptions(
                gap=gap,
                time_limit_seconds=time_limit_seconds,
                workload_sha256=inputs.workload_sha256,
                prices_sha256=table.sha256,
                prices_as_of=table.newest_as_of.isoformat(),
                model_version=f"{__version__}+{calibration.name}" if calibration else __version__,
                training_calibration=of_training(calibration),
                serving_calibration=of_serving(calibration),
                coverage_gaps=inputs.gaps,
                progress=tell,
            ),
        )
    oldest = used_as_of(table.offers, (line.offer for line in plan.cost_lines))
    warn(warning for warning in plan.warnings if warning not in inputs.question.warnings)
    echo_err(age_words(table.newest_as_of, oldest, datetime.now(UTC).date()))
    return replace(plan, prices_oldest_as_of=(oldest or table.newest_as_of).isoformat())
