"""A limit that is relaxed, or dropped, never makes the plan dearer."""

import itertools
from dataclasses import replace

import pytest
from tests.property import cases

from gpu_opt.domain.question import Budget, Quota
from gpu_opt.errors import Infeasible


def solved(question, offers):
    try:
        return cases.solve(question, offers)
    except Infeasible:
        return None


@pytest.mark.parametrize("seed", range(400, 425))
def test_a_larger_quota_is_never_dearer(seed):
    question, offers = cases.small_question(seed)
    plans = [
        solved(replace(question, quotas=(Quota(name="q", gpu="A100*", max_instances=most),)), offers)
        for most in (1, 2, 4)
    ]
    plans.append(solved(replace(question, quotas=()), offers))
    for tight, loose in itertools.pairwise(plans):
        if tight is not None:
            assert loose is not None
            assert loose.objective_usd <= tight.objective_usd + cases.cents_of(tight)


@pytest.mark.parametrize("seed", range(425, 440))
def test_a_later_deadline_is_never_dearer(seed):
    question, offers = cases.small_question(seed)
    when = question.horizon
    lengths = {("H100-SXM", 8.0): 30.0, ("A100-80GB-SXM", 8.0): 66.0}
    plans = [
        solved(
            replace(question, workloads=(*question.workloads, cases.job("due", when, lengths, deadline_hours=due))),
            offers,
        )
        for due in (32.0, 70.0, 200.0)
    ]
    for tight, loose in itertools.pairwise(plans):
        if tight is not None:
            assert loose is not None
            assert loose.objective_usd <= tight.objective_usd + cases.cents_of(tight)


@pytest.mark.parametrize("seed", range(440, 450))
def test_a_budget_that_just_holds_changes_nothing_and_a_lower_one_is_infeasible(seed):
    question, offers = cases.small_question(seed)
    free = cases.solve(question, offers)
    slack = cases.cents_of(free)
    held = cases.solve(replace(question, budget=Budget(total_usd=free.objective_usd + slack)), offers)
    assert held.objective_usd == pytest.approx(free.objective_usd, abs=2 * slack)
    with pytest.raises(Infeasible):
        cases.solve(replace(question, budget=Budget(total_usd=free.objective_usd * 0.98 - slack)), offers)
