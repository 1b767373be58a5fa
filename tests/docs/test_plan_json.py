"""The page about plan.json names every key of the file, and its example is one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.report_samples import sample_plan

from gpu_opt.report.plan_json import infeasible_json, to_json

PAGE = (Path(__file__).parents[2] / "docs/reference/plan-json.md").read_text(encoding="utf-8")
_OPEN = {"evidence", "rejections", "latency"}  # their keys are names, not words of the format
_MINOR = {"sha256", "as_of", "oldest_as_of", "name", "version", "label", "gib"}


def keys_of(value: object) -> Iterator[str]:
    """Every key in a document, at any depth."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield key
            if key not in _OPEN:
                yield from keys_of(held)
    elif isinstance(value, list):
        for held in value:
            yield from keys_of(held)


def test_every_key_of_the_file_is_on_the_page() -> None:
    words = set(re.findall(r"`([a-z_0-9]+)`", PAGE))
    assert set(keys_of(to_json(sample_plan()))) - words - _MINOR == set()


def test_the_example_of_an_infeasible_plan_has_its_keys() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    (example,) = (json.loads(block) for block in blocks)
    assert set(keys_of(example)) == set(keys_of(infeasible_json([""], [("", 0.0)])))
