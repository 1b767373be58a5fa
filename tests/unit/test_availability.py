"""Spare replicas and zones: every expected number is worked by hand."""

from __future__ import annotations

import math

import pytest

from gpu_opt.errors import InputError
from gpu_opt.throughput.availability import (
    enough_up_fraction,
    replica_availability_fraction,
    replicas_over_zones,
    service_spares,
    spare_replicas,
    zones_needed,
)


def test_a_replica_is_up_for_its_time_between_failures_over_that_and_its_repair() -> None:
    # 8 GPUs: 50,677 / 8 = 6,334.6 h between interruptions; 6,334.6 / 6,335.6 = 0.999842
    assert replica_availability_fraction(mtti_hours=50677 / 8, repair_hours=1) == pytest.approx(0.9998422, abs=1e-7)


def test_one_replica_needs_no_spare_when_it_is_up_often_enough() -> None:
    # A = 99 / 100 = 0.99, and 0.99 is asked for
    assert spare_replicas(1, availability_fraction=0.99, mtti_hours=99, repair_hours=1) == 0


def test_one_replica_of_ninety_percent_needs_two_spares_for_three_nines() -> None:
    # A = 0.9: all 1 + s are down with probability 0.1^(1 + s): 0.1, 0.01, 0.001 → 1 − 0.001 = 0.999 at s = 2
    assert spare_replicas(1, availability_fraction=0.9989, mtti_hours=9, repair_hours=1) == 2


def test_two_of_three_replicas_are_up_as_the_binomial_says() -> None:
    # A = 0.9: P(3 up) + P(2 up) = 0.729 + 3 · 0.81 · 0.1 = 0.972
    assert enough_up_fraction(2, 1, up_fraction=0.9) == pytest.approx(0.972, abs=1e-12)


def test_spares_are_the_fewest_that_reach_the_target() -> None:
    up = 100 / 101
    spares = spare_replicas(40, availability_fraction=0.999, mtti_hours=100, repair_hours=1)
    exact = [
        sum(math.comb(40 + s, down) * (1 - up) ** down * up ** (40 + s - down) for down in range(s + 1))
        for s in range(9)
    ]
    assert spares == next(s for s, share in enumerate(exact) if share >= 0.999)


def test_machines_that_take_a_day_to_repair_need_more_spares_than_rented_ones() -> None:
    # 8 GPUs, 100 replicas: expected down 100 · 1/6336 = 0.016 rented, 100 · 24/6359 = 0.38 owned.
    # Rented: P(0 down) = 0.9843 < 0.999, P(≤ 1 of 101) ≈ 1 − 0.016²/2 = 0.99987 → 1.
    # Owned, Poisson 0.38: P(≤ 2) = e^−0.38 (1 + 0.38 + 0.072) = 0.9930, P(≤ 3) = 0.9993 → 3.
    mtti = 50677 / 8
    assert spare_replicas(100, availability_fraction=0.999, mtti_hours=mtti, repair_hours=1) == 1
    assert spare_replicas(100, availability_fraction=0.999, mtti_hours=mtti, repair_hours=24) == 3


def test_owned_machines_and_the_failure_table_are_the_defaults_of_a_service() -> None:
    # the same numbers as above, from 8 GPUs a replica
    assert service_spares(100, availability_fraction=0.999, gpus_per_replica=8, owned=False) == 1
    assert service_spares(100, availability_fraction=0.999, gpus_per_replica=8, owned=True) == 3
    assert service_spares(100, availability_fraction=0.999, gpus_per_replica=8, owned=True, repair_hours=1.0) == 1


def test_thousands_of_replicas_do_not_underflow() -> None:
    # 20,000 replicas, A = 0.9: 0.1 / 0.9 · 20,000 = 2,222 spares and 2.3 standard deviations of √2,000 / 0.9 ≈ 50
    spares = spare_replicas(20_000, availability_fraction=0.99, mtti_hours=9, repair_hours=1)
    assert 2222 + 2 * 50 < spares < 2222 + 3 * 50


def test_certainty_cannot_be_promised() -> None:
    with pytest.raises(InputError, match="an availability of 1"):
        spare_replicas(3, availability_fraction=1.0, mtti_hours=100, repair_hours=1)


def test_replicas_that_never_fail_and_services_without_replicas_need_no_spares() -> None:
    assert spare_replicas(3, availability_fraction=1.0, mtti_hours=100, repair_hours=0) == 0
    assert spare_replicas(0, availability_fraction=0.999, mtti_hours=100, repair_hours=1) == 0


@pytest.mark.parametrize(("share", "zones"), [(1.0, 1), (0.5, 2), (0.34, 3), (1 / 3, 3), (0.3, 4)])
def test_a_share_needs_its_reciprocal_in_zones(share: float, zones: int) -> None:
    assert zones_needed(share) == zones


@pytest.mark.parametrize(
    ("replicas", "share", "zones", "total"),
    [
        (1, 0.5, 2, 2),  # one replica would be all in one zone
        (3, 0.5, 2, 4),  # 2 of 3 are more than half
        (4, 0.5, 2, 4),
        (4, 0.34, 3, 6),  # a zone may hold ⌊1.36⌋ = 1 of 4 and ⌊1.7⌋ = 1 of 5, but ⌊2.04⌋ = 2 of 6
        (5, 0.6, 3, 5),  # a zone may hold 3: 2 + 2 + 1
        (7, 1.0, 1, 7),
        (0, 0.5, 2, 0),
    ],
)
def test_replicas_grow_until_no_zone_holds_more_than_its_share(
    replicas: int, share: float, zones: int, total: int
) -> None:
    assert replicas_over_zones(replicas, max_share_fraction=share, zones=zones) == total


def test_too_few_zones_cannot_hold_the_replicas() -> None:
    assert replicas_over_zones(4, max_share_fraction=0.34, zones=2) is None
