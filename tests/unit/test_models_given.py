"""Models from a few sizes: what is filled in, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_opt.errors import InputError
from gpu_opt.models import assumed, count_parameters, from_fields, preset


@pytest.mark.parametrize("billion", [0.01, 0.125, 0.5, 1, 1.9, 2, 3, 7, 8, 13, 34, 70, 175, 405, 1000, 100_000])
def test_an_assumed_model_holds_what_was_asked_for(billion: float) -> None:
    spec = assumed(billion)
    assert spec.params / 1e9 == pytest.approx(billion, rel=0.01)
    assert spec.active_params == spec.params == count_parameters(spec).total
    assert spec.origin == "assumed"
    assert spec.name == f"{billion:g}B"
    assert spec.heads % spec.kv_heads == 0


@pytest.mark.parametrize(
    ("billion", "active"),
    [(46.7, 12.9), (671, 37), (30.5, 3.3), (1040, 32), (117, 5.1), (21, 3.6), (57, 14), (140, 39)],
)
def test_an_assumed_mixture_holds_and_uses_what_was_asked_for(billion: float, active: float) -> None:
    spec = assumed(billion, active)
    assert spec.experts > spec.experts_per_token > 0
    assert spec.params / 1e9 == pytest.approx(billion, rel=0.01)
    assert spec.active_params / 1e9 == pytest.approx(active, rel=0.05)


def test_an_assumed_model_is_shaped_like_published_ones_of_its_size() -> None:
    for name in ("llama-3-8b", "llama-3-70b", "qwen2.5-32b", "llama-3.1-405b"):
        known = preset(name)
        spec = assumed(known.params / 1e9)
        assert spec.hidden_size == pytest.approx(known.hidden_size, rel=0.35)
        assert spec.layers == pytest.approx(known.layers, rel=0.35)
        assert spec.kv_heads * spec.head_size == known.kv_heads * known.head_size


def test_nearly_all_active_is_dense() -> None:
    assert assumed(10, 9.5).experts == 0


@pytest.mark.parametrize("size", [0, -7, float("nan"), float("inf"), 1e9, True])
def test_a_size_that_is_none_is_refused(size: float) -> None:
    with pytest.raises(InputError, match="params_billion"):
        assumed(size)


def test_an_active_part_must_be_a_part_and_not_too_small_a_one() -> None:
    with pytest.raises(InputError, match="are more than all 7"):
        assumed(7, 8)
    with pytest.raises(InputError, match="too few"):
        assumed(1000, 1)


def test_params_alone_are_assumed_and_said() -> None:
    spec = from_fields({"params_billion": 7, "name": "ours", "max_positions": 4096})
    assert (spec.name, spec.origin, spec.max_positions) == ("ours", "assumed", 4096)
    assert spec.source == "typical shape of 7 B parameters"


def test_all_sizes_of_a_known_model_give_its_parameters() -> None:
    spec = from_fields({"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672, "vocab": 128256})
    assert spec.params == preset("llama-3-70b").params
    assert spec.origin == "given"


def test_layers_and_hidden_are_enough() -> None:
    spec = from_fields({"layers": 32, "hidden": 4096})
    # heads of 128, eight of them for keys and values, an MLP of 3.5 times the hidden size
    assert (spec.heads, spec.kv_heads, spec.head_size, spec.ffn_size) == (32, 8, 128, 14336)


def test_heads_without_kv_heads_are_all_their_own() -> None:
    spec = from_fields({"layers": 32, "hidden": 4096, "heads": 32})
    assert (spec.kv_heads, spec.ffn_size) == (32, 10944)  # 8 / 3 x 4,096 = 10,923, in steps of 64


def test_the_parameter_count_decides_what_is_left_out() -> None:
    grouped = from_fields(
        {"layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672, "vocab": 128256, "params_billion": 70}
    )
    assert grouped.kv_heads == 8  # with 64 the sizes would hold 80 B
    sized = from_fields({"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "params_billion": 8.03})
    assert sized.ffn_size == pytest.approx(14336, abs=2)
    plain = from_fields(
        {"layers": 24, "hidden": 2048, "ffn": 8192, "vocab": 50257, "params_billion": 1.31, "heads": 16}
    )
    assert (plain.gated_mlp, plain.tied_embeddings) == (False, True)


def test_a_mixture_of_given_sizes() -> None:
    spec = from_fields(
        {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 32000, "experts": 8,
         "experts_per_token": 2, "params_billion": 46.7, "active_params_billion": 12.9}
    )  # fmt: skip
    assert spec.params == preset("mixtral-8x7b").params
    assert spec.active_params == preset("mixtral-8x7b").active_params


def test_experts_of_a_size_of_their_own() -> None:
    spec = from_fields({"layers": 2, "hidden": 256, "experts": 16, "experts_per_token": 4, "expert_ffn": 128,
                        "shared_experts": 1, "vocab": 1000})  # fmt: skip
    count = count_parameters(spec)
    assert count.expert == count.shared_per_layer == 3 * 256 * 128
    assert count.total - count.active == 2 * 12 * 3 * 256 * 128


def test_none_is_not_given_and_windows_and_flags_are_kept() -> None:
    spec = from_fields({"layers": 2, "hidden": 256, "ffn": None, "sliding_window": 64, "tied_embeddings": True})
    assert (spec.sliding_window, spec.sliding_layers, spec.tied_embeddings) == (64, 2, True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "params_billion: is missing"),
        ({"layer": 3}, "layer: is no size of a model. Did you mean layers?"),
        ({"hidden": 4096}, "layers: is missing"),
        ({"layers": 0, "hidden": 64}, "layers: 0 is outside 1 to 10,000."),
        ({"layers": True, "hidden": 64}, "layers: true is no whole number."),
        ({"layers": 2, "hidden": "64"}, "hidden: '64' is no whole number."),
        ({"params_billion": -1}, "params_billion: -1 is no number at or above 0."),
        ({"params_billion": 0}, "params_billion: 0 is no size of a model."),
        ({"params_billion": float("nan")}, "params_billion: nan is no number"),
        ({"layers": 32, "hidden": 4096, "heads": 31}, "heads: 31 does not divide the hidden size 4096."),
        ({"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 5}, "kv_heads: 5 does not divide 32 heads."),
        ({"layers": 32, "hidden": 4096, "ffn": 14336, "params_billion": 80}, "80 B, but the sizes hold"),
        ({"layers": 80, "hidden": 8192, "params_billion": 7}, "7 B leave no room for an MLP"),
        ({"layers": 2, "hidden": 256, "experts": 8}, "experts_per_token: is missing"),
        ({"layers": 2, "hidden": 256, "experts": 4, "experts_per_token": 8}, "8 of 4 experts cannot be chosen."),
        (
            {"layers": 2, "hidden": 256, "experts": 4, "experts_per_token": 2, "dense_layers": 2},
            "2 of 2 layers leave none with experts.",
        ),
    ],
)
def test_wrong_sizes_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        from_fields(given)
    assert words in str(caught.value)
