"""Shapes of instance types and of systems."""

from __future__ import annotations

import pytest

from gpu_opt.domain.hardware import Shape
from gpu_opt.hardware import (
    UnknownName,
    find_system,
    load_accelerators,
    load_systems,
    shape_of,
    shape_table,
    system_shape,
)
from gpu_opt.hardware._tables import rows

TABLE = shape_table()


def test_an_hgx_instance_has_nvlink_among_eight_and_its_fabric() -> None:
    shape = shape_of("aws", "p5.48xlarge", "H100-SXM", 8)
    assert shape.name == "8xH100-SXM nvlink8 3200Gbps rdma"
    assert (shape.scaleup_domain_gpus, shape.scaleup_gb_per_second, shape.network_gbps) == (8, 450, 3200)
    assert (shape.vcpus, shape.host_memory_gib, shape.rdma, shape.origin) == (192, 2048, True, "table")


@pytest.mark.parametrize(
    ("instance_type", "gpu", "gbps"),
    [
        ("a3-highgpu-8g", "H100-SXM", 800),  # 4 x 200, and 200 for the host
        ("a3-megagpu-8g", "H100-SXM", 1600),  # 8 x 200, and 200 for the host
        ("a3-ultragpu-8g", "H200-SXM", 3200),
        ("a4-highgpu-8g", "B200-SXM", 3200),
    ],
)
def test_the_network_is_that_between_gpus_without_the_hosts_own(instance_type: str, gpu: str, gbps: float) -> None:
    assert shape_of("gcp", instance_type, gpu, 8).network_gbps == gbps


@pytest.mark.parametrize(
    ("provider", "instance_type", "gpu", "count"),
    [
        ("aws", "g4dn.12xlarge", "T4", 4), ("aws", "g5.48xlarge", "A10G", 8), ("aws", "g6e.48xlarge", "L40S", 8),
        ("aws", "g7e.48xlarge", "RTX-PRO-6000", 8), ("gcp", "g2-standard-96", "L4", 8),
        ("azure", "Standard_NC64as_T4_v3", "T4", 4), ("oci", "BM.GPU.L40S.4", "L40S", 4),
    ],
)  # fmt: skip
def test_cards_share_pcie_only(provider: str, instance_type: str, gpu: str, count: int) -> None:
    shape = shape_of(provider, instance_type, gpu, count)
    assert (shape.scaleup_domain_gpus, shape.scaleup_gb_per_second) == (1, 0)
    assert shape.origin == "table"


def test_small_sizes_have_their_baseline_network_not_the_burst() -> None:
    assert shape_of("aws", "g5.xlarge", "A10G", 1).network_gbps == 2.5


def test_instances_of_a_rack_reach_all_of_its_gpus() -> None:
    shape = shape_of("azure", "Standard_ND128isr_NDR_GB200_v6", "GB200", 4)
    assert (shape.gpus, shape.scaleup_domain_gpus, shape.scaleup_gb_per_second) == (4, 72, 900)
    assert system_shape(load_systems()["gb200-nvl72"]).scaleup_domain_gpus == 72


def test_bridged_cards_form_pairs() -> None:
    shape = shape_of("azure", "Standard_NC96ads_A100_v4", "A100-80GB-PCIe", 4)
    assert (shape.scaleup_domain_gpus, shape.scaleup_gb_per_second) == (2, 300)


def test_an_older_board_keeps_its_own_link() -> None:
    # four V100 of p3.8xlarge share 200 GB/s both ways, not the part's 300
    assert shape_of("aws", "p3.8xlarge", "V100-SXM-16GB", 4).scaleup_gb_per_second == 100


@pytest.mark.parametrize(
    ("instance_type", "gpu", "share"),
    [("g6f.large", "L4", 0.125), ("g6f.4xlarge", "L4", 0.5)],
)
def test_a_share_of_a_gpu_keeps_the_whole_parts_memory(instance_type: str, gpu: str, share: float) -> None:
    shape = shape_of("aws", instance_type, gpu, share)
    assert (shape.gpus, shape.memory_gib_per_gpu) == (share, 24)
    assert shape.name.startswith(f"{share:g}xL4 ")


def test_instance_type_case_does_not_matter() -> None:
    exact = shape_of("azure", "Standard_ND96isr_H100_v5", "H100-SXM", 8)
    assert shape_of("azure", "standard_nd96isr_h100_v5", "H100-SXM", 8) == exact


@pytest.mark.parametrize(
    ("gpu", "count", "domain", "gb_per_second"),
    [
        ("H100-SXM", 8, 8, 450),
        ("H100-SXM", 4, 4, 450),
        ("H100-SXM", 16, 8, 450),  # two boards
        ("H100-SXM", 1, 1, 0),
        ("H100-PCIe", 8, 1, 0),
        ("GB200", 4, 4, 900),  # no word of the rack
        ("MI300X", 8, 8, 448),
        ("MI300X", 2, 2, 64),  # one of seven peers: 448 / 7
        ("MI300X", 4, 4, 192),  # three of seven
        ("RTX-4090", 4, 1, 0),
        ("H100-SXM", 0.5, 1, 0),
    ],
)
def test_an_unknown_type_is_derived_from_its_form_factor(
    gpu: str, count: float, domain: int, gb_per_second: float
) -> None:
    shape = shape_of("somebody", "some-type", gpu, count, vcpus=64, memory_gib=512)
    assert (shape.scaleup_domain_gpus, shape.scaleup_gb_per_second) == (domain, gb_per_second)
    assert (shape.network_gbps, shape.rdma, shape.origin, shape.confidence) == (None, False, "derived", "low")
    assert (shape.vcpus, shape.host_memory_gib) == (64, 512)


def test_a_type_sold_with_another_gpu_or_count_is_not_the_tables() -> None:
    assert shape_of("aws", "p5.48xlarge", "H200-SXM", 8).origin == "derived"
    assert shape_of("aws", "p5.48xlarge", "H100-SXM", 4).origin == "derived"


def test_nominal_memory_of_an_offer_means_the_usable_one_and_another_size_another_part() -> None:
    assert shape_of("x", "y", "B200-SXM", 8, 192).memory_gib_per_gpu == 179
    larger = shape_of("x", "y", "H20", 8, 141)
    assert larger.memory_gib_per_gpu == 141
    assert larger.name == "8xH20 141GiB nvlink8 net?"


def test_an_alias_is_enough_and_an_unknown_gpu_is_an_error() -> None:
    assert shape_of("x", "y", "H100", 8).gpu == "H100-SXM"
    with pytest.raises(UnknownName):
        shape_of("x", "y", "H1000000", 8)


def physics(shape: Shape) -> tuple[object, ...]:
    """All that decides speed and memory."""
    return (
        shape.gpu, shape.gpus, shape.memory_gib_per_gpu, shape.scaleup_gb_per_second, shape.scaleup_domain_gpus,
        shape.pcie_gb_per_second, shape.network_gbps, shape.rdma,
    )  # fmt: skip


def test_equal_names_are_equal_machines_and_different_names_differ() -> None:
    by_name: dict[str, tuple[object, ...]] = {}
    shapes = [shape for _, _, shape in TABLE] + [system_shape(system) for system in load_systems().values()]
    for shape in shapes:
        assert by_name.setdefault(shape.name, physics(shape)) == physics(shape), shape.name
    assert len(set(by_name.values())) == len(by_name)


def test_every_row_holds_together() -> None:
    assert len(TABLE) == 405
    assert len({(provider, instance_type.casefold()) for provider, instance_type, _ in TABLE}) == 405
    gpus = load_accelerators()
    for provider, instance_type, shape in TABLE:
        place = f"{provider} {instance_type}"
        assert shape.gpu in gpus, place
        assert 0 < shape.gpus <= 144, place
        assert (shape.scaleup_gb_per_second > 0) == (shape.scaleup_domain_gpus > 1), place
        assert shape.network_gbps is None or shape.network_gbps > 0, place
        assert shape.origin in ("table", "derived"), place
        assert shape.confidence == "low" or shape.origin == "table", place
        assert shape.source, place


def test_rows_of_low_confidence_say_why() -> None:
    silent = [row["instance_type"] for row in rows("shapes.csv") if row["confidence"] == "low" and not row["note"]]
    assert silent == []


def test_systems_have_a_price_or_say_that_none_is_known() -> None:
    systems = load_systems()
    assert len(systems) == 23
    assert [name for name, system in systems.items() if system.price_usd is None] == ["vera-rubin-nvl72"]
    for system in systems.values():
        if system.price_usd is not None:
            assert system.price_low_usd is not None
            assert system.price_high_usd is not None
            assert system.price_low_usd <= system.price_usd <= system.price_high_usd, system.name
        draws = [kw for kw in (system.idle_kw, system.infer_kw, system.train_kw, system.max_kw) if kw is not None]
        assert draws == sorted(draws), f"{system.name}: idle, serving, training and highest draw rise in this order"
        assert system.gpu in load_accelerators()
        assert system.notes or system.confidence != "low", system.name


def test_a_bought_node_is_shaped_like_a_rented_one() -> None:
    bought, rented = system_shape(load_systems()["hgx-h100-8"]), shape_of("aws", "p5.48xlarge", "H100-SXM", 8)
    assert bought.name == rented.name
    assert physics(bought) == physics(rented)


def test_systems_are_found_in_any_spelling() -> None:
    assert find_system("HGX H100-8").name == "hgx-h100-8"
    with pytest.raises(UnknownName) as caught:
        find_system("hgx-h100-9")
    assert caught.value.nearest == "hgx-h100-8"
