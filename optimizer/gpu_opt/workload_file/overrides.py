"""`--set a.b=c`: changes to a file's data before it is read, by the paths that problems are reported with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gpu_opt.errors import InputError, Problem
from gpu_opt.workload_file.yaml_lines import Data, KeyPath, parse_yaml, quoted

_QUOTED = r"""(?:"([^"]*)"|'([^']*)')"""
_STEP = re.compile(rf"""(?:^|\.)([^.\[\]="']+)|\[(\d+)\]|\[(?:{_QUOTED}|([^\]"']+))\]|(?:^|\.){_QUOTED}""")


def apply_overrides(data: Data, overrides: Sequence[str]) -> dict[KeyPath, str]:
    """Sets each `path=value` in the data, in order; returns the paths set, each with its option for problems.

    A step names a key, `[0]` an entry of a list, or the `name` of one (`workloads.chat.precision`). The value is YAML.
    InputError for a path that leads nowhere.
    """
    done: dict[KeyPath, str] = {}
    for text in overrides:
        path_text, separator, value_text = _split(text)
        option = f"--set {text if len(text) <= 80 else text[:80] + '…'}"
        if not separator or not path_text:
            raise _wrong(option, "it is not of the form path=value.", "Write it as workloads[0].deadline=2w.")
        steps = path_steps(path_text)
        if steps is None:
            raise _wrong(option, f"{quoted(path_text)} is not a path.", "Write it as workloads[0].deadline.")
        value = parse_yaml(value_text, option).data
        done[set_at(data, steps, value, option)] = option
    return done


def _split(text: str) -> tuple[str, str, str]:
    """Path, `=`, value: the first `=` outside brackets."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "=" and depth <= 0:
            return text[:index].strip(), "=", text[index + 1 :]
    return text, "", ""


def path_steps(text: str) -> tuple[str | int, ...] | None:
    """The steps of `workloads[2].slo.ttft` or `prices.path["H100*"]`; None when it isn't a path."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            return None
        key, index, *others = match.groups()
        named = next((other for other in (key, *others) if other is not None), "")
        steps.append(int(index) if index is not None else named.strip())
        at = match.end()
    return tuple(steps) or None


def set_at(data: Data, steps: Sequence[str | int], value: Any, option: str) -> KeyPath:
    """Sets a value in plain data, making mappings on the way; returns the path with entries by their index."""
    path: KeyPath = ()
    here = data
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        key: str | int
        if isinstance(here, list):
            key = _entry(here, step, path, option)
        elif isinstance(here, dict):
            key = str(step)
        else:
            raise _wrong(option, f"{quoted('.'.join(map(str, steps[:position])))} holds no keys.", "Check the path.")
        path = (*path, key)
        if last:
            here[key] = value
        elif isinstance(here, dict) and here.get(str(key)) is None:
            here[key] = {}
        here = here[key]
    return path


def _entry(entries: list[Any], step: str | int, path: KeyPath, option: str) -> int:
    if isinstance(step, str) and step.isdigit():
        step = int(step)
    if isinstance(step, int):
        if step < len(entries):
            return step
        raise _wrong(option, f"entry {step} of a list of {len(entries)}.", "Entries count from 0.")
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    if step in names:
        return names.index(step)
    shown = ", ".join(str(name) for name in names if name) or "none has a name"
    raise _wrong(option, f"no entry is named {quoted(step)}.", f"Known: {shown}.")


def _wrong(option: str, what: str, remedy: str) -> InputError:
    return InputError(Problem(file=option, what=what, remedy=remedy))
