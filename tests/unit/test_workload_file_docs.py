"""The reference of the workload file: its YAML is read, and it tells of every key."""

import re
from pathlib import Path

import pytest

from gpu_opt.workload_file.json_schema import json_schema
from gpu_opt.workload_file.overlay import load_overlay
from gpu_opt.workload_file.reader import load

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "workload-file.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS, ids=lambda text: text.splitlines()[1].rstrip(":"))
def test_yaml_of_the_page_is_read(text, tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text(text, encoding="utf-8")
    if "workloads:" in text:
        assert load(path).workloads
    else:
        assert load_overlay(path).quotes


def test_the_page_tells_of_every_key():
    schema = json_schema()
    keys = set(schema["properties"])
    for definition in schema["$defs"].values():
        for part in (definition, *definition.get("anyOf", ())):
            keys |= set(part.get("properties", ()))
    assert sorted(key for key in keys if not re.search(rf"\b{re.escape(key)}\b", PAGE)) == []
