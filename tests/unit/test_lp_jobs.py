"""Jobs (contract, sections 7.1, 7.4, 7.6)."""

from __future__ import annotations

from datetime import date

import pytest
from tests.unit.planner_cases import batch, gpu_hours, horizon, job, lines, offer, service, solve, spent

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import ExistingCommitment
from gpu_opt.domain.workload import SpotPolicy
from gpu_opt.errors import Infeasible


def held(instances: int = 1, ends: date = date(2027, 1, 31)) -> ExistingCommitment:
    return ExistingCommitment(
        name="c",
        provider="aws",
        region="us-east-1",
        instance_type="p5.48xlarge",
        instances=instances,
        ends=ends,
        usd_per_instance_hour=50.0,
    )


def test_a_run_goes_across_periods_without_a_pause() -> None:
    when = horizon(2, "month")
    found = solve(when, [job("x", 1000, when)], [offer()])
    assert [spent(found, "rent", "x", p) for p in ("P1", "P2")] == [744 * 80, 256 * 80]
    [run] = found.schedule
    assert (run.start, run.end) == ("2027-01-01T00:00:00Z", "2027-02-11T16:00:00Z")


def test_a_gang_of_eight_gpus_may_be_two_instances_of_four() -> None:
    when = horizon()
    found = solve(when, [job("x", 100, when)], [offer("h4", 30, gpus=4), offer(usd=80)])
    [line] = lines(found, "rent")
    assert (line.offer, line.quantity) == ("aws/us-east-1/h4/on_demand", 200.0)


def test_each_run_of_a_period_starts_and_ends_within_it() -> None:
    when = horizon(2, "month")
    found = solve(when, [job("x", 100, when, kind="finetune", runs_per_period=3)], [offer()])
    assert found.objective_usd == 6 * 100 * 80
    assert len(found.schedule) == 6
    for run in found.schedule:
        assert (run.start_hours < 744.0) == (run.end_hours <= 744.0)


def test_a_run_starts_at_its_earliest_and_meets_its_deadline_to_the_hour() -> None:
    when = horizon()
    found = solve(when, [job("x", 100, when, earliest_hours=48.0, deadline_hours=148.0)], [offer()])
    assert [(run.start_hours, run.end_hours) for run in found.schedule] == [(48.0, 148.0)]
    with pytest.raises(Infeasible):
        solve(when, [job("x", 100, when, earliest_hours=48.0, deadline_hours=147.9)], [offer()])


def test_being_late_costs_by_the_day_where_that_is_cheaper() -> None:
    when = horizon()
    found = solve(when, [job("x", 100, when, deadline_hours=48.0, usd_per_day_late=240.0)], [offer()])
    assert spent(found, "late") == 52 * 10.0
    assert found.objective_usd == 8_000 + 520


def test_what_is_committed_covers_a_part_of_a_gang_and_rent_the_rest() -> None:
    when = horizon()
    wide = job("x", 100, when, speeds=(("H100-SXM", 16, 1000.0),))
    found = solve(when, [wide], [offer("p5.48xlarge")], existing=(held(ends=date(2027, 1, 3)),))
    # two instances for 100 h; one of them is paid for until the end of the third day, 72 h
    assert spent(found, "existing commitment") == 72 * 50
    assert spent(found, "rent") == (200 - 72) * 80


def test_an_existing_commitment_runs_to_the_end_of_its_last_day() -> None:
    when = horizon(1, "month")
    work = gpu_hours("g", {"H100-SXM": (8 * 744.0,)}, when)
    found = solve(when, [work], [offer("p5.48xlarge")], existing=(held(ends=date(2027, 1, 10)),))
    assert found.objective_usd == 240 * 50 + 504 * 80


def test_two_workloads_of_jobs_fill_at_most_the_occupancy_of_what_they_share() -> None:
    when = horizon(1, "month")
    half = {"H100-SXM": (8 * 372.0,)}
    both = [gpu_hours(name, half, when) for name in ("g", "h")]
    found = solve(when, both, [offer("p5.48xlarge")], existing=(held(),))
    # 0.85 × 744 = 632.4 h are covered, 111.6 h rented
    assert found.objective_usd == pytest.approx(744 * 50 + 111.6 * 80)


def test_one_workload_of_jobs_alone_fills_everything() -> None:
    when = horizon(1, "month")
    whole = [gpu_hours("g", {"H100-SXM": (8 * 744.0,)}, when)]
    assert solve(when, whole, [offer("p5.48xlarge")], existing=(held(),)).objective_usd == 744 * 50


def test_a_service_beside_a_job_does_not_make_it_share() -> None:
    when = horizon(1, "month")
    both = [gpu_hours("g", {"H100-SXM": (8 * 744.0,)}, when), service("s", 10.0, when)]
    assert solve(when, both, [offer("p5.48xlarge")], existing=(held(2),)).objective_usd == 2 * 744 * 50


def test_substitutes_do_their_part_of_an_hour() -> None:
    when = horizon(1, "month")
    work = gpu_hours("g", {"H100-SXM": (800.0,)}, when, substitutes={"A100-80GB-SXM": 0.4})
    found = solve(when, [work], [offer(usd=80), offer("a8", 30, gpu="A100-80GB-SXM")])
    # 100 h of eight H100 are $8,000; 800 ÷ (8 × 0.4) = 250 h of eight A100 are $7,500
    assert found.objective_usd == 7_500


def test_batch_work_is_divided_between_markets_up_to_the_share_of_spot() -> None:
    when = horizon(1, "month")
    work = batch("b", 36_000 * 100.0, when, spot=SpotPolicy(allow=True, max_share_fraction=0.25))
    found = solve(when, [work], [offer(), offer(usd=20, market=Market.SPOT)])
    on_demand = [line for line in lines(found, "rent") if line.market == "on_demand"]
    assert sum(line.quantity for line in on_demand) == pytest.approx(75.0)


def test_batch_work_of_each_period_is_done_in_it() -> None:
    when = horizon(2, "month")
    found = solve(when, [batch("b", 36_000 * 10.0, when, per_period=True)], [offer()])
    assert [spent(found, "rent", "b", p) for p in ("P1", "P2")] == [800.0, 800.0]


def test_spot_takes_at_most_its_share_of_a_periods_runs() -> None:
    when = horizon(1, "month")
    policy = SpotPolicy(allow=True, max_share_fraction=0.5)
    runs = job("x", 10, when, kind="finetune", runs_per_period=4, spot=policy)
    found = solve(when, [runs], [offer(), offer(usd=20, market=Market.SPOT)])
    assert found.objective_usd == 2 * 10 * 80 + 2 * 10 * 20


def test_on_spot_the_deadline_must_hold_at_its_p95() -> None:
    when = horizon()
    # 100 h of work take 101.8 h on spot and more at P95; on demand 101.7 h
    policy = SpotPolicy(allow=True)
    tight = job("x", 100, when, effective=False, checkpoint_interval_hours=0.5, spot=policy, deadline_hours=102.0)
    offers = [offer(), offer(usd=20, market=Market.SPOT)]
    [line] = lines(solve(when, [tight], offers), "rent")
    assert line.market == "on_demand"
    loose = job("x", 100, when, effective=False, checkpoint_interval_hours=0.5, spot=policy, deadline_hours=140.0)
    [line] = lines(solve(when, [loose], offers), "rent")
    assert line.market == "spot"


def test_a_long_run_without_checkpoints_is_refused_on_spot() -> None:
    when = horizon(4)
    run = job("x", 4000, when, effective=False, spot=SpotPolicy(allow=True))
    with pytest.raises(Infeasible, match="checkpoint"):
        solve(when, [run], [offer(usd=20, market=Market.SPOT)])


def test_a_pause_that_a_preemptible_run_may_take_is_not_planned_and_that_is_said() -> None:
    when = horizon()
    found = solve(when, [job("x", 100, when, preemptible=True)], [offer()])
    assert any(warning.startswith("x: planned without pauses") for warning in found.warnings)


def test_measured_steady_speed_loses_time_that_effective_speed_does_not() -> None:
    when = horizon()
    steady = solve(when, [job("x", 100, when, effective=False)], [offer()])
    effective = solve(when, [job("x", 100, when)], [offer()])
    assert effective.objective_usd == 8_000
    assert 8_000 < steady.objective_usd < 8_400


def test_with_only_measured_nothing_else_runs() -> None:
    when = horizon()
    with pytest.raises(Infeasible, match="measured"):
        solve(when, [job("x", 100, when)], [offer("a8", 10, gpu="A100-80GB-SXM")])
