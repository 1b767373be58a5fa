"""An offer more never makes the plan dearer."""

import random

import pytest
from tests.property import cases

from gpu_opt.domain.offer import Market


@pytest.mark.parametrize("seed", range(40))
def test_more_offers_are_never_dearer(seed):
    question, offers = cases.small_question(seed)
    rng = random.Random(seed)
    gpu = rng.choice(cases.GPUS)
    count, price = (1.0, rng.uniform(0.2, 1.5)) if gpu == "L4" else (8.0, rng.uniform(5.0, 30.0))
    market = rng.choice((Market.ON_DEMAND, Market.RESERVED_1Y))
    months = 12 if market is Market.RESERVED_1Y else 0
    added = cases.offer("new", f"{gpu.lower()}.n", gpu, count, round(price, 2), market, term_months=months)
    before, after = cases.solve(question, offers), cases.solve(question, [*offers, added])
    assert after.objective_usd <= before.objective_usd + cases.cents_of(before)
