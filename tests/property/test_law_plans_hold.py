"""Every plan passes the verifier, which shares nothing with the planner."""

import json

import pytest
from tests.property import cases

from gpu_opt.errors import Infeasible, NoPlanInTime
from gpu_opt.verify import check

SLOW = {0, 3, 48, 51, 52, 53}  # these take seconds to solve, and tell nothing that the others don't


@pytest.mark.parametrize("seed", sorted(set(range(60)) - SLOW))
def test_every_plan_of_a_random_question_holds(seed):
    """`plan` itself raises when the check fails, so that what comes back is checked twice: as built, and as read."""
    question, offers = cases.random_question(seed)
    try:
        document = cases.document(question, offers, 0.05, time_limit_seconds=5.0)
    except (Infeasible, NoPlanInTime):
        return
    assert check(json.loads(json.dumps(document))) == []
    assert document["verified"]


@pytest.mark.parametrize("seed", range(500, 530))
def test_every_plan_of_a_small_question_is_exact_and_holds(seed):
    document = cases.document(*cases.small_question(seed))
    assert check(document) == []
    assert document["certified"]
    assert document["gap"] == 0.0
