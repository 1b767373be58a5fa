"""The JSON Schema of the workload file, for editors: every class, built once, with a line about each key."""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from gpu_opt.workload_file.descriptions import KEYS, SECTIONS_TEXT
from gpu_opt.workload_file.registry import KINDS, LISTS, MAPPINGS, SECTIONS, section_class

_ID = "https://json-schema.org/draft/2020-12/schema"
_TEXT = {"type": "string"}
_NUMBER = {"type": ["number", "string"]}
_SHORTHANDS: dict[str, dict[str, Any]] = {
    "ModelKeys": {"type": "string", "description": "a preset"},
    "Deadline": {"type": "string", "description": "a day or a duration"},
    "Length": _NUMBER,
    "Spot": {"type": "boolean"},
    "Parallel": {"const": "auto"},
    "Availability": _NUMBER,
    "Autoscale": {"type": "boolean"},
}
"""What may stand in place of the mapping of a class."""


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of version 1."""
    fields: dict[str, Any] = {"version": (Literal[1, "1"], ...)}
    for key, place in SECTIONS.items():
        fields[key] = (section_class(place) | None, None)
    for key, place in LISTS.items():
        fields[key] = (GenericAlias(tuple, (section_class(place), ...)), ())
    for key, place in MAPPINGS.items():
        fields[key] = (GenericAlias(dict, (str, section_class(place))), {})
    union = reduce(or_, (section_class(place) for place in KINDS.values()))
    annotated: Any = Annotated
    one = annotated[union, Field(discriminator="kind")]
    fields["workloads"] = (GenericAlias(list, (one,)), Field(min_length=1))
    model = create_model("WorkloadFile", __config__=ConfigDict(extra="forbid"), **fields)
    schema = model.model_json_schema(mode="validation")
    for name, definition in schema["$defs"].items():
        _describe(definition, name)
        if name in _SHORTHANDS:
            schema["$defs"][name] = {"anyOf": [definition, _SHORTHANDS[name]]}
    _describe(schema, "WorkloadFile")
    schema.pop("title", None)
    return {"$schema": _ID, "title": "gpu-opt workload file, version 1", **_listed_or_single(schema)}


def _describe(definition: dict[str, Any], name: str) -> None:
    definition.pop("title", None)
    definition.pop("description", None)
    if name in SECTIONS_TEXT:
        definition["description"] = SECTIONS_TEXT[name]
    for key, entry in definition.get("properties", {}).items():
        entry.pop("title", None)
        said = KEYS.get(f"{name}.{key}") or KEYS.get(key)
        if said:
            entry["description"] = said
        _drop_python_default(entry)


def _drop_python_default(entry: dict[str, Any]) -> None:
    if entry.get("default") in (None, [], {}):
        entry.pop("default", None)


def _listed_or_single(node: Any) -> Any:
    """Lists of plain values may be written as their only entry."""
    if isinstance(node, list):
        return [_listed_or_single(child) for child in node]
    if not isinstance(node, dict):
        return node
    node = {key: _listed_or_single(child) for key, child in node.items()}
    items = node.get("items")
    if node.get("type") == "array" and isinstance(items, dict) and "$ref" not in items and "oneOf" not in items:
        kept = {key: node.pop(key) for key in ("description", "default") if key in node}
        return {**kept, "anyOf": [node, items]}
    return node
