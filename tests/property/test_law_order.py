"""The order of offers and workloads changes nothing but the order in which workloads are told."""

import random
from dataclasses import replace

import pytest
from tests.property import cases


@pytest.mark.parametrize("seed", range(300, 320))
def test_the_order_of_the_input_is_irrelevant(seed):
    question, offers = cases.small_question(seed)
    rng = random.Random(seed)
    shuffled = rng.sample(offers, len(offers))
    turned = replace(question, workloads=tuple(reversed(question.workloads)))
    first = cases.document(question, offers)
    assert cases.document(question, shuffled) == first
    assert cases.solve(turned, shuffled).objective_usd == pytest.approx(first["objective_usd"], abs=0.2)
