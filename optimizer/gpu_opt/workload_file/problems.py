"""What pydantic found wrong, in words: where, what, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, get_args

from pydantic import ValidationError

from gpu_opt.domain.names import nearest
from gpu_opt.errors import Problem
from gpu_opt.records import record
from gpu_opt.workload_file.scalars import Wrong
from gpu_opt.workload_file.section import Section
from gpu_opt.workload_file.yaml_lines import Document, Key, KeyPath, plain, quoted

_MAX_PROBLEMS = 50


@record
class Source:
    """Where data came from: a file's document, or a command line; `overridden` maps set paths to their `--set`."""

    shown: str
    document: Document
    overridden: Mapping[KeyPath, str] = field(default_factory=dict)

    def problem(self, path: KeyPath, what: str, remedy: str = "") -> Problem:
        """A problem at a path: with its line, or at the option that set it."""
        path = self._written(path)
        for length in range(len(path), 0, -1):
            option = self.overridden.get(path[:length])
            if option is not None:
                inner = "" if length == len(path) else plain(path)
                return Problem(file=option, path=inner, what=what, remedy=remedy)
        line = self.document.line_of(path)
        return Problem(file=self.shown, line=line, path=plain(path), what=what, remedy=remedy)

    def _written(self, path: KeyPath) -> KeyPath:
        """The path without the step that a shorthand left out: `deadline` where `deadline: 2w` stands for `by`."""
        here: Any = self.document.data
        for index, part in enumerate(path):
            if isinstance(here, str | bool | int | float):
                return path[:index]
            try:
                here = here[part]
            except (KeyError, IndexError, TypeError):
                break
        return path


def in_words(error: ValidationError, model: type[Section], base: KeyPath, source: Source) -> list[Problem]:
    """Every problem of one section, in the order of the file's lines."""
    found = [_one(dict(detail), model, base, source) for detail in error.errors(include_url=False)]
    return sorted(found, key=lambda problem: problem.line)[:_MAX_PROBLEMS]


def _one(detail: dict[str, Any], model: type[Section], base: KeyPath, source: Source) -> Problem:
    path: KeyPath = tuple(part for part in detail["loc"] if part != "[key]")
    what, remedy = _words(detail, model, path)
    return source.problem((*base, *path), what, remedy)


def _words(detail: dict[str, Any], model: type[Section], path: KeyPath) -> tuple[str, str]:
    kind, value = detail["type"], detail["input"]
    if kind == "value_error":
        error = detail["ctx"]["error"]
        return (error.what, error.remedy) if isinstance(error, Wrong) else (f"{error}.", "")
    if kind == "missing":
        return "it is missing.", "Add it."
    if kind == "extra_forbidden":
        return unknown_key(str(path[-1]), keys_at(model, path[:-1]))
    if kind == "literal_error":
        return not_among(value, literal_choices(detail["ctx"]["expected"]))
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{_short(value)} where a mapping is expected.", "Write `key: value` pairs."
    if kind in ("tuple_type", "list_type"):
        return f"{_short(value)} where a list is expected.", "Write a list: [a, b]."
    return f"{detail['msg'].rstrip('.')}.", ""


def unknown_key(key: str, allowed: Iterable[str]) -> tuple[str, str]:
    """What to say of a key that a mapping doesn't have."""
    choices = sorted(allowed)
    close = nearest(key, choices)
    return f"unknown key {quoted(key)}.", f"Did you mean {close}?" if close else f"Known: {', '.join(choices)}."


def not_among(value: object, choices: Iterable[str]) -> tuple[str, str]:
    """What to say of a value that is none of a few words."""
    words = list(choices)
    close = nearest(str(value), words) if isinstance(value, str) else ""
    hint = f"Did you mean {close}?" if close else f"Choose from: {', '.join(words)}."
    return f"{_short(value)} is not known here.", hint


def literal_choices(expected: str) -> list[str]:
    """The words in pydantic's `'a', 'b' or 'c'`."""
    return [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]


def keys_at(model: type[Section], path: KeyPath) -> tuple[str, ...]:
    """Keys that a mapping inside a section may have."""
    found: Any = model
    for part in path:
        found = _inside(found, part)
        if found is None:
            return ()
    fields = found.model_fields
    return tuple(info.alias or name for name, info in fields.items())


def _inside(model: type[Section], part: Key) -> Any:
    if isinstance(part, int):
        return model
    for name, info in model.model_fields.items():
        if part in (name, info.alias):
            return _first_section(info.annotation)
    return model


def _first_section(annotation: Any) -> Any:
    stack = [annotation]
    while stack:
        found = stack.pop(0)
        if isinstance(found, type) and issubclass(found, Section):
            return found
        stack.extend(get_args(found))
    return None


def _short(value: object) -> str:
    if value is None:
        return "an empty value"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return quoted(value)
