"""What a file's words mean: the question that it asks (contract, section 7)."""

import textwrap
from datetime import date

import pytest

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import Quota
from gpu_opt.domain.workload import CustomUnit, Measured, Parallelism, TokenLength
from gpu_opt.errors import InputError
from gpu_opt.workload_file.reader import load
from gpu_opt.workload_file.to_question import to_question

NEWEST = date(2026, 11, 20)
PLACES = {
    "aws": frozenset({"us-east-1", "us-west-2"}),
    "gcp": frozenset({"us-central1"}),
    "lambda": frozenset({"us-east-1"}),
}
SERVE = "{name: chat, kind: serve, model: llama-3.1-8b, traffic: {rps: 4}, input_tokens: 500, output_tokens: 200}"
TRAIN = "{name: base, kind: pretrain, model: llama-3.1-8b, tokens: 10B, sequence_length: 4096}"
TUNE = "{name: tune, kind: finetune, model: llama-3.1-8b, dataset_tokens: 1B, sequence_length: 4096}"
BATCH = "{name: batch, kind: batch, model: llama-3.1-8b, requests: 3M, input_tokens: 500, output_tokens: 200}"
HOURS = "{name: hours, kind: gpu_hours, demand: {H100: [500, 600]}}"


def ask(tmp_path, text, *overrides, places=PLACES):
    path = tmp_path / "w.yaml"
    path.write_text("version: 1\n" + textwrap.dedent(text), encoding="utf-8")
    return to_question(load(path, overrides), newest_as_of=NEWEST, known_regions=places)


def asked(tmp_path, workload, *overrides):
    """The question of one workload in the two quarters from 2027-01-01."""
    text = f"horizon: {{start: 2027-01-01, periods: 2}}\nworkloads:\n  - {workload}\n"
    return ask(tmp_path, text, *overrides)


def one(tmp_path, workload, *overrides):
    return asked(tmp_path, workload, *overrides).workloads[0]


def refused(tmp_path, text, *overrides):
    with pytest.raises(InputError) as error:
        ask(tmp_path, text, *overrides)
    return str(error.value).replace(f"{tmp_path}/", "")


# time


def test_hours_of_a_period_are_its_calendar_hours(tmp_path):
    periods = ask(tmp_path, f"horizon: {{start: 2027-01-01, periods: 4}}\nworkloads: [{SERVE}]\n").horizon.periods
    # 31 + 28 + 31 = 90 days; 30 + 31 + 30 = 91; 31 + 31 + 30 = 92; 31 + 30 + 31 = 92
    assert [(period.name, period.hours) for period in periods] == [
        ("2027-Q1", 2160),
        ("2027-Q2", 2184),
        ("2027-Q3", 2208),
        ("2027-Q4", 2208),
    ]
    assert periods[-1].end_hours == 8760


@pytest.mark.parametrize(
    ("horizon", "names", "hours"),
    [
        ("{start: 2028-02-01, periods: 2, period: month}", ["2028-02", "2028-03"], [29 * 24, 31 * 24]),
        ("{start: 2027-01-01, periods: 2, period: year}", ["2027", "2028"], [8760, 8784]),
        ("{start: 2027-02-01, periods: 1}", ["2027-02-01..2027-04-30"], [89 * 24]),
        ("{start: 2027-01-15, periods: 1, period: month}", ["2027-01-15..2027-02-14"], [31 * 24]),
    ],
)
def test_periods_are_months_quarters_or_years(tmp_path, horizon, names, hours):
    periods = ask(tmp_path, f"horizon: {horizon}\nworkloads: [{SERVE}]\n").horizon.periods
    assert [period.name for period in periods] == names
    assert [period.hours for period in periods] == hours


def test_without_a_horizon_one_quarter_follows_that_of_the_newest_price(tmp_path):
    horizon = ask(tmp_path, f"workloads: [{SERVE}]\n").horizon
    assert (horizon.start, [period.name for period in horizon.periods]) == (date(2027, 1, 1), ["2027-Q1"])


@pytest.mark.parametrize(
    ("deadline", "quarters"),
    [("2027-03-31", 1), ("2027-04-01", 2), ("90d", 1), ("91d", 2), ("2027-12-31", 4), ("10d", 1)],
)
def test_the_default_horizon_has_as_many_quarters_as_the_latest_deadline_needs(tmp_path, deadline, quarters):
    question = ask(tmp_path, f"workloads: [{TRAIN}, {SERVE}]\n", f"workloads.base.deadline={deadline}")
    assert len(question.horizon.periods) == quarters


def test_the_default_horizon_counts_a_duration_from_earliest(tmp_path):
    sets = ("workloads.base.deadline=60d", "workloads.base.earliest=2027-03-01")
    assert len(ask(tmp_path, f"workloads: [{TRAIN}]\n", *sets).horizon.periods) == 2  # ends 2027-04-30


def test_the_default_horizon_has_a_period_for_each_number_of_hours(tmp_path):
    assert len(ask(tmp_path, f"workloads: [{HOURS}]\n").horizon.periods) == 2


def test_a_deadline_too_far_for_a_default_horizon_is_told(tmp_path):
    said = refused(tmp_path, f"workloads: [{TRAIN}]\n", "workloads.base.deadline=2150-01-01")
    assert "it is more than 80 periods away. Give `horizon.periods`, or check the date." in said


def test_a_default_horizon_of_months_starts_with_the_next_month(tmp_path):
    horizon = ask(tmp_path, f"horizon: {{period: month, periods: 2}}\nworkloads: [{SERVE}]\n").horizon
    assert [period.name for period in horizon.periods] == ["2026-12", "2027-01"]


def test_a_deadline_includes_its_day(tmp_path):
    assert one(tmp_path, TRAIN, "workloads.base.deadline=2027-01-31").deadline_hours == 31 * 24


def test_no_deadline_and_one_after_the_horizon_mean_its_end(tmp_path):
    assert one(tmp_path, TRAIN).deadline_hours == 4344  # 2,160 + 2,184
    assert one(tmp_path, TRAIN, "workloads.base.deadline=2029-01-31").deadline_hours == 4344


def test_a_duration_counts_from_earliest_else_from_the_start(tmp_path):
    assert one(tmp_path, TRAIN, "workloads.base.deadline=2w").deadline_hours == 336
    late = one(tmp_path, TRAIN, "workloads.base.deadline=2w", "workloads.base.earliest=2027-02-01")
    assert (late.earliest_hours, late.deadline_hours) == (31 * 24, 31 * 24 + 336)
    after = one(tmp_path, TRAIN, "workloads.base.deadline=2w", "workloads.base.earliest=36h")
    assert (after.earliest_hours, after.deadline_hours) == (36, 372)


def test_an_earliest_before_the_horizon_still_starts_a_duration(tmp_path):
    job = one(tmp_path, TRAIN, "workloads.base.deadline=2w", "workloads.base.earliest=2026-12-25")
    assert (job.earliest_hours, job.deadline_hours) == (0, 7 * 24)


def test_a_deadline_before_the_horizon_is_an_input_error_at_its_line(tmp_path):
    early = TRAIN.replace("{name: base", "{name: base, deadline: 2026-12-31")
    text = f"horizon: {{start: 2027-01-01}}\nworkloads:\n  - {early}\n"
    assert refused(tmp_path, text) == (
        "w.yaml:4: workloads[0].deadline: it lies before the horizon's start, 2027-01-01. "
        "Move the deadline, or `horizon.start`."
    )


def test_a_job_without_time_is_an_input_error(tmp_path):
    text = f"horizon: {{start: 2027-01-01}}\nworkloads: [{TRAIN}]\n"
    sets = ("workloads.base.earliest=2027-02-10", "workloads.base.deadline=2027-01-31")
    assert "no time is left between 2027-02-10 and 2027-01-31" in refused(tmp_path, text, *sets)


def test_active_days_include_the_last_and_bound_a_job(tmp_path):
    service = one(tmp_path, SERVE, "workloads.chat.active={from: 2027-01-11, to: 2027-01-20}")
    assert (service.active_from_hours, service.active_to_hours) == (240, 480)
    job = one(tmp_path, TRAIN, "workloads.base.active={from: 2027-01-11, to: 2027-01-20}")
    assert (job.earliest_hours, job.deadline_hours) == (240, 480)


def test_a_workload_that_is_never_active_is_an_input_error(tmp_path):
    text = f"horizon: {{start: 2027-01-01}}\nworkloads: [{SERVE}]\n"
    said = refused(tmp_path, text, "workloads.chat.active={to: 2026-12-31}")
    assert "it is never active between 2027-01-01 and 2027-03-31." in said


def test_demand_after_the_horizon_holds_ends_or_declines(tmp_path):
    text = f"workloads: [{SERVE}]\n"
    assert ask(tmp_path, text).horizon.after == "hold"
    assert ask(tmp_path, text, "horizon.after.demand=none").horizon.after == "none"
    declining = ask(tmp_path, text, "horizon.after.demand={decline_per_year: 30%}").horizon
    assert (declining.after, declining.decline_per_year_fraction) == ("decline", 0.3)


# workloads


def test_what_a_workload_leaves_out_has_the_defaults(tmp_path):
    question = asked(tmp_path, SERVE)
    service = question.workloads[0]
    assert (service.precision, service.priority, service.optional, service.spot.allow) == ("bf16", 5, False, False)
    assert (service.memory_reserve_fraction, service.slo, service.availability_fraction) == (None, None, None)
    assert question.memory_reserve_fraction == 0.25
    assert question.occupancy_fraction == 0.85
    assert question.cost_of_capital_fraction_per_year == 0.10


def test_the_files_defaults_hold_where_a_workload_says_nothing(tmp_path):
    text = f"defaults: {{precision: fp8, memory_reserve: 20%}}\nworkloads: [{SERVE}, {TRAIN}]\n"
    question = ask(tmp_path, text, "workloads.base.precision=bf16", "workloads.base.memory_reserve=0.3")
    assert [workload.precision for workload in question.workloads] == ["fp8", "bf16"]
    assert question.memory_reserve_fraction == 0.2
    assert [workload.memory_reserve_fraction for workload in question.workloads] == [None, 0.3]


def test_plain_rps_is_one_block_of_all_hours(tmp_path):
    (block,) = one(tmp_path, SERVE).blocks
    assert (block.hours_share_fraction, block.requests_per_second, block.named) == (1.0, 4.0, False)


def test_blocks_that_the_horizon_names_take_its_share(tmp_path):
    text = f"""\
        horizon: {{blocks: [{{name: peak, hours_share: 0.2}}, {{name: rest, hours_share: 0.8}}]}}
        workloads:
          - {SERVE}
          - {SERVE.replace("chat", "other")}
    """
    named = "workloads.chat.traffic={blocks: [{name: peak, rps: 9}, {name: rest, rps: 2}], growth_per_period: 10%}"
    day_and_night = "{name: day, hours_share: 0.5, rps: 9}, {name: night, hours_share: 0.5, rps: 2}"
    own = f"workloads.other.traffic={{blocks: [{day_and_night}]}}"
    first, second = ask(tmp_path, text, named, own).workloads
    assert [(b.name, b.hours_share_fraction, b.named) for b in first.blocks] == [
        ("peak", 0.2, True),
        ("rest", 0.8, True),
    ]
    assert [b.named for b in second.blocks] == [False, False]
    assert first.growth_per_period_fraction == 0.1


def test_a_service_keeps_all_that_it_says(tmp_path):
    service = one(
        tmp_path,
        SERVE,
        "workloads.chat.traffic.burst={peak_to_mean: 1.4}",
        "workloads.chat.slo={ttft: {p95: 0.8s, mean: 300ms}, tpot: {p95: 50ms}, e2e: {p99: 10s}}",
        "workloads.chat.availability={target: 0.999, repair: 2h}",
        "workloads.chat.speculative={tokens: 4, acceptance: 0.7}",
        "workloads.chat.disaggregated=yes",
        "workloads.chat.autoscale=true",
        "workloads.chat.routing=round_robin",
        "workloads.chat.parallel={tp: 4, zero: 0}",
        "workloads.chat.pool=p",
        "workloads.chat.kv_precision=fp8",
        "workloads.chat.tags={stage: prod}",
        "workloads.chat.data={tib: 512GiB, location: aws/us-east-1}",
    )
    assert service.slo.limit_ms == {
        ("ttft", "mean"): 300.0,
        ("ttft", "p95"): 800.0,
        ("tpot", "p95"): 50.0,
        ("e2e", "p99"): 10_000.0,
    }
    assert service.peak_to_mean_ratio == 1.4
    assert (service.availability_fraction, service.repair_hours) == (0.999, 2.0)
    assert (service.speculative_tokens, service.speculative_acceptance_fraction) == (4, 0.7)
    assert (service.disaggregated, service.autoscale_efficiency_fraction, service.round_robin) == ("yes", 0.85, True)
    assert (service.parallel, service.pool, service.kv_precision) == (Parallelism(tp=4, zero=0), "p", "fp8")
    assert (service.tags, service.data.tib) == (("stage=prod",), 0.5)


def test_a_mix_of_requests_gives_the_mean_lengths(tmp_path):
    short = "{share: 0.75, input_tokens: 100, output_tokens: 40}"
    long = "{share: 0.25, input_tokens: {mean: 900, p95: 2000}, output_tokens: 200}"
    text = "{name: chat, kind: serve, model: llama-3.1-8b, traffic: {rps: 4}}"
    service = one(tmp_path, text, f"workloads.chat.request_mix=[{short}, {long}]")
    # 0.75 × 100 + 0.25 × 900 = 300; 0.75 × 40 + 0.25 × 200 = 80
    assert (service.input_tokens.mean_tokens, service.output_tokens.mean_tokens) == (300, 80)
    assert service.request_mix[1].input_tokens == TokenLength(mean_tokens=900, p95_tokens=2000)


def test_a_trace_gives_blocks_and_lengths(tmp_path):
    # One request a second for an hour, then ten a second for an hour, all of 100 and 20 tokens.
    rows = [f"{second},100,20" for second in range(3600)]
    rows += [f"{3600 + tenth / 10},100,20" for tenth in range(36_000)]
    (tmp_path / "t.csv").write_text("timestamp,input_tokens,output_tokens\n" + "\n".join(rows) + "\n", encoding="utf-8")
    question = asked(tmp_path, "{name: chat, kind: serve, model: llama-3.1-8b, traffic: {trace: t.csv}}")
    service = question.workloads[0]
    assert service.blocks[0].requests_per_second == pytest.approx(10, rel=0.01)
    assert sum(block.hours_share_fraction for block in service.blocks) == pytest.approx(1)
    assert service.input_tokens == TokenLength(mean_tokens=100, p95_tokens=100)
    assert "less than a day" in question.warnings[0]


def test_a_bursty_trace_sizes_replicas_for_its_busy_minutes(tmp_path):
    # Minutes of 30 and of 210 requests in turn, for two hours: 2 requests a second on average.
    rows = []
    for minute in range(120):
        requests = 210 if minute % 2 else 30
        rows += [f"{60 * minute + 60 * i / requests:.3f},100,20" for i in range(requests)]
    (tmp_path / "t.csv").write_text("timestamp,input_tokens,output_tokens\n" + "\n".join(rows) + "\n", encoding="utf-8")
    text = "{name: chat, kind: serve, model: llama-3.1-8b, traffic: {trace: t.csv}}"
    question = asked(tmp_path, text)
    assert question.workloads[0].peak_to_mean_ratio > 1.5
    assert any("replicas are sized for" in warning for warning in question.warnings)
    assert one(tmp_path, text, "workloads.chat.traffic.burst={peak_to_mean: 1}").peak_to_mean_ratio == 1


def test_rows_of_a_trace_that_are_refused_are_told(tmp_path):
    rows = "0,100,20\n1,0,20\n2,100,20\n"
    (tmp_path / "t.csv").write_text("timestamp,input_tokens,output_tokens\n" + rows, encoding="utf-8")
    question = asked(tmp_path, "{name: chat, kind: serve, model: llama-3.1-8b, traffic: {trace: t.csv}}")
    assert any("1 of 3 rows were refused" in warning for warning in question.warnings)
    assert any(warning.startswith("t.csv:3: ") for warning in question.warnings)


def test_a_trace_that_cannot_be_read_is_told_at_its_line(tmp_path):
    text = "workloads:\n  - {name: chat, kind: serve, model: llama-3.1-8b, traffic: {trace: t.csv}}\n"
    assert refused(tmp_path, text).startswith("w.yaml:3: workloads[0].traffic.trace: t.csv: the trace can't be read")


def test_a_training_run_keeps_all_that_it_says(tmp_path):
    job = one(
        tmp_path,
        TRAIN,
        "workloads.base.deadline={by: 2027-03-31, usd_per_day_late: 5000}",
        "workloads.base.checkpoint={interval: 30min}",
        "workloads.base.global_batch_tokens=4_000_000",
        "workloads.base.measured=[{gpu: H100, gpus: 8, tokens_per_second: 52000, basis: effective}]",
        "workloads.base.only_measured=true",
        "workloads.base.spot={allow: true, max_share: 0.5, reacquire: 30min}",
        "workloads.base.gpus=[H100, A100-80GB-*]",
        "workloads.base.parallel=auto",
    )
    assert (job.tokens_per_run, job.usd_per_day_late, job.checkpoint_interval_hours) == (1e10, 5000, 0.5)
    assert job.measured == (Measured(gpu="H100-SXM", gpus=8, tokens_per_second=52000, effective=True),)
    assert (job.spot.allow, job.spot.max_share_fraction, job.spot.reacquire_hours) == (True, 0.5, 0.5)
    assert job.gpus == ("H100-SXM", "A100-80GB-PCIe", "A100-80GB-SXM")
    assert job.parallel == Parallelism()


def test_a_fine_tune_trains_on_its_data_set_so_many_times(tmp_path):
    sets = ("workloads.tune.epochs=3", "workloads.tune.method=lora", "workloads.tune.runs_per_period=30")
    job = one(tmp_path, TUNE, *sets)
    assert (job.tokens_per_run, job.method, job.lora_rank, job.runs_per_period) == (3e9, "lora", 16, 30)


def test_batch_requests_are_in_all_or_per_period(tmp_path):
    job = one(tmp_path, BATCH)
    assert (job.requests, job.per_period, job.input_tokens.mean_tokens) == (3e6, False, 500)
    each = one(tmp_path, BATCH, "workloads.batch.requests=", "workloads.batch.requests_per_period=5k")
    assert (each.requests, each.per_period) == (5000, True)


def test_hours_of_gpus_are_per_period_under_canonical_names(tmp_path):
    job = one(tmp_path, HOURS, "workloads.hours.substitutes={A100-80GB: 0.42}")
    assert job.demand_gpu_hours == {"H100-SXM": (500.0, 600.0)}
    assert job.substitutes == {"A100-80GB-SXM": 0.42}
    assert one(tmp_path, HOURS, "workloads.hours.demand.H100=500").demand_gpu_hours == {"H100-SXM": (500.0, 500.0)}


def test_hours_that_the_horizon_has_no_period_for_are_told(tmp_path):
    text = f"horizon: {{start: 2027-01-01, periods: 2}}\nworkloads: [{HOURS}]\n"
    assert "3 periods where one number or 2" in refused(tmp_path, text, "workloads.hours.demand.H100=[1, 2, 3]")


def test_other_work_counts_units_in_place_of_tokens(tmp_path):
    unit = "model={unit: image, flops_per_unit: 1.2e12, memory_gib: 18GiB}"
    job = one(tmp_path, TRAIN, f"workloads.base.{unit}", "workloads.base.tokens=", "workloads.base.units=3M")
    assert job.model == CustomUnit(unit="image", flops_per_unit=1.2e12, memory_gib=18)
    assert job.tokens_per_run == 3e6
    lengths = ("workloads.chat.input_tokens=", "workloads.chat.output_tokens=")
    service = one(tmp_path, SERVE, f"workloads.chat.{unit}", *lengths, "workloads.chat.units_per_request=4")
    assert (service.input_tokens.mean_tokens, service.output_tokens.mean_tokens) == (4, 0)


def test_a_model_is_a_preset_a_configuration_or_its_sizes(tmp_path):
    assert one(tmp_path, SERVE, "workloads.chat.model=meta-llama/Llama-3.1-8B-Instruct").model.name == "llama-3.1-8b"
    question = asked(tmp_path, SERVE, "workloads.chat.model={params_billion: 7}")
    assert question.workloads[0].model.origin == "assumed"
    assert question.warnings == ("chat: the shape of its model is assumed: typical shape of 7 B parameters.",)
    sized = one(tmp_path, SERVE, "workloads.chat.model={layers: 32, hidden: 4096, heads: 32, ffn: 11008, vocab: 32000}")
    assert (sized.model.layers, sized.model.origin) == (32, "given")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text(
        '{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, '
        '"num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 1000}',
        encoding="utf-8",
    )
    configured = one(tmp_path, SERVE, "workloads.chat.model={config: m/config.json}")
    assert (configured.model.layers, configured.model.origin) == (4, "config")


# places, prices, limits, estate


def test_markets_default_to_on_demand_and_spot_where_a_workload_allows_it(tmp_path):
    assert asked(tmp_path, SERVE).rent_markets == (Market.ON_DEMAND,)
    assert asked(tmp_path, SERVE, "workloads.chat.spot=true").rent_markets == (Market.ON_DEMAND, Market.SPOT)


def test_terms_among_the_markets_are_considered_unless_consider_says_otherwise(tmp_path):
    markets = "prices.markets=[on_demand, reserved_1y, capacity_block]"
    question = asked(tmp_path, SERVE, markets)
    assert question.rent_markets == (Market.ON_DEMAND,)
    assert question.consider == (Market.RESERVED_1Y, Market.CAPACITY_BLOCK)
    other = asked(tmp_path, SERVE, markets, "commitments.consider=[savings_plan_1y]")
    assert other.consider == (Market.SAVINGS_PLAN_1Y,)
    assert asked(tmp_path, SERVE, markets, "commitments.consider=[]").consider == ()


def test_spot_among_the_markets_that_no_workload_allows_is_a_warning(tmp_path):
    assert "no workload allows it" in asked(tmp_path, SERVE, "prices.markets=[on_demand, spot]").warnings[0]


def test_scope_expands_patterns_of_gpus_and_keeps_those_of_regions(tmp_path):
    said = "scope={providers: [AWS], regions: [us-*], gpus: L4*, data_residency: [NO, eu]}"
    scope = asked(tmp_path, SERVE, said).scope
    assert (scope.providers, scope.regions, scope.data_residency) == (("aws",), ("us-*",), ("NO", "EU"))
    assert scope.gpus == ("L4", "L40", "L40S")


def test_quotas_keep_their_patterns(tmp_path):
    question = asked(
        tmp_path,
        SERVE,
        "limits.quotas=[{provider: aws, instance_types: [p5.*], gpu: H100, max_vcpus: 96}]",
        "limits.obtainable=[{gpu: 'H100*', max_instances: 0}]",
        "limits.budget={total_usd: 4_000_000, basis: billed}",
    )
    assert question.quotas == (
        Quota(name="quotas[0]", provider="aws", instance_types=("p5.*",), gpu="H100-SXM", max_vcpus=96),
        Quota(name="obtainable[0]", gpu="H100*", max_instances=0, obtainable=True),
    )
    assert (question.budget.total_usd, question.budget.basis, question.budget.capex_usd) == (4e6, "billed", None)


def test_commitments_find_their_provider_by_region_and_instance_type(tmp_path):
    entry = "{instance_type: p5.48xlarge, region: us-east-1, instances: 8, ends: 2027-08-31, already_paid: true}"
    (commitment,) = asked(tmp_path, SERVE, f"commitments.existing=[{entry}]").existing
    assert (commitment.provider, commitment.name, commitment.already_paid) == ("aws", "existing-1", True)
    unknown = entry.replace("us-east-1", "nowhere-9")
    text = f"commitments: {{existing: [{unknown}]}}\nworkloads: [{SERVE}]\n"
    assert "nobody has 'nowhere-9'. Add `provider`, or check the region." in refused(tmp_path, text)


def test_a_commitment_that_ended_is_left_out_with_a_warning(tmp_path):
    entry = (
        "{name: old, provider: aws, instance_type: p5.48xlarge, region: us-east-1, instances: 1, "
        "ends: 2026-12-31, already_paid: yes}"
    )
    question = asked(tmp_path, SERVE, f"commitments.existing=[{entry}]")
    assert question.existing == ()
    assert question.warnings == ("commitment old ended on 2026-12-31, before the horizon: it is left out.",)


def test_machines_sites_and_money_come_over_with_their_units(tmp_path):
    question = asked(
        tmp_path,
        SERVE,
        "onprem.sites=[{name: dc1, country: us, pue: 1.3, usd_per_kwh: 0.09}]",
        "onprem.purchasable=[{system: HGX H100 8, site: dc1, lead_time: 26w, price_usd: 250k}]",
        "inventory=[{name: a, system: hgx-a100-8, instances: 4, purchased: 2024-06-01, site: dc1, life_years: 5}]",
        "agreements=[{provider: aws, min_spend_usd_per_year: 10M, discount: 12%}]",
        "credits=[{provider: gcp, usd: 250_000, expires: 2027-09-30}]",
        "overheads={aws: {support_fraction: 0.03}}",
        "risk={demand_spread: 0.2, price_spread: 0.1}",
        "prices.path={'H100*': {annual_change: -20%}}",
    )
    assert (question.sites[0].country, question.sites[0].pue_ratio, question.sites[0].carbon_g_per_kwh) == (
        "US",
        1.3,
        None,
    )
    buy = question.purchasable[0]
    assert (buy.system, buy.lead_time_hours, buy.override.price_usd, buy.max_instances) == (
        "hgx-h100-8",
        4368,
        250e3,
        None,
    )
    own = question.inventory[0]
    assert (own.purchased, own.override.life_years, own.override.price_usd) == (date(2024, 6, 1), 5, None)
    assert (question.agreements[0].min_spend_usd_per_year, question.agreements[0].discount_fraction) == (10e6, 0.12)
    assert question.credits[0].expires == date(2027, 9, 30)
    assert question.overheads[0].support_fraction == 0.03
    assert (question.demand_spread_fraction, question.price_spread_fraction) == (0.2, 0.1)
    assert (question.price_paths[0].gpu, question.price_paths[0].annual_change_fraction) == ("H100*", -0.2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "scope.regions=[us-eats-1]",
            "scope.regions[0]: no prices of a region 'us-eats-1' are known. Did you mean us-east-1?",
        ),
        ("scope.providers=[lambd]", "no prices of a provider 'lambd' are known. Did you mean lambda?"),
        ("workloads.chat.regions=[us-wset-2]", "Did you mean us-west-2?"),
        ("credits=[{provider: awss, usd: 1, expires: 2027-01-31}]", "Did you mean aws?"),
        ("limits.quotas=[{provider: aws, region: us-eest-1, max_gpus: 1}]", "Did you mean us-east-1?"),
    ],
)
def test_a_misspelt_place_is_an_error_that_names_the_nearest(tmp_path, change, said):
    assert said in refused(tmp_path, f"workloads: [{SERVE}]\n", change)


def test_a_place_without_prices_is_a_warning(tmp_path):
    question = asked(tmp_path, SERVE, "scope={providers: [aws, smallcloud], regions: [us-east-1, mars-*, atlantis]}")
    assert question.warnings == (
        "scope.providers[1]: no prices of a provider 'smallcloud' are known.",
        "scope.regions[1]: 'mars-*' matches no region that prices are known of.",
        "scope.regions[2]: no prices of a region 'atlantis' are known.",
    )


def test_a_place_that_the_tables_know_needs_no_prices(tmp_path):
    assert asked(tmp_path, SERVE, "scope={providers: [azure, onprem], regions: [eu-west-1]}").warnings == ()


def test_a_site_is_a_region(tmp_path):
    sites = "onprem.sites=[{name: hall-7, country: DE}]"
    assert asked(tmp_path, SERVE, sites, "workloads.chat.regions=[hall-7]").warnings == ()


def test_equal_files_ask_equal_questions_whatever_the_order_of_keys(tmp_path):
    first = ask(tmp_path, f"scope: {{regions: [us-east-1]}}\nworkloads: [{SERVE}]\n")
    second = ask(tmp_path, f"workloads: [{SERVE}]\nscope: {{regions: [us-east-1]}}\n")
    assert first == second
