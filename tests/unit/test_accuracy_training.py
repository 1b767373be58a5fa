"""`gpu-opt accuracy` on training points: columns, blanks, verdicts, whole runs, and the page made from the points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools import training_page
from typer.testing import CliRunner

from gpu_opt.errors import InputError
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.throughput.accuracy import gpu_hours, report, training
from gpu_opt.throughput.accuracy.evaluate import evaluate_csv
from gpu_opt.throughput.accuracy.notes import read_hints
from gpu_opt.throughput.accuracy.report import Report, Row
from gpu_opt.throughput.accuracy.row_model import model_of
from gpu_opt.throughput.accuracy.training_points import Point, normal_precision, point_of

RUN = {
    "id": "a", "stack": "hf-peft", "model": "mistral-7b", "gpu": "A100-80GB", "n_gpus": "1", "precision": "bf16",
    "seq_len": "4096", "micro_batch": "4", "method": "lora", "act_recompute": "full",
    "tokens_per_s_per_gpu": "3000", "peak_mem_gb": "24.5", "mem_kind": "allocated",
}  # fmt: skip
WHOLE = {"id": "w", "model": "llama-2-70b", "tokens_b": "2000", "gpu": "A100-80GB", "n_gpus": "2048"}


def by_metric(rows: list[dict[str, str]]) -> dict[str, Row]:
    return {row.metric: row for row in training.evaluate(rows).rows}


def test_each_point_has_a_speed_and_a_memory_row() -> None:
    rows = by_metric([RUN])
    assert set(rows) == {"tokens_per_s_per_gpu", "peak_mem_gb"}
    speed, memory = rows["tokens_per_s_per_gpu"], rows["peak_mem_gb"]
    assert (speed.measured, speed.fits) == (3000.0, None)
    assert (memory.measured, memory.fits) == (24.5, True)
    assert speed.low < speed.predicted < speed.high


def test_a_run_that_failed_for_memory_has_no_measurement_and_a_verdict() -> None:
    # 8 bytes for each of 69e9 parameters don't fit on one part of 80 GB.
    failed = {**RUN, "model": "llama-2-70b", "method": "full-ft", "peak_mem_gb": "OOM_OR_CRASH"}
    memory = by_metric([failed])["peak_mem_gb"]
    assert memory.measured is None
    assert memory.fits is False
    assert memory.predicted > 400


def test_blank_cells_are_assumed_and_never_stop_a_prediction() -> None:
    bare = {"id": "b", "gpu": "H100", "params_b": "13", "n_gpus": "16"}
    assert by_metric([bare])["tokens_per_s_per_gpu"].predicted > 0


def test_every_accelerator_is_predicted_for_a_given_model() -> None:
    rows = [
        {"id": name, "gpu": name, "model": "llama-2-7b", "n_gpus": "8", "precision": "bf16", "method": "pretrain"}
        for name in load_accelerators()
    ]
    found = training.evaluate(rows)
    assert not found.skipped
    assert all(row.predicted > 0 for row in found.rows)


def test_an_unknown_gpu_and_a_model_without_size_are_skipped_with_a_reason() -> None:
    found = training.evaluate([{**RUN, "gpu": "Q9000"}, {"id": "c", "gpu": "H100", "model": "who-knows"}])
    assert [each.id for each in found.skipped] == ["a", "c"]
    assert "Q9000" in found.skipped[0].reason


def test_the_kind_of_a_memory_cell_decides_what_is_compared() -> None:
    peaks = [
        by_metric([{**RUN, "mem_kind": kind}])["peak_mem_gb"].predicted for kind in ("allocated", "reserved", "device")
    ]
    assert peaks == sorted(peaks)
    assert by_metric([{**RUN, "mem_kind": ""}])["peak_mem_gb"].predicted == peaks[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [("bf16", "bf16"), ("fp8 (assumed, vendor-tuned)", "fp8"), ("fp8-mx", "mxfp8"), ("nvfp4", "nvfp4"),
     ("nf4+bf16", "bf16"), ("gptq4+fp16", "fp16"), ("bf16-true", "bf16"), ("", "bf16")],
)  # fmt: skip
def test_precisions_are_read_as_sources_spell_them(text: str, name: str) -> None:
    assert normal_precision(text, load_accelerators()["B200-SXM"]) == name


def test_a_precision_that_the_part_lacks_runs_in_sixteen_bits() -> None:
    assert normal_precision("fp8", load_accelerators()["A100-80GB-SXM"]) == "bf16"
    assert normal_precision("bf16", load_accelerators()["T4"]) == "fp16"


def test_a_shape_that_contradicts_the_preset_of_its_name_wins() -> None:
    given = {"model": "llama-2-7b", "n_layers": "10", "hidden": "1024", "n_heads": "8", "vocab": "32000"}
    model = model_of(given)
    assert model is not None
    assert (model.layers, model.origin) == (10, "given")


def test_words_of_a_point_tell_its_network_and_its_groups() -> None:
    hints = read_hints("4x100Gb RoCE; zero1 group=8; micro_num=4", "")
    assert (hints.node_network_gbps, hints.shard_group, hints.accumulation) == (400.0, 8, 4)
    assert read_hints("layout from config; VP=6", "").virtual_stages == 6
    assert read_hints("", "A100 with 1600 Gbps node-node interconnect").node_network_gbps == 1600.0


def test_a_layout_that_does_not_multiply_is_opened_where_it_breaks() -> None:
    point = point_of({**RUN, "stack": "megatron", "method": "pretrain", "n_gpus": "8", "tp": "8", "pp": "4"})
    assert isinstance(point, Point)
    assert (point.layout.tp, point.layout.pp) == (8, None)


def test_whole_runs_are_tokens_over_speed_over_goodput() -> None:
    found = gpu_hours.evaluate([{**WHOLE, "gpu_hours": "1720320"}]).rows[0]
    # Published: 1.72 M GPU-hours.
    assert found.predicted == pytest.approx(1_720_320, rel=0.2)
    assert found.low < found.predicted < found.high


def test_a_whole_run_without_tokens_is_skipped() -> None:
    found = gpu_hours.evaluate([{**WHOLE, "tokens_b": ""}])
    assert found.skipped[0].reason == "tokens_b is blank"


def test_errors_are_summed_up_by_hand() -> None:
    # Errors of 10 %, 50 % and 0 %: median 10 %, mean 20 %, P90 by interpolation 10 + 0.8 × 40 = 42 %.
    rows = [
        Row(id=str(place), metric="m", measured=100.0, predicted=value, low=95.0, high=120.0)
        for place, value in enumerate((110.0, 150.0, 100.0))
    ]
    found = report.summarize(rows)
    assert found is not None
    assert (found.n, found.median_ape, found.mape) == (3, pytest.approx(0.1), pytest.approx(0.2))
    assert found.p90_ape == pytest.approx(0.42)
    assert found.within_20pct == pytest.approx(2 / 3)
    assert found.interval_coverage == 1.0


def test_the_document_has_the_contracts_fields() -> None:
    row = Row(id="a", metric="peak_mem_gb", measured=None, predicted=1.23456789, low=1.0, high=2.0, fits=False)
    document = report.to_json(Report(kind="training", rows=(row,)))
    assert document["schema"] == "gpu-opt/accuracy/1"
    assert document["summary"] == {}
    assert document["rows"] == [
        {"id": "a", "metric": "peak_mem_gb", "measured": None, "predicted": 1.23457, "low": 1.0, "high": 2.0,
         "fits": False}
    ]  # fmt: skip


def test_columns_decide_the_kind() -> None:
    assert (
        evaluate_csv("id,model,gpu,n_gpus,tokens_per_s_per_gpu\na,llama-2-7b,H100,8,9000\n", "x.csv").kind == "training"
    )
    assert (
        evaluate_csv("id,model,gpu,n_gpus,tokens_b,gpu_hours\na,llama-2-7b,H100,64,100,\n", "x.csv").kind == "gpu_hours"
    )
    with pytest.raises(InputError, match=r"x.csv:1: .*no known measurement"):
        evaluate_csv("a,b\n1,2\n", "x.csv")


def test_the_command_prints_json_that_is_the_same_each_time(tmp_path: Path) -> None:
    from gpu_opt.cli.main import app

    file = tmp_path / "points.csv"
    file.write_text(",".join(RUN) + "\n" + ",".join(RUN.values()) + "\n", encoding="utf-8")
    outputs = [CliRunner().invoke(app, ["accuracy", str(file), "--format", "json"]).stdout for _ in range(2)]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["summary"]["peak_mem_gb"]["n"] == 1
    table = CliRunner().invoke(app, ["accuracy", str(file)]).stdout
    assert "peak_mem_gb" in table


def test_the_page_is_what_the_points_say() -> None:
    assert training_page.PAGE.read_text(encoding="utf-8") == training_page.render()


def test_the_committed_points_are_met_within_the_page_s_figures() -> None:
    points = training_page.rows_of(training_page.POINTS)
    assert len(points) <= 1500
    assert all(row["source"] for row in points)
    found = training.evaluate(points)
    errors = report.summary(found)
    assert not found.skipped
    assert errors["tokens_per_s_per_gpu"].median_ape <= 0.06
    assert errors["peak_mem_gb"].median_ape <= 0.07
