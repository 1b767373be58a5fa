"""Shapes that can't win: what work would cost there at the datasheet's peak, which nothing reaches.

Asking the throughput model costs milliseconds a shape. Pools whose best case is dearer than what others really cost
are left out before it is asked; the rule is exact, since no speed exceeds the peak.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_opt import hardware
from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import Rejection
from gpu_opt.domain.program import Pool
from gpu_opt.domain.workload import BatchJob, Service, TrainJob
from gpu_opt.lp.data import ceiling
from gpu_opt.units import SECONDS_PER_HOUR

KEPT_BEYOND_BEST = 4  # kept though dearer, so that a runner-up of another kind is at hand
_TERA = 1e12
_SIXTEEN_BIT = ("bf16", "fp16")
_FORWARD_FLOPS, _FULL_FLOPS, _ADAPTER_FLOPS = 2.0, 6.0, 4.0  # per parameter and token: T1


def least_flops_per_token(model: ModelSpec, flops_per_parameter: float) -> float:
    """Less than any count of the work for a token: attention left out, and both embeddings."""
    embeddings = 2.0 * model.vocab_size * model.hidden_size
    return flops_per_parameter * max(model.active_params - embeddings, 0.5 * model.active_params)


def peak_flops_per_second(accelerator: Accelerator, precision: str) -> float:
    """The highest dense peak that work of a precision could run at on a GPU, in that precision or a wider one."""
    if precision in _SIXTEEN_BIT:
        peaks = [accelerator.peak_tflops.get(name, 0.0) for name in ("bf16", "fp16", "tf32")]
    else:
        peaks = list(accelerator.peak_tflops.values())
    return max(peaks, default=0.0) * _TERA


def least_run_usd(job: TrainJob, pool: Pool, usd_per_hour: float) -> float:
    """What a run would cost at the peak; 0 where that can't be said, or where the user has measured."""
    if not isinstance(job.model, ModelSpec) or any(m.gpu == pool.gpu for m in job.measured):
        return 0.0
    per_token = least_flops_per_token(job.model, _FULL_FLOPS if job.method == "full" else _ADAPTER_FLOPS)
    seconds = job.tokens_per_run * per_token / _peak(pool, job.precision)
    return seconds / SECONDS_PER_HOUR * usd_per_hour / pool.gpus


def least_request_usd(work: Service | BatchJob, pool: Pool, usd_per_hour: float) -> float:
    """What a request would cost at the peak; 0 where that can't be said, or where the user has measured."""
    if not isinstance(work.model, ModelSpec) or any(m.gpu == pool.gpu for m in work.measured):
        return 0.0
    tokens = work.output_tokens.mean_tokens
    if isinstance(work, BatchJob) or work.prefix_cache_hit_fraction == 0.0:
        tokens += work.input_tokens.mean_tokens
    per_token = least_flops_per_token(work.model, _FORWARD_FLOPS)
    return tokens * per_token / _peak(pool, work.precision) / SECONDS_PER_HOUR * usd_per_hour / pool.gpus


def _peak(pool: Pool, precision: str) -> float:
    return peak_flops_per_second(hardware.load_accelerators()[pool.gpu], precision) or float("inf")


def too_dear(workload: str, subject: str) -> Rejection:
    """The rejection of a pool that wasn't asked."""
    reason = "even at the datasheet's peak speed it would cost more than others really do"
    return Rejection(workload=workload, subject=subject, code="too-dear", reason=reason)


def beaten_run(least_usd: float, real_usd: Iterable[float]) -> bool:
    """Whether enough runs elsewhere really cost less than a pool's best case."""
    if least_usd <= 0.0:
        return False
    return sum(1 for usd in real_usd if usd < least_usd) >= KEPT_BEYOND_BEST


def beaten_replica(
    least_usd: float, usd_per_hour: float, most_replicas: float, real: Iterable[tuple[float, float, int]]
) -> bool:
    """Whether enough others, as (USD per hour, requests per second, replicas) of one instance, serve all that one
    instance of a pool could at its best, in whole instances with as many replicas, for no more money."""
    if least_usd <= 0.0:
        return False
    most = usd_per_hour / least_usd / SECONDS_PER_HOUR
    better = (
        usd
        for usd, rate, held in real
        if max(ceiling(most / rate), ceiling(most_replicas / held)) * usd <= usd_per_hour
    )
    return sum(1 for _ in better) >= KEPT_BEYOND_BEST
