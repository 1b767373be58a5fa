"""Workloads and offers in, a plan out: candidates, program, calendar, price, and the parts that explain it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from gpu_opt.answer.alternatives import binding_limits, describe_runner_up, without_choice
from gpu_opt.answer.assemble import Solved, Stamp, assemble
from gpu_opt.answer.deadlines import longer_windows, postponed
from gpu_opt.answer.document import to_json
from gpu_opt.answer.infeasible import workloads_without_candidates
from gpu_opt.answer.rounds import solve_rounds
from gpu_opt.answer.simulation import (
    Kind,
    Verdict,
    autoscaler_notes,
    confirmed_options,
    learn,
    simulate_chosen,
    unconfirmed,
)
from gpu_opt.candidates.build import Built, build_data
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.domain.offer import Offer
from gpu_opt.domain.plan import Plan, RunnerUp
from gpu_opt.domain.question import Budget, Question
from gpu_opt.domain.workload import Service, TrainJob
from gpu_opt.errors import GpuOptError, Infeasible, InputError, NoPlanInTime, Problem
from gpu_opt.lp.schedule import Placement
from gpu_opt.records import record
from gpu_opt.verify import check

_EXTRA_SECONDS = 10.0
_UNSURE = 0.03  # a runner-up whose own search left more open than this isn't told
_LEAST_SECONDS = 5.0
_MOST_SIMULATIONS = 20


def _silent(message: str) -> None:
    del message


@record
class PlanOptions:
    """How to solve, and what to write on the plan. `gap` 0 asks for the exact optimum."""

    gap: float = 0.005
    time_limit_seconds: float = 60.0
    workload_sha256: str = ""
    prices_sha256: str = ""
    prices_as_of: str = ""
    prices_oldest_as_of: str = ""
    model_version: str = ""
    runner_up: bool = True
    training_calibration: object | None = None
    serving_calibration: object | None = None
    coverage_gaps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    progress: Callable[[str], None] = _silent


def plan(question: Question, offers: Iterable[Offer], options: PlanOptions) -> Plan:
    """The cheapest plan, re-checked outside the solver.

    Infeasible, NoPlanInTime and InputError as their names say; GpuOptError when the check of a plan fails, which is a
    defect of the tool: such a plan is never returned. Alternatives are looked for while there is time.
    """
    _refuse_unsupported(question)
    deadline = time.monotonic() + options.time_limit_seconds
    offers = tuple(offers)
    options.progress("candidates")
    built = build_data(question, offers, _sizing(question, options))
    hopeless = workloads_without_candidates(built)
    if hopeless:
        limit = options.time_limit_seconds
        raise Infeasible(hopeless, longer_windows(question, offers, built, gap=options.gap, time_limit_seconds=limit))
    try:
        solved, verdicts = _solve_and_simulate(question, offers, built, options)
    except Infeasible as first:
        found = _at_held_rates(question, offers, built, options, first)
        later = postponed(question, offers, built, gap=options.gap, time_limit_seconds=_EXTRA_SECONDS)
        repairs = sorted([*found.repairs, *later], key=lambda repair: (repair[1], repair[0]))
        raise Infeasible(found.conflict, repairs) from None
    more = options.runner_up and time.monotonic() < deadline
    options.progress("alternatives")
    runner_up = _runner_up(solved, options) if more else None
    binding = binding_limits(solved, worth=more, time_limit_seconds=_EXTRA_SECONDS)
    notes = autoscaler_notes(solved) if any(getattr(w, "trace_file", "") for w in question.workloads) else ()
    stamp = replace(_stamp(options, unconfirmed(verdicts)), notes=notes)
    answer = assemble(question, solved, stamp, runner_up, binding, confirmed_options(solved, verdicts))
    answer = replace(answer, warnings=(*answer.warnings, *_uncalibrated(answer, options)))
    problems = check(to_json(answer))
    if problems:
        raise GpuOptError("the plan failed its own check and is not shown: " + "; ".join(problems[:3]))
    return replace(answer, verified=True)


def _uncalibrated(answer: Plan, options: PlanOptions) -> list[str]:
    """Training jobs whose speed a given calibration didn't touch, as it is of another stack."""
    stack = getattr(options.training_calibration, "stack", "")
    jobs = [w for w in answer.workloads if stack and w.kind in ("pretrain", "finetune")]
    return [
        f"{job.name}: the calibration of stack {stack} isn't used: it is planned on {job.allocations[0].engine};"
        f" set `stack: {stack}`"
        for job in jobs
        if job.allocations and all(a.source == "model" for a in job.allocations)
    ]


def _refuse_unsupported(question: Question) -> None:
    """What would change a plan's cost and isn't built for this question: refused by name, never ignored."""
    paid = question.existing or question.inventory or question.consider or question.purchasable or question.quotas
    if question.whole_hours and (paid or not all(isinstance(w, TrainJob) for w in question.workloads)):
        what = "--whole-hours is not supported yet beside services, divisible work, quotas or paid capacity."
        raise InputError(Problem(what=what, remedy="Leave it out: rented hours then count in fractions."))


def _solve_and_simulate(
    question: Question, offers: tuple[Offer, ...], built: Built, options: PlanOptions
) -> tuple[Solved, dict[Kind, Verdict]]:
    """Solves, simulates the services' queues, lowers the rates that don't hold and plans again.

    After a few rounds only kinds of replicas that were simulated stay, so that the last plan holds.
    """
    known: dict[Kind, Verdict] = {}
    deadline = time.monotonic() + options.time_limit_seconds
    for number in range(_MOST_SIMULATIONS):
        options.progress("solving")
        left_seconds = max(_LEAST_SECONDS, deadline - time.monotonic())
        solved = solve_rounds(built, gap=options.gap, time_limit_seconds=left_seconds)
        options.progress("simulating")
        verdicts = simulate_chosen(solved, known)
        if not any(verdict.lowered for verdict in verdicts.values()):
            break
        known |= verdicts
        last = number >= _MOST_SIMULATIONS - 2
        learn(built, known if last else verdicts, known_only=last)
        built = build_data(question, offers, built.sizing)
        hopeless = workloads_without_candidates(built)
        if hopeless:
            raise Infeasible(hopeless)
    return solved, verdicts


def _at_held_rates(
    question: Question, offers: tuple[Offer, ...], built: Built, options: PlanOptions, found: Infeasible
) -> Infeasible:
    """The same refusal at the rates that services really hold: simulated without the limits, then asked again.

    Otherwise a repair would name the cost of a plan whose queues nobody had simulated.
    """
    if not any(isinstance(w, Service) and w.slo is not None for w in question.workloads):
        return found
    unlimited = replace(question, budget=Budget(), quotas=(), max_providers=None)
    try:
        _solve_and_simulate(unlimited, offers, build_data(unlimited, offers, built.sizing), options)
        again = build_data(question, offers, built.sizing)
        solve_rounds(again, gap=options.gap, time_limit_seconds=options.time_limit_seconds)
    except Infeasible as held:
        return held
    except GpuOptError:
        return found
    return found


def _sizing(question: Question, options: PlanOptions) -> Sizing:
    return Sizing(
        question,
        training_calibration=options.training_calibration,
        serving_calibration=options.serving_calibration,
    )


def _stamp(options: PlanOptions, warnings: tuple[str, ...]) -> Stamp:
    return Stamp(
        workload_sha256=options.workload_sha256,
        prices_sha256=options.prices_sha256,
        prices_as_of=options.prices_as_of,
        prices_oldest_as_of=options.prices_oldest_as_of,
        model_version=options.model_version,
        gap=options.gap,
        coverage_gaps=options.coverage_gaps,
        warnings=(*options.warnings, *warnings),
    )


def _runner_up(solved: Solved, options: PlanOptions) -> RunnerUp | None:
    """The best plan in which the dearest workload uses none of the instance types it uses now."""
    usd: dict[str, float] = {}
    for line in solved.lines:
        if line.workload:
            usd[line.workload] = usd.get(line.workload, 0.0) + line.usd
    data = solved.built.data
    names = {*data.run_candidates, *data.replica_candidates, *(name for name, _ in data.fluid_candidates)}
    known = {name: amount for name, amount in usd.items() if name in names}
    if not known:
        return None
    workload = max(known, key=lambda name: (known[name], name))
    used = {pool for pool, _, user in solved.usage.in_use if user == workload}
    banned = frozenset((data.pools[pool].provider, data.pools[pool].instance_type) for pool in used)
    changed = without_choice(solved.built, workload, banned)
    if changed is None:
        return None
    built = replace_data(solved.built, changed)
    try:
        second = solve_rounds(built, gap=options.gap, time_limit_seconds=_EXTRA_SECONDS)
    except (Infeasible, NoPlanInTime):
        return None
    unsure_usd = second.total_usd - second.bound_usd
    if unsure_usd > _UNSURE * second.total_usd or second.total_usd < solved.total_usd:
        return None
    return describe_runner_up(solved, second, workload)


def replace_data(built: Built, data: object) -> Built:
    """The same build over other data."""
    return Built(
        data=data,  # type: ignore[arg-type]
        capacity=built.capacity,
        sizing=built.sizing,
        rejections=built.rejections,
        members=built.members,
    )


__all__ = ["Placement", "PlanOptions", "plan", "solve_rounds"]
