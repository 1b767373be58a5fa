"""`gpu-opt prices`: everything but refresh, which has its own file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from gpu_opt.cli.main import main

HEADER = "provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,as_of\n"


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path / "cache"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["prices", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def price_file(tmp_path: Path, *rows: str, name: str = "f.csv") -> str:
    path = tmp_path / name
    path.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_show_tells_coverage_age_and_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show")
    assert code == 0
    assert "4658 offers, sha256 " in out
    assert "gap: aws compute savings plans: sold, and no price is known here" in out
    assert "p5, p5en" in out
    document = json.loads(run(capsys, "show", "--format", "json")[1])
    spot = next(r for r in document["coverage"] if (r["provider"], r["market"]) == ("azure", "spot"))
    assert (spot["offers"], spot["newest_as_of"]) == (72, "2025-01-01")


def test_show_of_one_provider(capsys: pytest.CaptureFixture[str]) -> None:
    assert "azure" not in run(capsys, "show", "--provider", "lambda")[1]
    code, _, err = run(capsys, "show", "--provider", "lamda")
    assert code == 2
    assert "Did you mean lambda?" in err


def test_verify_holds_for_the_snapshot(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "verify")
    assert code == 0
    assert "4658 offers: 0 rows refused, 0 errors" in out


def test_verify_fails_where_a_row_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = "a,r,x,L4,1,on_demand,1,2026-08-01", "a,r,x,L4,1,spot,1.5,2026-08-01"
    assert run(capsys, "verify", "--prices", price_file(tmp_path, good))[0] == 0
    code, out, err = run(capsys, "verify", "--prices", price_file(tmp_path, good, bad))
    assert code == 5
    assert "1 offers: 1 rows refused, 0 errors, 0 warnings." in out
    assert "spot costs more than on-demand: line 3 (1.5)" in err


def test_freeze_writes_what_its_hash_says_and_nothing_over_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "frozen.csv"
    code, out, _ = run(capsys, "freeze", str(path))
    assert code == 0
    assert out.split()[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert run(capsys, "freeze", str(path))[0] == 2
    assert run(capsys, "freeze", str(path), "--force")[0] == 0


def test_import_puts_a_file_over_the_snapshot_by_region(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = price_file(tmp_path, "coreweave,us-east,hgx-h100,H100,8,on_demand,17.6,2026-09-01")
    code, out, _ = run(capsys, "import", path)
    assert (code, out) == (0, "coreweave: 1 offers of 1 regions; 1 kept, 1 new, 0 changed, 0 gone.\n")
    main(["offers", "--provider", "coreweave", "--format", "csv"])
    assert "coreweave,us-east,,hgx-h100,H100-SXM,8," in capsys.readouterr().out
    assert "coreweave" in run(capsys, "diff", "snapshot", "current")[1]


def test_diff_names_new_gone_and_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = price_file(tmp_path, "a,r,x,L4,1,spot,0.5,2026-08-01", "a,r,y,L4,1,spot,0.5,2026-08-01", name="b.csv")
    after = price_file(tmp_path, "a,r,x,L4,1,spot,0.4,2026-09-01", "a,r,z,L4,1,spot,0.5,2026-08-01", name="a.csv")
    out = run(capsys, "diff", before, after)[1]
    assert "a/r/x/spot  0.5000  0.4000  -20.0%" in out
    assert "new: a/r/z/spot at 0.5000" in out
    assert "gone: a/r/y/spot at 0.5000" in out
    assert "0 kept, 1 new, 1 changed, 1 gone." in out
    document = json.loads(run(capsys, "diff", before, after, "--format", "json")[1])
    assert document["changed"] == [{"offer": "a/r/x/spot", "before": 0.5, "after": 0.4}]


def test_history_begins_with_the_first_import(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "history", "--provider", "mine")
    assert code == 6
    assert "no history of mine yet" in err
    path = price_file(tmp_path, "mine,r,x,L4,2,spot,0.5,2026-08-01", "mine,r,y,L4,1,spot,0.4,2026-08-01")
    run(capsys, "import", path)
    document = json.loads(run(capsys, "history", "--provider", "mine", "--gpu", "L4", "--format", "json")[1])
    # 0.5 USD over 2 GPUs is cheaper than 0.4 over one
    (row,) = document["rows"]
    assert (row["gpu"], row["market"], row["usd_per_gpu_hour"], row["offer"]) == ("L4", "spot", 0.25, "mine/r/x/spot")
