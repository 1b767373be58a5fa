"""Every problem of a file at once, each with its line, its path, what is wrong and what to do."""

import textwrap

import pytest

from gpu_opt.errors import InputError
from gpu_opt.workload_file import reader
from gpu_opt.workload_file.reader import load

SERVE = (
    "{name: chat, kind: serve, model: {preset: llama-3.1-8b}, traffic: {rps: 4}, input_tokens: 500, output_tokens: 200}"
)


def problems(tmp_path, text, *overrides):
    path = tmp_path / "w.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    with pytest.raises(InputError) as error:
        load(path, overrides)
    return [str(problem).replace(f"{path}", "w.yaml") for problem in error.value.problems]


def with_workload(tmp_path, workload, *overrides):
    return problems(tmp_path, f"version: 1\nworkloads:\n  - {workload}\n", *overrides)


def with_section(tmp_path, section):
    return problems(tmp_path, f"version: 1\n{section}\nworkloads:\n  - {SERVE}\n")


def test_all_problems_are_told_at_once_in_the_order_of_lines(tmp_path):
    found = problems(
        tmp_path,
        """\
        version: 1
        horizn: {}
        scope: {gpus: [H1000]}
        defaults: {precision: bf17, occupancy: 2}
        workloads:
          - {name: a, kind: pretrian}
          - {name: b, kind: pretrain, model: {preset: lama-2-70b}, tokens: 2 trillion, sequence_length: 4096}
        """,
    )
    assert found == [
        "w.yaml:2: horizn: unknown key 'horizn'. Did you mean horizon?",
        "w.yaml:3: scope.gpus[0]: unknown GPU 'H1000'. Did you mean H100?",
        "w.yaml:4: defaults.precision: 'bf17' is not known here. Did you mean bf16?",
        "w.yaml:4: defaults.occupancy: '2' is out of range. It must be more than 0 and at most 1.",
        "w.yaml:6: workloads[0].kind: 'pretrian' is not known here. Did you mean pretrain?",
        "w.yaml:7: workloads[1].tokens: '2 trillion' is not a number. Write a number such as 40, 1.4e12 or 15B.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "w.yaml:1: it is empty. Write `version: 1` and `workloads:`; `gpu-opt init` makes a starter."),
        ("- a", "w.yaml:1: it holds no keys."),
        ("version: 2\nworkloads: [x]", "w.yaml:1: version: version '2' is not known. Write `version: 1`."),
        ("workloads: []", "w.yaml:1: `version` is missing. Write `version: 1` at the top."),
        ("version: 1", "w.yaml:1: `workloads` needs a list with at least one entry."),
        ("version: 1\nworkloads: {}", "w.yaml:2: workloads: `workloads` needs a list"),
        ("version: 1\nworkloads: [3]", "w.yaml:2: workloads[0]: a mapping is expected."),
        ("version: 1\nworkloads: [{name: x}]", "w.yaml:2: workloads[0]: `kind` is missing."),
        ("version: 1\nhorizon: 3\nworkloads: [3]", "w.yaml:2: horizon: '3' where a mapping is expected."),
        ("version: 1\ninventory: {}\nworkloads: [3]", "w.yaml:2: inventory: a list is expected."),
        ("version: 1\noverheads: []\nworkloads: [3]", "w.yaml:2: overheads: a mapping is expected."),
        ("version: 1\ncredits: [3]\nworkloads: [3]", "w.yaml:2: credits[0]: '3' where a mapping is expected."),
    ],
)
def test_a_file_of_the_wrong_form_says_what_is_expected(tmp_path, text, said):
    assert any(problem.startswith(said) for problem in problems(tmp_path, text))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("horizon: {start: 2027-02-30}", "'2027-02-30' is not a day. Write it as 2027-01-31."),
        ("horizon: {start: 2027-01-31}", "2027-01-31 has no day of its number in every month. Start on day 1 to 28."),
        ("horizon: {start: 1027-01-01}", "'1027-01-01' is not a day."),
        ("horizon: {periods: 1.5}", "'1.5' is not a whole number. Write 1 or 2."),
        ("horizon: {periods: 241}", "241 periods are too many. Plan up to 240."),
        ("horizon: {period: week}", "'week' is not known here. Choose from: month, quarter, year."),
        ("horizon: {after: {demand: holds}}", "Write hold, none or {decline_per_year: 0.3}."),
        ("horizon: {after: {demand: {decline_per_year: 2}}}", "'2' is out of range. It must be between 0 and 1."),
        ("horizon: {blocks: [{name: a, hours_share: 0.5}, {name: b, hours_share: 0.4}]}", "`hours_share` sums to 0.9."),
        ("horizon: {blocks: [{name: a, hours_share: 50%}, {name: a, hours_share: 50%}]}", "the name 'a' is taken."),
        ("prices: {markets: [on-demand]}", "'on-demand' is not known here. Did you mean on_demand?"),
        ("prices: {markets: [list_only]}", "'list_only' is not known here."),
        ("prices: {path: {H1: {annual_change: -0.2}}}", "unknown GPU 'H1'."),
        ("prices: {path: {H100: {annual_change: -2}}}", "'-2' is out of range. It must be more than -1"),
        ("prices: {max_age_days: {spt: 3}}", "Did you mean spot?"),
        ("scope: {data_residency: [XX]}", "unknown country 'XX'. Write ISO codes such as US or DE, or EU or EEA."),
        ("limits: {budget: {total: 3}}", "unknown key 'total'. Did you mean total_usd?"),
        ("limits: {quotas: [{provider: aws}]}", "it limits nothing. Give max_instances, max_gpus or max_vcpus."),
        ("limits: {max_providers: 0}", "'0' is out of range. It must be at least 1."),
        (
            "inventory: [{name: a, system: hgx-h100-9, instances: 1, purchased: 2024-06-01, site: x}]",
            "unknown system 'hgx-h100-9'. Did you mean hgx-h100-8?",
        ),
        (
            "inventory: [{name: a, system: hgx-a100-8, instances: 1, purchased: 2024-06-01, site: dc1}]",
            "the site 'dc1' is not described. Add it under `onprem.sites`.",
        ),
        (
            "onprem: {sites: [{name: a, country: US}], purchasable: [{system: vera-rubin-nvl72, site: a}]}",
            "nobody publishes a price of vera-rubin-nvl72. Add `price_usd` with what you pay.",
        ),
        ("onprem: {sites: [{name: a, country: EU}]}", "'EU' is not one country. Write its ISO code, such as DE."),
        ("onprem: {sites: [{name: a, country: US, climate: nice}]}", "'nice' is not known here."),
        ("onprem: {sites: [{name: a, country: US, pue: 0.9}]}", "'0.9' is out of range. It must be at least 1."),
        (
            "commitments: {existing: [{instance_type: p5.4xlarge, region: us-east-1, instances: 1, ends: 2027-08-31}]}",
            "Give `usd_per_instance_hour`, or `already_paid: true`.",
        ),
        ("commitments: {consider: [on_demand]}", "'on_demand' is not known here."),
        ("credits: [{provider: gcp, usd: 0, expires: 2027-09-30}]", "'0' is out of range. It must be more than 0."),
        ("agreements: [{provider: aws}]", "min_spend_usd_per_year: it is missing. Add it."),
    ],
)
def test_a_wrong_section_is_told_in_words(tmp_path, section, said):
    found = with_section(tmp_path, section)
    assert any(said in problem and problem.startswith("w.yaml:2: ") for problem in found), found


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("risk: {mode: cvar}", "w.yaml:2: risk.mode: risk.mode: cvar is not supported yet. Use `mode: expected`."),
        ("objective: {stay_close_to: last.json}", "objective.stay_close_to is not supported yet."),
        ("prices: {snapshot: s1}", "prices.snapshot is not supported yet. Name the offers with `prices.file`."),
    ],
)
def test_what_is_not_built_yet_is_refused_by_name(tmp_path, section, said):
    assert any(said in problem for problem in with_section(tmp_path, section))


def test_an_entry_of_a_list_can_be_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(reader.NOT_YET, "workloads[].fill_idle=true", "Leave it out.")
    said = "workloads.fill_idle: true is not supported yet. Leave it out."
    batch = JOBS["batch"].replace("{", "{fill_idle: yes, ", 1)
    assert with_workload(tmp_path, batch) == [f"w.yaml:3: workloads[0].fill_idle: {said}"]
    path = tmp_path / "w.yaml"
    path.write_text(f"version: 1\nworkloads:\n  - {batch.replace('yes', 'no')}\n", encoding="utf-8")
    assert load(path).workloads[0].fill_idle is False


def test_two_workloads_of_one_name_are_told(tmp_path):
    found = problems(tmp_path, f"version: 1\nworkloads:\n  - {SERVE}\n  - {SERVE}\n")
    assert found == ["w.yaml:4: workloads[1].name: the name 'chat' is taken. Give each its own name."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("slo={ttft: {p95: 800}}", "slo.ttft.p95: '800' needs a unit of time"),
        ("slo={ttft: {p96: 800ms}}", "unknown key 'p96'. Did you mean p95?"),
        ("slo={ttft: {}}", "slo.ttft: it sets no limit."),
        ("slo={ttft: {p95: 0s}}", "'0s' is no time at all."),
        ("prioriti=3", "unknown key 'prioriti'. Did you mean priority?"),
        ("priority=10", "'10' is out of range. It must be between 1 and 9."),
        ("optional=maybe", "'maybe' is neither true nor false."),
        ("gpus=[H900*]", "unknown GPU 'H900*'."),
        ("team={a: 1}", "a mapping is not text."),
        ("team=''", "it is empty. Write a value, or leave the key out."),
        ('team="a\\u001b[31m"', "holds control characters."),
        ("memory_reserve=1", "a reserve of all memory leaves none."),
        ("traffic={}", "the load must be said in one way. Give one of: rps, blocks, trace."),
        ("traffic={rps: 3, trace: t.csv}", "the load must be said in one way."),
        ("traffic={rps: 0}", "0 requests per second need nothing."),
        ("traffic={blocks: [{name: a, hours_share: 1, rps: 0}]}", "no block has any requests."),
        ("traffic={blocks: [{name: a, hours_share: 0.5, rps: 3}]}", "`hours_share` sums to 0.5."),
        (
            "traffic={blocks: [{name: a, rps: 3}]}",
            "`hours_share` is missing. Add it, or name the block in the horizon.",
        ),
        ("input_tokens={mean: 10, p95: 9}", "p95 9 is below the mean 10."),
        ("input_tokens=", "`input_tokens` is missing. Add it."),
        ("input_tokens={men: 10}", "unknown key 'men'. Did you mean mean?"),
        ("units_per_request=3", "it has no meaning for this model. Use input_tokens, output_tokens."),
        ("request_mix=[{share: 1, input_tokens: 10, output_tokens: 10}]", "`request_mix` says the lengths."),
        ("availability=1", "an availability of 1 can't be reached."),
        ("measured=[{gpu: A10G, gpus: 1, tokens_per_second: 3}]", "tokens_per_second says nothing about serve."),
        ("measured=[{gpu: A10G, gpus: 1}]", "it needs exactly one speed."),
        ("measured=[{gpu: A10*, gpus: 1, requests_per_second: 3}]", "unknown GPU 'A10*'."),
        ("only_measured=true", "there is no `measured` speed."),
        ("model={preset: lama-3.1-8b}", "unknown model 'lama-3.1-8b'. Did you mean llama-3.1-8b?"),
        ("model={}", "it says no model."),
        ("model={preset: llama-3.1-8b, layers: 3}", "it must be said in one way."),
        ("model={unit: image}", "Give unit, flops_per_unit and memory_gib."),
        ("model={config: absent.json}", "absent.json"),
        ("model={params_billion: 0}", "'0' is out of range."),
        ("model={layers: 32}", "hidden"),
        ("data={tib: 5, location: mars}", "'mars' is no known place. Write provider/region, or a site's name."),
        ("engine=vlm", "'vlm' is not known here. Did you mean vllm?"),
        ("parallel={zero: 4}", "'4' is out of range. It must be between 0 and 3."),
        ("active={from: soon}", "'soon' is neither a day nor a duration."),
    ],
)
def test_a_wrong_key_of_a_service_is_told_at_its_option(tmp_path, change, said):
    found = with_workload(tmp_path, SERVE, f"workloads[0].{change}")
    assert any(said in problem for problem in found), found


JOBS = {
    "pretrain": "{name: a, kind: pretrain, model: llama-2-7b, tokens: 1B, sequence_length: 4096}",
    "finetune": "{name: a, kind: finetune, model: llama-2-7b, dataset_tokens: 1B, sequence_length: 4096}",
    "batch": "{name: a, kind: batch, model: llama-2-7b, requests: 3, input_tokens: 5, output_tokens: 5}",
    "gpu_hours": "{name: a, kind: gpu_hours, demand: {H100: [5, 6]}}",
}


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("pretrain", "tokens=", "`tokens` is missing."),
        ("pretrain", "sequence_length=", "`sequence_length` is missing."),
        ("pretrain", "units=5", "units=5: it has no meaning for this model."),
        (
            "pretrain",
            "deadline=3",
            "deadline=3: '3' is neither a day nor a duration. Write 2027-01-31, or 30d, 6w, 12h.",
        ),
        ("pretrain", "deadline={usd_per_day_late: 3}", "deadline.by: it is missing."),
        ("pretrain", "deadline=2027-13-01", "is neither a day nor a duration."),
        ("pretrain", "deadline=300y", "is neither a day nor a duration."),
        ("pretrain", "checkpoint={interval: 200y}", "needs a unit of time"),
        ("pretrain", "checkpoint={interval: 2e6h}", "longer than a century"),
        ("pretrain", "method=lora", "unknown key 'method'."),
        ("pretrain", "optimizer=adamm_8bit", "'adamm_8bit' is not known here. Did you mean adam_8bit?"),
        ("pretrain", "tokens=1e31", "no number that fits here"),
        ("finetune", "method=lroa", "'lroa' is not known here. Did you mean lora?"),
        ("finetune", "dataset_tokens=", "`dataset_tokens` is missing."),
        ("finetune", "model={unit: image, flops_per_unit: 1, memory_gib: 2}", "`dataset_units` is missing."),
        ("finetune", "measured=[{gpu: H100, gpus: 8, requests_per_second: 3}]", "says nothing about finetune."),
        ("batch", "requests_per_period=3", "must be said once. Give requests or requests_per_period."),
        ("batch", "requests=", "must be said once."),
        ("batch", "deadline={by: 2w, usd_per_day_late: 3}", "a late batch is not supported yet."),
        ("batch", "model={unit: image, flops_per_unit: 1, memory_gib: 2}", "Use `units_per_request`."),
        ("gpu_hours", "demand={}", "it asks for nothing."),
        ("gpu_hours", "demand={H100: 0}", "it asks for no hours."),
        ("gpu_hours", "demand={H100: [1, x]}", "'x' is not a number."),
        (
            "gpu_hours",
            "demand={H100: 5, H100-SXM: 6}",
            "'H100' and 'H100-SXM' both mean H100-SXM.",
        ),
        ("gpu_hours", "substitutes={A100x: 1}", "unknown GPU 'A100x'."),
        ("gpu_hours", "measured=[{gpu: H100, gpus: 8, tokens_per_second: 3}]", "says nothing about gpu_hours."),
    ],
)
def test_a_wrong_key_of_a_job_is_told_at_its_option(tmp_path, kind, change, said):
    found = with_workload(tmp_path, JOBS[kind], f"workloads[0].{change}")
    assert any(said in problem for problem in found), found


def test_the_hours_of_each_period_must_match_the_horizon(tmp_path):
    found = problems(tmp_path, f"version: 1\nhorizon: {{periods: 3}}\nworkloads:\n  - {JOBS['gpu_hours']}\n")
    assert found == [
        "w.yaml:4: workloads[0].demand.H100-SXM: 2 periods where one number or 3 are expected. "
        "Give one for each period, or one for all."
    ]


def test_services_of_one_pool_need_one_model(tmp_path):
    first = SERVE.replace("name: chat", "name: a, pool: p")
    second = SERVE.replace("name: chat", "name: b, pool: p").replace("3.1-8b", "3.1-70b")
    found = problems(tmp_path, f"version: 1\nworkloads:\n  - {first}\n  - {second}\n")
    assert found == [
        "w.yaml:4: workloads[1].pool: pool 'p' holds another model already, that of 'a'. "
        "Use the same model, or another pool."
    ]


def test_a_block_must_have_the_share_that_the_horizon_gives_it(tmp_path):
    blocks = "horizon: {blocks: [{name: peak, hours_share: 0.2}, {name: rest, hours_share: 0.8}]}"
    service = SERVE.replace(
        "{rps: 4}", "{blocks: [{name: peak, hours_share: 0.3, rps: 4}, {name: low, hours_share: 0.7, rps: 1}]}"
    )
    found = problems(tmp_path, f"version: 1\n{blocks}\nworkloads:\n  - {service}\n")
    assert (
        "w.yaml:4: workloads[0].traffic.blocks[0].hours_share: the horizon's block 'peak' has 0.2 of the hours."
        in found[0]
    )


def test_a_wrong_horizon_makes_no_further_problems_of_its_blocks(tmp_path):
    service = SERVE.replace("{rps: 4}", "{blocks: [{name: peak, rps: 4}]}")
    found = problems(tmp_path, f"version: 1\nhorizon: {{period: week}}\nworkloads:\n  - {service}\n")
    assert len(found) == 1


def test_a_message_quotes_no_more_than_the_offending_value(tmp_path):
    secret = "s" * 400
    found = with_workload(tmp_path, SERVE, f"workloads[0].precision={secret}")
    assert all(len(problem) < 400 and secret not in problem for problem in found)


def test_a_file_that_is_absent_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="can't be read: No such file"):
        load(tmp_path / "absent.yaml")
