"""Proof by simulation: the replicas that a plan chose, at the rate it gives them, against their latency limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_opt import hardware
from gpu_opt.answer.assemble import Solved
from gpu_opt.candidates.build import Built
from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.option import Layout, ReplicaOption
from gpu_opt.domain.program import ReplicaCandidate
from gpu_opt.domain.workload import Service
from gpu_opt.records import record

REQUESTS = 4000  # of one simulation: forty of them above P99
_SAME = 1.0 + 1e-9
Confirmed = dict[tuple[str, str, float, Layout], ReplicaOption]


@record
class Kind:
    """What a replica's queue depends on, wherever it is rented: instances of equal GPUs and links share one verdict.

    `link_gb_per_second` is 0 for a replica on one GPU, which talks to no other.
    """

    service: str
    gpu: str
    gpus: float
    layout: Layout
    link_gb_per_second: float


@record
class Verdict:
    """A kind of replica as the simulation found it: `option` with the rate and the latencies that hold, or None.

    `lowered` says that the plan gave it more than it holds, so that the plan must be made again.
    """

    option: ReplicaOption | None
    lowered: bool


def kind_of(service: str, option: ReplicaOption, shape: Shape) -> Kind:
    """The kind of an option on a shape."""
    link = max(shape.scaleup_gb_per_second, shape.pcie_gb_per_second) if option.gpus > 1.0 else 0.0
    return Kind(service=service, gpu=shape.gpu, gpus=option.gpus, layout=option.layout, link_gb_per_second=link)


def simulate_chosen(solved: Solved, known: Mapping[Kind, Verdict]) -> dict[Kind, Verdict]:
    """Each kind of replica that serves a service with limits, at the highest rate that any block gives it.

    `known` are verdicts of rounds before: a kind that was lowered then holds at its lower rate.
    """
    verdicts: dict[Kind, Verdict] = {}
    for (name, index), rate in sorted(_given_rates(solved).items()):
        members = solved.built.members[name]
        candidate = solved.built.data.replica_candidates[name][index]
        if len(members) > 1 or members[0].slo is None or candidate.option.source == "measured":
            continue
        kind = kind_of(name, candidate.option, solved.built.capacity.shapes[candidate.pool])
        before = known.get(kind)
        if before is not None and before.option is not None and rate <= before.option.requests_per_second * _SAME:
            verdicts[kind] = replace(before, lowered=False)
        else:
            verdicts[kind] = _verdict(solved, members[0], candidate, rate)
    return verdicts


def _given_rates(solved: Solved) -> dict[tuple[str, int], float]:
    """Requests per second that one replica gets, by (service, candidate's index): loads fall by rate, or evenly."""
    data, decision = solved.built.data, solved.decision
    given: dict[tuple[str, int], float] = {}
    for d, demand in enumerate(data.services):
        kinds = data.replica_candidates[demand.workload]
        for b, block in enumerate(demand.blocks):
            standing = {c: n for (dd, c, bb), n in decision.replicas.items() if (dd, bb) == (d, b)}
            weights = {c: 1.0 if demand.round_robin else kinds[c].requests_per_second for c in standing}
            total = sum(weights[c] * n for c, n in standing.items())
            for c in standing:
                rate = block.requests_per_second * weights[c] / total
                given[demand.workload, c] = max(given.get((demand.workload, c), 0.0), rate)
    return given


def _verdict(solved: Solved, service: Service, candidate: ReplicaCandidate, rate: float) -> Verdict:
    from gpu_opt.throughput.queueing.design import confirmed_option
    from gpu_opt.throughput.queueing.trace import read_trace

    shape = solved.built.capacity.shapes[candidate.pool]
    asked = replace(candidate.option, requests_per_second=min(rate, candidate.requests_per_second))
    found = confirmed_option(
        service,
        shape,
        hardware.load_accelerators()[shape.gpu],
        asked,
        trace=read_trace(service.trace_file) if service.trace_file else None,
        requests=REQUESTS,
        memory_reserve_fraction=service.memory_reserve_fraction,
        calibration=solved.built.sizing.serving_calibration,  # type: ignore[arg-type]
    )
    if found is None:
        return Verdict(option=None, lowered=True)
    if found.requests_per_second < asked.requests_per_second * (1.0 - 1e-9):
        return Verdict(option=found, lowered=True)
    return Verdict(option=replace(found, requests_per_second=candidate.option.requests_per_second), lowered=False)


def learn(built: Built, verdicts: Mapping[Kind, Verdict], *, known_only: bool) -> bool:
    """Lowers the options of every kind that the simulation found too fast, on whatever instances, and drops those that
    hold at no rate; whether any was lowered. `known_only` also drops kinds of these services that nobody simulated.
    """
    shapes = {shape.name: shape for shape in built.capacity.shapes.values()}
    services = {kind.service for kind in verdicts}
    for (service, name), options in sorted(built.sizing.replica_options.items()):
        if service not in services or name not in shapes:
            continue
        kept: list[ReplicaOption] = []
        for option in options:
            verdict = verdicts.get(kind_of(service, option, shapes[name]))
            if verdict is None:
                kept += [] if known_only and option.source != "measured" else [option]
            elif verdict.option is not None:
                kept.append(replace(option, requests_per_second=_held(option, verdict)))
        built.sizing.replica_options[service, name] = tuple(kept)
    return any(verdict.lowered for verdict in verdicts.values())


def _held(option: ReplicaOption, verdict: Verdict) -> float:
    """The rate that a plan may give: the lower one where the simulation lowered it."""
    if verdict.option is None or not verdict.lowered:
        return option.requests_per_second
    return min(option.requests_per_second, verdict.option.requests_per_second)


def confirmed_options(solved: Solved, verdicts: Mapping[Kind, Verdict]) -> Confirmed:
    """By (service, shape, GPUs, layout): options with the latencies that the simulation measured."""
    found: Confirmed = {}
    for name, candidates in solved.built.data.replica_candidates.items():
        for candidate in candidates:
            shape = solved.built.capacity.shapes[candidate.pool]
            verdict = verdicts.get(kind_of(name, candidate.option, shape))
            if verdict is not None and verdict.option is not None and not verdict.lowered:
                option = replace(verdict.option, shape=candidate.option.shape)
                found[name, option.shape, option.gpus, option.layout] = option
    return found


def autoscaler_notes(solved: Solved) -> tuple[str, ...]:
    """For services with a trace: what a perfect autoscaler would need of the replica-hours that the plan has."""
    from gpu_opt.throughput.queueing.summary import perfect_autoscaler_replica_hours
    from gpu_opt.throughput.queueing.trace import read_trace

    notes = []
    data, decision = solved.built.data, solved.decision
    for d, demand in enumerate(data.services):
        service = solved.built.members[demand.workload][0]
        standing = {(c, b): n for (dd, c, b), n in decision.replicas.items() if dd == d}
        if not service.trace_file or not standing:
            continue
        kinds = data.replica_candidates[demand.workload]
        hours = demand.to_hours - demand.from_hours
        shares = [block.high_fraction - block.low_fraction for block in demand.blocks]
        planned = sum(n * hours * shares[b] for (_, b), n in standing.items())
        best = max(kinds[c].requests_per_second for c, _ in standing)
        least = perfect_autoscaler_replica_hours(read_trace(service.trace_file), best, period_hours=hours)
        period = data.horizon.periods[demand.period].name
        notes.append(
            f"{service.name} in {period}: {planned:,.0f} replica-hours planned; a perfect autoscaler on the trace as it"
            f" is would need {least:,.0f} at {best:.4g} requests/s each"
        )
    return tuple(notes)


def unconfirmed(verdicts: Mapping[Kind, Verdict]) -> tuple[str, ...]:
    """Warnings for what the last round still found too fast."""
    return tuple(
        f"{kind.service} on {kind.gpu}: the simulation of its queue doesn't hold the latency limits at the planned rate"
        for kind, verdict in sorted(verdicts.items(), key=lambda item: (item[0].service, item[0].gpu, item[0].gpus))
        if verdict.lowered
    )
