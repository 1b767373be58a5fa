"""The tool that makes the shipped snapshot."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from gpu_opt_prices.reader import read_offers

PRICES = """\
provider,region,zone,instance_type,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,usd_per_instance_hour,\
upfront_usd,term_months,max_instances,holds_capacity,purchasable,as_of,source,as_of_exact,note
gcp,r,,a2,A100-40GB-SXM,1,40,,,reserved_3y,1.4,0,36,,,true,2025-03-06,google-cloud-pricing-cost-calculator,true,
aws,r,,p5,H100-SXM,8,80,,,capacity_block,31.5,,,,,true,2026-07-22,x ec2-capacity-blocks,true,price per GPU x count
"""
UNUSABLE = """\
provider,region,zone,instance_type,gpu,gpu_count,gpu_mem_gb,vcpus,mem_gb,price_usd_hr,purchase,source,source_date,reason
aws,r,,dl1,Gaudi,8,32,96,768,13.1,on_demand,x zz_generated.pricing_aws.go,2026-07-20,accelerator without a row
"""


@pytest.fixture
def builder() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "build_price_snapshot.py"
    spec = importlib.util.spec_from_file_location("build_price_snapshot", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, prices: str = PRICES) -> Path:
    folder.mkdir()
    (folder / "prices.csv").write_text(prices, encoding="utf-8")
    (folder / "prices_unusable.csv").write_text(UNUSABLE, encoding="utf-8")
    return folder


def test_a_snapshot_is_made_of_the_data_set_and_made_the_same_again(builder: ModuleType, tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    builder.main(data, tmp_path / "one")
    builder.main(data, tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["aws.csv", "gcp.csv", "manifest.json", "unusable.csv"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)
    (block,) = read_offers(tmp_path / "one" / "aws.csv", provider_data=True).offers
    assert (block.holds_capacity, block.source) == (True, "snapshot:aws-capacity-blocks")
    (commitment,) = read_offers(tmp_path / "one" / "gcp.csv", provider_data=True).offers
    assert (commitment.term_months, commitment.holds_capacity) == (36, False)


def test_a_source_or_a_remark_without_words_of_ours_stops_the_build(builder: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no id for the source"):
        builder.main(write(tmp_path / "a", PRICES.replace("ec2-capacity-blocks", "rumour")), tmp_path / "out")
    with pytest.raises(SystemExit, match="no wording for"):
        builder.main(write(tmp_path / "b", PRICES.replace("price per GPU x count", "heard of")), tmp_path / "out")
