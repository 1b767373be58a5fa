"""Predictions for many measured or imagined points at once: closed loop, rate, burst, static batch, offline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpu_opt.records import record
from gpu_opt.throughput.serving.constants import Constants
from gpu_opt.throughput.serving.replica import Array, Factors, Facts, Replica, stack_factors, stack_facts
from gpu_opt.throughput.serving.scenarios import SCENARIOS, Outcome
from gpu_opt.throughput.serving.steady import Load

_LOAD_FIELDS = (
    "input_tokens",
    "output_tokens",
    "prefix_tokens",
    "draft_tokens",
    "accepted_tokens",
    "longest_ratio",
    "output_log_sd",
)


@record
class Candidate:
    """A layout that may have been used: its replica, how many stand side by side, and the sequences that fit each."""

    replica: Replica
    copies: float
    max_batch: float


@record
class ServingPoint:
    """One configuration under one load. `users` and `rate` are of the whole deployment (0 where they don't apply).

    `scenario` is closed, split, burst, static, decode, prefill, offline, open or server; for split `rate` is the
    ratio of prefill GPUs to decode GPUs. With several candidates the one of the
    highest throughput is taken, as an operator would.
    """

    id: str
    candidates: tuple[Candidate, ...]
    scenario: str
    input_tokens: float
    output_tokens: float
    users: float = 0.0
    rate: float = 0.0
    prefix_tokens: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 1.0
    longest_ratio: float = 1.0
    output_log_sd: float = 0.0


@record
class Bundle:
    """Points of one scenario, stacked: one entry a candidate, `starts` the first entry of each point."""

    scenario: str
    ids: tuple[str, ...]
    replicas: tuple[Replica, ...]
    facts: Facts
    load: Load
    users: Array
    rate: Array
    copies: Array
    starts: Array


def bundle_points(points: Sequence[ServingPoint]) -> list[Bundle]:
    """Stack the points by scenario."""
    return [
        _bundle(name, [p for p in points if p.scenario == name])
        for name in SCENARIOS
        if any(p.scenario == name for p in points)
    ]


def _bundle(scenario: str, points: Sequence[ServingPoint]) -> Bundle:
    pairs = [(point, candidate) for point in points for candidate in point.candidates]
    copies = np.array([candidate.copies for _, candidate in pairs])
    column = {name: np.array([getattr(point, name) for point, _ in pairs], dtype=float) for name in _LOAD_FIELDS}
    counts = [len(point.candidates) for point in points]
    return Bundle(
        scenario=scenario,
        ids=tuple(point.id for point in points),
        replicas=tuple(candidate.replica for _, candidate in pairs),
        facts=stack_facts([candidate.replica for _, candidate in pairs]),
        load=Load(
            **column,
            context_tokens=column["input_tokens"] + 0.5 * column["output_tokens"],
            max_batch=np.array([max(candidate.max_batch, 1.0) for _, candidate in pairs]),
        ),
        users=np.array([point.users for point, _ in pairs]) / copies,
        rate=np.array([point.rate for point, _ in pairs]) / (1.0 if scenario == "split" else copies),
        copies=copies,
        starts=np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int),
    )


def predict_bundle(bundle: Bundle, factors: Factors) -> Outcome:
    """The outcome of each point, of its best candidate; throughput is of the whole deployment."""
    outcome = SCENARIOS[bundle.scenario](bundle.facts, factors, bundle.load, bundle.users, bundle.rate)
    throughput = outcome["throughput_out_tok_s"] * bundle.copies
    outcome = {**outcome, "throughput_out_tok_s": throughput}
    if len(bundle.starts) == len(throughput):
        return outcome
    chosen = _best_of_each(outcome["capacity"] * bundle.copies, bundle.starts)
    return {name: values[chosen] for name, values in outcome.items()}


def _best_of_each(score: Array, starts: Array) -> Array:
    ends = np.append(starts[1:], len(score))
    return np.array([start + int(np.argmax(score[start:end])) for start, end in zip(starts, ends, strict=True)])


def predict_points(points: Sequence[ServingPoint], constants: Constants) -> dict[str, dict[str, float]]:
    """Metrics by point id: throughput in tokens per second, latencies in seconds."""
    found: dict[str, dict[str, float]] = {}
    for bundle in bundle_points(points):
        outcome = predict_bundle(bundle, stack_factors(bundle.replicas, constants))
        for i, point_id in enumerate(bundle.ids):
            found[point_id] = {name: float(values[i]) for name, values in outcome.items()}
    return found
