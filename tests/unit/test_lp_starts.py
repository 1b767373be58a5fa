"""Runs that share capacity take turns, however many they are (contract, sections 7.1 and 7.4)."""

from __future__ import annotations

import itertools
from datetime import date

import pytest
from tests.unit.planner_cases import horizon, job, offer, solve

from gpu_opt.domain.question import ExistingCommitment, Quota
from gpu_opt.errors import Infeasible

ONE = (Quota(name="one", max_instances=1),)


@pytest.mark.parametrize("count", [3, 6, 8, 12])
def test_runs_take_turns_on_the_one_instance_that_a_quota_allows(count: int) -> None:
    when = horizon()
    runs = [job(f"j{i}", 100 + 5 * i, when) for i in range(count)]
    found = solve(when, runs, [offer(usd=80)], quotas=ONE)
    hours = sum(100 + 5 * i for i in range(count))  # 12 runs: 1,530 of 2,160 h
    assert found.objective_usd == hours * 80.0
    assert found.certified
    ends = [(run.start_hours, run.end_hours) for run in found.schedule]
    assert all(before[1] <= after[0] + 1e-6 for before, after in itertools.pairwise(ends))


def test_runs_that_fit_by_no_order_are_infeasible_not_out_of_time() -> None:
    when = horizon()
    runs = [job(f"j{i}", 300 + 7 * i, when) for i in range(8)]  # 2,596 h on one instance of 2,160 h
    with pytest.raises(Infeasible) as problem:
        solve(when, runs, [offer(usd=80)], quotas=ONE)
    assert problem.value.repairs[0] == ("raise the quota one (instances) by 1.00 (to at most 2.00)", 2_596 * 80.0)


def test_the_occupancy_of_what_is_shared_is_part_of_the_proof() -> None:
    when = horizon()
    runs = [job(f"j{i}", 300 + 7 * i, when) for i in range(10)]
    reserved = ExistingCommitment(
        name="c",
        provider="aws",
        region="us-east-1",
        instance_type="p5.48xlarge",
        instances=1,
        ends=date(2027, 3, 31),
        usd_per_instance_hour=50.0,
    )
    found = solve(when, runs, [offer(usd=98)], existing=(reserved,))
    # 3,315 h in all; 85 % of 2,160 h is 1,836: the five longest (363 … 335, 1,745 h) fit, six take 1,905 or more.
    # 2,160 × $50 + (3,315 − 1,745) × $98
    assert found.objective_usd == 108_000 + 1_570 * 98.0
    assert found.bound_usd == found.objective_usd
