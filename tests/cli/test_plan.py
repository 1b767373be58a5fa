"""`gpu-opt plan`, end to end on small files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conftest import Ran

from gpu_opt.errors import NoPlanInTime

GpuOpt = Callable[..., Ran]

# 82.8e9 tokens at 230,000 a second are 100 h × $23.60 = $2,360.00; at 100,000 a second 230 h × $22.32 = $5,133.60.
OFFERS = """\
provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,as_of,source
example,us-1,h100-8,H100-SXM,8,on_demand,23.60,2026-12-01,a list
example,us-1,a100-8,A100-80GB-SXM,8,on_demand,22.32,2026-12-01,a list
"""
WORKLOAD = """\
version: 1
horizon: {start: 2027-01-01, periods: 1, period: quarter}
prices: {file: offers.csv}
workloads:
  - name: tune-13b
    kind: finetune
    model: {preset: llama-2-13b}
    method: full
    dataset_tokens: 82.8e9
    sequence_length: 4096
    measured:
      - {gpu: H100-SXM, gpus: 8, tokens_per_second: 230_000, basis: effective}
      - {gpu: A100-80GB-SXM, gpus: 8, tokens_per_second: 100_000, basis: effective}
    only_measured: true
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A workload file beside its price file."""
    (tmp_path / "offers.csv").write_text(OFFERS, encoding="utf-8")
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD, encoding="utf-8")
    return path


def test_the_dearer_machine_that_is_fast_enough_to_be_cheaper_wins(gpu_opt: GpuOpt, workload: Path) -> None:
    ran = gpu_opt("plan", workload)
    assert ran.code == 0
    answer = ran.out.split("\n\n")[0]
    assert len(answer.splitlines()) <= 12
    assert "tune-13b: rent 1 × h100-8 (8 × H100-SXM, on demand) at example/us-1, 100 instance-hours" in answer
    assert "$2,360 effective for 2027-Q1" in answer
    # 5,133.60 - 2,360 = 2,773.60 more; at 2,360 / 230 h = $10.26 an hour it would win
    assert "example/us-1/a100-8/on_demand for tune-13b: $2,774 more" in answer
    assert "wins below $10.26 per instance-hour, now $22.32" in answer
    assert "optimal for these inputs" in answer
    assert "prices: newest of 2026-12-01" in ran.err


def test_json_is_the_contracts_and_the_same_bytes_each_time(gpu_opt: GpuOpt, workload: Path) -> None:
    first, second = gpu_opt("plan", workload, "--format", "json"), gpu_opt("plan", workload, "--format", "json")
    assert first.out == second.out
    document = json.loads(first.out)
    assert document["schema"] == "gpu-opt/plan/1"
    assert (document["status"], document["certified"], document["verified"]) == ("optimal", True, True)
    assert document["objective_usd"] == 2360.0
    assert sum(line["usd"] for line in document["cost_lines"]) == pytest.approx(2360.0, abs=0.005)
    assert document["prices"]["oldest_as_of"] == "2026-12-01"


def test_the_plan_is_written_as_it_is_printed(gpu_opt: GpuOpt, workload: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("older", encoding="utf-8")
    ran = gpu_opt("plan", workload, "--format", "json", "-o", path)
    assert path.read_text(encoding="utf-8") == ran.out
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_the_file_may_be_a_pipe_or_a_device(gpu_opt: GpuOpt, workload: Path) -> None:
    assert gpu_opt("plan", workload, "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("form", ["md", "html", "csv", "focus"])
def test_other_forms_are_the_same_bytes_each_time(gpu_opt: GpuOpt, workload: Path, form: str) -> None:
    first = gpu_opt("plan", workload, "--format", form)
    assert first.code == 0
    assert first.out == gpu_opt("plan", workload, "--format", form).out
    starts = {"md": "# GPU plan\n", "html": "<!doctype html>", "csv": "period,workload,", "focus": "BillingAccountId,"}
    assert first.out.startswith(starts[form])


def test_focus_rows_add_up_to_the_cost(gpu_opt: GpuOpt, workload: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(gpu_opt("plan", workload, "--format", "focus").out)))
    assert sum(float(row["EffectiveCost"]) for row in rows) == pytest.approx(2360.0)


def test_a_value_can_be_set_over_the_file(gpu_opt: GpuOpt, workload: Path) -> None:
    ran = gpu_opt("plan", workload, "--set", "workloads[0].dataset_tokens=8.28e9", "--format", "json")
    assert json.loads(ran.out)["objective_usd"] == 236.0


def test_whole_hours_round_up(gpu_opt: GpuOpt, workload: Path) -> None:
    # 8.4e9 tokens take 10.145 h: eleven whole hours at $23.60
    ran = gpu_opt("plan", workload, "--set", "workloads[0].dataset_tokens=8.4e9", "--whole-hours", "--format", "json")
    assert json.loads(ran.out)["objective_usd"] == pytest.approx(259.6)


def test_other_prices_stand_in_for_the_files_own(gpu_opt: GpuOpt, workload: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(OFFERS.replace("23.60", "30.00"), encoding="utf-8")
    assert json.loads(gpu_opt("plan", workload, "--prices", other, "--format", "json").out)["objective_usd"] == 3000.0


def test_an_impossible_deadline_is_infeasible_in_words_and_in_json(
    gpu_opt: GpuOpt, workload: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    ran = gpu_opt("plan", workload, "--set", "workloads[0].deadline=2d", "--format", "json", "-o", path)
    assert ran.code == 3
    assert "No plan meets all of this:" in ran.err
    assert "tune-13b" in ran.err
    document = json.loads(ran.out)
    assert (document["schema"], document["status"]) == ("gpu-opt/plan/1", "infeasible")
    assert document["conflict"]
    assert json.loads(path.read_text(encoding="utf-8")) == document


def test_a_conflict_of_limits_comes_with_its_cheapest_repair(gpu_opt: GpuOpt, workload: Path) -> None:
    ran = gpu_opt("plan", workload, "--set", "limits.budget.total_usd=2000")
    assert ran.code == 3
    assert ran.out == ""
    assert "the total budget" in ran.err
    assert "The cheapest ways out" in ran.err
    assert "$2,360" in ran.err


def test_prices_older_than_the_file_allows_are_an_error(gpu_opt: GpuOpt, workload: Path, tmp_path: Path) -> None:
    old = datetime.now(UTC).date() - timedelta(days=30)
    (tmp_path / "offers.csv").write_text(OFFERS.replace("2026-12-01", old.isoformat()), encoding="utf-8")
    text = WORKLOAD.replace("offers.csv}", "offers.csv, max_age_days: {on_demand: 20}}")
    workload.write_text(text, encoding="utf-8")
    ran = gpu_opt("plan", workload)
    assert ran.code == 6
    assert "example on_demand: 2 prices" in ran.err
    assert "30 days, limit 20" in ran.err
    workload.write_text(text.replace("20}", "40}"), encoding="utf-8")
    assert gpu_opt("plan", workload).code == 0


@pytest.mark.parametrize("option", ["--fund", "--cvar", "--regret"])
def test_what_is_not_built_yet_is_refused_by_name(gpu_opt: GpuOpt, workload: Path, option: str) -> None:
    ran = gpu_opt("plan", workload, option)
    assert ran.code == 2
    assert f"{option}: not supported yet" in ran.err


LORA = ("--model", "llama-3.1-8b", "--train", "lora")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is no question"),
        (("missing.yaml",), "missing.yaml"),
        (("--model", "llama-3.1-8b"), "--train or --serve: neither is asked for."),
        (LORA, "how many tokens?"),
        (("--model", "lama-3.1-8b", "--train", "lora", "--tokens", "1B"), "Did you mean llama-3.1-8b?"),
        ((*LORA, "--tokens", "many"), "--tokens many"),
        (
            (*LORA, "--tokens", "1B", "--provider", "lamda"),
            "Did you mean lambda?",
        ),
        ((*LORA, "--tokens", "1B", "--gpu", "H1000"), "--gpu H1000"),
        ((*LORA, "--tokens", "1B", "--by", "soon"), "--by soon"),
        ((*LORA, "--tokens", "1B", "--have", "x"), "--have x"),
        ((*LORA, "--tokens", "1B", "--set", "nonsense"), "path=value"),
        (("--gap", "nan"), "--gap"),
        (("--gap", "-1"), "--gap"),
        (("--time-limit", "0"), "--time-limit"),
        (("--format", "pdf"), "--format"),
    ],
)
def test_whatever_is_mistyped_gets_a_message_and_exit_2(gpu_opt: GpuOpt, arguments: tuple[str, ...], said: str) -> None:
    ran = gpu_opt("plan", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err


def test_a_provider_that_nobody_has_heard_of_is_told_beside_the_conflict(gpu_opt: GpuOpt) -> None:
    ran = gpu_opt("plan", *ASKED, "--provider", "my-cloud")
    assert ran.code == 3
    assert "my-cloud" in ran.err.splitlines()[0]


def test_options_beside_a_file_are_refused(gpu_opt: GpuOpt, workload: Path) -> None:
    ran = gpu_opt("plan", workload, "--tokens", "1B", "--write", "x.yaml")
    assert ran.code == 2
    assert "--tokens, --write" in ran.err


@pytest.mark.parametrize("place", ["no/such/folder/plan.json", "."])
def test_a_place_that_cannot_be_written_is_named_before_the_work(
    gpu_opt: GpuOpt, workload: Path, tmp_path: Path, place: str
) -> None:
    ran = gpu_opt("plan", workload, "-o", tmp_path / place)
    assert ran.code == 2
    assert ran.out == ""


def test_no_plan_within_the_time_limit_is_exit_4(
    gpu_opt: GpuOpt, workload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: object) -> None:
        raise NoPlanInTime("no plan was found within 1 s.")

    monkeypatch.setattr("gpu_opt.pipeline.plan", slow)
    ran = gpu_opt("plan", workload, "--time-limit", "1")
    assert (ran.code, ran.out) == (4, "")
    assert "no plan was found within 1 s." in ran.err


def test_a_plan_is_never_written_over_its_own_workload(gpu_opt: GpuOpt, workload: Path) -> None:
    ran = gpu_opt("plan", workload, "-o", workload)
    assert ran.code == 2
    assert workload.read_text(encoding="utf-8") == WORKLOAD


def test_a_price_file_without_usable_rows_is_exit_6(gpu_opt: GpuOpt, workload: Path, tmp_path: Path) -> None:
    (tmp_path / "offers.csv").write_text(OFFERS.replace("23.60", "0").replace("22.32", "-1"), encoding="utf-8")
    assert gpu_opt("plan", workload).code == 6


ASKED = ("--model", "llama-3.1-8b", "--train", "lora", "--tokens", "20M", "--by", "2w")
NEAR = ("--provider", "aws", "--region", "us-east-1", "--gpu", "H100*")


def test_a_question_by_options_is_answered_from_the_shipped_prices(gpu_opt: GpuOpt) -> None:
    ran = gpu_opt("plan", *ASKED, *NEAR)
    assert ran.code == 0
    assert "at aws/us-east-1" in ran.out
    assert "lora-llama-3.1-8b" in ran.out


def test_the_question_is_kept_as_a_file_that_plans_the_same(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    path = tmp_path / "kept.yaml"
    asked = gpu_opt("plan", *ASKED, *NEAR, "--write", path, "--format", "csv")
    assert asked.code == 0
    assert gpu_opt("plan", path, "--format", "csv").out == asked.out


def test_a_kept_question_is_never_written_over_another_file(gpu_opt: GpuOpt, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("# mine\n", encoding="utf-8")
    ran = gpu_opt("plan", *ASKED, *NEAR, "--write", path)
    assert ran.code == 2
    assert path.read_text(encoding="utf-8") == "# mine\n"


def test_what_one_has_without_a_price_is_used_first_and_shown_as_paid(gpu_opt: GpuOpt) -> None:
    ran = gpu_opt("plan", *ASKED, *NEAR, "--have", "1xp5.48xlarge@us-east-1:2027-08-31")
    assert ran.code == 0
    assert "already paid" in ran.out
    assert "$0.00 effective" in ran.out


def test_a_discount_lowers_the_cost_by_its_fraction(gpu_opt: GpuOpt) -> None:
    full = json.loads(gpu_opt("plan", *ASKED, *NEAR, "--format", "json").out)
    less = json.loads(gpu_opt("plan", *ASKED, *NEAR, "--discount", "aws=0.42", "--format", "json").out)
    assert less["objective_usd"] == pytest.approx(full["objective_usd"] * 0.58, abs=0.02)
