"""Workloads and offers in, a plan out: candidates, program, calendar, price, and the parts that explain it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from gpu_opt.answer.alternatives import binding_limits, describe_runner_up, without_choice
from gpu_opt.answer.assemble import Solved, Stamp, assemble, settle
from gpu_opt.answer.document import to_json
from gpu_opt.answer.infeasible import explain, later_deadlines, workloads_without_candidates
from gpu_opt.candidates.build import Built, build_data
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.domain.offer import Offer
from gpu_opt.domain.plan import Plan, RunnerUp
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import TrainJob
from gpu_opt.errors import GpuOptError, Infeasible, NoPlanInTime
from gpu_opt.lp.build import Program, build
from gpu_opt.lp.decision import Decision, decide
from gpu_opt.lp.evaluate import measure, overfull
from gpu_opt.lp.schedule import Placement, Unplaced, make_schedule
from gpu_opt.verify import check

_MOST_ROUNDS = 12
_EXTRA_SECONDS = 10.0
_LEAST_SECONDS = 10.0


def _silent(message: str) -> None:
    del message


@dataclass(frozen=True, slots=True, kw_only=True)
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
    defect of the tool: such a plan is never returned.
    """
    offers = tuple(offers)
    options.progress("candidates")
    built = build_data(question, offers, _sizing(question, options))
    hopeless = workloads_without_candidates(built)
    if hopeless:
        raise Infeasible(hopeless, _later_deadlines(question, offers, built, options))
    options.progress("solving")
    solved = solve_data(built, options)
    options.progress("alternatives")
    runner_up = _runner_up(solved, options) if options.runner_up else None
    binding = binding_limits(solved, worth=options.runner_up, time_limit_seconds=_EXTRA_SECONDS)
    answer = assemble(question, solved, _stamp(options), runner_up, binding)
    problems = check(to_json(answer))
    if problems:
        raise GpuOptError("the plan failed its own check and is not shown: " + "; ".join(problems[:3]))
    return replace(answer, verified=True)


def _later_deadlines(
    question: Question, offers: tuple[Offer, ...], built: Built, options: PlanOptions
) -> list[tuple[str, float]]:
    """The change of deadlines that makes a plan possible, with what that plan costs; none where it wouldn't help."""
    factors = later_deadlines(built)
    if not factors:
        return []
    moved, words = [], []
    for workload in question.workloads:
        factor = factors.get(workload.name)
        if factor is None or not isinstance(workload, TrainJob):
            moved.append(workload)
            continue
        start = max(workload.earliest_hours, workload.active_from_hours, 0.0)
        hours = (min(workload.deadline_hours, question.horizon.hours) - start) * factor * (1.0 + 1e-9)
        if start + hours > question.horizon.hours:
            return []
        moved.append(replace(workload, deadline_hours=start + hours))
        words.append(f"raise the deadline of {workload.name} to {hours:,.1f} h after its start")
    changed = replace(question, workloads=tuple(moved))
    again = build_data(changed, offers, _sizing(changed, options))
    if workloads_without_candidates(again):
        return []
    try:
        return [(" and ".join(words), solve_data(again, options).total_usd)]
    except GpuOptError:
        return []


def _sizing(question: Question, options: PlanOptions) -> Sizing:
    return Sizing(
        question,
        training_calibration=options.training_calibration,
        serving_calibration=options.serving_calibration,
    )


def _stamp(options: PlanOptions) -> Stamp:
    return Stamp(
        workload_sha256=options.workload_sha256,
        prices_sha256=options.prices_sha256,
        prices_as_of=options.prices_as_of,
        prices_oldest_as_of=options.prices_oldest_as_of,
        model_version=options.model_version,
        gap=options.gap,
        coverage_gaps=options.coverage_gaps,
        warnings=options.warnings,
    )


def solve_data(built: Built, options: PlanOptions) -> Solved:
    """Solves and builds the calendar, and learns from it: where jobs overfill shared capacity the occupancy rule is
    written out, and where recurring runs find no room their number is limited. Then it is solved again.

    The first rule is the program's own, so each bound with it is as good as the last; the second is a restriction, so
    the bound stays that of the program before it.
    """
    deadline = time.monotonic() + options.time_limit_seconds
    shared: frozenset[tuple[str, int]] = frozenset()
    missed: list[Unplaced] = []
    program = build(built.data)
    bound, proved = float("-inf"), False
    for _ in range(_MOST_ROUNDS):
        decision = _decide(program, options.gap, max(_LEAST_SECONDS, deadline - time.monotonic()))
        if not missed:
            bound = max(bound, decision.bound_usd)
            proved = program.grid.complete and bound > float("-inf")
        placements, unplaced = make_schedule(built.data, program.grid, decision)
        found: frozenset[tuple[str, int]] = frozenset()
        if not unplaced:
            found = overfull(built.data, measure(built.data, program.grid, decision, placements)) - shared
            if not found:
                return settle(built, program, decision, placements, bound, proved)
        missed += unplaced
        shared |= found
        program = build(built.data, shared)
        _forbid(program, missed)
    raise NoPlanInTime("no calendar was found that holds all recurring runs; allow more instances or a longer window.")


def _decide(program: Program, gap: float, seconds: float) -> Decision:
    result, decision = decide(program, gap=gap, time_limit_seconds=seconds)
    if decision is not None:
        return decision
    if result.status == "infeasible":
        raise explain(program, time_limit_seconds=_EXTRA_SECONDS)
    if result.status == "limit":
        raise NoPlanInTime(f"no plan was found within {seconds:.0f} s. Raise --time-limit, or narrow the scope.")
    raise GpuOptError(f"the solver stopped with status {result.status!r}")


def _forbid(program: Program, unplaced: Iterable[Unplaced]) -> None:
    """C17: a candidate takes no more recurring runs of a period than its calendar has room for."""
    for missed in unplaced:
        var = program.run.many[missed.demand, missed.candidate]
        program.run.model.row(
            f"C17_calendar[{missed.demand},{missed.candidate}]", {var: 1.0}, high=float(missed.placed)
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
        second = solve_data(built, replace(options, time_limit_seconds=_EXTRA_SECONDS))
    except (Infeasible, NoPlanInTime):
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


__all__ = ["Placement", "PlanOptions", "plan", "solve_data"]
