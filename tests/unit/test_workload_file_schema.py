"""The JSON Schema, the starters and the examples agree with what the reader accepts."""

from datetime import date
from pathlib import Path

import jsonschema
import pytest
import yaml

from gpu_opt.workload_file.descriptions import KEYS, SECTIONS_TEXT
from gpu_opt.workload_file.json_schema import json_schema
from gpu_opt.workload_file.overlay import overlays_of
from gpu_opt.workload_file.reader import load
from gpu_opt.workload_file.registry import KINDS, TOP_KEYS
from gpu_opt.workload_file.starter import starter
from gpu_opt.workload_file.to_question import to_question

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def schema():
    return json_schema()


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def plain_yaml(text):
    """As an editor reads it: numbers and booleans by YAML's core schema, days as text."""

    class Core(yaml.SafeLoader):
        pass

    Core.yaml_implicit_resolvers = {
        key: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
        for key, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load(text, Loader=Core)


def test_the_schema_has_each_key_of_the_file_with_a_line_about_it(schema):
    assert set(schema["properties"]) == set(TOP_KEYS)
    assert schema["required"] == ["version", "workloads"]
    assert all(entry.get("description") for entry in schema["properties"].values())


def test_every_key_of_a_workload_is_described(schema):
    for kind in ("PretrainKeys", "FinetuneKeys", "BatchKeys", "GpuHoursKeys", "ServeKeys"):
        definition = schema["$defs"][kind]
        assert definition["description"]
        assert [key for key, entry in definition["properties"].items() if "description" not in entry] == []


def test_descriptions_are_of_keys_that_exist(schema):
    known = set(schema["properties"])
    for name, definition in schema["$defs"].items():
        for part in (definition, *definition.get("anyOf", ())):
            known |= set(part.get("properties", ())) | {f"{name}.{key}" for key in part.get("properties", ())}
    assert set(KEYS) - known == set()
    assert set(SECTIONS_TEXT) - set(schema["$defs"]) == set()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_read_and_follows_the_schema(path, validator):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.splitlines()[1].startswith("# ")
    file = load(path)
    question = to_question(file, newest_as_of=date(2026, 12, 1), known_regions={})
    assert question.horizon.start >= date(2027, 1, 1)
    overlays_of(file)
    assert [error.message for error in validator.iter_errors(plain_yaml(text))] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_starter_is_read_and_follows_the_schema(kind, validator, tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text(starter(kind), encoding="utf-8")
    question = to_question(load(path), newest_as_of=date(2026, 12, 1), known_regions={})
    assert [workload.kind for workload in question.workloads] == [kind]
    assert [error.message for error in validator.iter_errors(plain_yaml(starter(kind)))] == []


@pytest.mark.parametrize(
    "text",
    [
        "version: 1",
        "version: 2\nworkloads: [{name: a, kind: gpu_hours, demand: {H100: 5}}]",
        "version: 1\nworkloads: []",
        "version: 1\nhorizn: {}\nworkloads: [{name: a, kind: gpu_hours, demand: {H100: 5}}]",
        "version: 1\nworkloads: [{name: a, kind: gpu_hour, demand: {H100: 5}}]",
        "version: 1\nworkloads: [{name: a, kind: gpu_hours, demand: {H100: 5}, priority: 10}]",
        "version: 1\nworkloads: [{name: a, kind: gpu_hours, demand: {H100: 5}, precision: bf17}]",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(text, validator):
    assert list(validator.iter_errors(plain_yaml(text)))


def test_shorthands_follow_the_schema(validator):
    text = """\
version: 1
scope: {gpus: "H100*"}
workloads:
  - {name: a, kind: pretrain, model: llama-2-7b, tokens: 1.4e12, sequence_length: 4096, deadline: 2w, parallel: auto,
     spot: true}
  - {name: b, kind: serve, model: llama-2-7b, traffic: {rps: 4_000}, input_tokens: 5, output_tokens: {mean: 5, p95: 9},
     availability: 99.9%, autoscale: yes}
"""
    assert [error.message for error in validator.iter_errors(plain_yaml(text))] == []
