"""More demand is never cheaper, and a workload more neither."""

from dataclasses import replace

import pytest
from tests.property import cases

from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, GpuHours, Service, TrainJob
from gpu_opt.errors import Infeasible


def grown(workload, factor):
    """The same workload, asking for more."""
    if isinstance(workload, TrainJob):
        return replace(workload, tokens_per_run=workload.tokens_per_run * factor)
    if isinstance(workload, BatchJob):
        return replace(workload, requests=workload.requests * factor)
    if isinstance(workload, GpuHours):
        demand = {gpu: tuple(h * factor for h in hours) for gpu, hours in workload.demand_gpu_hours.items()}
        return replace(workload, demand_gpu_hours=demand)
    assert isinstance(workload, Service)
    blocks = tuple(replace(b, requests_per_second=b.requests_per_second * factor) for b in workload.blocks)
    return replace(workload, blocks=blocks)


def with_workloads(question: Question, workloads):
    return replace(question, workloads=tuple(workloads), horizon=replace(question.horizon, after="none"))


@pytest.mark.parametrize("factor", [1.1, 1.7])
@pytest.mark.parametrize("seed", range(200, 220))
def test_more_demand_is_never_cheaper(seed, factor):
    """With demand that ends with the horizon: where it goes on, more of it can take over the rest of a term."""
    question, offers = cases.small_question(seed)
    before = cases.solve(with_workloads(question, question.workloads), offers)
    try:
        after = cases.solve(with_workloads(question, [grown(w, factor) for w in question.workloads]), offers)
    except Infeasible:
        return
    assert after.objective_usd >= before.objective_usd - cases.cents_of(after)


@pytest.mark.parametrize("seed", range(220, 240))
def test_one_workload_more_is_never_cheaper(seed):
    question, offers = cases.small_question(seed)
    more = cases.gpu_hours("more", question.horizon, {"A100-80GB-SXM": [800.0]})
    before = cases.solve(with_workloads(question, question.workloads), offers)
    after = cases.solve(with_workloads(question, [*question.workloads, more]), offers)
    assert after.objective_usd >= before.objective_usd - cases.cents_of(after)
