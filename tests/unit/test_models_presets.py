"""Presets: their shapes hold what is published, and their names are found in any spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_opt.models import UnknownName, count_parameters, find, preset, preset_names, published_params_billion
from gpu_opt.models._tables import rows

NAMES = preset_names()


@pytest.mark.parametrize("name", NAMES)
def test_the_shape_holds_the_published_parameters_to_one_percent(name: str) -> None:
    spec = preset(name)
    published, _ = published_params_billion(name)
    assert (spec.params + spec.vision_params) / 1e9 == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize("name", [name for name in NAMES if published_params_billion(name)[1]])
def test_active_parameters_are_those_published_with_or_without_the_tables(name: str) -> None:
    """Makers count the embedding, the head, both or neither among the active ones, and round (3.27 to "A3B")."""
    count = count_parameters(preset(name))
    active = published_params_billion(name)[1]
    assert active is not None
    assert 0.91 * (count.active - count.embedding - count.head) / 1e9 <= active <= 1.03 * count.active / 1e9


def test_every_mixture_but_one_publishes_its_active_parameters() -> None:
    silent = [name for name in NAMES if preset(name).experts and not published_params_billion(name)[1]]
    assert silent == ["grok-1"]


def test_rows_hold_together() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 200
    for name in NAMES:
        spec = preset(name)
        assert spec.name == name
        assert spec.origin == "preset"
        assert spec.source, name
        assert spec.heads % spec.kv_heads == 0, name
        assert 0 <= spec.sliding_layers + spec.linear_layers <= spec.layers, name
        assert (spec.sliding_window > 0) == (spec.sliding_layers > 0), name
        assert spec.experts_per_token <= spec.experts, name
        assert spec.dense_layers < spec.layers, name
        assert spec.ffn_size > 0, name
        assert spec.max_positions > 0, name
        assert spec.params >= spec.active_params > 0, name
        assert spec.native_precision in ("bf16", "fp8", "int4", "mxfp4"), name


def test_an_alias_means_one_preset() -> None:
    owners: dict[str, str] = {name: name for name in NAMES}
    folded = {"".join(letter for letter in name if letter not in " _-"): name for name in NAMES}
    assert len(folded) == len(NAMES)
    for row in rows("aliases.csv"):
        assert row["preset"] in owners, row
        key = "".join(letter for letter in row["alias"] if letter not in " _-")
        assert folded.setdefault(key, row["preset"]) == row["preset"], row["alias"]


@pytest.mark.parametrize(
    ("spelling", "name", "precision"),
    [
        ("Llama-2-70b", "llama-2-70b", "bf16"),
        ("llama2-70b", "llama-2-70b", "bf16"),
        ("LLAMA_3_8B", "llama-3-8b", "bf16"),
        ("llama 3 8b instruct", "llama-3-8b", "bf16"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b", "bf16"),
        ("Meta-Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8"),
        ("neuralmagic/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b", "fp8"),
        ("TheBloke/Llama-2-7B-Chat-AWQ", "llama-2-7b", "int4"),
        ("amd/Llama-3.1-405B-Instruct-MXFP4-Preview", "llama-3.1-405b", "mxfp4"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3", "bf16"),
        ("Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", "bf16"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b", "fp8"),
        ("Qwen2.5-Coder-32B-Instruct-GPTQ-Int4", "qwen2.5-32b", "int4"),
        ("nvidia/DeepSeek-R1-0528-FP4", "deepseek-r1", "nvfp4"),
        ("openai/gpt-oss-120b", "gpt-oss-120b", "mxfp4"),
        ("google/gemma-2-9b-it", "gemma-2-9b", "bf16"),
        ("phi-1_5", "phi-1.5", "bf16"),
        ("Llama-3_3-Nemotron-Super-49B-v1", "nemotron-super-49b", "bf16"),
        ("EleutherAI/pythia-1.4b-deduped", "pythia-1.4b", "bf16"),
        ("zai-org/GLM-4.6-FP8", "glm-4.6", "fp8"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2", "fp8"),
        ("gpt3-175b", "gpt-3-175b", "bf16"),
    ],
)
def test_spellings_are_found(spelling: str, name: str, precision: str) -> None:
    found = find(spelling)
    assert found is not None
    assert (found.name, found.native_precision) == (name, precision)
    assert preset(spelling) == found


# Every language model that public speed and memory measurements name.
MEASURED = (Path(__file__).parent / "data" / "measured_models.txt").read_text().split()


@pytest.mark.parametrize("name", MEASURED)
def test_measured_models_are_known(name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize("name", ["", "  ", "-", "70b", "llama-5-9b", "gpt-4", "-instruct", "org/"])
def test_what_nobody_published_is_not_found(name: str) -> None:
    assert find(name) is None


def test_an_unknown_name_tells_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown model 'deepseek-v4'; did you mean deepseek-v\d") as caught:
        preset("deepseek-v4")
    assert caught.value.nearest in NAMES


def test_the_sizes_that_serving_depends_on() -> None:
    gpt_oss = preset("gpt-oss-120b")
    assert (gpt_oss.sliding_window, gpt_oss.sliding_layers, gpt_oss.layers) == (128, 18, 36)
    gemma = preset("gemma-3-27b")
    assert (gemma.sliding_window, gemma.sliding_layers, gemma.layers) == (1024, 52, 62)  # each sixth layer is full
    hybrid = preset("qwen3-next-80b-a3b")
    # 36 layers x (32 x 128 x 128 x 4 B state + 3 x 8,192 x 2 B convolution)
    assert hybrid.linear_state_bytes == 36 * (2_097_152 + 49_152)
    assert preset("falcon-7b").kv_heads == 1
    assert preset("deepseek-v3").native_precision == "fp8"
    assert preset("deepseek-v3.2").sparse_attention_tokens == 2048
