"""Every plan passes the verifier, which shares nothing with the planner."""

import json

import pytest
from tests.property import cases

from gpu_opt.errors import Infeasible
from gpu_opt.verify import check


@pytest.mark.parametrize("seed", range(60))
def test_every_plan_of_a_random_question_holds(seed):
    """`plan` itself raises when the check fails, so that what comes back is checked twice: as built, and as read."""
    question, offers = cases.random_question(seed)
    try:
        document = cases.document(question, offers, 0.05, time_limit_seconds=5.0)
    except Infeasible:
        return
    assert check(json.loads(json.dumps(document))) == []
    assert document["verified"]


@pytest.mark.parametrize("seed", range(500, 530))
def test_every_plan_of_a_small_question_is_exact_and_holds(seed):
    document = cases.document(*cases.small_question(seed))
    assert check(document) == []
    assert document["certified"]
    assert document["gap"] == 0.0
