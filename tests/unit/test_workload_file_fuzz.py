"""Whatever a file holds, the reader gives a question or an InputError."""

import contextlib
from datetime import date

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_opt.errors import InputError
from gpu_opt.workload_file import yaml_lines
from gpu_opt.workload_file.emit import to_yaml
from gpu_opt.workload_file.overlay import overlays_of
from gpu_opt.workload_file.reader import from_data, from_document
from gpu_opt.workload_file.registry import KINDS, LISTS, MAPPINGS, TOP_KEYS, section_class
from gpu_opt.workload_file.registry import SECTIONS as TABLES
from gpu_opt.workload_file.to_question import to_question
from gpu_opt.workload_file.yaml_lines import parse_yaml

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
MARKS = st.sampled_from(
    [*"\n :-[]{},&*!|>'\"%@`#?~<=.\t", "\n  ", "\n- ", ": ", "<<: ", "&a ", "*a", "\ufeff", "\x00", "é", "\U0001f600"]
)
WORDS = st.sampled_from(
    "version 1 workloads name kind serve pretrain model tokens null NO 2027-01-31 30d".split()  # noqa: SIM905
)
YAMLISH = st.lists(st.one_of(MARKS, WORDS, st.text(max_size=5)), max_size=60).map("".join)

YAML_TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\ufeff"), max_size=8)

BASE = {
    "serve": {"name": "a", "kind": "serve", "model": "llama-2-7b", "traffic": {"rps": "4"}, "input_tokens": "5"},
    "pretrain": {"name": "a", "kind": "pretrain", "model": "llama-2-7b", "tokens": "1B", "sequence_length": "4096"},
    "finetune": {"name": "a", "kind": "finetune", "model": {"params_billion": "7"}, "dataset_tokens": "1B"},
    "batch": {"name": "a", "kind": "batch", "model": "llama-2-7b", "requests": "5", "output_tokens": "5"},
    "gpu_hours": {"name": "a", "kind": "gpu_hours", "demand": {"H100": ["5"]}},
}
ODD = "0 -1 1e308 1e-300 nan inf true 2027-01-31 2199-12-31 2000-01-01 30d 1e5h 0s 5% H100 H100* [* * 80GiB us-* EU"
SCALARS = st.one_of(st.none(), st.sampled_from([*ODD.split(), "", "9" * 400, "\x1b[0m", "\ud800"]), st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=6), inner, max_size=3),
    ),
)
KEYS = st.sampled_from(sorted({key for name in KINDS.values() for key in section_class(name).model_fields}))
SECTIONS = st.sampled_from([*TOP_KEYS, "x"])
INNER = st.sampled_from(
    sorted(
        {key for name in {**TABLES, **LISTS, **MAPPINGS}.values() for key in section_class(name).model_fields}
        | {"from", "to"}
    )
)


def read(file):
    question = to_question(file, newest_as_of=date(2026, 12, 1), known_regions={"aws": frozenset({"us-east-1"})})
    overlays_of(file)
    return question


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
@given(text=YAMLISH)
@QUICK
def test_any_text_is_data_or_an_input_error(loader, text):
    before, yaml_lines._LOADER = yaml_lines._LOADER, loader
    try:
        with contextlib.suppress(InputError):
            parse_yaml(text, "w.yaml")
    finally:
        yaml_lines._LOADER = before


@given(raw=st.binary(max_size=80))
@QUICK
def test_any_bytes_are_data_or_an_input_error(raw):
    with contextlib.suppress(InputError):
        parse_yaml(raw, "w.yaml")


@pytest.mark.parametrize("kind", BASE)
@given(changes=st.dictionaries(KEYS, VALUES, max_size=3))
@QUICK
def test_any_workload_is_a_question_or_an_input_error(kind, changes):
    with contextlib.suppress(InputError):
        read(from_data({"version": "1", "workloads": [{**BASE[kind], **changes}]}))


@given(
    sections=st.dictionaries(
        SECTIONS,
        st.one_of(VALUES, st.dictionaries(INNER, VALUES, max_size=3), st.lists(VALUES, max_size=2)),
        max_size=3,
    )
)
@QUICK
def test_any_section_is_a_question_or_an_input_error(sections):
    with contextlib.suppress(InputError):
        read(from_data({"version": "1", "workloads": [BASE["gpu_hours"]], **sections}))


@given(
    data=st.dictionaries(
        YAML_TEXT,
        st.recursive(
            YAML_TEXT,
            lambda inner: st.one_of(st.lists(inner), st.dictionaries(YAML_TEXT, inner)),
            max_leaves=8,
        ),
        min_size=1,
    )
)
@QUICK
def test_what_is_written_as_yaml_reads_back_the_same(data):
    assert parse_yaml(to_yaml(data), "w.yaml").data == data


def test_any_prefix_of_a_file_is_a_question_or_an_input_error(tmp_path):
    text = (
        "version: 1\nhorizon: {start: 2027-01-01}\nworkloads:\n"
        "  - {name: a, kind: serve, model: llama-2-7b, traffic: {rps: 4}, input_tokens: 5, output_tokens: 5}\n"
    )
    for end in range(len(text)):
        with contextlib.suppress(InputError):
            read(from_document(parse_yaml(text[:end], "w.yaml"), "w.yaml", tmp_path, (), b""))
