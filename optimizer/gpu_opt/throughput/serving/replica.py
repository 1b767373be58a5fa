"""One replica as numbers: model, GPU, layout and precision, and the arrays that the formulas work on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from gpu_opt.domain.hardware import Accelerator, Shape
from gpu_opt.domain.option import Layout
from gpu_opt.hardware.accelerators import link_of
from gpu_opt.records import record
from gpu_opt.throughput.serving.constants import Constants
from gpu_opt.throughput.serving.precision import ComputePlan
from gpu_opt.throughput.serving.profile import ServingProfile

Array = NDArray[np.float64]

SLOTS = (
    "weight_bandwidth",
    "kv_bandwidth",
    "decode_flops",
    "decode_growth",
    "score_flops",
    "prefill_flops",
    "prefill_half_tokens",
    "overlap",
    "layer_us",
    "sequence_us",
    "moe_layer_us",
    "step_us",
    "expert_bandwidth",
    "expert_flops",
    "hop_us",
    "hop_growth",
    "link_bandwidth",
    "exchange_us",
    "exchange_bandwidth",
    "request_ms",
    "expert_coverage",
    "prefill_share",
    "queue",
    "closed_ms",
    "first_steps",
    "crowd",
    "burst",
    "mixed_us",
)


_BYTES_16BIT = 2.0
_UNLIMITED = 1e12
_UNPIPELINED = ("llama.cpp", "exllama", "autoawq")
"""Engines that pass one batch through their stages at a time; prompts still go in chunks of 512."""


@record
class Link:
    """What tensor-parallel ranks talk over: kind (nvlink, fabric, pcie, network, none) and one-way bytes per second."""

    kind: str
    bytes_per_second: float


@record
class Replica:
    """One way to run a model: everything that decides its speed but the load.

    `link` joins the tensor-parallel ranks (the stages where tp is 1), `exchange` all ranks that share experts.
    """

    profile: ServingProfile
    accelerator: Accelerator
    plan: ComputePlan
    kv_bytes: float
    layout: Layout
    link: Link
    exchange: Link
    engine: str
    gpu_fraction: float = 1.0
    tags: tuple[str, ...] = field(default=())

    @property
    def attention_bytes(self) -> float:
        """Bytes per attention weight: FP4 exports of MoE models leave attention at 16 bits."""
        narrow = self.plan.format.attention_bytes < 1.0 and self.plan.format.compute == "fp4"
        return _BYTES_16BIT if narrow and self.profile.experts > 0 else self.plan.format.attention_bytes

    @property
    def gpus(self) -> int:
        """GPUs of the replica: tp × pp × dp."""
        return self.layout.tp * self.layout.pp * self.layout.dp


def link_between(accelerator: Accelerator, ranks: int, shape: Shape | None) -> Link:
    """The link among `ranks` GPUs: the scale-up link inside its domain, PCIe in one box, else the network.

    Without a shape the form factor decides: SXM and OAM parts reach 8 GPUs, superchips 72, PCIe cards none.
    """
    if ranks <= 1:
        return Link(kind="none", bytes_per_second=1e15)
    if shape is None:
        domain, per_instance = _default_domain(accelerator)
        scaleup, pcie, network = accelerator.nvlink_gb_per_second, accelerator.pcie_gb_per_second, 50.0
    else:
        domain, per_instance = shape.scaleup_domain_gpus, max(shape.gpus, 1.0)
        scaleup, pcie = shape.scaleup_gb_per_second, shape.pcie_gb_per_second
        network = (shape.network_gbps or 100.0) / 8.0 / per_instance
    if ranks <= domain and scaleup > 0:
        kind = "nvlink" if accelerator.vendor == "NVIDIA" else "fabric"
        return Link(kind=kind, bytes_per_second=scaleup * 1e9)
    if ranks <= per_instance:
        return Link(kind="pcie", bytes_per_second=max(pcie, 4.0) * 1e9)
    return Link(kind="network", bytes_per_second=network * 1e9)


def _default_domain(accelerator: Accelerator) -> tuple[int, float]:
    domain = link_of(accelerator.name)[1] if accelerator.nvlink_gb_per_second > 0 else 1
    return domain, float(max(domain, 8))


def _attention_kind(profile: ServingProfile) -> str:
    if profile.is_mla:
        return "sparse" if profile.attended_tokens else "mla"
    return "linear" if profile.linear_layers else "gqa"


def slot_keys(replica: Replica) -> dict[str, tuple[str, ...]]:
    """Which factors apply to each slot, from the most general to the most special."""
    gpu, plan = replica.accelerator, replica.plan
    engine = f"engine:{replica.engine}"
    vendor = f"vendor:{gpu.vendor}"
    memory = f"memory:{gpu.memory_type}"
    architecture = f"architecture:{gpu.architecture.split(' (')[0]}"
    compute = f"compute:{'16bit' if plan.compute in ('bf16', 'fp16') else plan.compute}"
    packed = ("packed", f"packed:{plan.format.linear_bytes:.1f}") if plan.weight_only else ()
    link = f"link:{replica.link.kind}"
    exchange = f"link:{replica.exchange.kind}"
    mixed = f"{architecture}|{compute}"
    software = (engine, *replica.tags)
    port = f"{engine}|{vendor}"
    host = (*software, vendor, port)
    attention = f"attention:{_attention_kind(replica.profile)}"
    return {
        "weight_bandwidth": ("base", compute, memory, vendor, *software, port, *packed),
        "kv_bandwidth": ("base", vendor, *software, attention),
        "decode_flops": ("base", compute, mixed, *software, port, *packed),
        "decode_growth": ("base",),
        "score_flops": ("base", vendor, attention),
        "prefill_flops": ("base", compute, mixed, *software, port, f"{engine}|{architecture}", *packed),
        "prefill_half_tokens": ("base",),
        "overlap": ("base", *replica.tags),
        "layer_us": ("base", *host, attention),
        "sequence_us": ("base", *software, port),
        "moe_layer_us": ("base", *host, *packed),
        "step_us": ("base", *software),
        "expert_bandwidth": ("base", *packed, compute),
        "expert_flops": ("base", *packed, compute),
        "hop_us": ("base", link),
        "hop_growth": ("base", link),
        "link_bandwidth": ("base", link),
        "exchange_us": ("base", exchange),
        "exchange_bandwidth": ("base", exchange),
        "request_ms": ("base", engine),
        "expert_coverage": ("base",),
        "prefill_share": ("base", engine),
        "queue": ("base", engine),
        "closed_ms": ("base", *software),
        "first_steps": ("base", engine),
        "crowd": ("base", engine),
        "burst": ("base", engine),
        "mixed_us": ("base", engine),
    }


@record
class Facts:
    """Replicas side by side: one array a fact, all of one length. Rates are per second, sizes in bytes or elements."""

    layers: Array
    hidden: Array
    attention_params: Array
    dense_params: Array
    expert_params: Array
    active_expert_params: Array
    head_params: Array
    experts: Array
    experts_per_token: Array
    moe_layers: Array
    full_layers: Array
    window_layers: Array
    window_tokens: Array
    attended_tokens: Array
    kv_elements: Array
    kv_shards: Array
    score_flops: Array
    decode_score_flops: Array
    state_bytes: Array
    linear_bytes: Array
    attention_bytes: Array
    kv_bytes: Array
    bandwidth: Array
    peak: Array
    peak_16bit: Array
    link: Array
    exchange: Array
    tp: Array
    pp: Array
    decode_stages: Array
    chunk_tokens: Array
    dp: Array
    expert_ranks: Array


@record
class Factors:
    """The constants of `Facts`, one array a slot. Times are in the slot's own unit (us, ms)."""

    weight_bandwidth: Array
    kv_bandwidth: Array
    decode_flops: Array
    decode_growth: Array
    score_flops: Array
    prefill_flops: Array
    prefill_half_tokens: Array
    overlap: Array
    layer_us: Array
    sequence_us: Array
    moe_layer_us: Array
    step_us: Array
    expert_bandwidth: Array
    expert_flops: Array
    hop_us: Array
    hop_growth: Array
    link_bandwidth: Array
    exchange_us: Array
    exchange_bandwidth: Array
    request_ms: Array
    expert_coverage: Array
    prefill_share: Array
    queue: Array
    closed_ms: Array
    first_steps: Array
    crowd: Array
    burst: Array
    mixed_us: Array


def _fact_row(replica: Replica) -> dict[str, float]:
    profile, layout, plan = replica.profile, replica.layout, replica.plan
    share = replica.gpu_fraction
    return {
        "layers": profile.layers,
        "hidden": profile.hidden_size,
        "attention_params": profile.attention_params,
        "dense_params": profile.dense_params,
        "expert_params": profile.expert_params,
        "active_expert_params": profile.active_expert_params,
        "head_params": profile.head_params,
        "experts": profile.experts,
        "experts_per_token": profile.experts_per_token,
        "moe_layers": profile.moe_layers,
        "full_layers": profile.full_layers,
        "window_layers": profile.window_layers,
        "window_tokens": profile.window_tokens,
        "attended_tokens": profile.attended_tokens or _UNLIMITED,
        "kv_elements": profile.kv_elements,
        "kv_shards": 1.0 if profile.is_mla else float(min(layout.tp, max(profile.kv_heads, 1.0))),
        "score_flops": profile.score_flops,
        "decode_score_flops": profile.decode_score_flops,
        "state_bytes": profile.state_bytes,
        "linear_bytes": plan.format.linear_bytes,
        "attention_bytes": replica.attention_bytes,
        "kv_bytes": replica.kv_bytes,
        "bandwidth": replica.accelerator.memory_gb_per_second * 1e9 * share,
        "peak": plan.peak_flops_per_second * share,
        "peak_16bit": plan.peak_16bit_flops_per_second * share,
        "link": replica.link.bytes_per_second,
        "exchange": replica.exchange.bytes_per_second,
        "tp": float(layout.tp),
        "pp": float(layout.pp),
        "decode_stages": 1.0 if replica.engine in _UNPIPELINED else float(layout.pp),
        "chunk_tokens": 512.0 if replica.engine in _UNPIPELINED else 2048.0,
        "dp": float(layout.dp),
        "expert_ranks": float(layout.tp * layout.dp),
    }


def stack_facts(replicas: Sequence[Replica]) -> Facts:
    """The facts of each replica, side by side."""
    rows = [_fact_row(replica) for replica in replicas]
    return Facts(**{f.name: np.array([row[f.name] for row in rows]) for f in dataclasses.fields(Facts)})


def stack_factors(replicas: Sequence[Replica], constants: Constants) -> Factors:
    """The constants of each replica, side by side."""
    rows = []
    for replica in replicas:
        keys = slot_keys(replica)
        rows.append([constants.resolve(slot, keys[slot]) for slot in SLOTS])
    columns = np.array(rows).T
    return Factors(**dict(zip(SLOTS, columns, strict=True)))
