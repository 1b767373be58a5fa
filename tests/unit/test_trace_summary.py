"""What a trace says: blocks of load, lengths, burstiness, and the bound of a perfect autoscaler."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from gpu_opt.errors import InputError
from gpu_opt.throughput.queueing.summary import block_cuts, derive, perfect_autoscaler_replica_hours
from gpu_opt.throughput.queueing.trace import Trace


def trace_of(arrivals: list[float], inputs: list[int] | None = None, outputs: list[int] | None = None) -> Trace:
    count = len(arrivals)
    return Trace(
        name="trace.csv",
        arrival_seconds=np.array(arrivals),
        input_tokens=np.array(inputs or [100] * count),
        output_tokens=np.array(outputs or [10] * count),
    )


def hourly(requests_per_hour: list[int]) -> Trace:
    """Evenly spaced requests within each hour, and one last gap that fills the last hour."""
    arrivals = [3600.0 * hour + 3600.0 * k / n for hour, n in enumerate(requests_per_hour) for k in range(n)]
    return trace_of(arrivals)


def test_a_day_with_two_levels_becomes_two_blocks() -> None:
    # 6 hours of 720 and 18 hours of 360 requests: 0.2 and 0.1 a second, a quarter and three quarters of the time
    summary = derive(hourly([360] * 9 + [720] * 6 + [360] * 9), blocks=2)
    peak, base = summary.blocks
    assert (peak.name, base.name) == ("peak", "base")
    assert peak.hours_share_fraction == pytest.approx(0.25)
    assert peak.requests_per_second == pytest.approx(0.2, rel=0.01)
    assert base.requests_per_second == pytest.approx(0.1, rel=0.01)


def test_blocks_keep_the_number_of_requests_and_fill_the_time() -> None:
    levels = [100, 130, 90, 400, 700, 650, 720, 300, 250, 240, 230, 500] * 4
    trace = hourly(levels)
    for count in (1, 2, 3, 4, 6):
        summary = derive(trace, blocks=count)
        assert len(summary.blocks) == count
        assert sum(block.hours_share_fraction for block in summary.blocks) == pytest.approx(1.0)
        mean = sum(block.hours_share_fraction * block.requests_per_second for block in summary.blocks)
        assert mean == pytest.approx(trace.requests / trace.duration_seconds)
        rates = [block.requests_per_second for block in summary.blocks]
        assert rates == sorted(rates, reverse=True)


def test_even_load_needs_one_block_only() -> None:
    assert [block.name for block in derive(hourly([360] * 48), blocks=4).blocks] == ["all"]


def test_cuts_need_the_least_capacity_of_all_cuts() -> None:
    rates = np.array([9.0, 8.5, 8.0, 5.0, 4.9, 2.0, 1.0, 1.0, 0.5])

    def capacity(cuts: list[int]) -> float:
        return sum((end - start) * float(rates[start]) for start, end in itertools.pairwise(cuts))

    every = [[0, *inner, 9] for inner in itertools.combinations(range(1, 9), 2)]
    assert capacity(block_cuts(rates, 3)) == min(capacity(cuts) for cuts in every)


def test_a_long_trace_is_cut_on_a_coarser_grid() -> None:
    rates = np.linspace(10.0, 0.0, 9001)
    cuts = block_cuts(rates, 2)
    # a straight line is cut best in the middle
    assert cuts[0] == 0
    assert cuts[-1] == 9001
    assert cuts[1] == pytest.approx(4500, abs=10)


def test_lengths_have_mean_percentiles_and_correlation() -> None:
    lengths = list(range(1, 101))
    summary = derive(trace_of([float(k) for k in range(100)], lengths, [2 * tokens for tokens in lengths]))
    # 1…100: mean 50.5, median 50.5, P95 = 1 + 0.95 · 99 = 95.05, P99 = 99.01
    assert summary.input_tokens.mean_tokens == pytest.approx(50.5)
    assert summary.input_tokens.p50_tokens == pytest.approx(50.5)
    assert summary.input_tokens.p95_tokens == pytest.approx(95.05)
    assert summary.input_tokens.p99_tokens == pytest.approx(99.01)
    assert summary.input_tokens.length.p95_tokens == pytest.approx(95.05)
    assert summary.length_correlation_ratio == pytest.approx(1.0)


def test_fixed_lengths_have_no_correlation() -> None:
    assert derive(trace_of([0.0, 1.0, 2.0])).length_correlation_ratio == 0.0


def test_independent_arrivals_have_a_dispersion_of_one_and_no_burst() -> None:
    gaps = np.random.default_rng(5).exponential(1.0, 86_400)
    summary = derive(trace_of(np.cumsum(gaps).tolist()), blocks=1)
    assert summary.index_of_dispersion_ratio == pytest.approx(1.0, abs=0.1)
    assert summary.burst_peak_to_mean_ratio == pytest.approx(1.0, abs=0.06)


def test_alternating_minutes_are_a_burst() -> None:
    # 1,440 minutes of 90 and 30 in turn: mean 60, variance 900, dispersion 15; own spread √(900 − 60) = 29;
    # P99 / mean = 1 + 2.326 · 29 / 60 = 2.12
    arrivals = [
        60.0 * minute + 60.0 * k / n for minute in range(1440) for n in [30 + 60 * (minute % 2)] for k in range(n)
    ]
    summary = derive(trace_of(arrivals), blocks=1)
    assert summary.index_of_dispersion_ratio == pytest.approx(15.0, rel=0.02)
    assert summary.burst_peak_to_mean_ratio == pytest.approx(2.12, rel=0.02)
    assert summary.peak_to_mean_ratio == pytest.approx(1.5, rel=0.02)


def test_a_trace_shorter_than_a_day_says_so() -> None:
    notes = derive(trace_of([float(k) for k in range(3600)])).notes
    assert notes == ("trace.csv covers 1.0 h, less than a day: it repeats, and shows no daily cycle.",)


def test_refused_rows_are_told() -> None:
    trace = dataclasses.replace(hourly([360] * 48), refused_rows=20)
    # 48 · 360 = 17,280 good rows and 20 bad ones
    assert derive(trace).notes == ("trace.csv: 20 of 17300 rows were refused.",)


def test_zero_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="0 blocks"):
        derive(trace_of([0.0, 1.0]), blocks=0)


def test_a_perfect_autoscaler_runs_whole_replicas_for_each_window() -> None:
    # an hour of 720 (0.2 a second) and one of 360 (0.1): at 0.15 a replica that is 2 + 1 replica-hours
    trace = hourly([720, 360])
    assert perfect_autoscaler_replica_hours(trace, 0.15, window_seconds=3600.0) == pytest.approx(3.0, rel=0.01)


def test_a_short_trace_repeats_over_the_period() -> None:
    # 1.5 replicas on average over 2,160 h
    hours = perfect_autoscaler_replica_hours(hourly([720, 360]), 0.15, window_seconds=3600.0, period_hours=2160.0)
    assert hours == pytest.approx(3240.0)


def test_no_autoscaler_beats_the_bound_with_wider_windows() -> None:
    gaps = np.random.default_rng(3).exponential(0.5, 20_000)
    trace = trace_of(np.cumsum(gaps).tolist())
    narrow = perfect_autoscaler_replica_hours(trace, 0.3, window_seconds=60.0)
    assert narrow >= trace.requests / 0.3 / 3600.0


def test_replicas_without_a_rate_are_refused() -> None:
    with pytest.raises(InputError, match="must be positive"):
        perfect_autoscaler_replica_hours(hourly([720]), 0.0)


def test_one_request_is_a_trace() -> None:
    summary = derive(trace_of([0.0]))
    assert (summary.requests, len(summary.blocks)) == (1, 1)
