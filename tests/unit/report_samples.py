"""A plan made by hand, whose sums are worked out beside it; reports are tested on it.

rent       train-70b   2027-Q1     200 h × $55.04 = $11,008.00
committed  chat        2027-Q1   2,160 h × $10.00 = $21,600.00
committed  chat        2027-Q2   2,184 h × $10.00 = $21,840.00
upfront    chat        2027-Q1   2,160 h ×  $0.50 =  $1,080.00
upfront    chat        2027-Q2   2,184 h ×  $0.50 =  $1,092.00
credit     (platform)  2027-Q1     500   × -$1.00 =   -$500.00
committed  (platform)  after       100 h × $10.00 =  $1,000.00
in all                                              $57,120.00; train-70b 11,008, chat 45,612, platform 500
billed: 11,008 + 21,600 + 21,840 - 500 + an upfront of 4,380 = 58,328
"""

from __future__ import annotations

from gpu_opt.domain.option import Layout, MemoryLine
from gpu_opt.domain.plan import (
    Allocation,
    Binding,
    CommitmentPlan,
    CostLine,
    FleetEntry,
    Plan,
    RunnerUp,
    ScheduledRun,
    WorkloadPlan,
)

OBJECTIVE_USD, BILLED_USD = 57_120.00, 58_328.00
P5 = "aws/us-east-1/p5.48xlarge/on_demand"
G6E = "aws/us-east-1/g6e.12xlarge/reserved_1y+partial_upfront"


def line(
    label: str,
    period: str,
    workload: str,
    quantity: float,
    rate_usd: float,
    *,
    offer: str = "",
    market: str = "",
    unit: str = "instance-hour",
    billed: bool = True,
) -> CostLine:
    """A cost line of AWS."""
    return CostLine(
        label=label,
        period=period,
        workload=workload,
        quantity=quantity,
        unit=unit,
        rate_usd=rate_usd,
        usd=round(quantity * rate_usd, 2),
        provider="aws",
        market=market,
        offer=offer,
        billed=billed,
    )


def training() -> WorkloadPlan:
    """A job on two rented machines."""
    allocation = Allocation(
        offer=P5,
        provider="aws",
        region="us-east-1",
        instance_type="p5.48xlarge",
        market="on_demand",
        gpu="H100-SXM",
        period="2027-Q1",
        instances=2.0,
        instance_hours=200.0,
        gpu_hours=1600.0,
        usd=11_008.00,
        layout=Layout(tp=4, dp=4, zero=1, micro_batch=2),
        tokens_per_second_per_gpu=1250.0,
        requests_per_second=None,
        replicas=None,
        memory=(MemoryLine(label="weights", gib=32.5), MemoryLine(label="activations", gib=21.0)),
        latency_ms={},
        source="model",
        interval=(1100.0, 1400.0),
        engine="fsdp",
        energy_kwh=1400.0,
        carbon_kg=530.0,
        notes=("stack fsdp assumed",),
    )
    return WorkloadPlan(
        name="train-70b", kind="finetune", team="research", usd=11_008.00, gpu_hours=1600.0, allocations=(allocation,)
    )


def serving() -> WorkloadPlan:
    """A service on one reserved machine, in both periods."""

    def allocation(period: str, hours: float, usd: float) -> Allocation:
        return Allocation(
            offer=G6E,
            provider="aws",
            region="us-east-1",
            instance_type="g6e.12xlarge",
            market="reserved_1y",
            gpu="L40S",
            period=period,
            instances=1.0,
            instance_hours=hours,
            gpu_hours=hours * 4,
            usd=usd,
            layout=Layout(tp=2),
            tokens_per_second_per_gpu=900.0,
            requests_per_second=9.0,
            replicas=2,
            memory=(MemoryLine(label="weights", gib=15.0),),
            latency_ms={"ttft_p95": 612.0, "tpot_p95": 31.0, "e2e_mean": 7000.0},
            source="measured",
            interval=None,
            engine="vllm",
            energy_kwh=None,
            carbon_kg=None,
        )

    # 21,600 + 1,080 and 21,840 + 1,092
    allocations = (allocation("2027-Q1", 2160.0, 22_680.00), allocation("2027-Q2", 2184.0, 22_932.00))
    return WorkloadPlan(
        name="chat", kind="serve", team="apps", usd=45_612.00, gpu_hours=17_376.0, allocations=allocations
    )


def sample_plan() -> Plan:
    """The plan of the table above."""
    lines = (
        line("rent", "2027-Q1", "train-70b", 200.0, 55.04, offer=P5, market="on_demand"),
        line("committed", "2027-Q1", "chat", 2160.0, 10.0, offer=G6E, market="reserved_1y"),
        line("committed", "2027-Q2", "chat", 2184.0, 10.0, offer=G6E, market="reserved_1y"),
        line("upfront, as annuity", "2027-Q1", "chat", 2160.0, 0.5, offer=G6E, market="reserved_1y", billed=False),
        line("upfront, as annuity", "2027-Q2", "chat", 2184.0, 0.5, offer=G6E, market="reserved_1y", billed=False),
        line("credit to 2027-09-30", "2027-Q1", "", 500.0, -1.0, offer="aws", unit="USD"),
        line(
            "committed, after the horizon", "after-horizon", "", 100.0, 10.0, offer=G6E, market="reserved_1y",
            billed=False,
        ),
    )  # fmt: skip
    commitment = CommitmentPlan(
        offer=G6E,
        provider="aws",
        region="us-east-1",
        instance_type="g6e.12xlarge",
        market="reserved_1y",
        units=1.0,
        start="2027-01-01",
        end="2027-12-31",
        usd_per_unit_hour=10.5,
        upfront_usd=4380.0,
        existing=False,
        pays_if_used_until="2027-09-14",
        stops_paying_if_prices_fall_annually=0.31,
    )
    return Plan(
        status="optimal",
        certified=True,
        objective_usd=OBJECTIVE_USD,
        minimized_usd=OBJECTIVE_USD,
        bound_usd=56_948.64,  # 0.3 % below: 57,120 × 0.003 = 171.36
        gap=0.003,
        gap_asked=0.005,
        verified=True,
        solver_name="HiGHS",
        solver_version="1.9.0",
        prices_sha256="ab" * 32,
        prices_as_of="2026-12-20",
        prices_oldest_as_of="2026-12-01",
        workload_sha256="cd" * 32,
        model_version="0.1.0",
        start="2027-01-01",
        periods=(("2027-Q1", 2160.0), ("2027-Q2", 2184.0)),
        workloads=(training(), serving()),
        platform_usd=500.0,
        billed_usd=BILLED_USD,
        straight_line_usd=OBJECTIVE_USD,
        low_usd=50_265.60,  # 12 % below
        high_usd=63_974.40,  # 12 % above
        schedule=(
            ScheduledRun(
                workload="train-70b",
                run=1,
                offer=P5,
                instances=2,
                start="2027-01-01T00:00:00Z",
                end="2027-01-05T04:00:00Z",
                start_hours=0.0,
                end_hours=100.0,
            ),
        ),
        fleet=(
            FleetEntry(offer=P5, gpu="H100-SXM", period="2027-Q1", instances=2.0, used_by=("train-70b",)),
            FleetEntry(offer=G6E, gpu="L40S", period="2027-Q1", instances=1.0, used_by=("chat",)),
            FleetEntry(offer=G6E, gpu="L40S", period="2027-Q2", instances=1.0, used_by=("chat",)),
        ),
        purchases=(),
        commitments=(commitment,),
        cost_lines=lines,
        unfunded=(),
        depends_on=(f"{P5}: 2 at one time",),
        binding=(Binding(limit="quotas[0]", value_of_one_more_usd=120.0),),
        rejections={"memory": 7, "latency": 2},
        rejected=(
            {"workload": "chat", "subject": "1xT4 pcie 5Gbps", "code": "latency", "reason": "TTFT p95 is at best 2 s."},
            {
                "workload": "train-70b",
                "subject": "gcp/us-central1/a2-highgpu-8g",
                "code": "deadline",
                "reason": "late",
            },
        ),
        coverage_gaps=("aws compute savings plans: sold, and no price is known here",),
        assumptions=("cost of capital 10.0% a year",),
        warnings=("a warning",),
        runner_up=RunnerUp(
            workload="chat",
            instead_of=G6E,
            offer="gcp/us-central1/g2-standard-48/on_demand",
            total_usd=60_120.0,
            extra_usd=3_000.0,
            usd_per_instance_hour=8.0,
            wins_below_usd_per_instance_hour=7.3,
        ),
        evidence={"horizon_hours": 4344.0},
    )
