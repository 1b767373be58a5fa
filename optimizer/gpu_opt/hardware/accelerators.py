"""The accelerator table and the names it is known by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.names import UnknownName, folded, nearest
from gpu_opt.hardware._tables import rows

_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
_VENDOR_WORDS = re.compile(r"^(?:nvidia|amd|intel|aws|google|huawei|tesla|geforce|instinct)[ _-]+", re.I)
_WILDCARD = re.compile(r"[*?\[]")


@cache
def _rows_by_name() -> Mapping[str, dict[str, str]]:
    return {row["name"]: row for row in rows("accelerators.csv")}


@cache
def load_accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator by its canonical name, in the table's order."""
    aliases: dict[str, list[str]] = {}
    for row in rows("aliases.csv"):
        aliases.setdefault(row["gpu"], []).append(row["alias"])
    table = {name: _accelerator(row, tuple(aliases.get(name, ()))) for name, row in _rows_by_name().items()}
    return MappingProxyType(table)


def _accelerator(row: Mapping[str, str], aliases: tuple[str, ...]) -> Accelerator:
    peaks = {precision: float(row[f"{precision}_tflops"]) for precision in _PRECISIONS if row[f"{precision}_tflops"]}
    dated = f"{row['source']} ({row['source_date']})" if row["source_date"] else row["source"]
    return Accelerator(
        name=row["name"],
        aliases=aliases,
        vendor=row["vendor"],
        form_factor=row["form_factor"],
        architecture=row["architecture"],
        compute_capability=row["compute_capability"],
        release_year=int(row["release_year"]),
        memory_gib=float(row["memory_gib"]),
        memory_type=row["memory_type"],
        memory_gb_per_second=float(row["memory_gb_per_second"]),
        peak_tflops=MappingProxyType(peaks),
        nvlink_gb_per_second=float(row["link_gb_per_second"]),
        pcie_gb_per_second=float(row["pcie_gb_per_second"]),
        tdp_watts=float(row["tdp_watts"]),
        status=row["status"],
        confidence=row["confidence"],
        source=dated,
        notes=row["note"],
    )


def link_of(gpu: str) -> tuple[str, int]:
    """The kind of a part's scale-up link (`nvlink`, `infinity_fabric`, `ici` … or `none`), and how many GPUs
    of one machine it joins when nothing else is known of the machine: 8 on SXM and OAM boards, 1 for cards."""
    row = _rows_by_name()[gpu]
    return row["link"], int(row["link_domain_gpus"])


@cache
def _canonical_by_folded() -> Mapping[str, str]:
    table: dict[str, str] = {}
    for name, accelerator in load_accelerators().items():
        for spelling in (name, *accelerator.aliases):
            table[folded(spelling)] = name
    return table


def canonical_gpu(name: str) -> str:
    """The canonical name behind any spelling: case, spaces, underscores and hyphens don't matter, nor does the vendor
    before it. A bare alias means its one canonical GPU (`H100` is `H100-SXM`). UnknownName carries the nearest."""
    table = _canonical_by_folded()
    found = table.get(folded(name))
    bare = name.strip()
    if found is None:
        while found is None and (match := _VENDOR_WORDS.match(bare)):
            bare = bare[match.end() :]
            found = table.get(folded(bare))
    if found is None:
        raise UnknownName("GPU", name, nearest(bare, _spellings()))
    return found


def _spellings() -> list[str]:
    table = load_accelerators()
    return [*table, *(alias for accelerator in table.values() for alias in accelerator.aliases)]


@cache
def match_gpus(pattern: str) -> tuple[str, ...]:
    """Canonical names that a pattern covers, in the table's order: `H100*` a family, a bare name its one GPU.

    UnknownName when it covers none."""
    if not _WILDCARD.search(pattern):
        return (canonical_gpu(pattern),)
    from fnmatch import fnmatchcase

    hyphened = re.sub(r"[ _]", "-", pattern).casefold()
    names = tuple(load_accelerators())
    found = tuple(name for name in names if fnmatchcase(name.casefold(), hyphened))
    if not found:
        joined = re.sub(r"[ _-]", "", pattern).casefold() if "[" not in pattern else hyphened
        found = tuple(name for name in names if fnmatchcase(folded(name), joined))
    if not found:
        raise UnknownName("GPU", pattern, nearest(_WILDCARD.sub("", pattern), names))
    return found
