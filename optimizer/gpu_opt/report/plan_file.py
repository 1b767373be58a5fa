"""plan.json back into a plan, for reports made from a file. Keys that aren't known are left alone."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from gpu_opt.domain.plan import Plan
from gpu_opt.errors import InputError, Problem

_MOST_PROBLEMS = 12
_NUMBERS_FROM_OBJECTIVE = ("billed_usd", "straight_line_usd", "low_usd", "high_usd")


def from_json(document: Mapping[str, Any], name: str) -> Plan:
    """The plan in a document. InputError with what is missing or of the wrong kind, each with its path."""
    reader = _Reader(name)
    plan = reader.value(Plan, _flat(document), "")
    if reader.problems:
        raise InputError(reader.problems[:_MOST_PROBLEMS])
    if not isinstance(plan, Plan):
        raise TypeError(type(plan))
    return plan


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document's keys as the plan's fields."""
    flat = dict(document)
    for key in ("solver", "prices"):
        held = document.get(key)
        if isinstance(held, Mapping):
            flat |= {f"{key}_{name}": value for name, value in held.items()}
    for key in _NUMBERS_FROM_OBJECTIVE:
        flat.setdefault(key, document.get("objective_usd"))
    flat.setdefault("gap_asked", document.get("gap"))
    for key in ("rejected", "assumptions", "warnings", "unfunded", "coverage_gaps"):
        flat.setdefault(key, [])
    for key in ("evidence", "rejections"):
        flat.setdefault(key, {})
    for key in ("runner_up", "start"):
        flat.setdefault(key, None if key == "runner_up" else "")
    if document.get("bound_usd") is None and "bound_usd" in document:
        flat["bound_usd"] = float("-inf")
    if document.get("gap") is None and "gap" in document:
        flat["gap"] = float("inf")
    return flat


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


class _Reader:
    """Turns plain data into the type that is wanted, and notes each place where that fails."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []

    def value(self, kind: Any, data: Any, path: str) -> Any:
        if get_origin(kind) in (types.UnionType, Union):
            options = [option for option in get_args(kind) if option is not type(None)]
            return None if data is None else self.value(options[0], data, path)
        if kind is object:
            return data
        if is_dataclass(kind) and isinstance(kind, type):
            return self._record(kind, data, path)
        origin = get_origin(kind)
        if origin is tuple:
            return self._row(get_args(kind), data, path)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(get_args(kind)[1], data, path)
        return self._scalar(kind, data, path)

    def _record(self, kind: Any, data: Any, path: str) -> Any:
        if not isinstance(data, Mapping):
            return self._wrong(path, "an object", data)
        renamed = _RENAMED.get(kind.__name__, _same)(data)
        values = {}
        for field in fields(kind):
            place = f"{path}.{field.name}" if path else field.name
            if field.name in renamed:
                values[field.name] = self.value(_hints(kind)[field.name], renamed[field.name], place)
            elif field.name in _OPTIONAL.get(kind.__name__, {}):
                values[field.name] = _OPTIONAL[kind.__name__][field.name]
            else:
                self.problems.append(Problem(file=self.name, path=place, what="is missing."))
        return kind(**values) if not self.problems else None

    def _row(self, kinds: tuple[Any, ...], data: Any, path: str) -> Any:
        if isinstance(data, Mapping) and kinds == (str, float):  # a period: {"name", "hours"}
            data = [data.get("name"), data.get("hours")]
        if not isinstance(data, list):
            return self._wrong(path, "a list", data)
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return tuple(self.value(kinds[0], held, f"{path}[{place}]") for place, held in enumerate(data))
        if len(data) != len(kinds):
            return self._wrong(path, f"a list of {len(kinds)}", data)
        pairs = enumerate(zip(kinds, data, strict=True))
        return tuple(self.value(kind, held, f"{path}[{place}]") for place, (kind, held) in pairs)

    def _mapping(self, kind: Any, data: Any, path: str) -> Any:
        if not isinstance(data, Mapping):
            return self._wrong(path, "an object", data)
        return {key: self.value(kind, held, f"{path}.{key}") for key, held in data.items()}

    def _scalar(self, kind: Any, data: Any, path: str) -> Any:
        if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
            return float(data)
        if kind is int and isinstance(data, int) and not isinstance(data, bool):
            return data
        if kind in (str, bool) and isinstance(data, kind):
            return data
        words = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
        return self._wrong(path, words.get(kind, str(kind)), data)

    def _wrong(self, path: str, wanted: str, data: Any) -> None:
        kinds = {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "true or false"}
        what = f"{wanted} is expected, not {kinds.get(type(data), 'a number')}."
        self.problems.append(Problem(file=self.name, path=path, what=what))


def _same(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return data


def _allocation(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**data, "latency_ms": data.get("latency", {})}


_RENAMED: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {"Allocation": _allocation}
_OPTIONAL: dict[str, dict[str, Any]] = {
    "Allocation": {
        "requests_per_second": None,
        "replicas": None,
        "memory": (),
        "engine": "",
        "notes": (),
        "energy_kwh": None,
        "carbon_kg": None,
        "interval": None,
        "tokens_per_second_per_gpu": None,
        "layout": None,
    },
    "CostLine": {"provider": "", "market": "", "offer": "", "billed": True},
    "ScheduledRun": {"start_hours": 0.0, "end_hours": 0.0},
    "CommitmentPlan": {"pays_if_used_until": "", "stops_paying_if_prices_fall_annually": None},
    "PurchasePlan": {"pays_if_used_until": "", "stops_paying_if_prices_fall_annually": None},
}
