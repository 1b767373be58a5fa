"""The form of a plan document: which fields the checks read, and of what kind they must be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_SHOWN = 20
_MOST_ENTRIES = 200_000
_MOST_PERIODS = 1_200
_LARGEST = 1e15

Spec = Any
"""A kind (`num`, `least0`, `above0`, `whole`, `text`, `flag`; `?` allows null), a list of one spec, a map from any key
(`*`) to one spec, or a table of named fields."""

_RATES = {"*": "num"}
_WINDOW = {"from_hours": "num", "to_hours": "num"}
_SPAN = {"start_hours": "num", "end_hours": "num"}
_SLICE = {"low_fraction": "least0", "high_fraction": "least0"}

_POOL = {
    "provider": "text",
    "region": "text",
    "zone": "text",
    "instance_type": "text",
    "gpu": "text",
    "gpus": "above0",
    "spot": "flag",
    "onprem": "flag",
    "busy_usd_per_hour": _RATES,
    "rents": [{"offer": "text", "market": "text", "max_instances": "least0?", "usd_per_instance_hour": ["num"]}],
}
_RUN_ASKED = {
    "workload": "text",
    "period": "num",
    "runs": "whole",
    "from_hours": "num",
    "deadline_hours": "num",
    "latest_hours": "num",
    "usd_per_hour_late": "num?",
    "spot_share_fraction": "num",
    "recurring": "flag",
    "tokens": "num",
}
_RUN_PLACED = {
    "workload": "text",
    "run": "whole",
    "pool": "text",
    "instances": "whole",
    **_SPAN,
    "elapsed_hours": "above0",
    "p95_hours": "num",
    "paid_hours": "least0",
    "phase": "text",
    "gpus": "above0",
    "tokens_per_second": "above0",
    "place_usd": "least0",
}
_WORK_ASKED = {
    "workload": "text",
    "key": "text",
    "period": "num",
    **_WINDOW,
    "work": "num",
    "spot_share_fraction": "num",
    "recurring": "flag",
    "substitutes": _RATES,
}
_WORK_DONE = {
    "demand": "whole",
    "workload": "text",
    "pool": "text",
    "instances": "whole",
    "unit_hours": "least0",
    "work_per_hour": "above0",
    "gpus": "above0?",
    "requests_per_second": "above0?",
    "phase": "text",
    "place_usd": "least0",
    **_SPAN,
    **_SLICE,
}
_SERVICE_ASKED = {
    "workload": "text",
    "period": "whole",
    **_WINDOW,
    "min_replicas": "whole",
    "round_robin": "flag",
    "availability_fraction": "num?",
    "spot_share_fraction": "num",
    "zone_share_fraction": "num?",
    "blocks": [{"name": "text", **_SLICE, "requests_per_second": "least0"}],
}
_SERVICE_STANDING = {
    "demand": "whole",
    "block": "whole",
    "pool": "text",
    "replicas": "whole",
    "gpus": "above0",
    "hosts": "whole",
    "per_instance": "whole",
    "instances": "whole",
    "requests_per_second": "above0",
    "mtti_hours": "above0",
    "repair_hours": "least0",
    "phase": "text",
    "place_usd": "least0",
}
_CAPACITY = {
    "id": "text",
    "pool": "text",
    "kind": "text",
    "instances": "above0",
    **_SPAN,
    "left_hours": "least0",
    "lines": _RATES,
    "after": _RATES,
    "plan_rates": {"*": "above0"},
    "upfront_usd": "least0",
    "capex_usd": "least0",
    "min_units": "least0",
    "max_units": "least0?",
    "site": "text",
    "kw_per_instance": "least0",
    "racks_per_instance": "least0",
}
_EVIDENCE = {
    "horizon_hours": "above0",
    "periods": [{"name": "text", **_SPAN}],
    "pools": {"*": _POOL},
    "runs": {"asked": [_RUN_ASKED], "placed": [_RUN_PLACED]},
    "work": {"asked": [_WORK_ASKED], "done": [_WORK_DONE]},
    "services": {"asked": [_SERVICE_ASKED], "standing": [_SERVICE_STANDING]},
    "shares": {"*": {"*": "least0"}},
    "whole_hours": "flag",
    "capacity": [_CAPACITY],
    "after": [{**_SPAN, "level_fraction": "least0"}],
    "limits": [
        {
            "id": "text",
            "maximum": "num",
            "unit": "text",
            "rent_weight": {"*": "least0"},
            "term_weight": {"*": "least0"},
            "standing_weight": {"*": "least0"},
        }
    ],
    "budget": {
        "basis": "text",
        "total_usd": "num?",
        "per_period_usd": "num?",
        "per_hour_usd": "num?",
        "capex_usd": "num?",
    },
    "max_providers": "whole?",
    "occupancy_fraction": "num",
    "overheads": [{"provider": "text", "support_fraction": "num", "fixed_usd_per_period": "num"}],
    "agreements": [{"provider": "text", "min_spend_usd_per_year": "num", "other_spend_usd_per_year": "num"}],
    "credits": [{"provider": "text", "usd": "num", "expires": "text"}],
    "sites": [{"name": "text", "power_kw_free": "num?", "racks_free": "num?"}],
}
_ALLOCATION = {
    "offer": "text",
    "provider": "text",
    "gpu": "text",
    "period": "text",
    "region": "text",
    "instance_type": "text",
    "instances": "num",
    "instance_hours": "num",
    "gpu_hours": "num",
    "usd": "num",
}
_DOCUMENT = {
    "schema": "text",
    "status": "text",
    "certified": "flag",
    "objective_usd": "num",
    "minimized_usd": "num",
    "bound_usd": "num?",
    "gap": "num?",
    "gap_asked": "num",
    "start": "text",
    "periods": [{"name": "text", "hours": "above0"}],
    "workloads": [{"name": "text", "kind": "text", "usd": "num", "gpu_hours": "num", "allocations": [_ALLOCATION]}],
    "platform_usd": "num",
    "billed_usd": "num",
    "straight_line_usd": "num",
    "low_usd": "num",
    "high_usd": "num",
    "schedule": [
        {
            "workload": "text",
            "run": "whole",
            "offer": "text",
            "instances": "num",
            "start": "text",
            "end": "text",
            **_SPAN,
        }
    ],
    "fleet": [{"offer": "text", "gpu": "text", "period": "text", "instances": "num", "used_by": ["text"]}],
    "purchases": [{"system": "text", "site": "text", "instances": "num", "delivered": "text", "capex_usd": "num"}],
    "commitments": [
        {
            "offer": "text",
            "provider": "text",
            "market": "text",
            "units": "num",
            "start": "text",
            "end": "text",
            "usd_per_unit_hour": "num",
            "upfront_usd": "num",
            "existing": "flag",
        }
    ],
    "cost_lines": [
        {
            "label": "text",
            "period": "text",
            "workload": "text",
            "quantity": "num",
            "rate_usd": "num",
            "usd": "num",
            "provider": "text",
            "market": "text",
            "offer": "text",
            "billed": "flag",
        }
    ],
    "evidence": _EVIDENCE,
}


class TooLarge(Exception):
    """The document asks for more work than any real plan; the text is the problem."""


def problems_of(plan: object) -> list[str]:
    """What is missing or of the wrong kind, up to a few; the other checks need all of it."""
    if not isinstance(plan, Mapping):
        return [f"the document is {_kind(plan)}, not an object."]
    schema = plan.get("schema")
    if schema != "gpu-opt/plan/1":
        return [f"schema: {_short(schema)} is not 'gpu-opt/plan/1'."]
    if plan.get("status") == "infeasible":
        return ["status: the document says that no plan exists; there is nothing to check."]
    found = []
    for problem in _faults(plan, _DOCUMENT, ""):
        found.append(problem)
        if len(found) >= _MOST_SHOWN:
            break
    if not found and len(plan["evidence"]["periods"]) > _MOST_PERIODS:
        found = [f"evidence.periods: more than {_MOST_PERIODS} periods."]
    return found


def _faults(value: object, spec: Spec, where: str) -> Iterator[str]:
    if isinstance(spec, str):
        problem = _fault(value, spec)
        if problem:
            yield f"{where}: {problem}."
    elif isinstance(spec, list):
        yield from _list_faults(value, spec[0], where)
    elif not isinstance(value, Mapping):
        yield f"{where or 'the document'}: {_kind(value)}, not an object."
    elif "*" in spec:
        if len(value) > _MOST_ENTRIES:
            yield f"{where}: more than {_MOST_ENTRIES:,} entries."
            return
        for key, held in value.items():
            if not isinstance(key, str):
                yield f"{where}: a key is {_kind(key)}, not text."
            else:
                yield from _faults(held, spec["*"], f"{where}[{_short(key)}]")
    else:
        for key, inner in spec.items():
            if key not in value:
                yield f"{where}.{key}: missing.".lstrip(".")
            elif isinstance(inner, str):
                problem = _fault(value[key], inner)
                if problem:
                    yield f"{where}.{key}: {problem}.".lstrip(".")
            else:
                yield from _faults(value[key], inner, f"{where}.{key}".lstrip("."))


def _list_faults(value: object, spec: Spec, where: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"{where}: {_kind(value)}, not a list."
    elif len(value) > _MOST_ENTRIES:
        yield f"{where}: more than {_MOST_ENTRIES:,} entries."
    else:
        for index, held in enumerate(value):
            yield from _faults(held, spec, f"{where}[{index}]")


def _fault(value: object, kind: str) -> str:
    if kind.endswith("?"):
        if value is None:
            return ""
        kind = kind[:-1]
    if kind == "text":
        return "" if isinstance(value, str) else f"{_kind(value)}, not text"
    if kind == "flag":
        return "" if isinstance(value, bool) else f"{_kind(value)}, not true or false"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{_kind(value)}, not a number"
    if not math.isfinite(value) or abs(value) > _LARGEST:
        return f"{_short(value)} is not a usable number"
    if kind != "num" and (value < 0 or (kind == "above0" and value == 0)):
        return f"{value:g} is {'not above 0' if kind == 'above0' else 'below 0'}"
    if kind == "whole" and value != int(value):
        return f"{value:g} is not a whole number"
    return ""


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | tuple) else "an object" if isinstance(value, Mapping) else "unreadable"


def _short(value: object) -> str:
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a huge number"
    text = repr(value) if isinstance(value, str | int | float) else _kind(value)
    return text if len(text) <= 60 else text[:57] + "…"
