"""Why no plan exists, and the cheapest way out (contract, section 4)."""

from __future__ import annotations

import pytest
from tests.unit.planner_cases import horizon, job, offer, solve

from gpu_opt.domain.question import Budget, Quota
from gpu_opt.errors import Infeasible


def refusal(*arguments: object, **more: object) -> Infeasible:
    with pytest.raises(Infeasible) as problem:
        solve(*arguments, **more)  # type: ignore[arg-type]
    return problem.value


def test_two_quotas_that_both_stand_in_the_way_are_raised_together() -> None:
    when = horizon()
    a100 = (("A100-80GB-SXM", 8, 1000.0),)
    runs = [job(name, 100, when, deadline_hours=110.0) for name in ("a", "b")]
    runs += [job(name, 100, when, deadline_hours=110.0, speeds=a100) for name in ("c", "d")]
    quotas = (
        Quota(name="h", gpu="H100*", max_instances=1),
        Quota(name="a", gpu="A100*", max_instances=1),
    )
    found = refusal(when, runs, [offer(usd=80), offer("a8", 40, gpu="A100-80GB-SXM")], quotas=quotas)
    [(change, usd)] = [repair for repair in found.repairs if "quota" in repair[0]]
    assert change.startswith("raise the quota a (instances) by 1.00")
    assert "and raise the quota h (instances) by 1.00" in change
    assert usd == 2 * 100 * 80 + 2 * 100 * 40


def test_a_budget_is_raised_by_what_is_missing() -> None:
    when = horizon()
    found = refusal(when, [job("x", 100, when)], [offer(usd=80)], budget=Budget(total_usd=7_500.0))
    assert found.conflict == ("the total budget can't be kept together with what is asked",)
    assert found.repairs == (("raise the total budget by 500.00 (to at most 8,000.00)", 8_000.0),)


def test_repairs_are_told_cheapest_first() -> None:
    when = horizon()
    runs = [job(name, 100, when, deadline_hours=110.0) for name in ("a", "b")]
    quota = (Quota(name="h", provider="aws", max_instances=1),)
    found = refusal(when, runs, [offer(usd=80)], quotas=quota, budget=Budget(total_usd=1.0))
    assert len(found.conflict) == 2
    assert [usd for _, usd in found.repairs] == sorted(usd for _, usd in found.repairs)


def test_a_run_that_nothing_finishes_in_time_names_the_deadline_that_would_do() -> None:
    when = horizon()
    found = refusal(when, [job("x", 100, when, deadline_hours=48.0)], [offer(usd=80)])
    assert "takes 100.0 h, the window has 48.0 h" in found.conflict[0]
    [(change, usd)] = found.repairs
    assert change == "raise the deadline of x to 100.0 h after its start"
    assert usd == 8_000.0


def test_later_deadlines_are_a_way_out_of_a_quota() -> None:
    when = horizon()
    runs = [job(name, 100, when, deadline_hours=110.0) for name in ("a", "b")]
    found = refusal(when, runs, [offer(usd=80)], quotas=(Quota(name="h", max_instances=1),))
    changes = [change for change, _ in found.repairs]
    assert any(change.startswith("raise the quota h (instances) by 1.00") for change in changes)
    assert any("deadline" in change and "200.0 h" in change for change in changes)
