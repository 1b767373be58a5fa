"""Steady states of one replica: what a number of users, a rate, a static batch or an offline run gives (I7–I9)."""

from __future__ import annotations

import numpy as np

from gpu_opt.records import record
from gpu_opt.throughput.serving.replica import Array, Factors, Facts
from gpu_opt.throughput.serving.step import decode_seconds, prefill_seconds, prefill_work_seconds

_FIXED_POINT_STEPS = 5
OPEN_LOOP_STEPS = 0.55
"""Share of `first_steps` at a rate: users of a closed loop arrive together, others don't. Event simulation, 2026-12."""
DRAFT_STEP_FRACTION = 0.03
"""Cost of one draft token in target steps: one of 32 layers plus the head, as in EAGLE (arXiv:2401.15077, 2024)."""


@record
class Load:
    """Requests as arrays: mean tokens in and out, cached prefix tokens of the input, and the batch that fits.

    `context_tokens` is the mean length of a decoding sequence, weighted by the time it decodes. `draft_tokens` and
    `accepted_tokens` are those proposed and gained per step of speculative decoding (0 and 1 without).
    `longest_ratio` is the longest output over the mean, which a burst waits for;
    `output_log_sd` the spread of output lengths (0: all equal).
    """

    input_tokens: Array
    output_tokens: Array
    prefix_tokens: Array
    context_tokens: Array
    max_batch: Array
    draft_tokens: Array | float = 0.0
    accepted_tokens: Array | float = 1.0
    longest_ratio: Array | float = 1.0
    output_log_sd: Array | float = 0.0


@record
class Steady:
    """A steady state: sequences decoding, seconds per token and to the first token, requests per second."""

    batch: Array
    step_seconds: Array
    prefill_seconds: Array
    work_seconds: Array
    tpot_seconds: Array
    ttft_seconds: Array
    e2e_seconds: Array
    requests_per_second: Array
    utilisation: Array


def token_seconds(facts: Facts, factors: Factors, load: Load, batch: Array) -> Array:
    """I7: decode time per token; a speculative step verifies its drafts at once and gains more than one token."""
    step = decode_seconds(facts, factors, batch, load.context_tokens, 1.0 + load.draft_tokens)
    return step * (1.0 + DRAFT_STEP_FRACTION * load.draft_tokens) / load.accepted_tokens


def tpot_at(facts: Facts, factors: Factors, load: Load, batch: Array, work: Array) -> tuple[Array, Array]:
    """I7: (decode step, mean time per output token): each token also waits for its share of others' prefills."""
    step = token_seconds(facts, factors, load, batch)
    return step, step + np.maximum(batch - 1.0, 0.0) / np.maximum(load.output_tokens, 1.0) * work


def steady_at_batch(facts: Facts, factors: Factors, load: Load, batch: Array) -> Steady:
    """I7: the state with `batch` sequences decoding on average, Little's law giving the rate."""
    fresh = np.maximum(load.input_tokens - load.prefix_tokens, 1.0)
    prefill = prefill_seconds(facts, factors, fresh, load.prefix_tokens)
    work = prefill_work_seconds(facts, factors, fresh, load.prefix_tokens)
    step, tpot = tpot_at(facts, factors, load, batch, work)
    decode = np.maximum(load.output_tokens - 1.0, 0.0) * tpot
    rate = batch / np.maximum(decode, 1e-9)
    busy = np.minimum(rate * work, 0.98)
    wait = factors.queue * 0.5 * prefill * busy / (1.0 - busy)
    ttft = factors.request_ms * 1e-3 + prefill + OPEN_LOOP_STEPS * factors.first_steps * tpot + wait
    return Steady(
        batch=batch,
        step_seconds=step,
        prefill_seconds=prefill,
        work_seconds=work,
        tpot_seconds=tpot,
        ttft_seconds=ttft,
        e2e_seconds=ttft + decode,
        requests_per_second=rate,
        utilisation=busy,
    )


def closed_loop(facts: Facts, factors: Factors, load: Load, users: Array) -> Steady:
    """I8: `users` that each send the next request when the last one ends; those beyond `max_batch` wait for a slot.

    Users fall into step: a share `crowd` of everybody's prefills is met before the first token, the rest between
    tokens. Either way a request pays for all of them once.
    """
    slots = np.minimum(users, load.max_batch)
    fresh = np.maximum(load.input_tokens - load.prefix_tokens, 1.0)
    prefill = prefill_seconds(facts, factors, fresh, load.prefix_tokens)
    work = prefill_work_seconds(facts, factors, fresh, load.prefix_tokens)
    tokens = np.maximum(load.output_tokens - 1.0, 1e-6)
    others = np.maximum(slots - 1.0, 0.0) * work
    batch = np.maximum(0.8 * slots, 0.5)
    first, decode, tpot, step = prefill, prefill, prefill, prefill
    for _ in range(_FIXED_POINT_STEPS):
        step = token_seconds(facts, factors, load, batch)
        tpot = step + (1.0 - factors.crowd) * others / np.maximum(load.output_tokens, 1.0)
        first = factors.closed_ms * 1e-3 + prefill + factors.first_steps * step
        first = first + (factors.crowd + factors.burst) * others
        decode = tokens * tpot
        batch = np.maximum(0.4 * batch + 0.6 * slots * decode / (decode + first), 0.05)
    rate = slots / (first + decode)
    first = first + np.maximum(users - slots, 0.0) / rate
    return Steady(
        batch=batch,
        step_seconds=step,
        prefill_seconds=prefill,
        work_seconds=work,
        tpot_seconds=tpot,
        ttft_seconds=first,
        e2e_seconds=first + decode,
        requests_per_second=rate,
        utilisation=np.minimum(rate * work, 1.0),
    )


def static_batch(facts: Facts, factors: Factors, load: Load, batch: Array) -> Steady:
    """I8: `batch` requests that start together and end together; more than fit run in waves."""
    inside = np.minimum(batch, np.maximum(load.max_batch, 1.0))
    fresh = np.maximum(load.input_tokens - load.prefix_tokens, 1.0)
    one = prefill_seconds(facts, factors, fresh, load.prefix_tokens)
    work = prefill_work_seconds(facts, factors, fresh, load.prefix_tokens)
    prefill = one + np.maximum(inside - 1.0, 0.0) * work
    step = token_seconds(facts, factors, load, inside)
    decode = np.maximum(load.output_tokens - 1.0, 0.0) * step
    waves = batch / inside
    total = (prefill + decode) * waves
    return Steady(
        batch=inside,
        step_seconds=step,
        prefill_seconds=one,
        work_seconds=work,
        tpot_seconds=step,
        ttft_seconds=prefill,
        e2e_seconds=total,
        requests_per_second=batch / total,
        utilisation=prefill / (prefill + decode),
    )


def offline(facts: Facts, factors: Factors, load: Load) -> Steady:
    """I9: the highest rate over batches up to `max_batch`, which need not be at the largest."""
    fresh = np.maximum(load.input_tokens - load.prefix_tokens, 1.0)
    work = prefill_work_seconds(facts, factors, fresh, load.prefix_tokens)
    rate = np.zeros_like(load.max_batch)
    chosen = np.ones_like(load.max_batch)
    for share in (0.1, 0.25, 0.5, 0.7, 0.85, 1.0):
        batch = np.maximum(load.max_batch * share, 1.0)
        step = token_seconds(facts, factors, load, batch)
        candidate = batch / (load.output_tokens * step + batch * work)
        better = candidate > rate
        rate, chosen = np.where(better, candidate, rate), np.where(better, batch, chosen)
    best = steady_at_batch(facts, factors, load, chosen)
    return Steady(
        batch=chosen,
        step_seconds=best.step_seconds,
        prefill_seconds=best.prefill_seconds,
        work_seconds=work,
        tpot_seconds=best.tpot_seconds,
        ttft_seconds=best.ttft_seconds,
        e2e_seconds=best.e2e_seconds,
        requests_per_second=rate,
        utilisation=rate * work,
    )
