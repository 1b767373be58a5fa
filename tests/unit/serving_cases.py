"""Small deployments that the serving tests share."""

from __future__ import annotations

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.workload import BatchJob, Service, Slo, TokenLength, TrafficBlock
from gpu_opt.hardware.accelerators import load_accelerators
from gpu_opt.models.presets import find


def preset(name: str) -> ModelSpec:
    """A preset that must exist."""
    spec = find(name)
    if spec is None:
        raise LookupError(name)
    return spec


def shape_of(gpu: str, gpus: float, *, domain: int | None = None, memory_gib: float | None = None) -> Shape:
    """An instance with `gpus` GPUs on NVLink where the part has it."""
    part = load_accelerators()[gpu]
    linked = part.nvlink_gb_per_second > 0 and "PCIe" not in part.form_factor
    return Shape(
        name=f"{gpus:g}x{gpu}",
        gpu=gpu,
        gpus=gpus,
        memory_gib_per_gpu=memory_gib or part.memory_gib,
        scaleup_gb_per_second=part.nvlink_gb_per_second,
        scaleup_domain_gpus=domain or (max(int(gpus), 1) if linked else 1),
        pcie_gb_per_second=part.pcie_gb_per_second,
        network_gbps=3200.0,
        rdma=True,
        vcpus=None,
        host_memory_gib=None,
        origin="table",
        confidence="high",
        source="test",
    )


def service(
    model: str,
    /,
    *,
    precision: str = "bf16",
    slo: dict[tuple[str, str], float] | None = None,
    inputs: float = 500.0,
    outputs: float = 200.0,
    **changes: object,
) -> Service:
    """A chat service of one block."""
    fields: dict[str, object] = {
        "name": "chat",
        "kind": "serve",
        "active_to_hours": 2160.0,
        "model": preset(model),
        "blocks": (TrafficBlock(name="all", hours_share_fraction=1.0, requests_per_second=10.0),),
        "input_tokens": TokenLength(mean_tokens=inputs),
        "output_tokens": TokenLength(mean_tokens=outputs),
        "precision": precision,
        "slo": Slo(limit_ms=slo) if slo else None,
    }
    return Service(**{**fields, **changes})  # type: ignore[arg-type]


def batch_job(model: str, *, precision: str = "bf16", inputs: float = 500.0, outputs: float = 200.0) -> BatchJob:
    """An offline job."""
    return BatchJob(
        name="night",
        kind="batch",
        active_to_hours=2160.0,
        model=preset(model),
        requests=1e6,
        per_period=False,
        input_tokens=TokenLength(mean_tokens=inputs),
        output_tokens=TokenLength(mean_tokens=outputs),
        deadline_hours=100.0,
        precision=precision,
    )
