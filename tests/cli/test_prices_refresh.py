"""`gpu-opt prices refresh`: the report, the cache over the snapshot, the exit codes."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.contract.fake_http import Answer, Asked, serving

from gpu_opt.cli.main import main

SIZE = "Standard_ND96isr_H100_v5"
KEY = "SECRET-OF-LAMBDA"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    for name in ("LAMBDA_API_KEY", "RUNPOD_API_KEY", "VAST_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def refresh(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["prices", "refresh", *arguments, "--format", "json"])
    out, err = capsys.readouterr()
    return code, json.loads(out)["providers"] if out else [], err


def offers(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, str]]:
    assert main(["offers", *arguments, "--format", "csv"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def azure(price: float, *, failing: tuple[str, ...] = (), regions: tuple[str, ...] = ("eastus", "westus3")) -> Any:
    def respond(asked: Asked) -> Answer:
        wanted = asked.query["$filter"]
        if any(f"'{region}'" in wanted for region in failing):
            return Answer(status=503)
        if "Reservation" in wanted:
            return Answer(json={"Items": [], "NextPageLink": None})
        items = [
            {
                "currencyCode": "USD", "tierMinimumUnits": 0, "retailPrice": price, "armRegionName": region,
                "effectiveStartDate": "2025-01-01T00:00:00Z", "meterName": "m", "productName": "p", "skuName": "s",
                "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "type": "Consumption",
                "armSkuName": size,
            }
            for region in regions
            for size in (SIZE, "Standard_ND1_unknown")
            if "armRegionName" not in wanted or f"'{region}'" in wanted
        ]  # fmt: skip
        return Answer(json={"Items": items, "NextPageLink": None})

    return respond


def test_a_region_that_answered_replaces_its_rows_and_the_rest_stay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {(r["region"], r["instance_type"], r["market"]): r for r in offers(capsys, "--provider", "azure")}
    in_eastus = sum(region == "eastus" for region, _, _ in before)
    with serving(azure(90.0)) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, (report,), _ = refresh(capsys, "--provider", "azure", "--region", "eastus")
    assert code == 0
    assert (report["new"], report["changed"], report["gone"]) == (0, 1, in_eastus - 1)
    assert report["kept"] == len(before) - in_eastus
    assert report["refused"] == {"the size is in no size table: its GPUs are unknown": 1}
    after = offers(capsys, "--provider", "azure")
    (row,) = [r for r in after if r["region"] == "eastus"]
    assert (row["instance_type"], row["usd_per_instance_hour"]) == (SIZE, "90")
    assert row["as_of"] == datetime.now(UTC).date().isoformat()
    assert not row["source"].startswith("snapshot:")
    assert all(r["source"].startswith("snapshot:") for r in after if r["region"] != "eastus")


def test_a_refresh_of_all_regions_drops_the_snapshot_and_a_failed_region_keeps_its_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(azure(90.0, failing=("uksouth",))) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, (report,), _ = refresh(capsys, "--provider", "azure")
    assert code == 0
    assert list(report["failed_regions"]) == ["uksouth"]
    rows = offers(capsys, "--provider", "azure")
    assert {r["region"] for r in rows} == {"eastus", "westus3", "uksouth"}
    assert {r["source"] for r in rows if r["region"] == "uksouth"} == {"snapshot:karpenter-azure"}


def test_a_region_that_fails_later_keeps_what_it_had(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(azure(90.0)) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        refresh(capsys, "--provider", "azure", "--region", "eastus", "--region", "westus3")
    with serving(azure(80.0, failing=("westus3",))) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, (report,), _ = refresh(capsys, "--provider", "azure", "--region", "eastus", "--region", "westus3")
    assert (code, list(report["failed_regions"])) == (0, ["westus3"])
    prices = {r["region"]: r["usd_per_instance_hour"] for r in offers(capsys, "--instance-type", SIZE)}
    assert (prices["eastus"], prices["westus3"]) == ("80", "90")


@pytest.mark.parametrize("answer", [Answer(json={"Items": []}), Answer(raw=b"<"), Answer(status=500), Answer(json=3)])
def test_a_provider_that_gives_nothing_keeps_all_its_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    before = offers(capsys, "--provider", "azure")
    with serving(lambda asked: answer) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, (report,), _ = refresh(capsys, "--provider", "azure", "--region", "eastus")
    assert code == 0
    assert report["error"]
    assert report["usable_rows"] == len(before)
    assert offers(capsys, "--provider", "azure") == before


def test_one_provider_that_fails_does_not_cost_the_others_theirs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(azure(90.0)) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, reports, _ = refresh(
            capsys, "--provider", "lambda", "--provider", "azure", "--region", "eastus"
        )  # fmt: skip
    assert code == 0
    assert [(r["provider"], bool(r["error"])) for r in reports] == [("lambda", True), ("azure", False)]
    assert "LAMBDA_API_KEY" in reports[0]["error"]


def test_a_provider_left_without_a_row_is_exit_7(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_opt_prices.effective.snapshot_offers", lambda provider: ())
    code, _, err = refresh(capsys, "--provider", "lambda")
    assert code == 7
    assert "no usable rows, new or kept: lambda" in err


def test_a_key_is_in_no_report_and_in_no_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    types = {
        "gpu_8x_h100_sxm5": {
            "instance_type": {"name": "gpu_8x_h100_sxm5", "price_cents_per_hour": 3000, "description": KEY},
            "regions_with_capacity_available": [],
        }
    }
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    with serving(lambda asked: Answer(json={"data": types})) as service:
        monkeypatch.setenv("GPU_OPT_LAMBDA_ENDPOINT", service.address)
        assert main(["prices", "refresh", "--provider", "lambda"]) == 0
    said = capsys.readouterr()
    assert KEY not in said.out + said.err
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert any(path.suffix == ".json" for path in files)
    assert not any(KEY in path.read_text(encoding="utf-8") for path in files)


def test_providers_without_an_adapter_are_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = refresh(capsys, "--provider", "coreweave", "--provider", "azur")
    assert code == 2
    assert "refreshing coreweave is not supported yet: it has no price interface" in err
    assert "Did you mean azure?" in err


def test_an_answer_that_breaks_an_adapter_is_reported_and_costs_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(self: object, request: object) -> None:
        raise AttributeError("x")

    monkeypatch.setattr("gpu_opt_providers.azure.Azure.fetch_raw", breaks)
    code, (report,), _ = refresh(capsys, "--provider", "azure", "--region", "eastus")
    assert code == 0
    assert report["error"] == "its answer can't be understood (AttributeError)"


def test_the_report_for_people_names_what_was_refused_failed_and_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = azure(90.0, failing=("westus3",))

    def without_reservations(asked: Asked) -> Answer:
        return Answer(status=404) if "Reservation" in asked.query["$filter"] else answers(asked)

    with serving(without_reservations) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        assert main(["prices", "refresh", "--provider", "azure", "--region", "eastus", "--region", "westus3"]) == 0
    out = capsys.readouterr().out
    assert "1 changed" in out
    assert "  refused: 1 × the size is in no size table: its GPUs are unknown" in out
    assert "  failed: westus3: it answered HTTP 503; its old rows stay" in out
    assert "  not read: eastus reserved_1y: reservations: it answered HTTP 404; its old rows stay" in out
    main(["prices", "show", "--provider", "azure"])
    assert "refused: 1 × the size is in no size table" in capsys.readouterr().out


def test_a_region_that_the_answer_does_not_have_is_a_failure_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(azure(90.0)) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, (report,), _ = refresh(capsys, "--provider", "azure", "--region", "eastus", "--region", "eastuss")
    assert code == 0
    assert report["failed_regions"] == {"eastuss": "the answer has no usable row of it"}


def test_a_damaged_cache_is_named_and_written_anew(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache" / "prices").mkdir(parents=True)
    (tmp_path / "cache" / "prices" / "azure.json").write_text("{", encoding="utf-8")
    with serving(azure(90.0)) as service:
        monkeypatch.setenv("GPU_OPT_AZURE_ENDPOINT", service.address)
        code, _, err = refresh(capsys, "--provider", "azure", "--region", "eastus")
    assert code == 0
    assert "azure is damaged" in err
    assert len(offers(capsys, "--provider", "azure", "--region", "eastus")) == 1
