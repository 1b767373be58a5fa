"""Services (contract, section 7.5): instances of $80 an hour in the 744 h of January, unless told otherwise."""

from __future__ import annotations

import pytest
from tests.unit.planner_cases import horizon, offer, service, solve, spent

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import NamedBlock
from gpu_opt.domain.workload import SpotPolicy

MONTH = 744.0


def test_without_autoscaling_the_peak_block_stands_all_month() -> None:
    when = horizon(1, "month")
    found = solve(when, [service("s", [("peak", 0.25, 35.0), ("night", 0.75, 5.0)], when)], [offer()])
    assert found.objective_usd == 4 * MONTH * 80  # ⌈35 ÷ 10⌉ replicas


def test_with_autoscaling_each_block_is_sized_over_the_efficiency() -> None:
    when = horizon(1, "month")
    scaled = service("s", [("peak", 0.25, 35.0), ("night", 0.75, 5.0)], when, autoscale_efficiency_fraction=0.85)
    found = solve(when, [scaled], [offer()])
    # 35 ÷ 0.85 = 41.2: five replicas for a quarter of the time; 5 ÷ 0.85 = 5.9: one for the rest
    assert found.objective_usd == (5 * 0.25 + 1 * 0.75) * MONTH * 80


def test_growth_compounds_by_the_period_and_a_burst_sizes_for_its_peak() -> None:
    when = horizon(3, "month")
    growing = service("s", 10.0, when, growth_per_period_fraction=0.5, peak_to_mean_ratio=1.5)
    found = solve(when, [growing], [offer()])
    # peaks 15, 22.5 and 33.75: 2, 3 and 4 replicas in 744, 672 and 744 h
    assert [spent(found, "rent", "s", f"P{i}") for i in (1, 2, 3)] == [2 * 744 * 80, 3 * 672 * 80, 4 * 744 * 80]


def test_an_instance_holds_as_many_replicas_as_its_gpus_allow_and_is_paid_whole() -> None:
    when = horizon(1, "month")
    found = solve(when, [service("s", 50.0, when, rates=[("H100-SXM", 2, 10.0)])], [offer()])
    # five replicas of two GPUs: four on one instance, so two instances
    assert found.objective_usd == 2 * MONTH * 80


def test_services_never_share_an_instance_unless_they_name_a_pool() -> None:
    when = horizon(1, "month")
    apart = [service(name, 10.0, when, rates=[("H100-SXM", 2, 10.0)]) for name in "ab"]
    together = [service(name, 10.0, when, rates=[("H100-SXM", 2, 10.0)], pool="one") for name in "ab"]
    assert solve(when, apart, [offer()]).objective_usd == 2 * MONTH * 80
    assert solve(when, together, [offer()]).objective_usd == 1 * MONTH * 80


def test_loads_of_a_pool_add_up_where_their_named_blocks_meet() -> None:
    blocks = (NamedBlock(name="day", hours_share_fraction=0.5), NamedBlock(name="night", hours_share_fraction=0.5))
    when = horizon(1, "month", blocks=blocks)
    scale = {"autoscale_efficiency_fraction": 1.0, "pool": "one"}
    first = service("a", [("day", 0.5, 15.0), ("night", 0.5, 1.0)], when, **scale)
    second = service("b", [("day", 0.5, 1.0), ("night", 0.5, 15.0)], when, **scale)
    # 16 requests/s day and night: two replicas. Were the peaks laid together: 30 and 2, three and one
    assert solve(when, [first, second], [offer()]).objective_usd == 2 * MONTH * 80


def test_unnamed_blocks_are_laid_highest_first_so_that_peaks_coincide() -> None:
    when = horizon(1, "month")
    scale = {"autoscale_efficiency_fraction": 1.0, "pool": "one"}
    first = service("a", [("x", 0.5, 15.0), ("y", 0.5, 1.0)], when, **scale)
    second = service("b", [("u", 0.5, 1.0), ("v", 0.5, 15.0)], when, **scale)
    # 30 and 2: three replicas half the time, one the other half
    assert solve(when, [first, second], [offer()]).objective_usd == (3 * 0.5 + 1 * 0.5) * MONTH * 80


def test_a_mix_of_gpus_adds_up_its_rates() -> None:
    when = horizon(1, "month")
    mixed = service("s", 23.0, when, rates=[("H100-SXM", 8, 10.0), ("L4", 8, 3.0)])
    found = solve(when, [mixed], [offer(usd=80), offer("l8", 20, gpu="L4")])
    # per request/s: 8 against 6.67; 23 = 2 × 10 + 3 → 160 + 20; eight L4 would be $160: 8 × 3 = 24 ≥ 23
    assert found.objective_usd == 8 * 20 * MONTH
    found = solve(when, [mixed], [offer(usd=50), offer("l8", 20, gpu="L4")])
    assert found.objective_usd == (2 * 50 + 20) * MONTH


def test_under_round_robin_the_slowest_kind_rules() -> None:
    when = horizon(1, "month")
    mixed = service("s", 23.0, when, rates=[("H100-SXM", 8, 10.0), ("L4", 8, 3.0)], round_robin=True)
    found = solve(when, [mixed], [offer(usd=50), offer("l8", 20, gpu="L4")])
    # with one L4 among them, eight replicas would have to stand; three of the fast kind are cheapest
    assert found.objective_usd == 3 * 50 * MONTH


def test_spares_are_those_that_the_binomial_asks_for() -> None:
    when = horizon(1, "month")
    found = solve(when, [service("s", 25.0, when, availability_fraction=0.99999)], [offer()])
    from gpu_opt.throughput.goodput import mtti_hours

    up = mtti_hours(8.0) / (mtti_hours(8.0) + 1.0)  # one hour of repair on rented machines
    at_least = {
        # exactly: all of 3; of 4 at most one down; of 5 at most two down
        3: up**3,
        4: up**4 + 4 * up**3 * (1 - up),
        5: up**5 + 5 * up**4 * (1 - up) + 10 * up**3 * (1 - up) ** 2,
    }
    least = min(n for n, chance in at_least.items() if chance >= 0.99999)
    assert found.objective_usd == least * MONTH * 80
    assert least > 3


def test_the_strictest_member_of_a_pool_sets_its_spares_and_least_replicas() -> None:
    when = horizon(1, "month")
    plain = service("a", 5.0, when, pool="one")
    strict = service("b", 5.0, when, pool="one", availability_fraction=0.999, min_replicas=2)
    alone = service("c", 10.0, when, availability_fraction=0.999, min_replicas=2)
    offers = [offer()]
    assert solve(when, [plain, strict], offers).objective_usd == solve(when, [alone], offers).objective_usd


def test_no_zone_holds_more_than_its_share() -> None:
    when = horizon(1, "month")
    spread = service("s", 40.0, when, max_share_per_zone_fraction=0.5, spot=SpotPolicy(allow=True))
    offers = [offer(usd=20, zone="a", market=Market.SPOT), offer(usd=30, zone="b", market=Market.SPOT)]
    assert solve(when, [spread], offers).objective_usd == (2 * 20 + 2 * 30) * MONTH


def test_an_empty_zone_counts_as_spread_and_says_so() -> None:
    when = horizon(1, "month")
    found = solve(when, [service("s", 40.0, when, max_share_per_zone_fraction=0.5)], [offer()])
    assert found.objective_usd == 4 * 80 * MONTH
    assert any("names no zone" in warning for warning in found.warnings)


def test_on_demand_prices_of_several_zones_count_as_spread() -> None:
    when = horizon(1, "month")
    spread = service("s", 40.0, when, max_share_per_zone_fraction=0.5)
    found = solve(when, [spread], [offer(zone="a"), offer(zone="b", usd=81)])
    assert found.objective_usd == 4 * 80 * MONTH


@pytest.mark.parametrize(("share", "usd_per_hour"), [(0.5, 2 * 20 + 2 * 80), (0.25, 20 + 3 * 80), (0.0, 4 * 80)])
def test_spot_carries_at_most_its_share_of_the_replicas(share: float, usd_per_hour: float) -> None:
    when = horizon(1, "month")
    partly = service("s", 40.0, when, spot=SpotPolicy(allow=True, max_share_fraction=share))
    found = solve(when, [partly], [offer(), offer(usd=20, market=Market.SPOT)])
    assert found.objective_usd == usd_per_hour * MONTH


def test_a_service_is_paid_for_the_days_it_is_active() -> None:
    when = horizon(1, "month")
    found = solve(when, [service("s", 10.0, when, active_from_hours=24.0 * 10, active_to_hours=24.0 * 15)], [offer()])
    assert found.objective_usd == 5 * 24 * 80


def test_members_of_a_pool_that_are_never_active_together_need_one_replica() -> None:
    when = horizon(1, "month")
    first = service("a", 10.0, when, pool="one", active_to_hours=240.0)
    second = service("b", 10.0, when, pool="one", active_from_hours=480.0)
    # 240 h of January for the one, 264 h for the other, nothing in between
    assert solve(when, [first, second], [offer()]).objective_usd == (240 + 264) * 80


def test_members_of_a_pool_add_up_only_while_both_are_active() -> None:
    when = horizon(1, "month")
    first = service("a", 10.0, when, pool="one", active_to_hours=480.0)
    second = service("b", 10.0, when, pool="one", active_from_hours=240.0)
    assert solve(when, [first, second], [offer()]).objective_usd == (240 + 2 * 240 + 264) * 80


def test_blocks_that_the_horizon_does_not_name_are_laid_in_what_the_named_leave() -> None:
    blocks = (NamedBlock(name="night", hours_share_fraction=0.5), NamedBlock(name="day", hours_share_fraction=0.5))
    when = horizon(1, "month", blocks=blocks)
    scale = {"autoscale_efficiency_fraction": 1.0, "pool": "one"}
    first = service("a", [("day", 0.5, 15.0), ("x", 0.25, 1.0), ("y", 0.25, 9.0)], when, **scale)
    second = service("b", [("day", 0.5, 1.0), ("night", 0.5, 15.0)], when, **scale)
    # day: 16 → 2; at night y first: 9 + 15 = 24 → 3, then x: 1 + 15 = 16 → 2
    found = solve(when, [first, second], [offer()])
    assert found.objective_usd == pytest.approx((2 * 0.5 + 3 * 0.25 + 2 * 0.25) * MONTH * 80)
