"""A refit to one's own points moves predictions to them, and only those of the engine that was measured."""

from __future__ import annotations

from tests.unit.test_serving_accuracy import ROW

from gpu_opt.throughput.accuracy.serving import evaluate
from gpu_opt.throughput.accuracy.serving_calibration import calibrated_constants
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
