"""Plan files on disk: written whole or not at all, read with bounds and with words for what is wrong."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from gpu_opt.cli._common import write_json
from gpu_opt.errors import InputError, Problem

_MAX_BYTES = 256 * 2**20
_SCHEMA = "gpu-opt/plan/1"


def write_document(path: Path, document: object) -> None:
    """The document as sorted JSON, whole or not at all."""
    text = io.StringIO()
    write_json(document, text)
    write_whole(path, text.getvalue())


def write_whole(path: Path, text: str) -> None:
    """The text in place of the file, only when all of it is written. InputError for a bad place."""
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to put another file in place of
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        why = error.strerror or "not a usable path"
        raise InputError(Problem(file=str(path), what=f"can't be written: {why}.", remedy="Check the path.")) from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def check_writable(path: Path, *inputs: Path | None) -> None:
    """InputError for a place that can't be written to, or that is an input itself, before the work is done."""
    if any(given is not None and given.exists() and path.exists() and given.samefile(path) for given in inputs):
        raise InputError(Problem(file=str(path), what="is an input of this command.", remedy="Name another file."))
    folder = path.parent
    if path.is_dir():
        raise InputError(Problem(file=str(path), what="is a folder.", remedy="Name a file."))
    if not folder.is_dir():
        raise InputError(Problem(file=str(path), what="its folder does not exist.", remedy="Make it first."))
    if not os.access(folder, os.W_OK):
        raise InputError(Problem(file=str(path), what="its folder can't be written to.", remedy="Choose another."))


def read_plan_document(path: Path) -> Mapping[str, Any]:
    """The document of a plan file, of whatever status. InputError when it is none."""
    document = _parsed(path)
    if not isinstance(document, dict):
        _refuse(path, "holds no JSON object.")
    schema = document.get("schema")
    if schema != _SCHEMA:
        said = f"its schema is {str(schema)[:40]!r}" if schema is not None else "it has no schema"
        _refuse(path, f"{said}, not {_SCHEMA!r}.")
    return document


def _parsed(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        _refuse(path, "there is no such file.", "Check the path.")
    except (OSError, ValueError) as error:
        _refuse(path, f"can't be read: {getattr(error, 'strerror', None) or 'not a usable path'}.")
    if len(data) > _MAX_BYTES:
        _refuse(path, "is larger than 256 MiB.")
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_doubles)
    except UnicodeDecodeError:
        _refuse(path, "is not UTF-8.")
    except json.JSONDecodeError as error:
        raise InputError(
            Problem(file=str(path), line=error.lineno, what=f"is not JSON: {error.msg}.", remedy=_REMEDY)
        ) from None
    except (ValueError, RecursionError) as error:
        _refuse(path, f"is not usable JSON: {str(error)[:80] if isinstance(error, ValueError) else 'too deep'}.")


_REMEDY = "`gpu-opt plan WORKLOAD -o plan.json` writes one."


def _refuse(path: Path, what: str, remedy: str = _REMEDY) -> NoReturn:
    raise InputError(Problem(file=str(path), what=what, remedy=remedy))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found
