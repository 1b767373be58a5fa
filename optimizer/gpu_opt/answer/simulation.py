"""Proof by simulation: the replicas that a plan chose, at the rate it gives them, against their latency limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_opt import hardware
from gpu_opt.answer.assemble import Solved
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.domain.option import Layout, ReplicaOption
from gpu_opt.domain.program import ReplicaCandidate
from gpu_opt.domain.workload import Service
from gpu_opt.records import record

REQUESTS = 4000  # of one simulation: forty of them above P99
Key = tuple[str, str, float, Layout]


@record
class Verdict:
    """A chosen option by (service, shape, GPUs, layout), as the simulation found it; None where no rate holds.

    `lowered` says that the plan gave it more than it holds, so that the plan must be made again.
    """

    option: ReplicaOption | None
    lowered: bool


def key_of(service: str, option: ReplicaOption) -> Key:
    """What tells options of a service apart."""
    return service, option.shape, option.gpus, option.layout


def simulate_chosen(solved: Solved) -> dict[Key, Verdict]:
    """Each replica kind that serves a service with limits, at the highest rate that any block gives it."""
    verdicts: dict[Key, Verdict] = {}
    for (name, index), rate in sorted(_given_rates(solved).items()):
        members = solved.built.members[name]
        candidate = solved.built.data.replica_candidates[name][index]
        if len(members) == 1 and members[0].slo is not None and candidate.option.source != "measured":
            key = key_of(name, candidate.option)
            verdicts[key] = _verdict(solved, members[0], candidate, rate)
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


def learn(sizing: Sizing, verdicts: Mapping[Key, Verdict]) -> bool:
    """Lowers the options that the simulation found too fast, and drops those that hold at no rate; whether any was."""
    lowered = {key: verdict for key, verdict in verdicts.items() if verdict.lowered}
    for service, shape in sorted({(service, shape) for service, shape, _, _ in lowered}):
        kept: list[ReplicaOption] = []
        for option in sizing.replica_options[service, shape]:
            verdict = lowered.get(key_of(service, option))
            if verdict is None:
                kept.append(option)
            elif verdict.option is not None:
                kept.append(verdict.option)
        sizing.replica_options[service, shape] = tuple(kept)
    return bool(lowered)


def confirmed_options(verdicts: Mapping[Key, Verdict]) -> dict[Key, ReplicaOption]:
    """Options with the latencies that the simulation measured."""
    return {key: v.option for key, v in verdicts.items() if v.option is not None and not v.lowered}


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


def unconfirmed(verdicts: Mapping[Key, Verdict]) -> tuple[str, ...]:
    """Warnings for what the last round still found too fast."""
    return tuple(
        f"{service} on {shape}: the simulation of its queue doesn't hold the latency limits at the planned rate"
        for (service, shape, _, _), verdict in sorted(verdicts.items(), key=lambda item: item[0][:3])
        if verdict.lowered
    )
