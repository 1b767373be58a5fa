"""From a steady state under Poisson arrivals to means and percentiles of TTFT, TPOT, ITL and end-to-end (I10)."""

from __future__ import annotations

import numpy as np

from gpu_opt.domain.workload import TokenLength
from gpu_opt.records import record
from gpu_opt.throughput.serving.replica import Array
from gpu_opt.throughput.serving.steady import Load, Steady

NORMAL_QUANTILE = {"p50": 0.0, "p95": 1.6449, "p99": 2.3263}
STATISTICS = ("mean", "p50", "p95", "p99")
_TTFT_SPREAD_LOW = 0.22
_TTFT_SPREAD_GROWTH = 2.2
_TTFT_SPREAD_FROM = 0.6
_TPOT_SPREAD = 0.05
_TPOT_SPREAD_PER_PREFILL = 0.3
"""Spread of the time per token by the share of it that goes to others' prompts; event simulation, 2026-12."""
_BURST_STEPS = 3
_MOST_PROMPTS = 16.0


@record
class Spread:
    """Standard deviations of the logarithms of input and output lengths (0: every request has the mean length)."""

    input_log_sd: Array | float = 0.0
    output_log_sd: Array | float = 0.0


def log_sd(length: TokenLength) -> float:
    """σ of the lognormal with this mean and 95th percentile; 0 where no percentile is given.

    p95 = mean·exp(1.645σ − σ²/2), so σ = 1.645 − √(1.645² − 2·ln(p95/mean)), capped where no lognormal is that wide.
    """
    if length.p95_tokens is None or length.p95_tokens <= length.mean_tokens:
        return 0.0
    z = NORMAL_QUANTILE["p95"]
    return float(z - np.sqrt(max(z * z - 2.0 * np.log(length.p95_tokens / length.mean_tokens), 0.0)))


def slot_wait_seconds(state: Steady, load: Load) -> Array:
    """I10: wait for one of `max_batch` slots, Sakasegawa's approximation of M/M/c."""
    slots = np.maximum(load.max_batch, 1.0)
    load_share = np.minimum(state.batch / slots, 0.999)
    service = state.e2e_seconds / slots
    return service * np.power(load_share, np.sqrt(2.0 * (slots + 1.0)) - 1.0) / (1.0 - load_share)


def stalled_step_seconds(state: Steady, z: float) -> Array:
    """I10: a step at quantile `z`: the prompts that came during the one before it (Poisson) are prefilled in it."""
    longest = state.tpot_seconds
    for _ in range(_BURST_STEPS):
        came = state.requests_per_second * longest
        prompts = np.clip(came + z * np.sqrt(came), 1.0, _MOST_PROMPTS)
        longest = state.step_seconds + prompts * state.work_seconds
    return longest


def open_loop_latency(state: Steady, load: Load, spread: Spread, rho: Array) -> dict[tuple[str, str], Array]:
    """I10: seconds by (metric, statistic). TTFT is lognormal, wider as `rho` (rate over the highest rate) nears 1."""
    wait = slot_wait_seconds(state, load)
    ttft = state.ttft_seconds + wait
    widening = _TTFT_SPREAD_GROWTH * np.maximum(rho - _TTFT_SPREAD_FROM, 0.0) ** 1.5
    prefill_share = state.prefill_seconds / np.maximum(ttft, 1e-9)
    sigma = np.sqrt((_TTFT_SPREAD_LOW + widening) ** 2 + (spread.input_log_sd * prefill_share) ** 2)
    median = ttft * np.exp(-0.5 * sigma**2)
    tokens = np.maximum(load.output_tokens - 1.0, 0.0)
    result: dict[tuple[str, str], Array] = {
        ("ttft", "mean"): ttft,
        ("tpot", "mean"): state.tpot_seconds,
        ("itl", "mean"): state.tpot_seconds,
        ("e2e", "mean"): ttft + tokens * state.tpot_seconds,
    }
    others = 1.0 - state.step_seconds / np.maximum(state.tpot_seconds, 1e-12)
    token_spread = np.hypot(_TPOT_SPREAD, _TPOT_SPREAD_PER_PREFILL * others)
    varied = np.asarray(spread.output_log_sd) > 0
    typical = np.exp(-0.5 * spread.output_log_sd**2)
    for name, z in NORMAL_QUANTILE.items():
        result["ttft", name] = median * np.exp(sigma * z)
        result["tpot", name] = state.tpot_seconds * np.exp(token_spread * z)
        result["itl", name] = stalled_step_seconds(state, z) if z > 0 else state.step_seconds
        longest = tokens * typical * np.exp(spread.output_log_sd * z)
        first = np.where(varied, result["ttft", "mean"], result["ttft", name])
        result["e2e", name] = first + longest * state.tpot_seconds
    return result
