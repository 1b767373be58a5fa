"""What a trace says about a service: blocks of load, lengths, burstiness, and the least that autoscaling could use."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gpu_opt.domain.workload import TokenLength, TrafficBlock
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.queueing.trace import Trace
from gpu_opt.units import SECONDS_PER_HOUR

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DAY_SECONDS = 86400.0
_SHORT_WINDOW_SECONDS = 60.0
_WINDOWS_OF_A_SHORT_TRACE = 24
_MAX_WINDOWS = 2000
_LEAST_SAVING_FRACTION = 0.005  # of capacity: a further block must be worth a line in the plan
_Z_P99 = 2.326  # of the normal distribution


@record
class LengthStats:
    """Tokens a request: its mean and percentiles."""

    mean_tokens: float
    p50_tokens: float
    p95_tokens: float
    p99_tokens: float
    coefficient_of_variation_ratio: float

    @property
    def length(self) -> TokenLength:
        return TokenLength(mean_tokens=self.mean_tokens, p95_tokens=max(self.p95_tokens, self.mean_tokens))


@record
class TraceSummary:
    """A trace, repeated as long as it is needed, as steady blocks, highest load first.

    The blocks' rates keep the number of requests. `peak_to_mean_ratio` is the busiest minute over the mean of the
    whole trace; `burst_peak_to_mean_ratio` how far minutes of the peak block rise above its mean (P99) beyond the
    chance variation of independent requests. `index_of_dispersion_ratio` is variance over mean of requests a minute
    within the blocks: 1 for independent arrivals.
    """

    requests: int
    duration_hours: float
    requests_per_second: float
    blocks: tuple[TrafficBlock, ...]
    input_tokens: LengthStats
    output_tokens: LengthStats
    length_correlation_ratio: float
    peak_to_mean_ratio: float
    burst_peak_to_mean_ratio: float
    index_of_dispersion_ratio: float
    notes: tuple[str, ...] = ()


def derive(trace: Trace, *, blocks: int = 4) -> TraceSummary:
    """Cuts the load of a trace into at most `blocks` blocks, where steps fit the load-duration curve closest."""
    if blocks < 1:
        raise InputError(Problem(file=trace.name, what=f"{blocks} blocks asked for.", remedy="Ask for at least one."))
    rates = _window_rates(trace, _block_window_seconds(trace.duration_seconds))
    order = np.argsort(-rates, kind="stable")
    cuts = block_cuts(rates[order], blocks)
    block_of_window = np.empty(len(rates), dtype=np.int64)
    block_of_window[order] = np.searchsorted(np.array(cuts[1:]), np.arange(len(rates)), side="right")
    per_block = [rates[block_of_window == index] for index in range(len(cuts) - 1)]
    minutes = _window_rates(trace, _SHORT_WINDOW_SECONDS)
    dispersion, burst = _burstiness(minutes, block_of_window, trace.duration_seconds / len(minutes))
    return TraceSummary(
        requests=trace.requests,
        duration_hours=trace.duration_seconds / SECONDS_PER_HOUR,
        requests_per_second=trace.requests / trace.duration_seconds,
        blocks=tuple(
            TrafficBlock(name=name, hours_share_fraction=len(part) / len(rates), requests_per_second=float(part.mean()))
            for name, part in zip(_block_names(len(per_block)), per_block, strict=True)
        ),
        input_tokens=length_stats(trace.input_tokens),
        output_tokens=length_stats(trace.output_tokens),
        length_correlation_ratio=_correlation(trace),
        peak_to_mean_ratio=float(minutes.max() / minutes.mean()),
        burst_peak_to_mean_ratio=burst,
        index_of_dispersion_ratio=dispersion,
        notes=_notes(trace),
    )


def perfect_autoscaler_replica_hours(
    trace: Trace,
    requests_per_second_per_replica: float,
    *,
    window_seconds: float = 60.0,
    period_hours: float | None = None,
) -> float:
    """Replica-hours of an autoscaler that knows the future: in each window just enough whole replicas for its load.

    Nothing that starts or stops whole replicas once a window can use less. With `period_hours` the trace repeats, or
    is cut, to that length in proportion.
    """
    if requests_per_second_per_replica <= 0:
        what = f"{requests_per_second_per_replica:g} requests per second and replica."
        raise InputError(Problem(file=trace.name, what=what, remedy="A replica's rate must be positive."))
    rates = _window_rates(trace, window_seconds)
    replicas = np.ceil(rates / requests_per_second_per_replica - 1e-9)
    hours = period_hours if period_hours is not None else trace.duration_seconds / SECONDS_PER_HOUR
    return float(replicas.mean()) * hours


def length_stats(tokens: Ints) -> LengthStats:
    """Mean, percentiles and spread of lengths."""
    p50, p95, p99 = np.percentile(tokens, [50, 95, 99])
    mean = float(tokens.mean())
    return LengthStats(
        mean_tokens=mean,
        p50_tokens=float(p50),
        p95_tokens=float(p95),
        p99_tokens=float(p99),
        coefficient_of_variation_ratio=float(tokens.std()) / mean,
    )


def block_cuts(descending_rates: Floats, blocks: int) -> list[int]:
    """Edges 0 = c₀ < c₁ … = n of at most `blocks` steps over a descending load, of the least Σ nᵢ·maxᵢ.

    That sum is the capacity when each block is sized for its highest window. Solved exactly, block by block.
    """
    n = len(descending_rates)
    step = -(-n // _MAX_WINDOWS)
    edges = np.append(np.arange(0, n, step), n)
    tops = descending_rates[edges[:-1]]
    cost = np.full(len(edges), np.inf)
    cost[0] = 0.0
    came_from: list[Ints] = []
    for _ in range(min(blocks, len(edges) - 1)):
        following = np.full(len(edges), np.inf)
        source = np.zeros(len(edges), dtype=np.int64)
        for end in range(1, len(edges)):
            options = cost[:end] + (edges[end] - edges[:end]) * tops[:end]
            source[end] = int(np.argmin(options))
            following[end] = options[source[end]]
        came_from.append(source)
        if following[-1] >= cost[-1] * (1.0 - _LEAST_SAVING_FRACTION):
            came_from.pop()
            break
        cost = following
    cuts = [len(edges) - 1]
    for source in reversed(came_from):
        cuts.append(int(source[cuts[-1]]))
    return [int(edges[cut]) for cut in reversed(cuts)]


def _window_rates(trace: Trace, window_seconds: float) -> Floats:
    """Requests per second in equal windows of about `window_seconds` that fill the trace exactly."""
    windows = max(1, round(trace.duration_seconds / window_seconds))
    width = trace.duration_seconds / windows
    index = np.minimum((trace.arrival_seconds / width).astype(np.int64), windows - 1)
    return np.bincount(index, minlength=windows) / width


def _block_window_seconds(duration_seconds: float) -> float:
    if duration_seconds >= _DAY_SECONDS:
        return SECONDS_PER_HOUR
    return max(_SHORT_WINDOW_SECONDS, duration_seconds / _WINDOWS_OF_A_SHORT_TRACE)


def _block_names(count: int) -> tuple[str, ...]:
    names = {1: ("all",), 2: ("peak", "base"), 3: ("peak", "middle", "low"), 4: ("peak", "high", "middle", "low")}
    return names.get(count) or ("peak", *(f"load-{index}" for index in range(2, count + 1)))


def _burstiness(minute_rates: Floats, block_of_window: Ints, minute_seconds: float) -> tuple[float, float]:
    """Index of dispersion within blocks, and P99 over mean of the peak block's own rate."""
    minutes = len(minute_rates)
    block_of_minute = block_of_window[((np.arange(minutes) + 0.5) * len(block_of_window) / minutes).astype(np.int64)]
    counts = minute_rates * minute_seconds
    squares = means = 0.0
    burst = 1.0
    for block in range(int(block_of_window.max()) + 1):
        part = counts[block_of_minute == block]
        if len(part) < 2:
            continue
        mean, variance = float(part.mean()), float(part.var(ddof=1))
        squares += variance * len(part)
        means += mean * len(part)
        if block == 0 and mean > 0:
            burst = 1.0 + _Z_P99 * math.sqrt(max(0.0, variance - mean)) / mean
    return (squares / means if means > 0 else 1.0), burst


def _correlation(trace: Trace) -> float:
    inputs, outputs = trace.input_tokens, trace.output_tokens
    if inputs.std() == 0 or outputs.std() == 0:
        return 0.0
    return float(np.corrcoef(inputs, outputs)[0, 1])


def _notes(trace: Trace) -> tuple[str, ...]:
    notes = []
    if trace.duration_seconds < _DAY_SECONDS:
        hours = trace.duration_seconds / SECONDS_PER_HOUR
        notes.append(f"{trace.name} covers {hours:.1f} h, less than a day: it repeats, and shows no daily cycle.")
    if trace.refused_rows:
        notes.append(f"{trace.name}: {trace.refused_rows} of {trace.refused_rows + trace.requests} rows were refused.")
    return tuple(notes)
