"""What runs the work: accelerators, instance shapes and systems that can be bought."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_opt.records import record


@record
class Accelerator:
    """One accelerator by its canonical name (`H100-SXM`). Peaks are dense, in units of 10**12 per second.

    `peak_tflops` maps a compute precision (fp32, tf32, fp16, bf16, fp8, int8, fp4) to its dense peak;
    a precision that the part lacks is absent. `memory_gib` is what the device can use.
    `nvlink_gb_per_second` is one way and per GPU over the scale-up link (NVLink, Infinity Fabric, ICI), 0 without one;
    `pcie_gb_per_second` is one way. `status` is current, legacy, used (out of production, still rented and resold),
    export (a cut variant), rare (hardly sold) or announced (preliminary: not planned on unless asked for).
    """

    name: str
    aliases: tuple[str, ...]
    vendor: str
    form_factor: str
    architecture: str
    compute_capability: str
    release_year: int
    memory_gib: float
    memory_type: str
    memory_gb_per_second: float
    peak_tflops: Mapping[str, float]
    nvlink_gb_per_second: float
    pcie_gb_per_second: float
    tdp_watts: float
    status: str
    confidence: str
    source: str
    notes: str = ""


@record
class Shape:
    """What one instance holds, price-free: GPUs, their link and the network out of the box.

    `gpus` is below 1 for a share of a GPU; `memory_gib_per_gpu` is then still the whole part's, so the share's
    memory is `gpus * memory_gib_per_gpu`. `scaleup_domain_gpus` counts GPUs that reach each other over the scale-up
    link, across instances too (72 for GB200 NVL72), and is 1 where GPUs only share PCIe.
    `network_gbps` is per instance, None when unknown. `origin` is `table` or `derived`.
    """

    name: str
    gpu: str
    gpus: float
    memory_gib_per_gpu: float
    scaleup_gb_per_second: float
    scaleup_domain_gpus: int
    pcie_gb_per_second: float
    network_gbps: float | None
    rdma: bool
    vcpus: float | None
    host_memory_gib: float | None
    origin: str
    confidence: str
    source: str


@record
class System:
    """A machine that can be bought: price, power and the shape it brings. Power is of the whole system, in kW.

    `price_usd` is None where nobody publishes one: such a system needs a price in the workload file.
    """

    name: str
    gpu: str
    gpus: int
    price_usd: float | None
    price_low_usd: float | None
    price_high_usd: float | None
    price_date: str
    max_kw: float
    train_kw: float | None
    infer_kw: float | None
    idle_kw: float | None
    rack_units: float
    liquid_fraction: float
    network_gbps: float
    confidence: str
    source: str
    notes: str = ""
