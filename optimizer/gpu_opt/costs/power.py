"""What a machine draws: idle, and busy by the kind of work (K13, K14)."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from gpu_opt.costs._tables import optional_float, rows
from gpu_opt.costs.checks import Checks
from gpu_opt.costs.defaults import value_of
from gpu_opt.records import record

WATTS_PER_KW = 1000.0
_RACK_SCALE_GPUS = 36  # an NVL36 or NVL72 rack is one machine


class Phase(StrEnum):
    """Kinds of work by what they make a GPU draw (phases.csv)."""

    DENSE_TRAINING = "dense_training"
    MOE_TRAINING = "moe_training"
    LORA = "lora"
    PREFILL = "prefill"
    DECODE_BATCH_64 = "decode_batch_64"
    DECODE_BATCH_8 = "decode_batch_8"
    DECODE_BATCH_1 = "decode_batch_1"
    IDLE_CONTEXT = "idle_context"
    IDLE_BARE = "idle_bare"

    @classmethod
    def decode(cls, batch: float) -> Phase:
        """The decoding phase of a batch size."""
        if batch >= 64:
            return cls.DECODE_BATCH_64
        return cls.DECODE_BATCH_8 if batch >= 8 else cls.DECODE_BATCH_1


@record
class PhaseDraw:
    """GPU power of a phase as a fraction of its limit; `draw` is the typical draw it belongs to: train, infer, idle."""

    phase: Phase
    fraction: float
    low_fraction: float
    high_fraction: float
    draw: str
    meaning: str
    source: str


@record
class NodePower:
    """Draw of one machine in kW, without the fabric. `estimated` names what was derived rather than known."""

    idle_kw: float
    train_kw: float
    infer_kw: float
    max_kw: float
    gpu_limit_kw: float
    estimated: tuple[str, ...] = ()

    def busy_kw(self, phase: Phase) -> float:
        """Draw at a kind of work: the typical draw, moved by how far the GPUs differ; between idle and rating."""
        this = phase_draw(phase)
        if this.draw == "idle":
            anchor_kw, anchor = self.idle_kw, phase_draw(Phase.IDLE_BARE)
        elif this.draw == "train":
            anchor_kw, anchor = self.train_kw, phase_draw(Phase.DENSE_TRAINING)
        else:
            anchor_kw, anchor = self.infer_kw, phase_draw(Phase.DECODE_BATCH_8)
        moved_kw = anchor_kw + (this.fraction - anchor.fraction) * self.gpu_limit_kw
        return min(max(moved_kw, self.idle_kw), self.max_kw)


@cache
def phase_draws() -> dict[Phase, PhaseDraw]:
    """All phases."""
    return {
        Phase(row["phase"]): PhaseDraw(
            phase=Phase(row["phase"]),
            fraction=float(row["fraction"]),
            low_fraction=float(row["low"]),
            high_fraction=float(row["high"]),
            draw=row["draw"],
            meaning=row["meaning"],
            source=row["source"],
        )
        for row in rows("phases")
    }


def phase_draw(phase: Phase) -> PhaseDraw:
    """One phase."""
    return phase_draws()[phase]


def node_power_kw(
    *, gpu_limit_kw: float, gpu_fraction: float, host_busy_kw: float, host_idle_kw: float, load_fraction: float = 1.0
) -> float:
    """K13: host and GPUs together. `gpu_limit_kw` is the sum of the GPUs' power limits."""
    checks = Checks()
    for name, kw in (("gpu_limit_kw", gpu_limit_kw), ("host_busy_kw", host_busy_kw), ("host_idle_kw", host_idle_kw)):
        checks.at_least(name, kw, 0)
    checks.share("gpu_fraction", gpu_fraction)
    checks.share("load_fraction", load_fraction)
    checks.done()
    return host_idle_kw + (host_busy_kw - host_idle_kw) * load_fraction + gpu_fraction * gpu_limit_kw


def host_class(gpus: int, liquid_fraction: float) -> str:
    """rack, liquid or air: which ratio of host to GPU power applies (defaults.csv, host_busy_ratio_*)."""
    if gpus >= _RACK_SCALE_GPUS:
        return "rack"
    return "liquid" if liquid_fraction > 0 else "air"


def complete_power(
    *,
    max_kw: float,
    idle_kw: float | None,
    train_kw: float | None,
    infer_kw: float | None,
    gpus: int,
    liquid_fraction: float,
    gpu_tdp_watts: float | None = None,
) -> NodePower:
    """Fill in what isn't known by K13.

    Without the GPUs' limit it follows from the rating: a measured H100 node reaches 82 % of it with everything busy,
    and host and GPUs share that by the host ratio. This gives 5.6 kW for 8×H100 and 87 kW for GB200 NVL72.
    """
    ratio = value_of(f"host_busy_ratio_{host_class(gpus, liquid_fraction)}")
    if gpu_tdp_watts is None:
        limit_kw = max_kw * value_of("nameplate_reached_ratio") / (1 + ratio)
    else:
        limit_kw = gpus * gpu_tdp_watts / WATTS_PER_KW
    host_busy_kw = ratio * limit_kw
    host_idle_kw = host_busy_kw * value_of("host_idle_ratio")

    def derived(phase: Phase, load: float) -> float:
        kw = node_power_kw(
            gpu_limit_kw=limit_kw,
            gpu_fraction=phase_draw(phase).fraction,
            host_busy_kw=host_busy_kw,
            host_idle_kw=host_idle_kw,
            load_fraction=load,
        )
        return min(kw, max_kw)

    known = {"idle_kw": idle_kw, "train_kw": train_kw, "infer_kw": infer_kw}
    work = {
        "idle_kw": (Phase.IDLE_BARE, 0.0),
        "train_kw": (Phase.DENSE_TRAINING, 1.0),
        "infer_kw": (Phase.DECODE_BATCH_8, phase_draw(Phase.DECODE_BATCH_8).fraction),
    }
    filled = {name: derived(*work[name]) if kw is None else kw for name, kw in known.items()}
    missing = tuple(name for name, kw in known.items() if kw is None)
    return NodePower(**filled, max_kw=max_kw, gpu_limit_kw=limit_kw, estimated=missing)


@record
class Fabric:
    """The part of a cluster's network that belongs to one machine, beside its own cards."""

    usd_per_gpu: float
    kw: float
    source: str


_SHEET_GBPS_PER_GPU = 400.0  # the sizing sheet behind fabric.csv is a 400G InfiniBand fabric, one port a GPU


def fabric(*, gpus: int, network_gbps: float, rack_units: float, cluster_instances: int | None = None) -> Fabric:
    """K14: price and draw by the size of the cluster; a large one (1,024 to 4,096 GPUs) where the size isn't known.

    Both shrink with the machine's own network against the 400 Gb/s a GPU that the prices are for. A desktop or
    embedded machine (no rack units) has no share in a fabric.
    """
    if rack_units <= 0:
        return Fabric(usd_per_gpu=0.0, kw=0.0, source="stands outside a rack: no share of a fabric")
    table = rows("fabric")
    if cluster_instances is None:
        row = next(row for row in table if row["max_gpus"] == "4096")
    elif cluster_instances <= 1:
        row = table[0]
    else:
        limits = ((row, optional_float(row["max_gpus"])) for row in table[1:])
        row = next(row for row, limit in limits if limit is None or gpus * cluster_instances <= limit)
    scale = min(1.0, network_gbps / gpus / _SHEET_GBPS_PER_GPU)
    usd = float(row["usd_per_gpu"]) * scale
    kw = float(row["kw_per_8_gpus"]) * gpus / 8 * scale
    source = f"{row['cluster']}: {row['source']}, {row['date']}"
    if scale < 1:
        source += f"; × {scale:.3g} for {network_gbps / gpus:g} of {_SHEET_GBPS_PER_GPU:g} Gb/s a GPU"
    return Fabric(usd_per_gpu=usd, kw=kw, source=source)
