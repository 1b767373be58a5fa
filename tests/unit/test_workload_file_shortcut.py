"""A question asked by options is the one that a file would ask, and can be kept as that file."""

from datetime import date
from pathlib import Path

import pytest

from gpu_opt.domain.offer import Market
from gpu_opt.errors import InputError
from gpu_opt.workload_file.emit import scalar, to_yaml
from gpu_opt.workload_file.overlay import overlays_of
from gpu_opt.workload_file.reader import load
from gpu_opt.workload_file.shortcut import ShortcutOptions, shortcut
from gpu_opt.workload_file.to_question import to_question
from gpu_opt.workload_file.yaml_lines import parse_yaml

PLACES = {"aws": frozenset({"us-east-1"}), "lambda": frozenset({"us-east-1"})}
TRAIN = ShortcutOptions(
    model="llama-3.1-70b",
    train="lora",
    tokens="15B",
    by="2w",
    have=("8xp5.48xlarge@us-east-1:2027-08-31", "2xaws/p4d.24xlarge@us-east-1:2027-06-30:12.5"),
    discount=("aws=0.42",),
    gpu=("H100*",),
    market=("on_demand", "spot"),
)
SERVE = ShortcutOptions(
    model="llama-3.1-70b",
    serve=True,
    rps="40",
    input="500",
    output="200",
    ttft_p95="800ms",
    region=("us-east-1",),
    provider=("aws",),
    precision="fp8",
)


def question(file):
    return to_question(file, newest_as_of=date(2026, 12, 1), known_regions=PLACES)


def test_a_fine_tune_asked_by_options():
    asked = question(shortcut(TRAIN).read())
    (job,) = asked.workloads
    assert (job.name, job.method, job.tokens_per_run, job.deadline_hours) == ("lora-llama-3.1-70b", "lora", 15e9, 336)
    assert job.sequence_length_tokens == 4096
    assert "H100-SXM" in job.gpus
    assert (job.spot.allow, job.checkpoint_interval_hours) == (True, 0.5)
    assert asked.rent_markets == (Market.ON_DEMAND, Market.SPOT)


def test_what_one_has_is_paid_unless_it_has_a_price():
    paid, priced = question(shortcut(TRAIN).read()).existing
    assert (paid.provider, paid.instance_type, paid.instances, paid.ends) == (
        "aws",
        "p5.48xlarge",
        8,
        date(2027, 8, 31),
    )
    assert (paid.already_paid, paid.usd_per_instance_hour) == (True, 0)
    assert (priced.already_paid, priced.usd_per_instance_hour) == (False, 12.5)


def test_a_discount_asked_by_an_option_is_an_overlay():
    (overlay,) = overlays_of(shortcut(TRAIN).read())
    assert (overlay.discounts[0].provider, overlay.discounts[0].discount_fraction) == ("aws", 0.42)


def test_a_service_asked_by_options():
    asked = question(shortcut(SERVE).read())
    (service,) = asked.workloads
    assert service.blocks[0].requests_per_second == 40
    assert (service.input_tokens.mean_tokens, service.output_tokens.mean_tokens) == (500, 200)
    assert service.slo.limit_ms == {("ttft", "p95"): 800}
    assert (service.precision, asked.scope.providers, asked.scope.regions) == ("fp8", ("aws",), ("us-east-1",))


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("7B", {"params_billion": "7"}),
        ("llama-2-7b", {"preset": "llama-2-7b"}),
        ("meta-llama/Llama-2-7b-hf", {"preset": "meta-llama/Llama-2-7b-hf"}),
        ("models/config.json", {"config": "models/config.json"}),
    ],
)
def test_a_model_is_a_name_a_size_or_a_configuration(model, keys):
    options = ShortcutOptions(model=model, train="full", tokens="1B")
    assert shortcut(options).data["workloads"][0]["model"] == keys


@pytest.mark.parametrize("options", [TRAIN, SERVE])
def test_the_file_that_is_kept_asks_the_same(options, tmp_path):
    asked = shortcut(options)
    path = tmp_path / "w.yaml"
    path.write_text(to_yaml(asked.data, "Asked on the command line."), encoding="utf-8")
    assert question(load(path)) == question(asked.read())
    assert [overlay.discounts for overlay in overlays_of(load(path))] == [
        overlay.discounts for overlay in overlays_of(asked.read())
    ]


def test_the_file_that_is_kept_is_commented_and_readable():
    text = to_yaml(shortcut(SERVE).data, "Asked on the command line.")
    assert text == (
        "# Asked on the command line.\n"
        "version: 1\n"
        "# Where anything may run at all.\n"
        "scope:\n"
        "  providers: [aws]\n"
        "  regions: [us-east-1]\n"
        "# What is asked for.\n"
        "workloads:\n"
        "  - name: serve-llama-3.1-70b\n"
        "    kind: serve\n"
        "    model: {preset: llama-3.1-70b}\n"
        "    traffic: {rps: 40}\n"
        "    input_tokens: 500\n"
        "    output_tokens: 200\n"
        "    slo: {ttft: {p95: 800ms}}\n"
        "    precision: fp8\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "null",
        "~",
        "H100*",
        "a: b",
        "- x",
        "#x",
        "",
        " x",
        "x ",
        "a,b",
        "{x}",
        "é",
        'q"q',
        "a\\b",
        "&a",
        "1:2",
        "\x85",
    ],
)
def test_text_that_yaml_would_read_otherwise_is_quoted(text):
    assert parse_yaml(f"key: {scalar(text)}", "w").data == {"key": text}
    assert parse_yaml(f"{{{scalar(text)}: [{scalar(text)}]}}", "w").data == {text: [text]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ShortcutOptions(), "--model: no model is named."),
        (ShortcutOptions(model="7B"), "--train or --serve: neither is asked for."),
        (ShortcutOptions(model="7B", train="lora", serve=True), "--train or --serve: both are asked for."),
        (ShortcutOptions(model="7B", train="lroa", tokens="1B"), "--train lroa: it is not known."),
        (ShortcutOptions(model="7B", train="lora"), "--train: how many tokens? Add --tokens 15B."),
        (ShortcutOptions(model="7B", serve=True, rps="4", input="5"), "--serve: --output is missing."),
        (ShortcutOptions(model="7B", train="full", tokens="1B", rps="4"), "--rps: it says nothing beside --train."),
        (
            ShortcutOptions(model="7B", serve=True, rps="4", input="5", output="5", by="2w"),
            "--by: it says nothing beside --serve.",
        ),
        (ShortcutOptions(model="7B", train="full", tokens="1B", have=("8",)), "--have 8: it is not of the form"),
        (
            ShortcutOptions(model="7B", train="full", tokens="1B", discount=("42%",)),
            "--discount 42%: it is not of the form provider=fraction. Write aws=0.42.",
        ),
    ],
)
def test_options_that_do_not_go_together_are_told(options, said):
    with pytest.raises(InputError) as error:
        shortcut(options)
    assert said in str(error.value)


def test_a_wrong_value_is_told_at_its_option():
    options = ShortcutOptions(model="lama-2-7b", train="lora", tokens="15Q", by="2x", market=("spt",), gpu=("H1",))
    with pytest.raises(InputError) as error:
        shortcut(options).read(Path())
    told = str(error.value)
    for said in ("--tokens 15Q: ", "--by 2x: ", "--market spt: ", "--gpu H1: "):
        assert said in told


def test_a_misspelt_model_is_told_at_its_option():
    with pytest.raises(InputError, match=r"--model lama-2-7b: .*Did you mean llama-2-7b\?"):
        shortcut(ShortcutOptions(model="lama-2-7b", train="lora", tokens="1B")).read()
