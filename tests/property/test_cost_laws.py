"""Laws that the cost of an owned node obeys for any inputs."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpu_opt.costs.cooling import air_cop
from gpu_opt.costs.finance import annuity_per_hour, annuity_usd_per_year, crf, straight_line_usd_per_year
from gpu_opt.costs.on_prem import break_even_utilisation, cost
from gpu_opt.costs.transfer import transfer_usd

shares = st.floats(0.05, 1.0)
INPUTS = st.fixed_dictionaries(
    {
        "N": st.integers(1, 72),
        "srv": st.floats(1e3, 5e6),
        "L": st.floats(1, 10),
        "resid": st.floats(0, 0.5),
        "w": st.floats(0, 0.3),
        "util": shares,
        "avail": st.floats(0.5, 1),
        "pue": st.floats(1, 2),
        "e": st.floats(0, 0.5),
    }
)


@given(inputs=INPUTS, factor=st.floats(0.1, 10))
def test_all_money_times_k_is_cost_times_k(inputs, factor):
    money = {"net_per_gpu": 4250.0, "stor_per_gpu": 1000.0, "colo": 195.0, "staff_gpu": 600.0, "demand": 3.0}
    money |= {"srv": inputs["srv"], "e": inputs["e"]}
    once = cost(**{**inputs, **money})
    times = cost(**{**inputs, **{name: factor * usd for name, usd in money.items()}})
    assert times.per_used == pytest.approx(factor * once.per_used)


@given(inputs=INPUTS)
def test_the_lines_add_up_and_use_divides_once(inputs):
    found = cost(**inputs)
    lines = found.energy + found.demand + found.colo + found.maint + found.ins + found.staff + found.sw
    assert found.opex == pytest.approx(lines)
    assert found.total == pytest.approx(found.cap_annuity + found.opex)
    assert found.per_used * inputs["util"] == pytest.approx(found.per_avail)


@given(inputs=INPUTS, more=st.floats(1.01, 3))
def test_what_is_dearer_never_makes_the_node_cheaper(inputs, more):
    once = cost(**inputs).total
    for name in ("srv", "e", "pue"):
        assert cost(**{**inputs, name: inputs[name] * more}).total >= once * (1 - 1e-12)


@given(inputs=INPUTS)
def test_more_use_never_makes_a_used_hour_dearer(inputs):
    assume(inputs["util"] < 0.95)
    more = cost(**{**inputs, "util": inputs["util"] + 0.05})
    assert more.per_used <= cost(**inputs).per_used * (1 + 1e-12)


@given(paid=st.floats(1, 1e7), left=st.floats(0, 1), w=st.floats(0, 0.5), years=st.floats(0.5, 20))
def test_capital_has_a_cost_so_the_annuity_is_never_below_the_straight_line(paid, left, w, years):
    annuity = annuity_usd_per_year(paid, left * paid, w, years)
    assert annuity >= straight_line_usd_per_year(paid, left * paid, years) * (1 - 1e-9) - 1e-6


@given(w=st.floats(0, 0.5), years=st.floats(1, 30))
def test_paying_back_lies_between_the_share_and_the_share_with_full_interest(w, years):
    assert 1 / years * (1 - 1e-12) <= crf(w, years) <= (1 / years + w) * (1 + 1e-12)


@given(upfront=st.floats(0, 1e7), months=st.integers(1, 60))
def test_without_a_cost_of_capital_the_hours_of_a_term_pay_its_price(upfront, months):
    assert annuity_per_hour(upfront, months, 0) * 8760 * months / 12 == pytest.approx(upfront)


@given(cloud=st.floats(0.5, 50), inputs=INPUTS)
@settings(max_examples=60)
def test_break_even_is_where_owning_and_renting_cost_the_same(cloud, inputs):
    inputs = {name: value for name, value in inputs.items() if name != "util"}
    found = break_even_utilisation(cloud, **inputs)
    if found is None:
        assert cost(**inputs, util=1).per_used >= cloud * (1 - 1e-9)
    else:
        assert cost(**inputs, util=found).per_used == pytest.approx(cloud)


@given(mechanical=st.floats(1, 16.5), free=st.floats(0, 1))
def test_the_harmonic_mean_never_exceeds_the_mean_over_time(mechanical, free):
    assert air_cop(mechanical, free) <= ((1 - free) * mechanical + free * 16.5) * (1 + 1e-12)


@given(tib=st.floats(0, 500), more=st.floats(0, 500), provider=st.sampled_from(["aws", "azure", "gcp", "oci", "x"]))
def test_moving_more_data_never_costs_less(tib, more, provider):
    def usd(tib):
        return transfer_usd(tib, provider, "somewhere", "onprem", "dc1")

    assert usd(tib + more) >= usd(tib) * (1 - 1e-12)
