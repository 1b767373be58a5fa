"""Reading configurations: real ones against their presets, and everything that can be wrong with one."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gpu_opt.domain.model import ModelSpec
from gpu_opt.errors import InputError
from gpu_opt.models import count_parameters, from_config, from_config_file, preset, published_params_billion

FOLDER = Path(__file__).parent / "data" / "configs"
FILES = sorted(FOLDER.glob("*.json"))
SHAPE = [
    field.name
    for field in fields(ModelSpec)
    # not of the shape, or published rounded, or depending on how long a context its maker supports
    if field.name not in ("name", "origin", "source", "params", "active_params", "vision_params", "max_positions")
    and field.name not in ("native_precision", "learned_positions")
]
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 512,
}  # fmt: skip


def problems_of(config: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        from_config(config)
    return {problem.path: problem.what for problem in caught.value.problems}


def test_real_configurations_of_many_families_are_at_hand() -> None:
    types = {json.loads(file.read_text()).get("model_type") for file in FILES}
    assert len(types) >= 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_real_configuration_holds_the_published_parameters_to_one_percent(file: Path) -> None:
    spec = from_config_file(file)
    published, _ = published_params_billion(file.stem)
    assert (spec.params + spec.vision_params) / 1e9 == pytest.approx(published, rel=0.01)
    assert spec.origin == "config"
    assert "usual keys" not in spec.source


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_real_configuration_is_shaped_like_its_preset(file: Path) -> None:
    read, known = from_config_file(file), preset(file.stem)
    assert {name: getattr(read, name) for name in SHAPE} == {name: getattr(known, name) for name in SHAPE}


def test_a_folder_or_a_file_may_be_given_and_names_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    assert from_config_file(folder).name == "my-model"
    assert from_config_file(folder / "config.json") == from_config_file(folder)
    assert from_config(LLAMA, name="mine").name == "mine"
    assert from_config({**LLAMA, "_name_or_path": "org/theirs"}).name == "theirs"


def test_heads_default_to_all_of_them_and_a_head_size_of_its_own_counts() -> None:
    without = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
    assert from_config(without).kv_heads == 4
    wide = from_config({**LLAMA, "head_dim": 32})
    assert wide.head_size == 32
    assert count_parameters(wide).attention_per_layer == 64 * 32 * (4 + 2 * 2) + 4 * 32 * 64


def test_text_models_are_found_inside_others() -> None:
    tower = {"hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 64, "patch_size": 4}
    nested = from_config({"model_type": "llava", "text_config": LLAMA, "vision_config": tower})
    plain = from_config(LLAMA)
    assert (nested.layers, nested.params) == (plain.layers, plain.params)
    # 2 x (4 x 16^2 + 2 x 16 x 64), patches 3 x 16 x 16, projection 16 x (16 + 64)
    assert nested.vision_params == 2 * (1024 + 2048) + 768 + 1280
    deep = {"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {**LLAMA, "model_type": "qwen2"}}}
    assert from_config(deep).attention_bias
    for key in ("language_config", "llm_config"):
        assert from_config({"model_type": "other", key: LLAMA}).params == plain.params


def test_what_the_text_part_leaves_out_is_taken_from_above() -> None:
    spec = from_config({"text_config": LLAMA, "tie_word_embeddings": True, "torch_dtype": "float16"})
    assert spec.tied_embeddings
    assert spec.native_precision == "fp16"


@pytest.mark.parametrize(
    ("extra", "window", "layers"),
    [
        ({"model_type": "mistral", "sliding_window": 128}, 128, 2),
        ({"model_type": "mistral", "sliding_window": None}, 0, 0),
        ({"model_type": "mistral", "sliding_window": 512}, 0, 0),  # as long as the context
        ({"model_type": "qwen2", "sliding_window": 128, "use_sliding_window": False}, 0, 0),
        ({"model_type": "qwen2", "sliding_window": 128, "use_sliding_window": True, "max_window_layers": 1}, 128, 1),
        ({"model_type": "gemma2", "sliding_window": 128}, 128, 1),
        ({"model_type": "cohere2", "sliding_window": 128, "sliding_window_pattern": 2}, 128, 1),
        ({"model_type": "gpt_oss", "sliding_window": 128, "layer_types": ["sliding_attention"] * 2}, 128, 2),
    ],
)
def test_sliding_windows(extra: dict[str, Any], window: int, layers: int) -> None:
    spec = from_config({**LLAMA, **extra})
    assert (spec.sliding_window, spec.sliding_layers) == (window, layers)


@pytest.mark.parametrize(
    ("extra", "precision"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"dtype": "bfloat16"}, "bf16"),
        ({"torch_dtype": "float32"}, "fp32"),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "fbgemm_fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "int4"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 8}}, "int8"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}, "int4"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quantization_config": {"quant_method": "something new"}}, "bf16"),
        ({"quantization_config": {"quant_method": "gptq"}}, "int4"),
        ({"quantization_config": {"load_in_8bit": True}}, "int8"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "bf16"),
        ({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"a": {}}}}, "bf16"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "newer"}, "dtype": "float16"}, "fp16"),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
                }
            },
            "fp8",
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}},
                }
            },
            "int4",
        ),
    ],
)
def test_the_precision_that_weights_ship_in(extra: dict[str, Any], precision: str) -> None:
    assert from_config({**LLAMA, **extra}).native_precision == precision


@pytest.mark.parametrize(
    ("extra", "kv_heads"),
    [
        ({"model_type": "mpt", "attn_config": {"attn_type": "multiquery_attention"}}, 1),
        ({"model_type": "mpt", "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 2}}, 2),
        ({"model_type": "falcon", "multi_query": True}, 1),
        ({"model_type": "falcon", "multi_query": False}, 4),
        ({"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
        ({"model_type": "gpt_bigcode", "multi_query": True}, 1),
        ({"model_type": "chatglm", "multi_query_attention": True, "multi_query_group_num": 2}, 2),
    ],
)
def test_keys_and_values_by_group(extra: dict[str, Any], kv_heads: int) -> None:
    assert from_config({**LLAMA, **extra}).kv_heads == kv_heads


def test_a_towers_own_width_counts_not_that_of_the_text_behind_it() -> None:
    tower = {"embed_dim": 16, "hidden_size": 64, "depth": 2}
    spec = from_config({"model_type": "qwen2_vl", "text_config": LLAMA, "vision_config": tower})
    # 2 x (4 x 16^2 + 2 x 16 x 64), patches 3 x 14^2 x 16, projection 16 x (16 + 64)
    assert spec.vision_params == 2 * (1024 + 2048) + 9408 + 1280
    assert from_config({"text_config": LLAMA, "vision_config": {"model_type": "?"}}).vision_params == 0


def test_learned_positions_count_unless_attention_is_biased_by_distance() -> None:
    mpt = {**LLAMA, "model_type": "mpt", "attn_config": {}}
    assert from_config(mpt).learned_positions == 512
    assert from_config({**mpt, "attn_config": {"alibi": True}}).learned_positions == 0
    assert from_config({**mpt, "learned_pos_emb": False}).learned_positions == 0


def test_searched_blocks_must_say_what_they_hold() -> None:
    config = {**LLAMA, "model_type": "nemotron-nas", "block_configs": [{"ffn": {}}]}
    assert problems_of(config)["block_configs[0]"] == "has no `attention` and `ffn`."


def test_kv_heads_that_differ_by_layer_are_averaged() -> None:
    config = {**LLAMA, "model_type": "deci", "num_hidden_layers": 4, "num_key_value_heads_per_layer": [1, 1, 2, 4]}
    assert from_config(config).kv_heads == 2  # 8 / 4


def test_blocks_found_by_search_are_averaged() -> None:
    blocks = [
        {"attention": {"n_heads_in_group": 2, "no_op": False}, "ffn": {"ffn_mult": 6.0, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True}, "ffn": {"ffn_mult": 12.0, "no_op": False}},
    ]
    config = {"model_type": "nemotron-nas", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
              "vocab_size": 1000, "block_configs": blocks}  # fmt: skip
    spec = from_config(config)
    # 2 x 6 x 64 / 3 = 256 and 512, both whole multiples of 256; half the layers attend, heads in groups of two
    assert (spec.ffn_size, spec.linear_layers, spec.kv_heads) == (384, 1, 2)


def test_sparse_steps_and_dense_layers() -> None:
    moe = {**LLAMA, "model_type": "qwen2_moe", "num_hidden_layers": 6, "num_experts": 4, "num_experts_per_tok": 2,
           "moe_intermediate_size": 32}  # fmt: skip
    assert from_config(moe).dense_layers == 0
    assert from_config({**moe, "decoder_sparse_step": 2}).dense_layers == 3
    assert from_config({**moe, "mlp_only_layers": [0, 5]}).dense_layers == 2
    assert from_config({**moe, "moe_layer_freq": [0, 1, 1, 1, 1, 1]}).dense_layers == 1
    assert from_config({**moe, "first_k_dense_replace": 2}).dense_layers == 2


def test_an_unknown_architecture_with_the_usual_keys_is_read_and_said() -> None:
    spec = from_config({**LLAMA, "model_type": "brandnew"})
    assert spec.params == from_config(LLAMA).params
    assert "architecture brandnew read by the usual keys" in spec.source


def test_an_unknown_architecture_without_them_lists_all_that_is_missing() -> None:
    found = problems_of({"model_type": "brandnew", "width": 12})
    assert set(found) == {"num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads", "intermediate_size"}
    assert found["hidden_size"] == "is missing (or d_model, n_embd, n_embed, dim)."


@pytest.mark.parametrize(
    ("model_type", "words"),
    [
        ("jamba", "not supported yet"),
        ("mamba2", "not supported yet"),
        ("t5", "no decoder-only"),
        ("bert", "no decoder"),
    ],
)
def test_other_kinds_of_models_are_refused_by_name(model_type: str, words: str) -> None:
    assert words in problems_of({**LLAMA, "model_type": model_type})["model_type"]
    assert "no decoder" in problems_of({**LLAMA, "is_encoder_decoder": True})["model_type"]


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("hidden_size", -64, "-64 is outside 1 to 1,000,000."),
        ("hidden_size", 0, "0 is outside 1 to 1,000,000."),
        ("hidden_size", "64", "'64' is no whole number."),
        ("hidden_size", True, "true is no whole number."),
        ("hidden_size", float("nan"), "nan is no whole number."),
        ("hidden_size", float("inf"), "inf is no whole number."),
        ("hidden_size", 64.5, "64.5 is no whole number."),
        ("hidden_size", [64], "a list is no whole number."),
        ("hidden_size", {"a": 1}, "a mapping is no whole number."),
        ("num_hidden_layers", 10**9, "1000000000 is outside 1 to 10,000."),
        ("vocab_size", 10**60, "a number of more than 30 digits is outside 1 to 10,000,000."),
        ("vocab_size", "x" * 500, f"'{'x' * 36}... is no whole number."),
        ("num_attention_heads", 5, "5 does not divide the hidden size 64."),
        ("num_key_value_heads", 3, "3 does not divide 4 attention heads."),
        ("tie_word_embeddings", "yes", "'yes' is neither true nor false."),
        ("model_type", 7, "7 is no text."),
        ("layer_types", "sliding", "'sliding' is no list."),
        ("quantization_config", "fp8", "'fp8' is no mapping."),
    ],
)
def test_wrong_values_are_named_with_their_key(key: str, value: Any, what: str) -> None:
    config = {**LLAMA, key: value}
    if key == "layer_types":
        config |= {"model_type": "mistral", "sliding_window": 128}
    assert problems_of(config)[key] == what


def test_all_problems_come_at_once_with_the_path_inside() -> None:
    found = problems_of({"text_config": {**LLAMA, "hidden_size": -1, "vocab_size": None}})
    assert set(found) == {"text_config.hidden_size", "text_config.vocab_size"}


def test_more_experts_than_there_are_cannot_be_chosen() -> None:
    config = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 5}
    assert problems_of(config)["num_experts_per_tok"] == "5 of 4 experts cannot be chosen."
    assert "num_experts_per_tok" in problems_of({**LLAMA, "model_type": "mixtral", "num_local_experts": 4})


def test_an_absurd_model_is_refused_though_each_size_is_possible() -> None:
    huge = {**LLAMA, "hidden_size": 1_000_000, "num_attention_heads": 1000, "num_key_value_heads": 1000,
            "intermediate_size": 10_000_000, "num_hidden_layers": 10_000}  # fmt: skip
    assert "parameters" in problems_of(huge)["hidden_size"]


NASTY: list[Any] = [-1, 0, 3, 1.5, True, "x", [], [None], {}, {"a": []}, None, 10**25, float("nan"), float("-inf")]
WITH_OWN_WAYS = (
    "llama-4-maverick", "deepseek-v3", "qwen3.5-397b-a17b", "falcon-40b", "mpt-7b", "dbrx", "glm-4-9b", "gemma-3-4b",
    "minimax-text-01", "gpt-oss-120b", "starcoder-15b", "qwen2-57b-a14b",
)  # fmt: skip


@pytest.mark.parametrize("name", WITH_OWN_WAYS)
def test_no_value_of_any_key_breaks_the_reader(name: str) -> None:
    """Every value of every key, one at a time: a model or an InputError, nothing else."""
    whole = json.loads((FOLDER / f"{name}.json").read_text())
    for place in (whole, *(value for value in whole.values() if isinstance(value, dict))):
        for key in list(place):
            kept = place[key]
            for value in NASTY:
                place[key] = value
                with contextlib.suppress(InputError):
                    assert from_config(whole).params > 0
            place[key] = kept


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "is no JSON: Expecting property name enclosed in double quotes."),
        ("[1]", "holds no mapping."),
        ("12", "holds no mapping."),
        ("", "is no JSON: Expecting value."),
        ("[" * 100_000, "is no JSON."),
        ("1" * 5000, "is no JSON."),
        ("\udcff", "is no JSON."),
    ],
)
def test_a_file_that_is_no_configuration_is_named(content: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        from_config_file(file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.what) == (str(file), what)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read: No such file or directory"):
        from_config_file(tmp_path / "nothing.json")
    with pytest.raises(InputError, match=r"config\.json: cannot be read"):
        from_config_file(tmp_path)


def test_a_file_too_large_for_a_configuration_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(20_000_001)
    with pytest.raises(InputError, match="too large"):
        from_config_file(file)


def test_problems_of_a_file_name_it(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "vocab_size": -1}))
    with pytest.raises(InputError) as caught:
        from_config_file(file)
    assert str(caught.value) == f"{file}: vocab_size: -1 is outside 1 to 10,000,000."
