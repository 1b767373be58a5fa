"""What the throughput model answers for one workload on one shape: price-free, one option a gang or replica size."""

from __future__ import annotations

from dataclasses import field

from gpu_opt.records import record


@record
class Layout:
    """How a model is spread: `gpus` = tp × pp × cp × dp (experts `ep` share the dp × cp ranks). `zero` is 0–3."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    zero: int = 0
    recompute: str = "none"
    micro_batch: int = 1
    virtual_stages: int = 1


@record
class MemoryLine:
    """One line of what a GPU holds, on the fullest rank."""

    label: str
    gib: float


@record
class Interval:
    """P10–P90 of a speed as factors of the prediction, and the standard deviations of its logarithm:

    `shared_log_sd` is the error that all GPUs share for this workload, `own_log_sd` the rest.
    """

    low_ratio: float = 1.0
    high_ratio: float = 1.0
    shared_log_sd: float = 0.0
    own_log_sd: float = 0.0


@record
class Latency:
    """Latencies at the option's rate, by (metric, statistic) in ms: ('ttft', 'p95'), ('tpot', 'mean') …"""

    value_ms: dict[tuple[str, str], float] = field(default_factory=dict)


@record
class JobOption:
    """A training run on `gpus` GPUs of a shape. `tokens_per_second` is the whole gang's steady speed.

    `effective` speeds already contain failures and checkpoints. `source` is model, calibrated or measured.
    """

    shape: str
    gpus: float
    tokens_per_second: float
    layout: Layout
    stack: str = ""
    memory: tuple[MemoryLine, ...] = ()
    interval: Interval = Interval()
    source: str = "model"
    effective: bool = False
    verdict: str = "fits"
    notes: tuple[str, ...] = ()


@record
class ReplicaOption:
    """One replica of a service or batch job on `gpus` GPUs of a shape.

    `requests_per_second` is the highest rate with the targets met (a service) or the offline maximum (batch).
    """

    shape: str
    gpus: float
    requests_per_second: float
    layout: Layout
    engine: str = ""
    concurrency: float = 0.0
    memory: tuple[MemoryLine, ...] = ()
    latency: Latency = field(default_factory=Latency)
    interval: Interval = Interval()
    source: str = "model"
    notes: tuple[str, ...] = ()


@record
class Rejection:
    """Why a workload can't run on a shape or an offer. `code` groups (`memory`, `precision`, `latency`, `allow-list`,
    `residency`, `network`, `deadline`, `purchasable`, …); `reason` is a sentence with its numbers;
    `shortfall_ratio` is need over limit where both are known, so that the closest can be told."""

    workload: str
    subject: str
    code: str
    reason: str
    shortfall_ratio: float | None = None
