"""Counting parameters: numbers worked by hand."""

from __future__ import annotations

from dataclasses import replace

from gpu_opt.models import count_parameters, preset
from gpu_opt.models.parameters import counted


def test_a_dense_model_with_as_many_kv_heads_as_heads() -> None:
    count = count_parameters(preset("llama-2-7b"))
    assert count.embedding == 131_072_000  # 32,000 x 4,096
    assert count.head == 131_072_000
    assert count.attention_per_layer == 67_108_864  # 4 x 4,096^2
    assert count.dense_mlp_per_layer == 135_266_304  # 3 x 4,096 x 11,008
    assert count.norms == 266_240  # 65 x 4,096
    # 262,144,000 + 32 x 202,375,168 + 266,240 = 6,738,415,616, as the checkpoint holds
    assert count.total == 6_738_415_616
    assert count.active == count.total


def test_grouped_queries_shrink_keys_and_values() -> None:
    # 8,192 x 128 x (64 + 2 x 8) + 64 x 128 x 8,192 = 83,886,080 + 67,108,864
    assert count_parameters(preset("llama-3-70b")).attention_per_layer == 150_994_944


def test_biases_of_queries_keys_and_values() -> None:
    # 3,584 x 128 x (28 + 8) + 3,584 x 3,584, and (28 + 8) x 128 biases
    assert count_parameters(preset("qwen2.5-7b")).attention_per_layer == 16_515_072 + 12_845_056 + 4_608


def test_experts_count_whole_and_active() -> None:
    count = count_parameters(preset("mixtral-8x7b"))
    assert count.expert == 176_160_768  # 3 x 4,096 x 14,336
    assert count.expert_per_layer == 8 * 176_160_768
    assert count.router_per_layer == 32_768  # 4,096 x 8
    assert (count.moe_layers, count.dense_layers) == (32, 0)
    assert count.total - count.active == 32 * 6 * 176_160_768  # six of eight rest


def test_latent_attention() -> None:
    count = count_parameters(preset("deepseek-v3"))
    query = 7168 * 1536 + 1536 * 128 * (128 + 64)
    key_value = 7168 * (512 + 64) + 512 * 128 * (128 + 128)
    assert count.attention_per_layer == query + key_value + 128 * 128 * 7168 == 187_105_280
    assert (count.dense_layers, count.moe_layers) == (3, 58)
    assert count.dense_mlp_per_layer == 396_361_728  # 3 x 7,168 x 18,432
    assert count.shared_per_layer == count.expert == 44_040_192  # 3 x 7,168 x 2,048


def test_latent_attention_without_compressed_queries() -> None:
    count = count_parameters(preset("deepseek-v2-lite"))
    assert count.attention_per_layer == 2048 * 16 * 192 + 2048 * 576 + 512 * 16 * 256 + 16 * 128 * 2048


def test_every_other_layer_dense() -> None:
    count = count_parameters(preset("llama-4-maverick"))
    assert (count.dense_layers, count.moe_layers) == (24, 24)
    assert count.dense_mlp_per_layer == 3 * 5120 * 16_384
    assert count.shared_per_layer == 3 * 5120 * 8192


def test_linear_layers_count_their_own_mixer() -> None:
    count = count_parameters(preset("qwen3-next-80b-a3b"))
    assert (count.attention_layers, count.linear_layers) == (12, 36)
    # queries and their gate: 2 x 2,048 x 16 x 256; keys and values: 2 x 2,048 x 2 x 256; output 16 x 256 x 2,048
    assert count.attention_per_layer == 16_777_216 + 2_097_152 + 8_388_608
    # in 2,048 x (2 x 2,048 + 2 x 4,096) and 2,048 x 64; convolution 4 x 8,192; out 4,096 x 2,048; 64 and 128
    assert count.linear_per_layer == 25_165_824 + 131_072 + 32_768 + 8_388_608 + 64 + 128


def test_plain_mlps_have_two_matrices_and_their_biases() -> None:
    # 2 x 12,288 x 49,152, biases 49,152 + 12,288
    assert count_parameters(preset("gpt-3-175b")).dense_mlp_per_layer == 1_207_959_552 + 61_440


def test_a_tied_head_is_counted_once() -> None:
    tied = preset("gemma-2b")
    untied = counted(replace(tied, tied_embeddings=False))
    assert untied.params - tied.params == 256_000 * 2048
