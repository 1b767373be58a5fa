"""`gpu-opt init`: a commented workload file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpu_opt.cli._common import clean_line, echo_err
from gpu_opt.errors import InputError, Problem


def command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; - for stdout.")] = Path(
        "workload.yaml"
    ),
    kind: Annotated[
        Literal["serve", "finetune", "pretrain", "batch", "gpu_hours"],
        typer.Option(help="What the file asks for."),
    ] = "serve",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write a commented workload file that plans as it stands."""
    from gpu_opt.workload_file.starter import starter

    text = starter(kind)
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            Problem(file=str(path), what="the file exists.", remedy="Name another, or add --force to write over it.")
        ) from None
    except OSError as error:
        raise InputError(
            Problem(file=str(path), what=f"can't be written: {error.strerror}.", remedy="Check the path.")
        ) from error
    echo_err(f"{clean_line(str(path))}: written. Plan it with: gpu-opt plan {clean_line(str(path))}")
