"""What is asked for: workloads, with everything from the file resolved to plain numbers.

Times ending in `_hours` count from the horizon's start unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpu_opt.domain.model import ModelSpec
from gpu_opt.records import record


@record
class Measured:
    """A speed that the user measured; it wins over the model (contract, section 1.3).

    Exactly one of the two rates is set. `effective` rates are used as they are; steady ones still lose time to
    failures, checkpoints and interruptions.
    """

    gpu: str
    gpus: float
    tokens_per_second: float | None = None
    requests_per_second: float | None = None
    effective: bool = False


@record
class SpotPolicy:
    """Whether spot may be used, for which share of the work, and how long a lost instance takes to come back."""

    allow: bool = False
    max_share_fraction: float = 1.0
    reacquire_hours: float = 1.0


@record
class DataLocation:
    """Where a workload's data lies, and how much of it moves."""

    tib: float
    location: str
    sync_tib_per_period: float = 0.0


@record
class Slo:
    """Latency limits by metric (`ttft`, `tpot`, `itl`, `e2e`) and statistic (`mean`, `p50`, `p95`, `p99`)."""

    limit_ms: Mapping[tuple[str, str], float]


@record
class TokenLength:
    """A length in tokens: its mean, and its 95th percentile where it is known."""

    mean_tokens: float
    p95_tokens: float | None = None


@record
class RequestClass:
    """One size of request with its share of all requests."""

    share_fraction: float
    input_tokens: TokenLength
    output_tokens: TokenLength


@record
class TrafficBlock:
    """Part of the time with one mean rate. `named` blocks are those of `horizon.blocks`."""

    name: str
    hours_share_fraction: float
    requests_per_second: float
    named: bool = False


@record
class Parallelism:
    """A layout that the user fixed; None leaves the choice to the search."""

    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    cp: int | None = None
    ep: int | None = None
    zero: int | None = None
    recompute: str | None = None
    micro_batch: int | None = None


@record
class CustomUnit:
    """Work that is not a language model: units of a fixed cost (an image, a sample)."""

    unit: str
    flops_per_unit: float
    memory_gib: float


@record
class Common:
    """What every workload has."""

    name: str
    kind: str
    team: str = ""
    tags: tuple[str, ...] = ()
    active_from_hours: float = 0.0
    active_to_hours: float
    gpus: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    priority: int = 5
    optional: bool = False
    value_usd: float | None = None
    data: DataLocation | None = None
    spot: SpotPolicy = SpotPolicy()
    measured: tuple[Measured, ...] = ()
    only_measured: bool = False
    precision: str = "bf16"
    memory_reserve_fraction: float | None = None


@record
class TrainJob(Common):
    """`pretrain` or `finetune`: `runs` of `tokens_per_run` each, every run one gang.

    `period_index` of a run list: with `runs_per_period`, `recurring` is true and each period has its own runs;
    otherwise there is one run in [earliest, deadline]. `method` is full, lora or qlora.
    """

    model: ModelSpec | CustomUnit
    tokens_per_run: float
    sequence_length_tokens: int
    method: str = "full"
    lora_rank: int = 16
    global_batch_tokens: float | None = None
    runs_per_period: int = 0
    max_hours_per_run: float | None = None
    earliest_hours: float = 0.0
    deadline_hours: float
    usd_per_day_late: float | None = None
    stack: str = ""
    parallel: Parallelism = Parallelism()
    optimizer: str = "adam"
    checkpoint_interval_hours: float | None = None
    preemptible: bool = False
    min_network_gbps_per_gpu: float | None = None
    max_gpus: int | None = None


@record
class BatchJob(Common):
    """Offline inference that may be divided freely: `requests` in all, or per period."""

    model: ModelSpec | CustomUnit
    requests: float
    per_period: bool
    input_tokens: TokenLength
    output_tokens: TokenLength
    earliest_hours: float = 0.0
    deadline_hours: float
    max_hours_per_run: float | None = None
    fill_idle: bool = False
    engine: str = "vllm"
    kv_precision: str = ""


@record
class GpuHours(Common):
    """Explicit GPU-hours per period by GPU, with what may stand in: one substitute hour does `substitutes[gpu]`."""

    demand_gpu_hours: Mapping[str, tuple[float, ...]]
    substitutes: Mapping[str, float] = field(default_factory=dict)


@record
class Service(Common):
    """An online service; `blocks` are those of the first period, growing by `growth_per_period_fraction`."""

    model: ModelSpec | CustomUnit
    blocks: tuple[TrafficBlock, ...]
    growth_per_period_fraction: float = 0.0
    peak_to_mean_ratio: float = 1.0
    input_tokens: TokenLength
    output_tokens: TokenLength
    request_mix: tuple[RequestClass, ...] = ()
    slo: Slo | None = None
    availability_fraction: float | None = None
    repair_hours: float | None = None
    min_replicas: int = 0
    max_share_per_zone_fraction: float | None = None
    engine: str = "vllm"
    parallel: Parallelism = Parallelism()
    kv_precision: str = ""
    prefix_cache_hit_fraction: float = 0.0
    speculative_tokens: int = 0
    speculative_acceptance_fraction: float = 0.0
    disaggregated: str = "no"
    autoscale_efficiency_fraction: float | None = None
    pool: str = ""
    round_robin: bool = False
    trace_file: str = ""


Workload = TrainJob | BatchJob | GpuHours | Service
