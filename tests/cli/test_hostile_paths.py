"""Places that must not be written to: what a question reads is never written over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Ran

GpuOpt = Callable[..., Ran]

OFFERS = """\
provider,region,instance_type,gpu,gpu_count,market,usd_per_instance_hour,as_of,source
example,us-1,h100-8,H100-SXM,8,on_demand,24,2026-12-01,a list
"""
OVERLAY = "version: 1\ndiscounts: [{provider: example, fraction: 0.5}]\n"
WORKLOAD = """\
version: 1
horizon: {start: 2027-01-01, periods: 1, period: quarter}
prices: {file: offers.csv, overlays: [ours.yaml]}
workloads:
  - {name: w, kind: gpu_hours, demand: {H100-SXM: 80}}
"""


@pytest.mark.parametrize("name", ["offers.csv", "ours.yaml", "w.yaml"])
def test_the_plan_is_never_written_over_a_file_that_the_question_reads(
    gpu_opt: GpuOpt, tmp_path: Path, name: str
) -> None:
    (tmp_path / "offers.csv").write_text(OFFERS, encoding="utf-8")
    (tmp_path / "ours.yaml").write_text(OVERLAY, encoding="utf-8")
    (tmp_path / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    before = (tmp_path / name).read_bytes()
    ran = gpu_opt("plan", tmp_path / "w.yaml", "-o", tmp_path / name)
    assert ran.code == 2
    assert f"{name}: is an input of this command." in ran.err
    assert (tmp_path / name).read_bytes() == before
