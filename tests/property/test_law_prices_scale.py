"""All prices times k make the cost k times as high."""

from dataclasses import replace

import pytest
from tests.property import cases


@pytest.mark.parametrize("factor", [0.5, 3.0])
@pytest.mark.parametrize("seed", range(100, 120))
def test_prices_times_k_is_cost_times_k(seed, factor):
    question, offers = cases.small_question(seed)
    dearer = [
        replace(o, usd_per_instance_hour=o.usd_per_instance_hour * factor, upfront_usd=o.upfront_usd * factor)
        for o in offers
    ]
    before, after = cases.solve(question, offers), cases.solve(question, dearer)
    assert after.objective_usd == pytest.approx(
        before.objective_usd * factor, abs=cases.cents_of(after) + factor * cases.cents_of(before)
    )
