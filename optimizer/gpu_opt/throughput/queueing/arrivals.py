"""Requests sampled from a rate and lengths: Poisson or burstier arrivals, lognormal lengths."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

import numpy as np
import numpy.typing as npt

from gpu_opt.domain.workload import RequestClass, TokenLength
from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.queueing.trace import Trace

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_Z_P95 = 1.6449  # of the normal distribution


@record
class Requests:
    """What arrives: one entry a request, in order of arrival; `arrival_seconds` starts at or after zero."""

    arrival_seconds: Floats
    input_tokens: Ints
    output_tokens: Ints

    def __len__(self) -> int:
        return len(self.arrival_seconds)

    def at_rate(self, factor: float) -> Requests:
        """The same requests, arriving `factor` times as fast."""
        return replace(self, arrival_seconds=self.arrival_seconds / factor)


def requests_of(trace: Trace) -> Requests:
    """A trace's requests, from the first of them on."""
    start = trace.arrival_seconds[0] if trace.requests else 0.0
    return Requests(
        arrival_seconds=trace.arrival_seconds - start,
        input_tokens=trace.input_tokens,
        output_tokens=trace.output_tokens,
    )


def sample_requests(
    requests_per_second: float,
    seconds: float,
    input_tokens: TokenLength,
    output_tokens: TokenLength,
    *,
    mix: Sequence[RequestClass] = (),
    interarrival_cv: float = 1.0,
    seed: int = 0,
) -> Requests:
    """About `requests_per_second` × `seconds` requests; with `mix` each is of one class, by its share.

    Gaps are gamma distributed with coefficient of variation `interarrival_cv`: 1 is Poisson, more is burstier, 0 is
    even. The number of requests is fixed, so that seeds and rates can be compared.
    """
    count = max(1, round(requests_per_second * seconds))
    generator = np.random.default_rng(seed)
    gaps = _gaps(generator, count, interarrival_cv) / requests_per_second
    classes = tuple(mix) or (RequestClass(share_fraction=1.0, input_tokens=input_tokens, output_tokens=output_tokens),)
    shares = np.array([one.share_fraction for one in classes])
    chosen = generator.choice(len(classes), size=count, p=shares / shares.sum())
    inputs, outputs = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    normal_in, normal_out = generator.standard_normal(count), generator.standard_normal(count)
    for index, one in enumerate(classes):
        mine = chosen == index
        inputs[mine] = _lengths(one.input_tokens, default_cv_ratio("input"), normal_in[mine])
        outputs[mine] = _lengths(one.output_tokens, default_cv_ratio("output"), normal_out[mine])
    return Requests(arrival_seconds=np.cumsum(gaps), input_tokens=inputs, output_tokens=outputs)


def lognormal_sigma(length: TokenLength, default_cv: float) -> float:
    """σ of ln(tokens) from the mean and P95, else from a default coefficient of variation.

    ln(P95/mean) = 1.645 σ − σ²/2 has its smaller root here; it peaks at σ = 1.645, where P95 is 3.87 × the mean: what
    lies above is cut to that. A P95 at or below the mean means a fixed length.
    """
    if length.p95_tokens is None:
        return math.sqrt(math.log1p(default_cv**2))
    if length.p95_tokens <= length.mean_tokens:
        return 0.0
    rest = _Z_P95**2 - 2.0 * math.log(length.p95_tokens / length.mean_tokens)
    return _Z_P95 - math.sqrt(max(0.0, rest))


@functools.cache
def default_cv_ratio(side: str) -> float:
    """Coefficient of variation of `input` or `output` lengths where only their mean is known (length_spread.csv)."""
    text = resources.files(__package__).joinpath("length_spread.csv").read_text(encoding="utf-8")
    rows = {row["quantity"]: float(row["value"]) for row in csv.DictReader(text.splitlines())}
    return rows[f"{side}_coefficient_of_variation"]


def busiest(trace: Trace, seconds: float) -> Trace:
    """The window of `seconds` (in steps of a tenth) with the most requests; the whole trace when it is shorter."""
    if trace.duration_seconds <= seconds:
        return trace
    starts = np.arange(0.0, trace.duration_seconds - seconds * 0.9, seconds / 10)
    counts = np.searchsorted(trace.arrival_seconds, starts + seconds) - np.searchsorted(trace.arrival_seconds, starts)
    start = float(starts[int(np.argmax(counts))])
    return trace.between(start, start + seconds)


def _gaps(generator: np.random.Generator, count: int, cv: float) -> Floats:
    if cv < 0:
        raise InputError(Problem(what=f"a coefficient of variation of {cv:g}.", remedy="Give 0 or more."))
    if cv == 0:
        return np.ones(count)
    shape = 1.0 / cv**2
    return generator.gamma(shape, 1.0 / shape, count)


def _lengths(length: TokenLength, default_cv: float, normal: Floats) -> Ints:
    sigma = lognormal_sigma(length, default_cv)
    tokens = length.mean_tokens * np.exp(sigma * normal - sigma**2 / 2)
    return np.maximum(1, np.rint(tokens)).astype(np.int64)
