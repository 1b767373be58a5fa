"""The shape of an instance: from the table where the instance type is known, else from its GPU's form factor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from gpu_opt.domain.hardware import Accelerator, Shape, System
from gpu_opt.hardware._tables import number, rows
from gpu_opt.hardware.accelerators import canonical_gpu, link_of, load_accelerators
from gpu_opt.hardware.systems import systems_with_rdma

_SAME_MEMORY_FRACTION = 0.1  # nominal and usable sizes of one part differ by less (B200: 192 against 179)


@cache
def _table() -> Mapping[tuple[str, str], dict[str, str]]:
    return {(row["provider"], row["instance_type"].casefold()): row for row in rows("shapes.csv")}


def shape_table() -> tuple[tuple[str, str, Shape], ...]:
    """Every known instance type as (provider, instance type, shape)."""
    found = []
    for row in _table().values():
        provider, instance_type = row["provider"], row["instance_type"]
        found.append((provider, instance_type, shape_of(provider, instance_type, row["gpu"], float(row["gpus"]))))
    return tuple(found)


@lru_cache(maxsize=8192)
def shape_of(
    provider: str,
    instance_type: str,
    gpu: str,
    gpu_count: float,
    gpu_memory_gib: float | None = None,
    vcpus: float | None = None,
    memory_gib: float | None = None,
) -> Shape:
    """What an instance type holds: its row of the table, else derived from the form factor (contract, section 3).

    A row whose GPU or count disagrees with the offer is another machine of that name: the shape is then derived.
    Derived shapes join SXM and OAM parts of one machine by their link, up to 8; others share PCIe; the network
    is unknown. UnknownName for a GPU that no table knows.
    """
    accelerator = load_accelerators()[canonical_gpu(gpu)]
    memory = _memory_gib(accelerator, gpu_memory_gib)
    row = _table().get((provider, instance_type.casefold()))
    if row is not None and row["gpu"] == accelerator.name and float(row["gpus"]) == gpu_count:
        return _from_row(row, accelerator, memory, vcpus, memory_gib)
    return _derived(accelerator, gpu_count, memory, vcpus, memory_gib)


def system_shape(system: System) -> Shape:
    """The shape that a bought system brings; its GPUs are joined as far as their boards allow."""
    accelerator = load_accelerators()[system.gpu]
    domain = _derived_domain_gpus(accelerator, system.gpus)
    return _shape(
        accelerator,
        gpus=system.gpus,
        memory_gib=accelerator.memory_gib,
        domain_gpus=domain,
        link_gb_per_second=_link_gb_per_second(accelerator, domain),
        network_gbps=system.network_gbps,
        rdma=system.name in systems_with_rdma(),
        vcpus=None,
        host_memory_gib=None,
        origin="table",
        confidence=system.confidence,
        source=system.source,
    )


def _memory_gib(accelerator: Accelerator, given_gib: float | None) -> float:
    if given_gib is None or abs(given_gib / accelerator.memory_gib - 1) <= _SAME_MEMORY_FRACTION:
        return accelerator.memory_gib
    return given_gib


def _from_row(
    row: Mapping[str, str], accelerator: Accelerator, memory: float, vcpus: float | None, memory_gib: float | None
) -> Shape:
    domain = int(row["scaleup_domain_gpus"])
    link = number(row["scaleup_gb_per_second"])
    table_vcpus, table_memory_gib = number(row["vcpus"]), number(row["host_memory_gib"])
    return _shape(
        accelerator,
        gpus=float(row["gpus"]),
        memory_gib=memory,
        domain_gpus=domain,
        link_gb_per_second=_link_gb_per_second(accelerator, domain) if link is None else link,
        network_gbps=number(row["fabric_gbps"]),
        rdma=row["rdma"] == "yes",
        vcpus=vcpus if table_vcpus is None else table_vcpus,
        host_memory_gib=memory_gib if table_memory_gib is None else table_memory_gib,
        origin=row["origin"],
        confidence=row["confidence"],
        source=f"{row['source']} ({row['source_date']})",
    )


def _derived(
    accelerator: Accelerator, gpus: float, memory: float, vcpus: float | None, memory_gib: float | None
) -> Shape:
    domain = _derived_domain_gpus(accelerator, gpus)
    return _shape(
        accelerator,
        gpus=gpus,
        memory_gib=memory,
        domain_gpus=domain,
        link_gb_per_second=_link_gb_per_second(accelerator, domain),
        network_gbps=None,
        rdma=False,
        vcpus=vcpus,
        host_memory_gib=memory_gib,
        origin="derived",
        confidence="low",
        source=f"form factor {accelerator.form_factor} of {accelerator.name}",
    )


def _derived_domain_gpus(accelerator: Accelerator, gpus: float) -> int:
    if gpus < 2:
        return 1
    return min(int(gpus), link_of(accelerator.name)[1])


def _link_gb_per_second(accelerator: Accelerator, domain_gpus: int) -> float:
    """One way per GPU inside the domain. On an Infinity Fabric mesh of 8 each peer has its own seventh of it."""
    if domain_gpus <= 1:
        return 0.0
    kind, board_gpus = link_of(accelerator.name)
    if kind == "infinity_fabric" and domain_gpus < board_gpus:
        return round(accelerator.nvlink_gb_per_second * (domain_gpus - 1) / (board_gpus - 1), 3)
    return accelerator.nvlink_gb_per_second


def _shape(
    accelerator: Accelerator,
    *,
    gpus: float,
    memory_gib: float,
    domain_gpus: int,
    link_gb_per_second: float,
    network_gbps: float | None,
    rdma: bool,
    vcpus: float | None,
    host_memory_gib: float | None,
    origin: str,
    confidence: str,
    source: str,
) -> Shape:
    """The shape with its name: GPUs, link and network, whatever decides speed and nothing else."""
    parts = [f"{gpus:g}x{accelerator.name}"]
    if memory_gib != accelerator.memory_gib:
        parts.append(f"{memory_gib:g}GiB")
    if domain_gpus > 1:
        usual = _link_gb_per_second(accelerator, domain_gpus)
        rate = "" if link_gb_per_second == usual else f"@{link_gb_per_second:g}"
        parts.append(f"{link_of(accelerator.name)[0]}{domain_gpus}{rate}")
    else:
        parts.append("pcie")
    parts.append("net?" if network_gbps is None else f"{network_gbps:g}Gbps")
    if rdma:
        parts.append("rdma")
    return Shape(
        name=" ".join(parts),
        gpu=accelerator.name,
        gpus=gpus,
        memory_gib_per_gpu=memory_gib,
        scaleup_gb_per_second=link_gb_per_second,
        scaleup_domain_gpus=domain_gpus,
        pcie_gb_per_second=accelerator.pcie_gb_per_second,
        network_gbps=network_gbps,
        rdma=rdma,
        vcpus=vcpus,
        host_memory_gib=host_memory_gib,
        origin=origin,
        confidence=confidence,
        source=source,
    )
