"""The entry point: the command table, and how every failure becomes a message and an exit code.

0 ok · 1 internal error · 2 usage or bad input · 3 infeasible · 4 no plan in time · 5 check failed
6 price data · 7 no usable rows from a provider · 130 interrupted · 141 the reader of stdout went away
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

from gpu_opt import __version__
from gpu_opt.cli._common import clean, echo_err
from gpu_opt.cli._lazy import LazyGroup
from gpu_opt.errors import GpuOptError

_INTERNAL, _USAGE, _INTERRUPTED, _PIPE_CLOSED = 1, 2, 130, 141
_ABOUT = "Which GPUs, where, rented how or bought, and what it will cost."
_MESSAGE_CHARACTERS = 300
_OBJECTS_BEFORE_COLLECTING = 500_000  # a command lives for a second or two, and makes next to no cycles
_DEVICE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}


class _PipeClosed(Exception):
    """The reader of stdout went away; Typer would turn the BrokenPipeError into exit 1."""


class _Root(LazyGroup):
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeClosed from error


app = typer.Typer(
    cls=_Root,
    help=_ABOUT,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpu-opt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code; messages go to stderr."""
    _prepare_streams()
    try:
        code = _exit_code(arguments)
        sys.stdout.flush()
        return code
    except (_PipeClosed, BrokenPipeError):
        _drop_stdout()
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except GpuOptError as error:
        echo_err(str(error))
        return error.exit_code
    except OSError as error:
        return _report_os_error(error)
    except Exception as error:
        return _report_internal(error)


def run() -> None:
    """`gpu-opt`."""
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING, *gc.get_threshold()[1:])
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else every distribution is searched for some
    sys.exit(main(sys.argv[1:]))


def _exit_code(arguments: list[str]) -> int:
    try:
        get_command(app).main(args=arguments, prog_name="gpu-opt")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else _INTERNAL
    return 0


def _prepare_streams() -> None:
    """Same bytes on every platform: UTF-8 and bare line feeds, whatever the locale; a closed stream swallows."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace", newline="\n")


def _drop_stdout() -> None:
    """What is still buffered must not fail again when the interpreter closes stdout."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_os_error(error: OSError) -> int:
    if _debug():
        raise error
    if error.errno in _DEVICE_ERRORS:
        _drop_stdout()
    elif error.filename is None:
        return _report_internal(error)
    place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    echo_err(f"gpu-opt: {place}{error.strerror}.")
    users = isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError)
    return _USAGE if users else _INTERNAL


def _report_internal(error: Exception) -> int:
    if _debug():
        raise error
    lines = str(error).splitlines()
    said = f": {clean(lines[0])[:_MESSAGE_CHARACTERS]}" if lines else ""
    echo_err(
        f"gpu-opt: internal error: {type(error).__name__}{said}\n"
        "This is a fault of gpu-opt, not of your input. Please report it with the command that you ran and the output "
        "of `gpu-opt doctor`; GPU_OPT_DEBUG=1 shows where it happened."
    )
    return _INTERNAL


def _debug() -> bool:
    return os.environ.get("GPU_OPT_DEBUG", "") not in ("", "0")
