"""`gpu-opt init` writes a starter, `gpu-opt schema` prints the JSON Schema."""

import json

import pytest

from gpu_opt.cli.main import main
from gpu_opt.workload_file.reader import load
from gpu_opt.workload_file.starter import starter


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_writes_a_starter_that_is_read(here, capsys):
    assert main(["init"]) == 0
    assert load(here / "workload.yaml").workloads[0].kind == "serve"
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "workload.yaml: written. Plan it with: gpu-opt plan workload.yaml\n"


@pytest.mark.parametrize("kind", ["serve", "finetune", "pretrain", "batch", "gpu_hours"])
def test_init_writes_each_kind(here, kind):
    assert main(["init", "--kind", kind, "mine.yaml"]) == 0
    assert (here / "mine.yaml").read_text(encoding="utf-8") == starter(kind)


def test_init_does_not_write_over_a_file(here, capsys):
    (here / "workload.yaml").write_text("mine", encoding="utf-8")
    assert main(["init"]) == 2
    assert (here / "workload.yaml").read_text(encoding="utf-8") == "mine"
    assert "workload.yaml: the file exists. Name another, or add --force to write over it." in capsys.readouterr().err


def test_init_writes_over_a_file_when_told_to(here):
    (here / "workload.yaml").write_text("mine", encoding="utf-8")
    assert main(["init", "--force"]) == 0
    assert (here / "workload.yaml").read_text(encoding="utf-8") == starter("serve")


def test_init_writes_to_stdout(here, capsys):
    assert main(["init", "-", "--kind", "batch"]) == 0
    assert capsys.readouterr().out == starter("batch")
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("arguments", [["absent/w.yaml"], ["."], ["--kind", "nothing"]])
def test_init_says_what_it_cannot_do(here, arguments, capsys):
    assert main(["init", *arguments]) == 2
    assert capsys.readouterr().err


def test_schema_prints_the_json_schema_the_same_each_time(capsys):
    assert main(["schema"]) == 0
    first = capsys.readouterr().out
    schema = json.loads(first)
    assert schema["title"] == "gpu-opt workload file, version 1"
    assert schema["properties"]["workloads"]["minItems"] == 1
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == first
