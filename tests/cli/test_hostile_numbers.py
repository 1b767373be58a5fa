"""Numbers that no machine, bill or model has: refused with the place, or answered without a fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Ran

GpuOpt = Callable[..., Ran]

HEADER = "provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,upfront_usd,as_of,source\n"
ROW = "example,us-1,{name},H100-SXM,8,{market},{usd},{upfront},{day},a list\n"
QUESTION = """\
version: 1
horizon: {{start: 2027-01-01, periods: 1, period: quarter}}
prices: {{file: offers.csv, markets: [on_demand, reserved_1y]}}
workloads:
  - {{name: w, {work}}}
"""
BATCH = "kind: batch, model: {{preset: llama-2-7b}}, requests: {requests}, input_tokens: {read}, output_tokens: {write}"


def _row(name: str = "h100-8", market: str = "on_demand", usd: str = "24", upfront: str = "", day: str = "") -> str:
    return ROW.format(name=name, market=market, usd=usd, upfront=upfront, day=day or "2026-12-01")


def _question(folder: Path, work: str, *rows: str) -> Path:
    (folder / "offers.csv").write_text(HEADER + "".join(rows or (_row(),)), encoding="utf-8")
    path = folder / "w.yaml"
    path.write_text(QUESTION.format(work=work), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("requests", "read", "write", "named"),
    [
        ("0.5", "200", "50", "requests"),
        ("1e-300", "200", "50", "requests"),
        ("1000", "1e-300", "50", "input_tokens"),
        ("1000", "200", "0.2", "output_tokens"),
    ],
)
def test_less_than_one_request_or_token_is_refused(
    gpu_opt: GpuOpt, tmp_path: Path, requests: str, read: str, write: str, named: str
) -> None:
    ran = gpu_opt("plan", _question(tmp_path, BATCH.format(requests=requests, read=read, write=write)))
    assert ran.code == 2
    assert f"w.yaml:5: workloads[0].{named}" in ran.err
    assert "It must be at least 1." in ran.err


def test_a_single_short_request_is_planned(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    ran = gpu_opt("plan", _question(tmp_path, BATCH.format(requests="1", read="1", write="1")))
    assert (ran.code, ran.err.count("internal error")) == (0, 0)


def test_runs_shorter_than_a_second_are_planned_as_a_second(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    work = (
        "kind: finetune, dataset_tokens: 10, sequence_length: 512, runs_per_period: 3, model: {preset: llama-2-7b}, "
        "only_measured: true, measured: [{gpu: H100-SXM, gpus: 8, tokens_per_second: 90_000, basis: effective}]"
    )
    ran = gpu_opt("plan", _question(tmp_path, work), "--format", "json")
    assert ran.code == 0, ran.err
    # three runs of one second at $24.00 an hour: 3 / 3600 × 24 = 2 cents
    assert json.loads(ran.out)["objective_usd"] == pytest.approx(0.02, abs=1e-9)


@pytest.mark.parametrize("usd", ["1e300", "1e19", "2_000_000", "1e-300", "1e-9"])
def test_a_price_that_no_instance_has_is_refused_and_counted(gpu_opt: GpuOpt, tmp_path: Path, usd: str) -> None:
    rows = (_row(usd=usd), _row("other", usd="30"))
    ran = gpu_opt("plan", _question(tmp_path, "kind: gpu_hours, demand: {H100-SXM: 80}", *rows))
    assert ran.code == 0
    assert "1 × no instance costs that: line 2" in ran.err
    assert "$300.00 effective" in ran.out  # 80 / 8 = 10 h × $30.00


def test_an_upfront_price_that_no_instance_has_is_refused(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    rows = (_row(market="reserved_1y", upfront="1e300"), _row(usd="30"))
    ran = gpu_opt("plan", _question(tmp_path, "kind: gpu_hours, demand: {H100-SXM: 80}", *rows))
    assert ran.code == 0
    assert "1 × no instance costs that upfront: line 2" in ran.err


def test_prices_of_a_day_to_come_are_called_so(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    ran = gpu_opt("plan", _question(tmp_path, "kind: gpu_hours, demand: {H100-SXM: 80}", _row(day="9999-01-01")))
    assert ran.code == 0
    assert "in the future; check as_of" in ran.err
    assert "-" not in ran.err.split("(")[1]


@pytest.mark.parametrize("hours", ["1e-12", "1e10", "1e25"])
def test_gpu_hours_that_cannot_be_planned_are_refused(gpu_opt: GpuOpt, tmp_path: Path, hours: str) -> None:
    ran = gpu_opt("plan", _question(tmp_path, f"kind: gpu_hours, demand: {{H100-SXM: [{hours}]}}"))
    assert ran.code == 2
    assert "w.yaml:5: workloads[0].demand.H100-SXM[0]" in ran.err
    assert "are no demand that can be planned" in ran.err


GPU_HOURS_HEADER = "id,model,params_b,seq_len,tokens_b,gpu,n_gpus,precision,gpu_hours\n"
SERVING_HEADER = "id,model,params_b,gpu,n_gpus,tp,pp,input_len,output_len,concurrency_or_batch,request_rate,tpot_ms\n"


@pytest.mark.parametrize(
    "points",
    [
        GPU_HOURS_HEADER + "a,llama-2-7b,7,1e30,100,H100-SXM,64,bf16,1e4\n",
        GPU_HOURS_HEADER + "a,llama-2-7b,7,1e-30,100,H100-SXM,64,bf16,1e4\n",
        GPU_HOURS_HEADER + "a,llama-2-7b,7,4096,1e308,H100-SXM,64,bf16,1e4\n",
        GPU_HOURS_HEADER + "a,llama-2-7b,7,4096,-1,H100-SXM,64,bf16,1e4\n",
        GPU_HOURS_HEADER + "a,llama-2-7b,7,4096,100,H100-SXM,1e308,bf16,1e4\n",
        GPU_HOURS_HEADER + "a,llama-2-7b,7,4096,100,H100-SXM,0.5,bf16,1e4\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,1,1,1e308,500,200,16,,15\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,1,1,1,1e308,200,16,,15\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,1,1,1,500,1e30,16,,15\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,1,1,1,500,200,1e308,,15\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,1,1,1,500,200,16,1e-30,15\n",
        SERVING_HEADER + "a,llama-2-7b,7,H100-SXM,-1,-1,-1,500,200,16,-5,15\n",
        SERVING_HEADER + "a,nothing-known,1e30,H100-SXM,1,1,1,500,200,16,,15\n",
    ],
)
def test_measured_points_with_absurd_cells_are_predicted_or_skipped(
    gpu_opt: GpuOpt, tmp_path: Path, points: str
) -> None:
    path = tmp_path / "points.csv"
    path.write_text(points, encoding="utf-8")
    ran = gpu_opt("accuracy", path, "--format", "json")
    assert ran.code == 0, ran.err
    assert all(0 < row["predicted"] < 1e12 for row in json.loads(ran.out)["rows"])


def test_a_calibration_nested_too_deep_is_bad_input(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    ran = gpu_opt("plan", _question(tmp_path, "kind: gpu_hours, demand: {H100-SXM: 8}"), "--calibration", path)
    assert ran.code == 2
    assert "not a calibration" in ran.err


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads"])
def test_a_model_config_with_a_number_of_400_digits_is_bad_input(gpu_opt: GpuOpt, tmp_path: Path, key: str) -> None:
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
    (tmp_path / "config.json").write_text(json.dumps({**sizes, key: 10**400}), encoding="utf-8")
    work = "kind: finetune, dataset_tokens: 1M, sequence_length: 512, model: {config: config.json}"
    ran = gpu_opt("plan", _question(tmp_path, work))
    assert ran.code == 2
    assert key in ran.err


def _with_overlay(folder: Path, overlay: str) -> Path:
    path = _question(folder, "kind: gpu_hours, demand: {H100-SXM: 80}")
    (folder / "ours.yaml").write_text(f"version: 1\n{overlay}\n", encoding="utf-8")
    path.write_text(path.read_text().replace("offers.csv,", "offers.csv, overlays: [ours.yaml],"), encoding="utf-8")
    return path


@pytest.mark.parametrize("usd", ["1e30", "1e-30"])
def test_a_private_price_that_no_instance_has_is_refused(gpu_opt: GpuOpt, tmp_path: Path, usd: str) -> None:
    row = "{provider: example, region: us-1, gpu: H100-SXM, gpu_count: 8, market: on_demand, usd_per_instance_hour: %s}"
    ran = gpu_opt("plan", _with_overlay(tmp_path, f"prices: [{row % usd}]"))
    assert ran.code == 2
    assert "ours.yaml:2: prices: no instance costs that." in ran.err


def test_a_discount_that_meets_no_offer_is_told(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    ran = gpu_opt("plan", _with_overlay(tmp_path, "discounts: [{provider: exampel, fraction: 0.5}]"))
    assert ran.code == 0
    assert "warning: a discount of 0.5 for exampel meets no offer." in ran.err


def test_a_quote_that_expired_is_told(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    quote = "{provider: q, region: eu, gpu: H100-SXM, gpu_count: 8, usd_per_gpu_hour: 2, expires: 2026-01-15}"
    ran = gpu_opt("plan", _with_overlay(tmp_path, f"quotes: [{quote}]"))
    assert ran.code == 0
    assert "expired" in ran.err


def test_a_service_alone_in_its_pool_is_planned_as_without_one(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    work = "kind: serve, model: {preset: llama-2-7b}, traffic: {rps: 3}, input_tokens: 200, output_tokens: 50"
    alone = json.loads(gpu_opt("plan", _question(tmp_path, work), "--format", "json").out)
    ran = gpu_opt("plan", _question(tmp_path, f"{work}, pool: chat"), "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["objective_usd"] == alone["objective_usd"]
