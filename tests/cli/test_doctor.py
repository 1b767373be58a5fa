"""`gpu-opt doctor`."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

from gpu_opt.cli import doctor


def states(ran):
    return {finding["name"]: finding["state"] for finding in json.loads(ran.out)["findings"]}


def details(ran):
    return {finding["name"]: finding["detail"] for finding in json.loads(ran.out)["findings"]}


@pytest.fixture
def without(monkeypatch):
    """Makes distributions look as if they were not installed."""

    def hide(*names):
        def found(name):
            if name in names:
                raise PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr("importlib.metadata.version", found)

    return hide


def test_a_sound_installation_has_nothing_broken(gpu_opt):
    ran = gpu_opt("doctor", "--format", "json")
    assert ran.code == 0
    assert set(states(ran).values()) == {"ok"}
    assert details(ran)["HiGHS"].endswith("solves")


def test_the_table_has_one_line_a_finding(gpu_opt):
    table, document = gpu_opt("doctor"), gpu_opt("doctor", "--format", "json")
    assert [line.split()[0] for line in table.out.splitlines()] == list(states(document))


def test_the_solver_greets_nobody_on_stdout():
    command = [sys.executable, "-m", "gpu_opt.cli", "doctor", "--format", "json"]
    out = subprocess.run(command, capture_output=True, check=True).stdout
    assert json.loads(out)["schema"] == "gpu-opt/doctor/1"


def test_an_extra_that_is_not_installed_is_named_with_its_remedy(gpu_opt, without):
    without("google-cloud-billing")
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["[gcp]"]) == (0, "absent")
    assert details(ran)["[gcp]"] == "not installed: pip install 'gpu-opt[gcp]'"


def test_a_missing_library_is_a_failed_check(gpu_opt, without):
    without("pydantic")
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["pydantic"]) == (5, "broken")


def test_a_solver_that_cannot_start_is_a_failed_check(gpu_opt, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["HiGHS"]) == (5, "broken")


def test_a_solver_that_answers_wrongly_is_a_failed_check(gpu_opt, monkeypatch):
    import highspy

    monkeypatch.setattr(highspy.Highs, "maximize", lambda *_: None)
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["HiGHS"]) == (5, "broken")


def test_a_cache_that_is_a_file_is_a_failed_check(gpu_opt, monkeypatch, tmp_path):
    cache = tmp_path / "cache"
    cache.write_text("")
    monkeypatch.setenv("GPU_OPT_CACHE", str(cache))
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["cache"]) == (5, "broken")
    assert details(ran)["cache"] == f"{cache} is not a folder: set GPU_OPT_CACHE to one"


def test_an_existing_cache_folder_is_shown(gpu_opt, monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path))
    assert details(gpu_opt("doctor", "--format", "json"))["cache"] == str(tmp_path)


def test_a_read_only_cache_is_a_failed_check(gpu_opt, monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_OPT_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["cache"]) == (5, "broken")


def test_no_offers_at_all_is_a_failed_check(gpu_opt, monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setattr("gpu_opt_prices.effective.default_offers", lambda _: SimpleNamespace(offers=()))
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, states(ran)["prices"]) == (5, "broken")


def test_unusable_prices_are_a_failed_check(gpu_opt, monkeypatch):
    from gpu_opt.errors import PriceDataError

    def fail(_):
        raise PriceDataError("the snapshot is damaged")

    monkeypatch.setattr("gpu_opt_prices.effective.default_offers", fail)
    ran = gpu_opt("doctor", "--format", "json")
    assert (ran.code, details(ran)["prices"]) == (5, "the snapshot is damaged")
