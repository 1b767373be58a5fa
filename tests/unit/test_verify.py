"""The verifier finds what is wrong with a plan, field by field, and never trusts a sum."""

import copy
import json
import math

import pytest
from tests.property import cases

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import (
    Agreement,
    Budget,
    Credit,
    ExistingCommitment,
    NamedBlock,
    Overhead,
    Owned,
    Purchasable,
    Question,
    Quota,
    Site,
)
from gpu_opt.domain.workload import DataLocation, SpotPolicy
from gpu_opt.verify import check
from gpu_opt.verify.services import at_least

H100 = "H100-SXM"


def _fleet_plan():
    """Runs, a batch and GPU-hours on rent, spot, a reservation and an owned machine, under a quota and budgets."""
    when = cases.horizon(2)
    offers = [
        cases.offer("p", "h8", H100, 8, 30.0),
        cases.offer("p", "h8", H100, 8, 15.0, Market.RESERVED_1Y, term_months=12, upfront_usd=8760.0),
        cases.offer("p", "h8", H100, 8, 12.0, Market.SPOT),
        cases.offer("q", "l1", "L4", 1, 0.8, max_instances=40),
    ]
    quota = Quota(name="h", gpu=H100, max_instances=12)
    question = Question(
        horizon=when,
        workloads=(
            cases.job("train", when, {(H100, 16): 300.0}, deadline_hours=900.0, earliest_hours=240.0),
            cases.job(
                "tune", when, {(H100, 8): 20.0}, runs_per_period=3, spot=SpotPolicy(allow=True, max_share_fraction=0.4)
            ),
            cases.batch("nightly", when, 2e7, {("L4", 1): 1.0, (H100, 1): 9.0}, per_period=True),
            cases.gpu_hours("lab", when, {H100: [40_000.0, 60_000.0]}),
            cases.job("late", when, {(H100, 8): 200.0}, deadline_hours=150.0, usd_per_day_late=240.0),
        ),
        consider=(Market.RESERVED_1Y,),
        quotas=(quota,),
        budget=Budget(total_usd=1e7, per_period_usd=5e6, per_hour_usd=2000.0),
        inventory=(Owned(name="old", system="hgx-h100-8", instances=1, purchased=cases.START, site="dc"),),
        sites=(Site(name="dc", country="US", power_kw_free=50.0, racks_free=5.0),),
        max_providers=2,
    )
    return question, offers


def _service_plan():
    """Services with blocks, spares and round robin, commitments, credits, support, an agreement and a purchase."""
    when = cases.horizon(
        2, blocks=(NamedBlock(name="b0", hours_share_fraction=0.25), NamedBlock(name="b1", hours_share_fraction=0.75))
    )
    offers = [
        cases.offer("p", "a8", "A100-80GB-SXM", 8, 18.0),
        cases.offer("p", "a8", "A100-80GB-SXM", 8, 11.0, Market.SAVINGS_PLAN_1Y),
        cases.offer("q", "l1", "L4", 1, 0.8),
    ]
    rates = {("A100-80GB-SXM", 4): 10.0, ("L4", 1): 1.0}
    loads = [(0.25, 30.0), (0.75, 12.0)]
    question = Question(
        horizon=when,
        workloads=(
            cases.service("chat", when, loads, rates, autoscale_efficiency_fraction=0.8, availability_fraction=0.9999),
            cases.service("embed", when, [(1.0, 7.5)], {("L4", 1): 1.0}, min_replicas=9, round_robin=True),
            cases.job(
                "data", when, {("A100-80GB-SXM", 8): 100.0}, data=DataLocation(tib=2.0, location="aws/us-east-1")
            ),
            cases.job("own", when, {(H100, 8): 1900.0}),
        ),
        consider=(Market.SAVINGS_PLAN_1Y,),
        existing=(
            ExistingCommitment(
                name="cud",
                provider="p",
                region="us-east-1",
                instance_type="a8",
                instances=2,
                ends=cases.START.replace(month=5, day=31),
                usd_per_instance_hour=10.0,
            ),
        ),
        agreements=(Agreement(provider="q", min_spend_usd_per_year=200_000.0),),
        credits=(Credit(provider="p", usd=5_000.0, expires=cases.START.replace(month=6, day=30)),),
        overheads=(Overhead(provider="p", support_fraction=0.05), Overhead(provider="q", fixed_usd_per_period=900.0)),
        sites=(Site(name="dc", country="US", power_kw_free=25.0, racks_free=2.0),),
        purchasable=(Purchasable(system="hgx-h100-8", site="dc", max_instances=1, lead_time_hours=240.0),),
    )
    return question, offers


@pytest.fixture(scope="module")
def fleet():
    return cases.document(*_fleet_plan(), gap=0.3)


@pytest.fixture(scope="module")
def services():
    return cases.document(*_service_plan(), gap=0.001)


def edited(plan, path, change):
    """A copy of a plan with one value changed; `change` is the value, or a function of the old one.

    A step of the path that is a table picks the first entry with these values.
    """
    plan = copy.deepcopy(plan)
    at = plan
    for step in path[:-1]:
        picks = isinstance(step, dict)
        at = next(entry for entry in at if step.items() <= entry.items()) if picks else at[step]
    at[path[-1]] = change(at[path[-1]]) if callable(change) else change
    return plan


def found(plan, path, change):
    """What the verifier says of a plan with one value changed."""
    return check(edited(plan, path, change))


def test_real_plans_hold(fleet, services):
    assert check(fleet) == []
    assert check(services) == []
    assert check(json.loads(json.dumps(fleet))) == []


TERM = {"kind": "reserved_1y"}
TRAIN, TUNE = {"workload": "train"}, {"workload": "tune"}
FLEET_CHANGES = {
    "a rate": (("cost_lines", {"label": "rent"}, "rate_usd"), lambda v: v * 1.01, "cost_lines[0]"),
    "a quantity": (("cost_lines", {"label": "rent"}, "quantity"), lambda v: v + 1.0, "cost_lines[0]"),
    "a cent": (("cost_lines", {"label": "rent"}, "usd"), lambda v: v + 0.01, "cost_lines[0]"),
    "whom a line is paid to": (("cost_lines", {"label": "rent"}, "provider"), "q", "is paid to p"),
    "the workload of a line": (("cost_lines", {"label": "rent"}, "workload"), "nobody", "no such workload"),
    "the period of a line": (("cost_lines", {"label": "rent"}, "period"), "P9", "no such period"),
    "the label of a line": (("cost_lines", {"label": "rent"}, "label"), "gift", "nothing in the evidence costs this"),
    "whether a line is billed": (("cost_lines", {"label": "rent"}, "billed"), False, "`billed` says otherwise"),
    "the objective": (("objective_usd",), lambda v: v - 0.01, "objective_usd"),
    "the minimized": (("minimized_usd",), lambda v: v + 1.0, "minimized_usd"),
    "the platform": (("platform_usd",), lambda v: v + 0.01, "platform_usd"),
    "a workload's cost": (("workloads", 0, "usd"), lambda v: v + 0.01, "workload train"),
    "a workload's hours": (("workloads", 0, "gpu_hours"), lambda v: v + 1.0, "GPU-hours"),
    "a bound above": (("bound_usd",), lambda v: v * 2.0, "bound_usd"),
    "no bound": (("bound_usd",), None, "no bound to certify by"),
    "a gap": (("gap",), lambda v: v + 0.001, "gap"),
    "the gap asked for": (("gap_asked",), -1.0, "certified"),
    "the status": (("status",), "feasible", "status"),
    "what is certified": (("certified",), False, "status"),
    "cash": (("billed_usd",), lambda v: v + 1.0, "billed_usd"),
    "the first day": (("start",), "2027-01-02", "schedule[0]"),
    "a day that is none": (("start",), "soon", "start"),
    "a period's hours": (("periods", 0, "hours"), 2161.0, "periods[0]"),
    "a told start": (("schedule", 0, "start"), "2027-01-01T00:00:01Z", "schedule[0]"),
    "a told end": (("schedule", 1, "end_hours"), lambda v: v + 1.0, "schedule[1]"),
    "a told offer": (("schedule", 0, "offer"), "q/us-east-1/l1", "schedule"),
    "an allocation's cost": (("workloads", 0, "allocations", 0, "usd"), lambda v: v + 1.0, "lines add up to"),
    "an allocation's hours": (("workloads", 0, "allocations", 0, "instance_hours"), lambda v: v + 1.0, "allocation 0"),
    "an allocation's GPU": (("workloads", 0, "allocations", 0, "gpu"), "L4", "its gpu is H100-SXM"),
    "a told fleet": (("fleet", 0, "instances"), 99.0, "fleet"),
    "a told user": (("fleet", 0, "used_by"), ["nobody"], "used by others"),
    "a told commitment": (("commitments", 0, "units"), 99.0, "commitments[0]"),
    "its price": (("commitments", 0, "usd_per_unit_hour"), 1.0, "commitments[0]"),
    "its start": (("commitments", 0, "start"), "2027-02-01", "commitments"),
    "an offer's price": (
        ("evidence", "pools", "p/us-east-1/h8", "rents", 0, "usd_per_instance_hour", 0),
        29.0,
        "the rate is",
    ),
    "a quota": (("evidence", "limits", 0, "maximum"), 1.0, "limit h (instances)"),
    "a total budget": (("evidence", "budget", "total_usd"), 1000.0, "budget total_usd"),
    "a period's budget": (("evidence", "budget", "per_period_usd"), 1000.0, "budget per_period_usd"),
    "an hourly budget": (("evidence", "budget", "per_hour_usd"), 50.0, "budget per_hour_usd"),
    "the budget's basis": (("evidence", "budget", "basis"), "imagined", "basis"),
    "the number of providers": (("evidence", "max_providers"), 0, "max_providers"),
    "the occupancy": (("evidence", "occupancy_fraction"), 0.5, "occupancy allows"),
    "a run's start": (("evidence", "runs", "placed", TRAIN, "start_hours"), lambda v: v - 300.0, "stands for"),
    "a run's length": (("evidence", "runs", "placed", TRAIN, "elapsed_hours"), lambda v: v / 2.0, "stands for"),
    "a run's speed": (("evidence", "runs", "placed", TRAIN, "tokens_per_second"), lambda v: v / 2.0, "tokens at"),
    "a run's gang": (("evidence", "runs", "placed", TRAIN, "instances"), 7, "of its gang"),
    "a run's P95": (("evidence", "runs", "placed", TRAIN, "p95_hours"), 1.0, "P95"),
    "a run's pool": (("evidence", "runs", "placed", TRAIN, "pool"), "moon", "isn't among the pools"),
    "a run's payment": (("evidence", "runs", "placed", TRAIN, "paid_hours"), lambda v: v * 2.0, "are paid of"),
    "how many runs": (("evidence", "runs", "asked", TUNE, "runs"), 4, "are asked for"),
    "a deadline": (("evidence", "runs", "asked", TRAIN, "latest_hours"), 400.0, "deadline"),
    "an earliest": (("evidence", "runs", "asked", TRAIN, "from_hours"), 600.0, "before its window opens"),
    "a spot share": (("evidence", "runs", "asked", TUNE, "spot_share_fraction"), 0.0, "on spot"),
    "a late price": (("evidence", "runs", "asked", {"workload": "late"}, "usd_per_hour_late"), 1.0, "late"),
    "the work asked": (("evidence", "work", "asked", 0, "work"), lambda v: v * 1.01, "units of work"),
    "less work asked": (("evidence", "work", "asked", 0, "work"), lambda v: v / 2.0, "units of work are done"),
    "a window of work": (("evidence", "work", "asked", 0, "to_hours"), 10.0, "outside its window"),
    "the work done": (("evidence", "work", "done", 0, "unit_hours"), lambda v: v * 1.5, "units of work"),
    "the rate of work": (("evidence", "work", "done", 0, "work_per_hour"), lambda v: v * 1.5, "an hour, not"),
    "who did the work": (("evidence", "work", "done", 0, "demand"), 999, "isn't one of"),
    "an owned machine": (("evidence", "capacity", 0, "instances"), 2.0, "it stands for"),
    "the end of a machine": (("evidence", "capacity", 0, "end_hours"), 1000.0, "it stands for"),
    "the end of a term": (("evidence", "capacity", TERM, "end_hours"), 8000.0, "days, its term has"),
    "a term's most": (("evidence", "capacity", TERM, "max_units"), 1, "are to be had"),
    "a term's least": (("evidence", "capacity", TERM, "min_units"), 50, "must be taken"),
    "half an instance": (("evidence", "capacity", TERM, "instances"), 1.5, "not a whole number"),
    "hours left to later periods": (("evidence", "capacity", TERM, "left_hours"), 1e6, "left to later periods"),
    "a price after the horizon": (("evidence", "capacity", TERM, "after", "committed"), 1.0, "after the horizon"),
}


@pytest.mark.parametrize("what", FLEET_CHANGES)
def test_a_changed_value_of_jobs_is_found(fleet, what):
    path, change, told = FLEET_CHANGES[what]
    assert any(told in problem for problem in found(fleet, path, change)), found(fleet, path, change)


CHAT, EMBED = {"workload": "chat"}, {"workload": "embed"}
BOUGHT, OLD = {"kind": "purchase"}, {"kind": "existing"}
LATER_CREDIT = ("evidence", "credits", 0)
SERVICE_CHANGES = {
    "a load": (("evidence", "services", "asked", CHAT, "blocks", 0, "requests_per_second"), 1000.0, "the load is 1000"),
    "an availability": (
        ("evidence", "services", "asked", CHAT, "availability_fraction"),
        0.999999999999,
        "of the time",
    ),
    "least replicas": (("evidence", "services", "asked", EMBED, "min_replicas"), 50, "are asked for at least"),
    "a share of spot": (("evidence", "services", "asked", CHAT, "period"), 7, "no period 7"),
    "a window": (("evidence", "services", "asked", CHAT, "to_hours"), 9000.0, "reaches beyond"),
    "a block of the day": (
        ("evidence", "services", "asked", CHAT, "blocks", 1, "low_fraction"),
        0.1,
        "part of the day",
    ),
    "replicas": (("evidence", "services", "standing", 0, "replicas"), 1, "the load is"),
    "a replica's rate": (("evidence", "services", "standing", 0, "requests_per_second"), 0.1, "the load is"),
    "a replica's GPUs": (("evidence", "services", "standing", 0, "gpus"), 64, "don't fit"),
    "hosts": (("evidence", "services", "standing", 0, "hosts"), 1, "hold"),
    "a replica's failures": (("evidence", "services", "standing", 0, "mtti_hours"), 1.0, "of the time"),
    "a site's power": (("evidence", "sites", 0, "power_kw_free"), 1.0, "kW"),
    "a site's racks": (("evidence", "sites", 0, "racks_free"), 0.01, "racks"),
    "a capital budget": (("evidence", "budget", "capex_usd"), 1000.0, "budget capex_usd"),
    "a machine's price": (("evidence", "capacity", BOUGHT, "capex_usd"), 1.0, "purchases"),
    "a machine's annuity": (("evidence", "capacity", BOUGHT, "lines", "annuity"), 1.0, "something else after"),
    "a machine's most": (("evidence", "capacity", BOUGHT, "max_units"), 0, "are to be had"),
    "hours left to later periods": (("evidence", "capacity", BOUGHT, "left_hours"), 1000.0, "left to later periods"),
    "the energy of work": (
        ("evidence", "pools", "onprem/dc/hgx-h100-8", "busy_usd_per_hour", "dense_training"),
        9.0,
        "busy hours",
    ),
    "a told purchase": (("purchases", 0, "instances"), 2, "purchases"),
    "a told delivery": (("purchases", 0, "delivered"), "2027-01-01", "purchases"),
    "a commitment's price": (("evidence", "capacity", OLD, "lines", "existing commitment"), 1.0, "the rate is"),
    "a commitment's kind": (("commitments", 0, "existing"), False, "told otherwise"),
    "straight line": (("low_usd",), 1e12, "low_usd"),
    "a move of data": (("evidence", "runs", "placed", {"workload": "data"}, "place_usd"), 500.0, "data to p/us-east-1"),
    "support": (("evidence", "overheads", 0, "support_fraction"), 0.04, "support of p"),
    "a fixed charge": (("evidence", "overheads", 1, "fixed_usd_per_period"), 800.0, "fixed charge of q"),
    "an agreement": (("evidence", "agreements", 0, "min_spend_usd_per_year"), 1e6, "agreement of q"),
    "a credit": ((*LATER_CREDIT, "usd"), 10.0, "credit to 2027-06-30"),
    "a credit that expires": ((*LATER_CREDIT, "expires"), "2027-02-01", "credit to"),
    "a credit's day": ((*LATER_CREDIT, "expires"), "soon", "is not a day"),
}


@pytest.mark.parametrize("what", SERVICE_CHANGES)
def test_a_changed_value_of_services_is_found(services, what):
    path, change, told = SERVICE_CHANGES[what]
    assert any(told in problem for problem in found(services, path, change)), found(services, path, change)


def test_round_robin_is_held_to_the_slowest_replica(services):
    """9 replicas of 1 request/s carry 7.5; were one of them at 0.8, nine equal shares would carry 7.2."""
    plan = copy.deepcopy(services)
    standing = plan["evidence"]["services"]["standing"]
    d = next(i for i, a in enumerate(plan["evidence"]["services"]["asked"]) if a["workload"] == "embed")
    entry = next(s for s in standing if s["demand"] == d)
    entry["replicas"], entry["hosts"] = 8, 8
    standing.append({**entry, "replicas": 1, "hosts": 1, "requests_per_second": 0.8})
    assert any("under round robin 9 replicas carry 7.2" in problem for problem in check(plan))


def test_a_zone_that_holds_too_many_replicas_is_found(services):
    plan = copy.deepcopy(services)
    for pool in plan["evidence"]["pools"].values():
        pool["zone"] = "a"
    for demand in plan["evidence"]["services"]["asked"]:
        demand["zone_share_fraction"] = 0.5
    assert any("zone a holds 39 of 39 replicas" in problem for problem in check(plan))


@pytest.mark.parametrize("name", ["runs", "work"])
def test_work_that_is_left_out_is_found(fleet, name):
    done = "placed" if name == "runs" else "done"
    for index in range(len(fleet["evidence"][name][done])):
        plan = copy.deepcopy(fleet)
        del plan["evidence"][name][done][index]
        assert check(plan)


def test_a_cost_line_that_is_left_out_is_found_even_when_the_sums_are_mended(fleet, services):
    for real in (fleet, services):
        for index in range(len(real["cost_lines"])):
            plan = copy.deepcopy(real)
            gone = plan["cost_lines"].pop(index)
            for key in ("objective_usd", "minimized_usd", "bound_usd", "billed_usd", "straight_line_usd"):
                plan[key] -= gone["usd"]
            for workload in plan["workloads"]:
                workload["usd"] -= gone["usd"] if workload["name"] == gone["workload"] else 0.0
            plan["platform_usd"] -= 0.0 if gone["workload"] else gone["usd"]
            assert check(plan), gone


def test_two_runs_at_one_time_break_a_quota_of_one():
    when = cases.horizon(1)
    jobs = tuple(cases.job(name, when, {(H100, 8): 100.0}, deadline_hours=200.0) for name in ("a", "b"))
    quota = Quota(name="q", max_instances=1)
    plan = cases.document(
        Question(horizon=when, workloads=jobs, quotas=(quota,)), [cases.offer("p", "h8", H100, 8, 30.0)]
    )
    assert check(plan) == []
    both = plan["evidence"]["runs"]["placed"]
    assert sorted((run["start_hours"], run["end_hours"]) for run in both) == [(0.0, 100.0), (100.0, 200.0)]
    second = max(both, key=lambda run: run["start_hours"])
    told = next(run for run in plan["schedule"] if run["workload"] == second["workload"])
    for entry in (second, told):
        entry["start_hours"], entry["end_hours"] = 50.0, 150.0
    told["start"], told["end"] = "2027-01-03T02:00:00Z", "2027-01-07T06:00:00Z"
    plan["fleet"][0]["instances"] = 2.0
    assert check(plan) == ["limit q (instances): 2 instances at 50 h, at most 1 are allowed."]


def test_the_chance_that_enough_replicas_are_up():
    """Of 3 replicas that are up 90 % of the time, 2 are up with 3 × 0.9² × 0.1 + 0.9³ = 0.972."""
    assert at_least(2, 3, 0.9) == pytest.approx(0.972)
    assert at_least(4, 3, 0.9) == 0.0
    assert at_least(0, 3, 0.9) == 1.0


MALFORMED = [None, 7, "plan", [], {}, {"schema": "gpu-opt/plan/1"}, {"schema": "other/2"}]
MALFORMED += [{"schema": "gpu-opt/plan/1", "status": "infeasible"}, {"schema": 10**400}]


@pytest.mark.parametrize("document", MALFORMED, ids=str)
def test_what_is_no_plan_gets_a_sentence(document):
    problems = check(document)
    assert problems
    assert all(isinstance(problem, str) and problem.endswith(".") for problem in problems)


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _paths(held, (*path, key))
    elif isinstance(value, list) and value:
        yield from _paths(value[0], (*path, 0))


WRONG = [None, "x", -1, 10**30, math.nan, math.inf, True, [], {}, [[]], {"a": {}}]


@pytest.mark.parametrize("turn", range(3))
def test_any_value_of_the_wrong_kind_never_raises(services, turn):
    plan = copy.deepcopy(services)
    for number, path in enumerate(list(_paths(plan))[1:]):
        at = plan
        for step in path[:-1]:
            at = at[step]
        kept = at[path[-1]]
        at[path[-1]] = WRONG[(number + 4 * turn) % len(WRONG)]
        assert all(isinstance(problem, str) for problem in check(plan))
        at[path[-1]] = kept


def test_a_missing_key_is_named(fleet):
    plan = copy.deepcopy(fleet)
    del plan["evidence"]["runs"]["placed"][0]["p95_hours"]
    assert check(plan) == ["evidence.runs.placed[0].p95_hours: missing."]


def test_a_huge_document_is_refused_in_a_sentence(fleet):
    assert "entries" in check({**fleet, "cost_lines": [{}] * 300_000})[0]
    plan = copy.deepcopy(fleet)
    done = plan["evidence"]["work"]["done"]
    for index in range(100_000):
        done.append(
            {**done[0], "start_hours": index / 100, "end_hours": index / 100 + 50.0, "low_fraction": index / 1e6}
        )
    assert "more times than can be checked" in check(plan)[0]


def test_ten_thousand_runs_are_checked():
    """The same run 10,000 times over, as recurring runs one after another."""
    when = cases.horizon(1)
    names = [f"j{index}" for index in range(4)]
    jobs = tuple(cases.job(name, when, {(H100, 8): 1.0}, runs_per_period=1) for name in names)
    plan = cases.document(Question(horizon=when, workloads=jobs), [cases.offer("p", "h8", H100, 8, 30.0)])
    line, workload = plan["cost_lines"][0], plan["workloads"][0]
    asked, placed = plan["evidence"]["runs"]["asked"][0], plan["evidence"]["runs"]["placed"][0]
    told, allocation = plan["schedule"][0], workload["allocations"][0]
    many = [f"w{index}" for index in range(10_000)]
    plan["cost_lines"] = [{**line, "workload": name} for name in many]
    plan["workloads"] = [{**workload, "name": name, "allocations": [allocation]} for name in many]
    plan["evidence"]["runs"] = {
        "asked": [{**asked, "workload": name} for name in many],
        "placed": [{**placed, "workload": name} for name in many],
    }
    plan["schedule"] = [{**told, "workload": name} for name in many]
    for key in (
        "objective_usd",
        "minimized_usd",
        "bound_usd",
        "billed_usd",
        "straight_line_usd",
        "low_usd",
        "high_usd",
    ):
        plan[key] = 300_000.0
    plan["fleet"] = [{**plan["fleet"][0], "instances": 10_000.0, "used_by": sorted(many)}]
    assert check(plan) == []
