"""`gpu-opt offers`."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest

from gpu_opt.cli.main import main


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path / "cache"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["offers", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_csv_prints_the_offers_in_effect_and_reads_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 4658
    assert all(row["source"].startswith("snapshot:") for row in rows)
    path = tmp_path / "offers.csv"
    path.write_text(out, encoding="utf-8")
    code, again, err = run(capsys, "--prices", str(path), "--format", "csv")
    assert (code, again, err) == (0, out, "")


def test_the_hash_is_that_of_the_csv(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--format", "csv")[1]
    document = json.loads(run(capsys, "--format", "json", "--limit", "1")[1])
    assert document["prices"]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert document["prices"]["as_of"] == "2026-08-19"


def test_the_cheapest_comes_first_and_filters_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--gpu", "H100*", "--market", "on_demand", "--provider", "aws", "--region", "us-*")
    document = json.loads(run(capsys, *arguments, "--format", "json")[1])
    offers = document["offers"]
    prices = [offer["usd_per_gpu_hour"] for offer in offers]
    assert prices == sorted(prices)
    assert {offer["provider"] for offer in offers} == {"aws"}
    assert all(offer["gpu"].startswith("H100") and offer["region"].startswith("us-") for offer in offers)
    # 55.04 USD / 8 GPUs; 989.4 TFLOP/s and 80 GiB each
    p5 = next(offer for offer in offers if offer["offer"] == "aws/us-east-1/p5.48xlarge/on_demand")
    assert p5["usd_per_gpu_hour"] == pytest.approx(6.88)
    assert p5["usd_per_tflop_hour"] == pytest.approx(6.88 / 989.4, rel=0.01)
    assert p5["usd_per_gib_hour"] == pytest.approx(0.086)


def test_nothing_dearer_than_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, "--max-usd-per-gpu-hour", "0.2", "--format", "json")[1])
    assert document["offers"]
    assert all(offer["usd_per_gpu_hour"] <= 0.2 for offer in document["offers"])


def test_a_table_leaves_out_what_cannot_be_bought_unless_all_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--gpu", "T4", "--region", "us-gov-*")
    assert "us-gov" not in run(capsys, *arguments)[1]
    assert "not purchasable" in run(capsys, *arguments, "--all")[1]


def test_names_that_nothing_has_are_errors_with_the_nearest_all_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--gpu", "H1000", "--provider", "awss", "--market", "sopt", "--region", "us-est-1")
    assert (code, out) == (2, "")
    assert "Did you mean aws?" in err
    assert "Did you mean spot?" in err
    assert "Did you mean us-east-1?" in err
    assert "the GPU 'H1000' is unknown" in err


def test_refused_rows_are_counted_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    header = "provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,as_of\n"
    path = tmp_path / "f.csv"
    path.write_text(header + "a,r,x,L4,1,spot,0.5,2026-08-01\na,r,y,L4,1,spot,0,2026-08-01\n", encoding="utf-8")
    code, out, err = run(capsys, "--prices", str(path), "--format", "csv")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "1 row refused" in err
    assert "1 × the price is zero and nothing is paid upfront: line 3 (0)" in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, 2),
        ("provider,region\n", 2),
        ("provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour\na,r,x,H1OO,1,spot,1\n", 2),
        ("provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour\na,r,x,L4,1,spot,0\n", 6),
    ],
)
def test_exit_codes_of_unusable_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | None, expected: int
) -> None:
    path = tmp_path / "f.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert run(capsys, "--prices", str(path))[0] == expected


def test_text_from_a_file_is_neutralised_in_csv_markdown_and_on_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "f.csv"
    header = "provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,as_of\n"
    path.write_text(header + "a,+r|<b>,=1+1|x,L4,1,spot,0.5,2026-08-01\n", encoding="utf-8")
    assert "a,'+r|<b>,,'=1+1|x," in run(capsys, "--prices", str(path), "--format", "csv")[1]
    markdown = run(capsys, "--prices", str(path), "--format", "md")[1]
    assert "+r\\|&lt;b&gt;" in markdown
    assert markdown.splitlines()[2].replace("\\|", "").count("|") == 15
