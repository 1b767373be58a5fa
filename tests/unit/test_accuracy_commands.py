"""The commands `accuracy` and `calibrate`: files in, tables and documents out, messages instead of tracebacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.test_training_calibrate import MEGATRON, measured

from gpu_opt.cli.main import main
from gpu_opt.throughput.calibration.store import load_calibration


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_calibrate_writes_a_file_and_tells_the_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = write(tmp_path / "runs.csv", measured(1.15))
    out = tmp_path / "ours.json"
    assert main(["calibrate", str(runs), "-o", str(out)]) == 0
    found = load_calibration(out.read_text(encoding="utf-8"))
    assert (found.name, found.stack, found.runs) == ("ours", "fsdp", 4)
    message = capsys.readouterr().err
    assert "13.0% before" in message  # 1 − 1/1.15
    assert "P10-P90" in message


def test_calibrate_reads_logs_with_what_they_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = []
    for place, seconds in enumerate(("4000.0", "4100.0", "4050.0")):
        log = tmp_path / f"run{place}.log"
        log.write_text(MEGATRON.replace("4000.0", seconds), encoding="utf-8")
        logs.append(str(log))
    assert main(["calibrate", *logs, "--gpu", "H100-SXM", "--model", "llama-3-8b"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["stack"]) == ("gpu-opt/calibration/1", "megatron")


def test_calibrate_refuses_text_that_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing here\n", encoding="utf-8")
    assert main(["calibrate", str(file)]) == 2
    assert "notes.txt: neither a CSV of runs nor a known log" in capsys.readouterr().err


def test_calibrate_says_why_runs_are_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "tokens_per_s_per_gpu": ""} for row in measured(1.0)]
    assert main(["calibrate", str(write(tmp_path / "runs.csv", rows))]) == 2
    assert "tokens_per_s_per_gpu is blank" in capsys.readouterr().err


def test_accuracy_names_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accuracy", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: no such file" in capsys.readouterr().err


def test_accuracy_refuses_what_is_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "points.csv"
    file.write_bytes(b"\xff\xfe\x00\x01")
    assert main(["accuracy", str(file)]) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_accuracy_prints_markdown_and_names_skipped_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured(1.1)
    strange = [{**row, "gpu": "Q9000", "id": str(place)} for place, row in enumerate(rows * 4)]
    assert main(["accuracy", str(write(tmp_path / "points.csv", rows + strange)), "--format", "md"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("| metric | rows |")
    assert captured.err.count("skipped") == 11
    assert "and 6 more rows skipped" in captured.err


def test_whole_runs_that_cannot_be_predicted_are_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"model": "llama-2-70b", "tokens_b": "2000", "n_gpus": "2048", "gpu_hours": "1720320"}
    rows = [
        {"id": "a", "gpu": "Q9000", **columns},
        {"id": "b", "gpu": "A100-80GB", **columns, "model": "who-knows"},
        {"id": "c", "gpu": "T4", **columns, "n_gpus": "8"},
        {"id": "d", "gpu": "A100-80GB", **columns},
    ]
    assert main(["accuracy", str(write(tmp_path / "whole.csv", rows)), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "gpu_hours"
    assert [row["id"] for row in document["rows"]] == ["d"]
    assert [each["id"] for each in document["skipped"]] == ["a", "b", "c"]
    assert document["summary"]["gpu_hours"]["n"] == 1
