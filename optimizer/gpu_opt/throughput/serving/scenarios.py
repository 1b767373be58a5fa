"""What a benchmark of each kind would report for a replica: throughput, and means and percentiles of latency."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpu_opt.throughput.serving.latency import Spread, open_loop_latency
from gpu_opt.throughput.serving.replica import Array, Factors, Facts
from gpu_opt.throughput.serving.steady import Load, Steady, closed_loop, offline, static_batch, steady_at_batch
from gpu_opt.throughput.serving.step import decode_seconds, prefill_seconds, prefill_work_seconds

Outcome = dict[str, Array]
"""Arrays by metric: `throughput_out_tok_s` and `capacity` in tokens per second, `ttft_mean`, … in seconds."""
_SOLVE_STEPS = 24
_OVERLOAD_SECONDS = 10.0
_KEPT_UP = 0.92
_SPLIT_STEPS = 5


def _outcome(state: Steady, load: Load, throughput: Array) -> Outcome:
    return {
        "throughput_out_tok_s": throughput,
        "capacity": throughput,
        "ttft_mean": state.ttft_seconds,
        "tpot_mean": state.tpot_seconds,
        "e2e_mean": state.e2e_seconds,
    }


def _with_percentiles(outcome: Outcome, state: Steady, load: Load, rho: Array) -> Outcome:
    latency = open_loop_latency(state, load, Spread(), rho)
    for metric in ("ttft", "tpot", "e2e"):
        scale = outcome[f"{metric}_mean"] / np.maximum(latency[metric, "mean"], 1e-12)
        for statistic in ("p50", "p95", "p99"):
            outcome[f"{metric}_{statistic}"] = latency[metric, statistic] * scale
    return outcome


def closed(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """A fixed number of users."""
    state = closed_loop(facts, factors, load, users)
    outcome = _outcome(state, load, state.requests_per_second * load.output_tokens)
    return _with_percentiles(outcome, state, load, np.full_like(users, 0.85))


def split(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """I8: a closed loop on separate prefill and decode workers; `rate` is the ratio of their GPUs, prefill to decode.

    Decoding never waits for a prefill; prefills queue among themselves, and bound the rate.
    """
    slots = np.minimum(users, load.max_batch)
    work = prefill_work_seconds(facts, factors, load.input_tokens) / np.maximum(rate, 1e-6)
    prefill = prefill_seconds(facts, factors, load.input_tokens)
    tokens = np.maximum(load.output_tokens - 1.0, 1e-6)
    batch = np.maximum(0.8 * slots, 0.5)
    first, step = prefill, prefill
    for _ in range(_SPLIT_STEPS):
        step = decode_seconds(facts, factors, batch, load.context_tokens)
        first = factors.closed_ms * 1e-3 + prefill + factors.first_steps * step + factors.crowd * slots * work
        batch = np.maximum(0.4 * batch + 0.6 * slots * tokens * step / (tokens * step + first), 0.05)
    requests = np.minimum(slots / (first + tokens * step), 1.0 / np.maximum(work, 1e-12))
    first = np.maximum(first, users / requests - tokens * step)
    throughput = requests * load.output_tokens
    return {
        "throughput_out_tok_s": throughput,
        "capacity": throughput,
        "ttft_mean": first,
        "tpot_mean": step,
        "e2e_mean": first + tokens * step,
    }


def burst(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """All requests at once: the first wave prefills together, the rest waits for slots; the last wave runs out."""
    state = closed_loop(facts, factors, load, np.minimum(users, load.max_batch))
    slots = np.minimum(users, load.max_batch)
    work = state.work_seconds
    first = state.prefill_seconds + 0.5 * slots * work
    waves = np.maximum(users - slots, 0.0) / state.requests_per_second
    decode = np.maximum(load.output_tokens - 1.0, 0.0) * state.tpot_seconds
    alone = decode_seconds(facts, factors, np.ones_like(slots), load.context_tokens)
    tail = (load.longest_ratio - 1.0) * load.output_tokens * 0.5 * (alone + state.step_seconds)
    total = state.prefill_seconds + slots * work + waves + decode + tail
    queued = np.maximum(users - slots, 0.0) / users
    ttft = factors.request_ms * 1e-3 + first + queued * 0.5 * waves
    throughput = users * load.output_tokens / total
    return {
        "throughput_out_tok_s": throughput,
        "capacity": throughput,
        "ttft_mean": ttft,
        "ttft_p50": ttft,
        "ttft_p95": state.prefill_seconds + 0.95 * (slots * work + waves),
        "ttft_p99": state.prefill_seconds + 0.99 * (slots * work + waves),
        "tpot_mean": state.tpot_seconds,
        "tpot_p50": state.tpot_seconds,
        "tpot_p99": 1.3 * state.tpot_seconds,
        "e2e_mean": ttft + decode,
        "e2e_p99": total,
    }


def static(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """A batch that starts and ends together."""
    state = static_batch(facts, factors, load, users)
    return _outcome(state, load, state.requests_per_second * load.output_tokens)


def decode_only(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """Decoding alone, after a prompt that isn't counted."""
    step = decode_seconds(facts, factors, np.maximum(users, 1.0), load.context_tokens)
    throughput = np.maximum(users, 1.0) / step
    return {"throughput_out_tok_s": throughput, "capacity": throughput, "tpot_mean": step}


def prefill_only(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """Prefilling alone."""
    seconds = prefill_seconds(facts, factors, np.maximum(users, 1.0) * load.input_tokens)
    return {"throughput_out_tok_s": np.zeros_like(seconds), "capacity": 1.0 / seconds, "ttft_mean": seconds}


def offline_run(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """Everything at hand from the start. A known number of requests also pays its last wave."""
    state = offline(facts, factors, load)
    throughput = state.requests_per_second * load.output_tokens
    return {"throughput_out_tok_s": throughput, "capacity": throughput, "tpot_mean": state.tpot_seconds}


def server(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """Poisson arrivals at a rate that was sustained (an accepted MLPerf run): at most `_KEPT_UP` of capacity."""
    highest = offline(facts, factors, load).requests_per_second
    outcome = open_loop(facts, factors, load, users, np.minimum(rate, _KEPT_UP * highest))
    return {**outcome, "throughput_out_tok_s": rate * load.output_tokens}


def open_loop(facts: Facts, factors: Factors, load: Load, users: Array, rate: Array) -> Outcome:
    """Poisson arrivals at a rate; above the highest rate the queue grows for the length of a test."""
    top = offline(facts, factors, load)
    highest = top.requests_per_second
    wanted = np.minimum(rate, 0.995 * highest)
    low, high = np.full_like(rate, -8.0), np.log(np.maximum(top.batch, 1.0))
    for _ in range(_SOLVE_STEPS):
        middle = 0.5 * (low + high)
        below = steady_at_batch(facts, factors, load, np.exp(middle)).requests_per_second < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    state = steady_at_batch(facts, factors, load, np.exp(0.5 * (low + high)))
    spread = Spread(output_log_sd=load.output_log_sd)
    latency = open_loop_latency(state, load, spread, np.minimum(rate / highest, 1.0))
    over = np.maximum(rate / highest - 1.0, 0.0) * 0.5 * _OVERLOAD_SECONDS
    outcome = {f"{metric}_{statistic}": value for (metric, statistic), value in latency.items()}
    for name in list(outcome):
        if name.startswith(("ttft", "e2e")):
            outcome[name] = outcome[name] + over
    throughput = np.minimum(rate, highest) * load.output_tokens
    return {**outcome, "throughput_out_tok_s": throughput, "capacity": highest * load.output_tokens}


SCENARIOS: dict[str, Callable[[Facts, Factors, Load, Array, Array], Outcome]] = {
    "closed": closed,
    "split": split,
    "burst": burst,
    "static": static,
    "decode": decode_only,
    "prefill": prefill_only,
    "offline": offline_run,
    "open": open_loop,
    "server": server,
}
