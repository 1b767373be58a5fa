"""Plain data as commented YAML: `--write workload.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from gpu_opt.workload_file.yaml_lines import Data

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_SPECIAL = frozenset(("null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"))
_WIDTH = 100
_COMMENTS = {
    "prices": "Which prices count: markets, overlays, age; see docs/reference/workload-file.md.",
    "scope": "Where anything may run at all.",
    "commitments": "What one has already: paid for every hour to the end of its last day, used or not.",
    "workloads": "What is asked for.",
}


def to_yaml(data: Mapping[str, Data], head: str = "") -> str:
    """The data as YAML with a comment for each section; reads back as the same data."""
    lines = [f"# {line}" for line in head.splitlines()]
    for key, value in data.items():
        if key in _COMMENTS:
            lines.append(f"# {_COMMENTS[key]}")
        lines.extend(_entry(scalar(key), value, ""))
    return "\n".join(lines) + "\n"


def _entry(prefix: str, value: Data, indent: str) -> Iterator[str]:
    """The lines of `prefix: value`: on one line where it fits."""
    flow = _flow(value)
    fits = len(indent) + len(prefix) + len(flow) + 2 <= _WIDTH
    nested = isinstance(value, dict | list) and value
    if not nested or (fits and indent):
        yield f"{indent}{prefix}: {flow}"
        return
    yield f"{indent}{prefix}:"
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _entry(scalar(key), child, indent + "  ")
    else:
        for child in value:
            yield from _item(child, indent + "  ")


def _item(value: Data, indent: str) -> Iterator[str]:
    """The lines of one list entry after its dash."""
    if not isinstance(value, dict) or not value or "name" not in value:
        yield f"{indent}- {_flow(value)}"
        return
    inner = [line for key, child in value.items() for line in _entry(scalar(key), child, indent + "  ")]
    first = inner[0]
    yield f"{indent}- {first.lstrip()}"
    yield from inner[1:]


def _flow(value: Data) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {_flow(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(child) for child in value) + "]"
    return "null" if value is None else scalar(str(value))


def scalar(text: str) -> str:
    """Text as a YAML scalar, in quotes where YAML would read it otherwise."""
    if text == "true" or text == "false":
        return text
    if _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in quoted)
