"""Published models by name: a table of shapes, and the many spellings of their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.names import UnknownName, folded, nearest
from gpu_opt.models._tables import rows
from gpu_opt.models.parameters import counted

_BILLION = 1e9
_SIZES = {field.name: field for field in fields(ModelSpec)}
_NOT_IN_TABLE = ("params", "active_params", "vision_params", "origin", "source")
# Tags at the end of a name that say how the weights are stored, and what they mean for the model's own precision.
_STORED_AS = {
    "fp8": "fp8", "fp8-dynamic": "fp8", "fp8-kv": "fp8", "awq": "int4", "awq-int4": "int4", "gptq": "int4",
    "gptq-int4": "int4", "int4": "int4", "4bit": "int4", "w4a16": "int4", "bnb-4bit": "int4", "gptq-int8": "int8",
    "int8": "int8", "w8a8": "int8", "8bit": "int8", "nvfp4": "nvfp4", "fp4": "nvfp4", "mxfp4": "mxfp4",
    "bf16": "bf16", "fp16": "fp16", "gguf": "", "q4-k-m": "int4", "q8-0": "int8",
}  # fmt: skip
# Tags that say how a model was tuned; its shape is that of the base.
_TUNED_AS = (
    "instruct", "it", "chat", "hf", "base", "pt", "thinking", "original", "text", "preview", "turbo", "sft", "dpo",
    "abliterated", "v1", "v1.0", "hf-instruct", "instruct-hf", "2507", "2407", "2409", "2411", "2501", "2503", "2506",
)  # fmt: skip
_TUNED_WITHIN = re.compile(r"-(?:instruct|chat|it|base|hf)(?=-)")  # Mistral-7B-Instruct-v0.3
_MAKERS = ("meta-", "nvidia-", "google-", "microsoft-", "ibm-", "openai-", "unsloth-")


@cache
def _rows_by_name() -> Mapping[str, dict[str, str]]:
    return {row["name"]: row for row in rows("presets.csv")}


@cache
def _name_by_folded() -> Mapping[str, str]:
    table = {folded(row["alias"]): row["preset"] for row in rows("aliases.csv")}
    table.update({folded(name): name for name in _rows_by_name()})
    return table


def preset_names() -> tuple[str, ...]:
    """Names of all presets, in the table's order."""
    return tuple(_rows_by_name())


def preset(name: str) -> ModelSpec:
    """The model behind a name in any usual spelling; UnknownName carries the nearest."""
    found = find(name)
    if found is None:
        raise UnknownName("model", name, nearest(_bare(name), preset_names()))
    return found


def find(name: str) -> ModelSpec | None:
    """The model behind a name, None when no table knows it.

    Case and separators don't matter; an organisation before a slash and tags of tuning (`-instruct`) are dropped.
    A tag of storage (`-FP8`, `-AWQ`) also sets `native_precision`.
    """
    bare = _bare(name)
    return _find(re.sub(r"(?<=\d)_(?=\d)", ".", bare)) or _find(bare)  # Llama-3_3-70B, but LLAMA_3_8B too


def _find(bare: str) -> ModelSpec | None:
    bare, precision = re.sub("_+", "-", bare), ""
    while bare:
        found = _known(bare) or _known(_TUNED_WITHIN.sub("", bare))
        if found:
            spec = _load(found)
            return replace(spec, native_precision=precision) if precision else spec
        shorter, stored = _without_tag(bare)
        if shorter == bare:
            return None
        bare, precision = shorter, precision or stored
    return None


def _known(bare: str) -> str:
    """The preset's name for a spelling, with or without its maker before it; empty when no table has it."""
    table = _name_by_folded()
    spellings = (bare, *(bare.removeprefix(maker) for maker in _MAKERS if bare.startswith(maker)))
    return next((table[folded(spelling)] for spelling in spellings if folded(spelling) in table), "")


def published_params_billion(name: str) -> tuple[float, float | None]:
    """Total and active parameters as published, in 10**9, of a preset's canonical name; dense models have no second."""
    row = _rows_by_name()[name]
    active = row["published_active_params_b"]
    return float(row["published_params_b"]), float(active) if active else None


def _bare(name: str) -> str:
    last = name.strip().rsplit("/", 1)[-1].casefold()
    return re.sub(" +", "-", last).strip("-_")


def _without_tag(bare: str) -> tuple[str, str]:
    for tag in sorted((*_STORED_AS, *_TUNED_AS), key=len, reverse=True):
        if bare.endswith(f"-{tag}"):
            return bare.removesuffix(f"-{tag}"), _STORED_AS.get(tag, "")
    return bare, ""


@cache
def _load(name: str) -> ModelSpec:
    row = _rows_by_name()[name]
    sizes: dict[str, Any] = {}
    for column, field in _SIZES.items():
        cell = row.get(column, "")
        if cell and column not in _NOT_IN_TABLE:
            sizes[column] = _typed(cell, field.type)
    spec = ModelSpec(
        **sizes,
        params=0.0,
        active_params=0.0,
        vision_params=float(row["vision_params_b"] or 0) * _BILLION,
        origin="preset",
        source=f"{row['source']} ({row['source_date']})",
    )
    return counted(spec)


def _typed(cell: str, kind: object) -> bool | int | float | str:
    """Annotations of the dataclass are text here."""
    if kind == "bool":
        return cell == "1"
    if kind == "int":
        return int(cell)
    return float(cell) if kind == "float" else cell
