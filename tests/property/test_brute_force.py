"""On tiny problems the plan at gap 0 costs to the cent what trying everything finds.

The enumeration is written from what the words mean, and shares nothing with the program that is tested.
"""

import itertools
import math
import random

import pytest
from tests.property import cases

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import Owned, Question, Quota, Site
from gpu_opt.errors import Infeasible

H100, A100, L4 = "H100-SXM", "A100-80GB-SXM", "L4"
INFEASIBLE = math.inf


def planned(question, offers):
    """The plan's cost in USD; infinite where the planner says that there is none."""
    try:
        plan = cases.solve(question, offers, 0.0)
    except Infeasible:
        return INFEASIBLE
    assert plan.certified
    return plan.objective_usd


def same(found, expected, lines=12):
    """Equal but for the cents that lines are rounded to."""
    return found == expected or abs(found - expected) <= 0.005 * lines + 1e-9


def left_shifted(runs, most):
    """Whether runs of (length, earliest, deadline) fit on `most` lanes without a pause, by trying every order: a
    schedule that exists also exists with each run as early as its lane allows, in some order of starts."""
    if most >= len(runs):
        return all(earliest + length <= deadline + 1e-9 for length, earliest, deadline in runs)
    for order in itertools.permutations(runs):
        lanes = [0.0] * most
        for length, earliest, deadline in order:
            lane = min(range(most), key=lanes.__getitem__)
            start = max(lanes[lane], earliest)
            if start + length > deadline + 1e-9:
                break
            lanes[lane] = start + length
        else:
            return True
    return False


# (a) Jobs with measured speeds: each picks an offer; an offer's own limit is what can run at one time.


@pytest.mark.parametrize("seed", range(70))
def test_jobs_that_share_a_few_instances_one_after_another(seed):
    rng = random.Random(seed)
    when = cases.horizon(1, "month")
    offers = [
        cases.offer("p", "h8", H100, 8, round(rng.uniform(20, 40), 2), max_instances=rng.choice((1, 1, 2, None))),
        cases.offer("q", "a8", A100, 8, round(rng.uniform(8, 25), 2), max_instances=rng.choice((1, 2, None))),
    ]
    jobs, asked = [], []
    for index in range(rng.randint(1, 4)):
        fast = float(rng.randint(10, 80))
        slow = round(fast * rng.uniform(1.5, 3.0), 1)
        earliest = float(rng.choice((0, 0, 24)))
        deadline = earliest + round(fast * rng.choice((1.1, 1.6, 2.4, 4.0)), 1)
        jobs.append(
            cases.job(
                f"j{index}", when, {(H100, 8): fast, (A100, 8): slow}, earliest_hours=earliest, deadline_hours=deadline
            )
        )
        asked.append(((fast, slow), earliest, deadline))
    best = INFEASIBLE
    for choice in itertools.product((0, 1), repeat=len(asked)):
        fits = True
        for k, one in enumerate(offers):
            runs = [(lengths[k], e, d) for (lengths, e, d), c in zip(asked, choice, strict=True) if c == k]
            fits = fits and left_shifted(runs, one.max_instances or len(runs) or 1)
        if fits:
            usd = sum(
                round(lengths[c] * offers[c].usd_per_instance_hour, 2)
                for (lengths, _, _), c in zip(asked, choice, strict=True)
            )
            best = min(best, usd)
    assert same(planned(Question(horizon=when, workloads=tuple(jobs)), offers), best)


@pytest.mark.parametrize("seed", range(30))
def test_jobs_under_a_quota_over_both_offers(seed):
    rng = random.Random(1000 + seed)
    when = cases.horizon(1, "month")
    offers = [cases.offer("p", "h8", H100, 8, 30.0), cases.offer("q", "a8", A100, 8, round(rng.uniform(8, 20), 2))]
    most = rng.randint(1, 2)
    jobs, asked = [], []
    for index in range(rng.randint(2, 3)):
        fast = float(rng.randint(10, 60))
        slow = round(fast * rng.uniform(1.5, 2.5), 1)
        deadline = round(fast * rng.choice((1.5, 2.0, 3.5)), 1)
        jobs.append(cases.job(f"j{index}", when, {(H100, 8): fast, (A100, 8): slow}, deadline_hours=deadline))
        asked.append(((fast, slow), deadline))
    best = INFEASIBLE
    for choice in itertools.product((0, 1), repeat=len(asked)):
        runs = [(lengths[c], 0.0, d) for (lengths, d), c in zip(asked, choice, strict=True)]
        if left_shifted(runs, most):
            usd = sum(run[0] * offers[c].usd_per_instance_hour for run, c in zip(runs, choice, strict=True))
            best = min(best, usd)
    question = Question(horizon=when, workloads=tuple(jobs), quotas=(Quota(name="q", max_instances=most),))
    assert same(planned(question, offers), best)


# (b) Services: whole replicas of any mix, packed on whole instances.


def packings(kinds, load, least):
    """(replicas by kind) of every mix worth trying."""
    return itertools.product(*(range(max(least, math.ceil(load / rate - 1e-9)) + 1) for rate, _ in kinds))


@pytest.mark.parametrize("seed", range(60))
def test_a_mix_of_replicas_that_carries_the_load(seed):
    rng = random.Random(2000 + seed)
    when = cases.horizon(1, "month")
    hours = when.hours
    replica_gpus = rng.choice((1, 2, 4))
    offers = [
        cases.offer("p", "h8", H100, 8, round(rng.uniform(20, 40), 2), max_instances=rng.choice((None, 1))),
        cases.offer("q", "a4", A100, 4, round(rng.uniform(5, 12), 2)),
        cases.offer("r", "l1", L4, 1, round(rng.uniform(0.5, 2.0), 2), max_instances=rng.choice((None, 3))),
    ]
    rates = {(H100, replica_gpus): round(rng.uniform(2, 6), 1), (A100, 4): round(rng.uniform(2, 7), 1), (L4, 1): 0.7}
    kinds = [(rates[H100, replica_gpus], 8 // replica_gpus), (rates[A100, 4], 1), (0.7, 1)]
    load = round(rng.uniform(0.5, 16.0), 2)
    least = rng.choice((0, 0, 4))
    robin = rng.random() < 0.3
    best = INFEASIBLE
    top = load if not robin else 2 * load
    for mix in packings(kinds, top, least):
        if sum(mix) < least or sum(n * rate for n, (rate, _) in zip(mix, kinds, strict=True)) < load - 1e-9:
            continue
        slowest = min((rate for n, (rate, _) in zip(mix, kinds, strict=True) if n), default=0.0)
        if robin and sum(mix) * slowest < load - 1e-9:
            continue
        count = [math.ceil(n / per) for n, (_, per) in zip(mix, kinds, strict=True)]
        if any(o.max_instances is not None and n > o.max_instances for n, o in zip(count, offers, strict=True)):
            continue
        best = min(best, sum(n * o.usd_per_instance_hour * hours for n, o in zip(count, offers, strict=True)))
    asked = cases.service("s", when, [(1.0, load)], rates, min_replicas=least, round_robin=robin)
    assert same(planned(Question(horizon=when, workloads=(asked,)), offers), best)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_for_each_block_of_the_day(seed):
    """With an autoscaler each block is a problem of its own, at load over efficiency."""
    rng = random.Random(2500 + seed)
    when = cases.horizon(1, "month")
    offers = [cases.offer("p", "h8", H100, 8, round(rng.uniform(15, 40), 2)), cases.offer("r", "l1", L4, 1, 1.1)]
    loads = [(0.25, round(rng.uniform(4.0, 12.0), 1)), (0.75, round(rng.uniform(0.5, 4.0), 1))]
    rates = {(H100, 2): 3.1, (L4, 1): 0.6}
    total = 0.0
    for share, load in loads:
        need = load / 0.8
        total += min(
            (math.ceil(h / 4) * offers[0].usd_per_instance_hour + one * 1.1) * when.hours * share
            for h, one in itertools.product(range(8), range(27))
            if h * 3.1 + one * 0.6 >= need - 1e-9
        )
    asked = cases.service("s", when, loads, rates, autoscale_efficiency_fraction=0.8)
    assert same(planned(Question(horizon=when, workloads=(asked,)), offers), total)


# (c) Reservations of a year against rent, over several quarters and after.


@pytest.mark.parametrize("after", ["hold", "none"])
@pytest.mark.parametrize("seed", range(25))
def test_reservations_against_rent(seed, after):
    """Every number of one-year reservations at every quarter. Used hours beyond the horizon are left to later demand
    where it holds: in each span between ends, at most what the last quarter uses."""
    rng = random.Random(3000 + seed)
    when = cases.horizon(rng.choice((2, 3)), after=after)
    rent, committed = 60.0, round(rng.uniform(25.0, 45.0), 2)
    needs = [rng.choice((0.0, 0.5, 1.0, 1.4, 2.0)) for _ in when.periods]
    offers = [
        cases.offer("p", "h8", H100, 8, rent),
        cases.offer("p", "h8", H100, 8, committed, Market.RESERVED_1Y, term_months=12),
    ]
    starts = [p.start_hours for p in when.periods]
    ends = [when.hours_at(cases.START.replace(year=2028, month=1 + 3 * k)) for k in range(len(starts))]
    best = INFEASIBLE
    for units in itertools.product(range(3), repeat=len(starts)):
        usd = 0.0
        for p, period in enumerate(when.periods):
            alive = sum(n for k, n in enumerate(units) if k <= p)
            usd += period.hours * (alive * committed + max(0.0, needs[p] - alive) * rent)
        marks = sorted({when.hours, *ends})
        for low, high in itertools.pairwise(marks):
            alive = sum(n for n, end in zip(units, ends, strict=True) if end >= high)
            left = min(alive, needs[-1]) if after == "hold" else 0.0
            usd += (alive - left) * (high - low) * committed
        best = min(best, usd)
    demand = {H100: [need * 8 * p.hours for need, p in zip(needs, when.periods, strict=True)]}
    question = Question(horizon=when, workloads=(cases.gpu_hours("w", when, demand),), consider=(Market.RESERVED_1Y,))
    assert same(planned(question, offers), best)


# (d) Owned machines, the occupancy rule, and divisible work.


@pytest.mark.parametrize("seed", range(50))
def test_owned_machines_that_two_workloads_share(seed):
    """Their fixed cost is paid anyway; what they save is rent. Alone a workload may fill them, two of them together
    fill at most 85 % of a month's hours."""
    rng = random.Random(4000 + seed)
    when = cases.horizon(1, "month")
    hours = when.hours
    count = rng.randint(1, 2)
    needs = [round(rng.uniform(0.1, 1.3) * hours, 1) for _ in range(rng.randint(1, 2))]
    price = round(rng.uniform(15.0, 40.0), 2)
    offers = [cases.offer("p", "h8", H100, 8, price)]
    owned = Owned(name="old", system="hgx-h100-8", instances=count, purchased=cases.START.replace(year=2026), site="dc")
    workloads = tuple(cases.gpu_hours(f"w{k}", when, {H100: [need * 8]}) for k, need in enumerate(needs))
    question = Question(
        horizon=when, workloads=workloads, inventory=(owned,), sites=(Site(name="dc", country="US", usd_per_kwh=0.1),)
    )
    plan = cases.solve(question, offers, 0.0)
    energy_usd = next((x.rate_usd for x in plan.cost_lines if x.label == "energy of work"), 0.0)
    standing = sum(
        x.rate_usd
        for x in {
            x.label.removesuffix(", idle"): x
            for x in plan.cost_lines
            if x.offer == "old" and x.label != "energy of work"
        }.values()
    )
    room = count * hours
    options = [min(need, room) for need in needs]
    options.append(min(sum(needs), 0.85 * room) if len(needs) > 1 else 0.0)
    saved = max(options) * (price - energy_usd)
    assert saved > 0.0
    expected = sum(needs) * price + standing * room - saved
    assert same(plan.objective_usd, expected, 40)


@pytest.mark.parametrize("seed", range(30))
def test_batch_work_takes_the_cheapest_first(seed):
    """Divisible work fills offers in the order of their cost per request, each up to its instances × hours."""
    rng = random.Random(5000 + seed)
    when = cases.horizon(1, "month")
    window = float(rng.choice((100, 300, 744)))
    offers = [
        cases.offer("p", "h8", H100, 8, round(rng.uniform(20, 40), 2), max_instances=rng.choice((1, 2, None))),
        cases.offer("q", "a8", A100, 8, round(rng.uniform(8, 25), 2), max_instances=rng.choice((1, 2))),
    ]
    rates = {(H100, 1): round(rng.uniform(2, 5), 1), (A100, 2): round(rng.uniform(2, 5), 1)}
    hourly = [rates[H100, 1] * 8 * 3600, rates[A100, 2] * 4 * 3600]
    requests = rng.uniform(0.2, 3.0) * window * hourly[0]
    left, expected = requests, 0.0
    for k in sorted((0, 1), key=lambda k: offers[k].usd_per_instance_hour / hourly[k]):
        most = offers[k].max_instances
        done = left if most is None else min(left, most * window * hourly[k])
        expected += done / hourly[k] * offers[k].usd_per_instance_hour
        left -= done
    question = Question(horizon=when, workloads=(cases.batch("b", when, requests, rates, deadline_hours=window),))
    assert same(planned(question, offers), INFEASIBLE if left > 1e-6 * requests else expected)
