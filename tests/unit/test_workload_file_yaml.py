"""YAML becomes plain data with lines, within bounds, and never anything but data or an InputError."""

import pytest
import yaml

from gpu_opt.errors import InputError
from gpu_opt.workload_file import yaml_lines
from gpu_opt.workload_file.yaml_lines import MAX_BYTES, parse_yaml, plain, quoted, read_yaml


@pytest.fixture(params=["C reader", "Python reader"], autouse=True)
def reader(request, monkeypatch):
    if request.param == "Python reader":
        monkeypatch.setattr(yaml_lines, "_LOADER", yaml.SafeLoader)


def refused(text):
    with pytest.raises(InputError) as error:
        parse_yaml(text, "w.yaml")
    return str(error.value)


def test_scalars_stay_the_text_that_was_written():
    document = parse_yaml("a: [NO, on, 12:30, 2027-01-01, 1.4e12, 0o14, 4_000_000, 007]", "w.yaml")
    assert document.data == {"a": ["NO", "on", "12:30", "2027-01-01", "1.4e12", "0o14", "4_000_000", "007"]}


def test_only_a_bare_null_is_nothing():
    assert parse_yaml("a: [~, null, , '', 'null', \"~\"]".replace(", ,", ","), "w.yaml").data == {
        "a": [None, None, "", "null", "~"]
    }
    assert parse_yaml("a:\nb: 1", "w.yaml").data == {"a": None, "b": "1"}
    assert parse_yaml("", "w.yaml").data is None


def test_every_path_has_the_line_where_its_key_or_entry_stands():
    document = parse_yaml("a: 1\nb:\n  - c: 2\n    d:\n      e: 3\n  - f\n", "w.yaml")
    assert document.lines["a",] == 1
    assert document.lines["b", 0] == 3
    assert document.lines["b", 0, "d", "e"] == 5
    assert document.lines["b", 1] == 6
    assert document.line_of(("b", 0, "d", "missing")) == 4
    assert document.line_of(("missing",)) == 1


def test_an_alias_repeats_a_value_and_a_merge_fills_what_is_absent():
    text = "base: &b {x: 1, y: 2}\nsame: *b\nmore: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4, x: 9}]}\n"
    data = parse_yaml(text, "w.yaml").data
    assert data["same"] == {"x": "1", "y": "2"}
    assert data["more"] == {"x": "1", "y": "3"}
    assert data["both"] == {"x": "1", "y": "2", "z": "4"}
    data["same"]["x"] = "changed"
    assert data["base"]["x"] == "1"


def test_a_quoted_merge_key_is_an_ordinary_key():
    assert parse_yaml("'<<': 3", "w.yaml").data == {"<<": "3"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "w.yaml:3: the key 'a' stands twice; the first is in line 1."),
        ("a: !!python/object/apply:os.system [ls]", "the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        ("a: !secret x", "the tag '!secret' is not allowed"),
        ("a: !!str 5", "is not allowed"),
        ("--- a\n--- b", "w.yaml:2: a second document begins here."),
        ("a: *b", "w.yaml:1: the alias 'b' has no anchor before it."),
        ("a: &a [*a]", "the alias 'a' stands inside its own anchor."),
        ("? [x]\n: y", "a key must be plain text."),
        ("? {x: 1}\n: y", "a key must be plain text."),
        ("a: &x 1\n*x : 2", "an alias can't be a key."),
        ("<<: 3", "`<<` merges mappings only."),
        ("a: [1", "not YAML"),
        ("a: b: c", "w.yaml:1: not YAML"),
        ("a: 'b", "not YAML"),
        ("a:\n\t- b", "w.yaml:2: not YAML"),
        ("a: \x07", "a character that YAML does not allow"),
        ("x: 1\na: b\0c", "w.yaml:2: a NUL character."),
        ("%TAG ! x", "not YAML"),
    ],
)
def test_what_is_not_plain_data_is_refused_at_its_line(text, said):
    assert said in refused(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5_000, "- " * 5_000, "[" * 41])
def test_nesting_has_a_bound(text):
    assert "nest" in refused(text) or "key" in refused(text)


def test_aliases_that_expand_without_end_are_refused():
    layers = [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "more than 200,000 values" in refused("- &a0 [x]\n" + "\n".join(layers))


def test_merges_count_as_they_expand(monkeypatch):
    monkeypatch.setattr(yaml_lines, "MAX_NODES", 25)
    text = "a: &a {x: [1, 2, 3, 4, 5, 6, 7, 8]}\nb: {<<: *a}\n"
    # a and b hold 10 values each, and the document is one: 21
    assert parse_yaml(text, "w.yaml").data["b"]["x"][7] == "8"
    assert "more than 25 values" in refused(text + "c: {<<: *a}\n")


def test_text_that_is_not_utf8_is_refused_at_its_line():
    assert refused(b"a: 1\nb: \xff\xfe") == "w.yaml:2: not UTF-8 text. Save the file as UTF-8."
    assert "not UTF-8" in refused("a: 1".encode("utf-16"))
    assert parse_yaml(b"\xef\xbb\xbfa: 1", "w.yaml").data == {"a": "1"}
    assert "not UTF-8" in refused("a: \udcff")


def test_a_file_too_large_is_refused_without_being_read_whole(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="larger than 5 MB"):
        read_yaml(path, "large.yaml")


@pytest.mark.parametrize("name", ["absent.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path, name):
    with pytest.raises(InputError, match="can't be read"):
        read_yaml(tmp_path / name, name)


def test_a_path_is_written_as_people_write_it():
    assert plain(("workloads", 2, "slo", "ttft")) == "workloads[2].slo.ttft"
    assert plain(()) == ""


def test_a_long_value_is_cut_in_messages():
    assert quoted("x" * 100) == "'" + "x" * 60 + "…'"
