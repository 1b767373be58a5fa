"""A refit to one's own points moves predictions to them, and only those of the engine that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.test_serving_accuracy import ROW

from gpu_opt.cli.main import main
from gpu_opt.errors import InputError
from gpu_opt.throughput.accuracy.serving import evaluate
from gpu_opt.throughput.accuracy.serving_calibration import calibrated_constants
from gpu_opt.throughput.calibration.serving import load_serving
from gpu_opt.throughput.serving.constants import Constants, load_constants


def speed(row: dict[str, str], constants: Constants | None = None) -> dict[str, float]:
    return {each.metric: each.predicted for each in evaluate([row], constants).rows}


def points(factor: float) -> list[dict[str, str]]:
    """Five loads of one deployment, all `factor` times as slow as predicted."""
    found = []
    for users in (4, 8, 16, 32, 64):
        row = {**ROW, "concurrency_or_batch": str(users), "throughput_out_tok_s": ""}
        predicted = speed(row)
        cells = {name: str(predicted[name] * factor) for name in ("tpot_ms", "ttft_ms")}
        found.append({**row, **cells})
    return found


def test_a_deployment_a_third_slower_is_predicted_a_third_slower() -> None:
    constants = calibrated_constants(points(1.33))
    assert constants.origin == "calibrated"
    ratio = speed(ROW, constants)["tpot_ms"] / speed(ROW)["tpot_ms"]
    assert 1.2 < ratio < 1.45


def test_other_engines_keep_their_constants() -> None:
    constants = calibrated_constants(points(1.33))
    other = {**ROW, "engine": "SGLang"}
    assert speed(other, constants) == speed(other)


def test_throughput_alone_is_enough() -> None:
    slow = {**ROW, "throughput_out_tok_s": str(speed(ROW)["throughput_out_tok_s"] / 2)}
    constants = calibrated_constants([slow] * 5)
    assert speed(ROW, constants)["throughput_out_tok_s"] < 0.75 * speed(ROW)["throughput_out_tok_s"]


def test_no_points_change_nothing() -> None:
    assert calibrated_constants([]).value == load_constants().value


def test_calibrate_keeps_a_file_that_plan_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = points(1.33)
    columns = list(rows[0])
    lines = [",".join(columns), *(",".join(row[name] for name in columns) for row in rows)]
    (tmp_path / "ours.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "ours.json"
    assert main(["calibrate", str(tmp_path / "ours.csv"), "-o", str(out)]) == 0
    message = capsys.readouterr().err
    assert "5 points: median error 24.8% before" in message  # 1 − 1/1.33
    found = load_serving(out.read_text(encoding="utf-8"))
    constants = calibrated_constants(rows)
    assert found.points == 5
    assert speed(ROW, found.constants()) == pytest.approx(speed(ROW, constants), rel=1e-4)


@pytest.mark.parametrize(
    "document",
    [
        "[]",
        '{"schema": "gpu-opt/calibration/1", "kind": "serving"}',
        '{"schema": "gpu-opt/calibration/1", "kind": "serving", "name": "x", "points": 3, "factors": {"nonsense a": 1},'
        ' "median_error_before": 0, "median_error_after": 0}',
        '{"schema": "gpu-opt/calibration/1", "kind": "serving", "name": "x", "points": 3, "factors": {"step_us a": -1},'
        ' "median_error_before": 0, "median_error_after": 0}',
    ],
)
def test_what_is_no_serving_calibration_is_refused(document: str) -> None:
    with pytest.raises(InputError, match="not a calibration"):
        load_serving(document)
