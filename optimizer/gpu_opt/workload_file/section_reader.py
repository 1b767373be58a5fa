"""Reads mappings one by one, so that a wrong one hides no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from gpu_opt.errors import Problem
from gpu_opt.workload_file.problems import Source, in_words, unknown_key
from gpu_opt.workload_file.registry import section_class
from gpu_opt.workload_file.yaml_lines import Data, Key, KeyPath, quoted


def in_order(problems: Sequence[Problem]) -> list[Problem]:
    """Problems by line, each once."""
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)


class SectionReader:
    """Reads sections one by one. `failed` are the top keys of those with problems."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.failed: set[Key] = set()

    def say(self, path: KeyPath, what: str, remedy: str) -> None:
        """A problem at a path."""
        self.problems.append(self.source.problem(path, what, remedy))

    def say_unknown(self, path: KeyPath, allowed: Iterable[str]) -> None:
        """A key that nobody knows."""
        self.say(path, *unknown_key(str(path[-1]), allowed))

    def version(self, data: dict[str, Data], base: KeyPath = ()) -> None:
        """Checks that a mapping is of version 1."""
        if "version" not in data:
            self.say(base, "`version` is missing.", "Write `version: 1` at the top.")
        elif str(data["version"]) != "1":
            self.say((*base, "version"), f"version {quoted(data['version'])} is not known.", "Write `version: 1`.")

    def section(self, place: tuple[str, str], value: Data, path: KeyPath) -> Any:
        """The checked mapping at a path; None with problems."""
        model = section_class(place)
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.failed.add(path[0])
            self.problems.extend(in_words(error, model, path, self.source))
            return None

    def entries(self, place: tuple[str, str], value: Data, path: KeyPath) -> Iterator[Any]:
        """The checked mappings of a list."""
        if value is None:
            return
        if not isinstance(value, list):
            self.say(path, "a list is expected.", "Write each entry after a dash.")
            return
        for index, entry in enumerate(value):
            found = self.section(place, entry, (*path, index))
            if found is not None:
                yield found

    def mapping(self, place: tuple[str, str], value: Data, path: KeyPath) -> Iterator[tuple[str, Any]]:
        """The checked mappings by name."""
        if value is None:
            return
        if not isinstance(value, dict):
            self.say(path, "a mapping is expected.", "Write `name: {…}`.")
            return
        for key, entry in value.items():
            found = self.section(place, entry, (*path, key))
            if found is not None:
                yield key, found
