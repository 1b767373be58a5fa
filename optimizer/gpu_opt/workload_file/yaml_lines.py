"""YAML as plain data, with the line of every node.

Every scalar stays the text that was written (`NO` is no boolean, `12:30` no number, a date no object); an empty or
`null` scalar is None. What a text means is decided by the field it stands in. Read from the event stream, without
recursion, so that depth, size and alias expansion have bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record

Key = str | int
KeyPath = tuple[Key, ...]
Data = Any
"""None, text, or lists and string-keyed dictionaries of them."""

MAX_BYTES = 5_000_000
MAX_DEPTH = 40
MAX_NODES = 200_000
_QUOTED_CHARACTERS = 60
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@record
class Document:
    """One YAML document. `lines` has the line of each node by its path; a mapping's entry is where its key stands."""

    data: Data
    lines: Mapping[KeyPath, int]

    def line_of(self, path: KeyPath) -> int:
        """The line of a path, or of the nearest node that holds it."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return 0


def read_yaml(path: Path, shown: str) -> tuple[Document, bytes]:
    """The document of a file and its bytes. InputError for a file that can't be read, or isn't one plain document."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Problem(file=shown, what=f"can't be read: {reason}.", remedy="Check the path.")) from error
    return parse_yaml(raw, shown), raw


def parse_yaml(raw: bytes | str, shown: str) -> Document:
    """The one document in YAML text; `shown` names it in problems. InputError for anything that isn't plain data."""
    text = _decoded(raw, shown)
    builder = _Builder(shown)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _problem(shown, mark.line + 1 if mark else 0, f"not YAML: {what}.", "Check quotes and indents.") from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 0
        raise _problem(
            shown, line, "not YAML: a character that YAML does not allow.", "Remove control characters."
        ) from None
    return Document(data=_flattened(builder.root), lines=builder.expanded_lines())


def plain(path: KeyPath) -> str:
    """A path as people write it: `workloads[2].deadline`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def quoted(value: object) -> str:
    """A value as problems show it: in quotes, and short."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…")


@dataclass(slots=True)
class _Node:
    """A node as written: aliases share it. `value` is a scalar, or the children in order."""

    line: int
    value: str | list[_Node] | dict[str, _Node] | None
    size: int = 1
    key_lines: dict[str, int] = field(default_factory=dict)


class _Builder:
    """Builds nodes from events, one open collection a stack entry."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.root = _Node(line=1, value=None)
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._open_anchors: set[str] = set()
        self._anchor_of_open: list[str | None] = []
        self._keys: list[tuple[str, int] | None] = []
        self._documents = 0
        self._merges: list[list[_Node]] = []

    def take(self, event: Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 0
        match event:
            case DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse(line, "a second document begins here.", "Keep one document in a file.")
            case DocumentEndEvent():
                pass
            case ScalarEvent():
                self._check_tag(event.tag, line)
                plain_null = event.implicit[0] and event.value in _NULLS
                self._scalar(event, line, plain_null)
            case AliasEvent():
                self._alias(event, line)
            case MappingStartEvent() | SequenceStartEvent():
                self._start(event, line)
            case MappingEndEvent() | SequenceEndEvent():
                self._end()

    def _refuse(self, line: int, what: str, remedy: str) -> NoReturn:
        raise _problem(self.shown, line, what, remedy)

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag is not None:
            self._refuse(line, f"the tag {quoted(tag)} is not allowed.", "Write plain values without tags.")

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._keys[-1] is None

    def _scalar(self, event: ScalarEvent, line: int, plain_null: bool) -> None:
        if self._expects_key():
            self._take_key(event.value, line, merge=event.implicit[0] and event.value == "<<")
            return
        node = _Node(line=line, value=None if plain_null else event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._place(node)

    def _take_key(self, key: str, line: int, *, merge: bool) -> None:
        parent = self._open[-1]
        if key in parent.key_lines:
            first = parent.key_lines[key]
            self._refuse(line, f"the key {quoted(key)} stands twice; the first is in line {first}.", "Remove one.")
        parent.key_lines[key] = line
        self._keys[-1] = ("<<" if merge else key, 1 if merge else 0)

    def _alias(self, event: AliasEvent, line: int) -> None:
        if self._expects_key():
            self._refuse(line, "an alias can't be a key.", "Write the key out.")
        name = event.anchor or ""
        if name in self._open_anchors:
            self._refuse(line, f"the alias {quoted(name)} stands inside its own anchor.", "Write the value out.")
        node = self._anchors.get(name)
        if node is None:
            self._refuse(line, f"the alias {quoted(name)} has no anchor before it.", "Define it with & first.")
        self._place(node)

    def _start(self, event: MappingStartEvent | SequenceStartEvent, line: int) -> None:
        self._check_tag(event.tag, line)
        if self._expects_key():
            self._refuse(line, "a key must be plain text.", "Write a single name before the colon.")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(line, f"nested deeper than {MAX_DEPTH} levels.", "Flatten it.")
        node = _Node(line=line, value={} if isinstance(event, MappingStartEvent) else [])
        self._open.append(node)
        self._keys.append(None)
        self._merges.append([])
        self._anchor_of_open.append(event.anchor)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
            self._open_anchors.add(event.anchor)

    def _end(self) -> None:
        node = self._open.pop()
        self._keys.pop()
        anchor = self._anchor_of_open.pop()
        if anchor is not None:
            self._open_anchors.discard(anchor)
        for merged in self._merges.pop():
            self._merge(node, merged)
        self._place(node)

    def _merge(self, node: _Node, merged: _Node) -> None:
        """YAML's `<<`: keys that the mapping lacks come from the merged one."""
        sources = merged.value if isinstance(merged.value, list) else [merged]
        for source in sources:
            if not isinstance(source.value, dict) or not isinstance(node.value, dict):
                self._refuse(merged.line, "`<<` merges mappings only.", "Name one mapping, or a list of them.")
            for key, child in source.value.items():
                if key not in node.value:
                    node.value[key] = child
                    node.key_lines[key] = source.key_lines[key]
                    self._grow(node, child)

    def _place(self, node: _Node) -> None:
        """A finished node goes into the collection that is open, or is the document."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict):
            key = self._keys[-1]
            self._keys[-1] = None
            if key is None:
                self._refuse(node.line, "a value without a key.", "Write `key: value`.")
            if key[1]:
                self._merges[-1].append(node)
                return
            parent.value[key[0]] = node
        self._grow(parent, node)

    def _grow(self, parent: _Node, child: _Node) -> None:
        parent.size += child.size
        if parent.size > MAX_NODES:
            self._refuse(child.line, f"more than {MAX_NODES:,} values, aliases expanded.", "Use fewer aliases.")

    def expanded_lines(self) -> dict[KeyPath, int]:
        """The line of every path, aliases expanded: an alias's content stands where it was written."""
        lines: dict[KeyPath, int] = {}
        stack: list[tuple[KeyPath, int, _Node]] = [((), self.root.line, self.root)]
        while stack:
            path, line, node = stack.pop()
            lines[path] = line
            if isinstance(node.value, dict):
                stack.extend(((*path, key), node.key_lines[key], child) for key, child in node.value.items())
            elif isinstance(node.value, list):
                stack.extend(((*path, index), child.line, child) for index, child in enumerate(node.value))
        return lines


def _flattened(root: _Node) -> Data:
    """Plain data of a node; each alias gets its own copy. Without recursion."""
    top: list[Data] = [None]
    stack: list[tuple[_Node, Any, Key]] = [(root, top, 0)]
    while stack:
        node, holder, key = stack.pop()
        value = node.value
        if isinstance(value, dict):
            made: Data = dict.fromkeys(value)
            stack.extend((child, made, name) for name, child in value.items())
        elif isinstance(value, list):
            made = [None] * len(value)
            stack.extend((child, made, index) for index, child in enumerate(value))
        else:
            made = value
        holder[key] = made
    return top[0]


def _decoded(raw: bytes | str, shown: str) -> str:
    if isinstance(raw, str):
        raw = raw.encode("utf-8", errors="surrogateescape")
    if len(raw) > MAX_BYTES:
        raise _problem(shown, 0, f"larger than {MAX_BYTES // 10**6} MB.", "Split it, or move lists into CSV files.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _problem(shown, line, "not UTF-8 text.", "Save the file as UTF-8.") from None
    if "\0" in text:
        raise _problem(shown, text.count("\n", 0, text.index("\0")) + 1, "a NUL character.", "Remove it.")
    return text


def _problem(shown: str, line: int, what: str, remedy: str) -> InputError:
    return InputError(Problem(file=shown, line=line, what=what, remedy=remedy))
