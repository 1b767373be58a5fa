"""Sampled requests: rates, spreads and burstiness are those that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_opt.domain.workload import RequestClass, TokenLength
from gpu_opt.errors import InputError
from gpu_opt.throughput.queueing.arrivals import (
    busiest,
    default_cv_ratio,
    lognormal_sigma,
    requests_of,
    sample_requests,
)
from gpu_opt.throughput.queueing.trace import Trace

INPUT = TokenLength(mean_tokens=1000, p95_tokens=2500)
OUTPUT = TokenLength(mean_tokens=200, p95_tokens=400)


def test_the_number_of_requests_is_rate_times_time_and_they_take_about_that_time() -> None:
    requests = sample_requests(20, 500, INPUT, OUTPUT)
    assert len(requests) == 10_000
    assert requests.arrival_seconds[-1] == pytest.approx(500, rel=0.05)


def test_lengths_have_the_mean_and_p95_asked_for() -> None:
    requests = sample_requests(100, 1000, INPUT, OUTPUT, seed=1)
    assert requests.input_tokens.mean() == pytest.approx(1000, rel=0.02)
    assert np.percentile(requests.input_tokens, 95) == pytest.approx(2500, rel=0.02)
    assert requests.output_tokens.mean() == pytest.approx(200, rel=0.02)
    assert np.percentile(requests.output_tokens, 95) == pytest.approx(400, rel=0.02)


def test_a_mean_alone_gets_the_spread_of_a_public_trace() -> None:
    requests = sample_requests(100, 1000, TokenLength(mean_tokens=1000), TokenLength(mean_tokens=200), seed=1)
    assert requests.input_tokens.std() / 1000 == pytest.approx(default_cv_ratio("input"), rel=0.05)
    assert requests.output_tokens.std() / 200 == pytest.approx(default_cv_ratio("output"), rel=0.05)


def test_sigma_follows_from_the_ratio_of_p95_to_mean() -> None:
    # σ = 0.5: P95 / mean = exp(1.6449 · 0.5 − 0.125) = exp(0.69745) = 2.0086
    assert lognormal_sigma(TokenLength(mean_tokens=1.0, p95_tokens=2.0086), 0.9) == pytest.approx(0.5, abs=1e-3)
    # the steepest that a lognormal can be: 3.87 × the mean, at σ = 1.645
    assert lognormal_sigma(TokenLength(mean_tokens=1.0, p95_tokens=10.0), 0.9) == pytest.approx(1.6449)
    assert lognormal_sigma(TokenLength(mean_tokens=5.0, p95_tokens=5.0), 0.9) == 0.0


def test_a_p95_at_the_mean_is_a_fixed_length() -> None:
    fixed = TokenLength(mean_tokens=128, p95_tokens=128)
    requests = sample_requests(10, 10, fixed, fixed)
    assert set(requests.input_tokens.tolist()) == {128}


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
def test_gaps_have_the_variation_asked_for(cv: float) -> None:
    gaps = np.diff(sample_requests(10, 5000, INPUT, OUTPUT, interarrival_cv=cv, seed=3).arrival_seconds)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.05)


def test_no_variation_is_an_even_stream_and_less_is_refused() -> None:
    gaps = np.diff(sample_requests(4, 10, INPUT, OUTPUT, interarrival_cv=0.0).arrival_seconds)
    assert gaps.tolist() == [0.25] * 39
    with pytest.raises(InputError, match="variation of -1"):
        sample_requests(4, 10, INPUT, OUTPUT, interarrival_cv=-1.0)


def test_a_mix_has_its_classes_by_their_shares() -> None:
    short, long = TokenLength(mean_tokens=100, p95_tokens=100), TokenLength(mean_tokens=9000, p95_tokens=9000)
    mix = (
        RequestClass(share_fraction=0.75, input_tokens=short, output_tokens=OUTPUT),
        RequestClass(share_fraction=0.25, input_tokens=long, output_tokens=OUTPUT),
    )
    requests = sample_requests(100, 400, INPUT, OUTPUT, mix=mix, seed=2)
    assert set(requests.input_tokens.tolist()) == {100, 9000}
    assert np.mean(requests.input_tokens == 9000) == pytest.approx(0.25, abs=0.01)


def test_the_same_seed_gives_the_same_requests_and_another_does_not() -> None:
    one, again, other = (sample_requests(5, 100, INPUT, OUTPUT, seed=seed).input_tokens.tolist() for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_the_busiest_part_of_a_trace_is_found() -> None:
    arrivals = np.concatenate((np.arange(0, 1000, 10.0), np.arange(1000, 1100, 1.0), np.arange(1100, 2000, 10.0)))
    trace = Trace(
        name="t",
        arrival_seconds=arrivals,
        input_tokens=np.ones(len(arrivals), dtype=np.int64),
        output_tokens=np.ones(len(arrivals), dtype=np.int64),
    )
    part = busiest(trace, 100.0)
    assert part.requests == 100
    assert requests_of(part).arrival_seconds[0] == 0.0
    assert busiest(trace, 1e9) is trace
