"""From hours of work to hours of a run: closed forms against the reference's table and against limits."""

from __future__ import annotations

import math
import random

import pytest

from gpu_opt.throughput import goodput


def spot(rate: float, interval: float | None, work: float = 48.5, write: float = 0.0) -> goodput.RunTime:
    own_failures = 1.0 / goodput.mtti_hours(1e-9)
    return goodput.run_time(
        work_hours=work,
        gpus=1e-9,
        instances=1,
        market_is_spot=True,
        checkpoint_interval_hours=interval,
        checkpoint_write_hours=write,
        restart_hours=0.25,
        spot_interruptions_per_instance_hour=rate - own_failures,
    )


@pytest.mark.parametrize(
    ("rate", "interval", "hours"), [(0.05, 0.5, 49.7), (0.15, 0.5, 52.3), (0.15, 2.0, 58.7), (0.5, 0.5, 62.0)]
)
def test_a_spot_run_takes_the_exact_expectation(rate: float, interval: float, hours: float) -> None:
    assert spot(rate, interval).elapsed_hours == pytest.approx(hours, abs=0.06)


def test_a_long_run_that_saves_nothing_would_never_end() -> None:
    # (1/0.15 + 0.25) × (exp(0.15 × 48.5) − 1) = 6.9167 × 1442.7 = 9,979.
    assert goodput.segment_hours(0.15, 48.5, 0.25) == pytest.approx(9979, abs=1)
    assert goodput.segment_hours(0.15, 48.5, 0.0) == pytest.approx(9618, abs=1)


def test_a_spot_run_without_checkpoints_is_refused_beyond_its_mean_time_to_an_interruption() -> None:
    with pytest.raises(goodput.SpotNeedsCheckpoints, match="checkpoint"):
        spot(0.15, None)
    assert spot(0.15, None, work=5.0).elapsed_hours > 5.0


def test_waiting_for_a_new_machine_takes_time_but_no_money() -> None:
    run = goodput.run_time(
        work_hours=10.0, gpus=8, instances=1, market_is_spot=True, checkpoint_interval_hours=0.5,
        checkpoint_write_hours=0.0, restart_hours=0.1, reacquire_hours=1.0, spot_interruptions_per_instance_hour=0.2,
    )  # fmt: skip
    assert run.elapsed_hours > run.paid_hours > 10.0


def test_without_interruptions_a_spot_run_takes_what_an_undisturbed_one_does() -> None:
    run = goodput.run_time(
        work_hours=10.0, gpus=1e-6, instances=1, market_is_spot=True, checkpoint_interval_hours=1.0,
        checkpoint_write_hours=0.0, restart_hours=0.1,
    )  # fmt: skip
    assert run.elapsed_hours == pytest.approx(10.0, rel=1e-6)


def test_the_95th_percentile_agrees_with_a_simulation() -> None:
    draw = random.Random(7)
    ends = []
    for _ in range(3000):
        at, done = 0.0, 0.0
        while done < 48.5:
            piece = min(0.5, 48.5 - done)
            life = draw.expovariate(0.5)
            at, done = (at + life + 0.25, done) if life < piece else (at + piece, done + piece)
        ends.append(at)
    ends.sort()
    assert spot(0.5, 0.5).p95_elapsed_hours == pytest.approx(ends[int(0.95 * len(ends))], rel=0.02)


def test_sixteen_thousand_gpus_fail_every_three_hours() -> None:
    # 3.8 per 1,000 node-days: 2,048 nodes fail 0.3243 times an hour, once in 3.08 h.
    assert goodput.mtti_hours(16384) == pytest.approx(3.08, abs=0.01)


def test_half_as_many_nodes_fail_half_as_often() -> None:
    assert goodput.mtti_hours(8) == pytest.approx(2 * goodput.mtti_hours(16))


def test_the_best_checkpoint_interval_loses_least() -> None:
    best = goodput.best_interval_hours(0.02, 3.08)
    assert best == pytest.approx(math.sqrt(2 * 0.02 * 3.08))

    def share(interval: float) -> float:
        return goodput.goodput_fraction(
            mean_hours=3.08, interval_hours=interval, write_hours=0.02, detect_hours=0.05, restart_hours=0.25
        )

    # 1 / (1 + 0.02/0.351 + (0.1755 + 0.3)/3.08) = 1 / 1.2114
    assert share(best) == pytest.approx(1 / 1.2114, abs=2e-4)
    assert share(best) > max(share(best / 2), share(best * 2))


def test_rented_machines_are_paid_for_all_the_time_a_run_takes() -> None:
    run = goodput.run_time(
        work_hours=100.0, gpus=512, instances=64, market_is_spot=False, checkpoint_interval_hours=0.5,
        checkpoint_write_hours=0.01, restart_hours=0.2,
    )  # fmt: skip
    assert run.paid_hours == run.elapsed_hours > 100.0
    assert run.p95_elapsed_hours > run.elapsed_hours


def test_evaluation_and_warm_up_add_to_the_work_and_more_so_in_very_large_runs() -> None:
    assert 0 < goodput.whole_run_overhead(8) < goodput.whole_run_overhead(16384) < 0.25


def test_the_failure_table_names_its_sources() -> None:
    assert all(rate.source for rate in goodput.failure_rates().values())
