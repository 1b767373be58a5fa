"""Overlays: discounts, private prices and quotes, from their own file or written out in the workload file."""

from datetime import date

import pytest

from gpu_opt.domain.offer import Market
from gpu_opt.domain.overlay import Discount, PriceRow, Quote
from gpu_opt.errors import InputError
from gpu_opt.workload_file.overlay import load_overlay, overlays_of
from gpu_opt.workload_file.reader import load

ALL = """\
version: 1
discounts: [{provider: aws, instance_types: ["p5.*"], regions: ["us-*"], markets: [on_demand], fraction: 0.42}]
prices:
  - {provider: coreweave, region: us-east, instance_type: hgx-h100, gpu: H100, gpu_count: 8,
     usd_per_instance_hour: 17.6}
quotes:
  - {provider: nebius, region: eu-north1, gpu: H100-SXM, gpu_count: 8, usd_per_gpu_hour: 2.05, min_instances: 4,
     max_instances: 32, term_months: 12, prepay_fraction: 0.2, available_from: 2027-02-01, expires: 2027-01-15}
"""
WORKLOADS = "workloads: [{name: a, kind: gpu_hours, demand: {H100: 5}}]\n"


def written(tmp_path, text, name="o.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_overlay_holds_discounts_prices_and_quotes(tmp_path):
    overlay = load_overlay(written(tmp_path, ALL), label="o.yaml")
    assert overlay.discounts == (
        Discount(
            provider="aws",
            instance_types=("p5.*",),
            regions=("us-*",),
            markets=(Market.ON_DEMAND,),
            discount_fraction=0.42,
        ),
    )
    assert overlay.prices == (
        PriceRow(
            provider="coreweave",
            region="us-east",
            instance_type="hgx-h100",
            gpu="H100-SXM",
            gpu_count=8,
            usd_per_instance_hour=17.6,
            where="o.yaml:4",
        ),
    )
    assert overlay.quotes == (
        Quote(
            provider="nebius",
            region="eu-north1",
            gpu="H100-SXM",
            gpu_count=8,
            usd_per_gpu_hour=2.05,
            min_instances=4,
            max_instances=32,
            term_months=12,
            prepay_fraction=0.2,
            available_from=date(2027, 2, 1),
            expires=date(2027, 1, 15),
            where="o.yaml:7",
        ),
    )


ROW = "provider: a, region: b, gpu: H100, gpu_count: 8"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it holds no keys."),
        ("discounts: []", "`version` is missing."),
        ("version: 1\ndiscount: []", "o.yaml:2: discount: unknown key 'discount'. Did you mean discounts?"),
        ("version: 1\ndiscounts: [{fraction: 42}]", "o.yaml:2: discounts[0].fraction: '42' is out of range."),
        ("version: 1\ndiscounts: [{markets: [spto], fraction: 0.4}]", "Did you mean spot?"),
        (f"version: 1\nprices: [{{{ROW}}}]", "it needs exactly one price."),
        (f"version: 1\nprices: [{{{ROW}, usd_per_gpu_hour: 0}}]", "'0' is out of range. It must be more than 0."),
        (f"version: 1\nprices: [{{{ROW}x, usd_per_gpu_hour: 2}}]", "gpu_count: '8x' is not a number."),
        ("version: 1\nprices: [{provider: a, region: b, gpu: H10O, gpu_count: 8, usd_per_gpu_hour: 2}]", "unknown GPU"),
        (f"version: 1\nquotes: [{{{ROW}, usd_per_gpu_hour: 2, prepay_fraction: 0.5}}]", "Add term_months."),
        (
            f"version: 1\nquotes: [{{{ROW}, usd_per_gpu_hour: 2, min_instances: 4, max_instances: 2}}]",
            "min_instances 4 exceeds max_instances 2.",
        ),
    ],
)
def test_a_wrong_overlay_is_told_at_its_line(tmp_path, text, said):
    with pytest.raises(InputError) as error:
        load_overlay(written(tmp_path, text))
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "o.yaml"))


def test_overlays_come_from_files_beside_the_workload_file_and_from_the_file_itself(tmp_path):
    written(tmp_path, ALL)
    inline = "prices:\n  overlays:\n    - o.yaml\n    - {discounts: [{provider: gcp, fraction: 10%}]}\n"
    file = load(written(tmp_path, f"version: 1\n{inline}{WORKLOADS}", "w.yaml"))
    first, second = overlays_of(file)
    assert first.prices[0].where == "o.yaml:4"
    assert second.discounts == (Discount(provider="gcp", discount_fraction=0.1),)


def test_problems_of_all_overlays_are_told_at_once(tmp_path):
    written(tmp_path, "version: 1\nquots: []\n")
    inline = (
        "prices:\n  overlays:\n    - o.yaml\n    - {discounts: [{provider: gcp, fraction: 0}]}\n    - absent.yaml\n"
    )
    file = load(written(tmp_path, f"version: 1\n{inline}{WORKLOADS}", "w.yaml"))
    with pytest.raises(InputError) as error:
        overlays_of(file)
    first, second, third = (str(problem).replace(f"{tmp_path}/", "") for problem in error.value.problems)
    assert first.startswith("o.yaml:2: quots: unknown key")
    assert second.startswith("w.yaml:5: prices.overlays[1].discounts[0].fraction: '0' is out of range.")
    assert third.startswith("absent.yaml: can't be read")
