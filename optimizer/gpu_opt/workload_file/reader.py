"""From a file to checked sections: every problem that can be seen without prices, at once."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.workload_file.overrides import apply_overrides
from gpu_opt.workload_file.problems import Source, not_among
from gpu_opt.workload_file.registry import KINDS, LISTS, MAPPINGS, NOT_YET, SECTIONS, TOP_KEYS
from gpu_opt.workload_file.scalars import TRUE_WORDS
from gpu_opt.workload_file.section_reader import SectionReader, in_order
from gpu_opt.workload_file.sections import DefaultsSection, HorizonSection, LimitsSection, PricesSection, ScopeSection
from gpu_opt.workload_file.yaml_lines import Data, Document, KeyPath, read_yaml

if TYPE_CHECKING:
    from gpu_opt.workload_file.estate import (
        AgreementEntry,
        CommitmentsSection,
        CreditEntry,
        OnpremSection,
        OverheadEntry,
        OwnedEntry,
        RiskSection,
    )
    from gpu_opt.workload_file.workload_keys import WorkloadKeys


@record
class WorkloadFile:
    """A workload file, read and checked as far as that goes without prices.

    `source` gives the line of any path for later problems. `sha256` is that of the file's bytes and of what
    was set over them. `base_dir` is where relative paths start.
    """

    source: Source
    base_dir: Path
    sha256: str
    horizon: HorizonSection = field(default_factory=HorizonSection.model_construct)
    prices: PricesSection = field(default_factory=PricesSection.model_construct)
    scope: ScopeSection = field(default_factory=ScopeSection.model_construct)
    defaults: DefaultsSection = field(default_factory=DefaultsSection.model_construct)
    limits: LimitsSection = field(default_factory=LimitsSection.model_construct)
    commitments: CommitmentsSection | None = None
    onprem: OnpremSection | None = None
    risk: RiskSection | None = None
    inventory: tuple[OwnedEntry, ...] = ()
    agreements: tuple[AgreementEntry, ...] = ()
    credits: tuple[CreditEntry, ...] = ()
    overheads: Mapping[str, OverheadEntry] = field(default_factory=dict)
    workloads: tuple[WorkloadKeys, ...] = ()

    def problem(self, path: KeyPath, what: str, remedy: str = "") -> Problem:
        """A problem at a path of this file: `("workloads", 2, "deadline")`."""
        return self.source.problem(path, what, remedy)

    def path_of(self, name: str) -> Path:
        """A path that the file names, from the file's folder."""
        return self.base_dir / name

    def named_files(self) -> Iterator[Path]:
        """The files that the file names: every text in it that is the path of one."""
        for text in _texts(self.source.document.data):
            with contextlib.suppress(OSError, ValueError):  # not a path
                if self.path_of(text).is_file():
                    yield self.path_of(text)


def _texts(data: Data) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _texts(value)


def load(path: str | Path, overrides: Sequence[str] = ()) -> WorkloadFile:
    """The file with `a.b=c` set over it. InputError with every problem that can be seen without prices."""
    path = Path(path)
    document, raw = read_yaml(path, str(path))
    return from_document(document, str(path), path.parent, overrides, raw)


def from_data(
    data: Data, *, base_dir: Path | None = None, options: Mapping[KeyPath, str] | None = None, shown: str = ""
) -> WorkloadFile:
    """Plain data (as YAML would give it) in place of a file. `options` names the command line's option that set a
    path, for problems there."""
    import json

    document = Document(data=data, lines={})
    raw = json.dumps(data, sort_keys=True).encode()
    return from_document(document, shown, base_dir or Path(), (), raw, options)


def from_document(
    document: Document,
    shown: str,
    base_dir: Path,
    overrides: Sequence[str],
    raw: bytes,
    options: Mapping[KeyPath, str] | None = None,
) -> WorkloadFile:
    """The checked file of a document."""
    data = document.data
    if not isinstance(data, dict):
        what = "it is empty." if data is None else "it holds no keys."
        remedy = "Write `version: 1` and `workloads:`; `gpu-opt init` makes a starter."
        raise InputError(Problem(file=shown, line=1, what=what, remedy=remedy))
    overridden = {**(options or {}), **apply_overrides(data, overrides)}
    source = Source(shown=shown, document=document, overridden=overridden)
    reader = _Reader(source)
    parts = reader.read(data)
    digest = hashlib.sha256(raw + "".join(f"\n--set {text}" for text in overrides).encode(errors="replace"))
    known = {key: value for key, value in parts.items() if key in WorkloadFile.__dataclass_fields__}
    file = WorkloadFile(source=source, base_dir=base_dir, sha256=digest.hexdigest(), **known)
    from gpu_opt.workload_file.checks import cross_checks

    problems = [*reader.problems, *cross_checks(file, reader.positions, reader.failed)]
    if problems:
        raise InputError(in_order(problems))
    return file


class _Reader(SectionReader):
    """Reads the sections of a workload file. `positions` are the indices of the workloads that could be read."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.positions: list[int] = []

    def read(self, data: dict[str, Data]) -> dict[str, Any]:
        self.version(data)
        self._refuse_not_yet(data)
        parts: dict[str, Any] = {}
        for key, value in data.items():
            if key in SECTIONS:
                found = self.section(SECTIONS[key], value, (key,)) if value is not None else None
                if found is not None:
                    parts[key] = found
            elif key in LISTS:
                parts[key] = tuple(self.entries(LISTS[key], value, (key,)))
            elif key in MAPPINGS:
                parts[key] = dict(self.mapping(MAPPINGS[key], value, (key,)))
            elif key not in ("workloads", "version"):
                self.say_unknown((key,), TOP_KEYS)
        parts["workloads"] = tuple(self._workloads(data))
        return parts

    def _refuse_not_yet(self, data: dict[str, Data]) -> None:
        for entry, remedy in NOT_YET.items():
            steps, _, refused = entry.partition("=")
            for path, value in _at(data, steps.split(".")):
                if value is not None and (not refused or _same(value, refused)):
                    self.say(path, f"{entry.replace('=', ': ').replace('[]', '')} is not supported yet.", remedy)

    def _workloads(self, data: dict[str, Data]) -> Iterator[Any]:
        entries = data.get("workloads")
        if not isinstance(entries, list) or not entries:
            path = ("workloads",) if "workloads" in data else ()
            self.say(path, "`workloads` needs a list with at least one entry.", "`gpu-opt init` writes a starter.")
            return
        for index, entry in enumerate(entries):
            found = self._workload(entry, ("workloads", index))
            if found is not None:
                self.positions.append(index)
                yield found

    def _workload(self, entry: Data, path: KeyPath) -> Any:
        if not isinstance(entry, dict):
            self.say(path, "a mapping is expected.", "Write `name`, `kind` and what it needs.")
            return None
        kind = entry.get("kind")
        if kind is None:
            self.say(path, "`kind` is missing.", f"Choose from: {', '.join(KINDS)}.")
            return None
        if not isinstance(kind, str) or kind not in KINDS:
            self.say((*path, "kind"), *not_among(kind, KINDS))
            return None
        return self.section(KINDS[kind], entry, path)


def _at(data: Data, steps: Sequence[str], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Data]]:
    """Paths and values that steps such as `workloads[]`, `kind` lead to."""
    if not steps:
        yield path, data
        return
    key = steps[0].removesuffix("[]")
    if not isinstance(data, dict) or key not in data:
        return
    found = data[key]
    if not steps[0].endswith("[]"):
        yield from _at(found, steps[1:], (*path, key))
    elif isinstance(found, list):
        for index, entry in enumerate(found):
            yield from _at(entry, steps[1:], (*path, key, index))


def _same(value: Data, word: str) -> bool:
    return value == word or (word == "true" and str(value).lower() in TRUE_WORDS)
