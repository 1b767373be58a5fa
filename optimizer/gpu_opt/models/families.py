"""What each architecture takes for granted where its configuration is silent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpu_opt.models._tables import rows
from gpu_opt.records import record

# Named so that they are refused with a reason, not read wrongly.
STATE_SPACE = (
    "mamba", "mamba2", "jamba", "nemotron_h", "falcon_mamba", "falcon_h1", "bamba", "zamba", "zamba2", "rwkv", "rwkv6",
    "rwkv7", "granitemoehybrid", "recurrent_gemma", "lfm2", "plamo2", "xlstm",
)  # fmt: skip
NOT_DECODERS = (
    "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "bert", "roberta", "xlm-roberta", "deberta-v2", "electra",
    "modernbert", "whisper", "clip", "siglip", "vit", "wav2vec2", "led", "longt5", "m2m_100", "marian",
)  # fmt: skip


@record
class Family:
    """Defaults of one `model_type`. Sizes of 0 have none; `ffn_multiple` is of the hidden size.

    `ffn_is_expert`: `intermediate_size` is one expert's. `window_applies`: a `sliding_window` counts without a
    further switch. `sliding_pattern` n: all layers slide but every n-th.
    """

    model_type: str
    known: bool
    gated_mlp: bool
    tied_embeddings: bool
    attention_bias: bool
    mlp_bias: bool
    norms_per_layer: int
    learned_positions: bool
    attention_gate: bool
    ffn_multiple: int
    ffn_divisor: int
    ffn_is_expert: bool
    window_applies: bool
    sliding_pattern: int
    heads: int
    kv_heads: int
    head_size: int
    vocab_size: int


@cache
def _families() -> Mapping[str, Family]:
    return {row["model_type"]: _family(row, known=True) for row in rows("families.csv")}


def family_of(model_type: str) -> Family:
    """Defaults of an architecture; those of Llama, marked as not known, for one without a row."""
    found = _families().get(model_type.casefold())
    if found is not None:
        return found
    llama = next(row for row in rows("families.csv") if row["model_type"] == "llama")
    return _family({**llama, "model_type": model_type, "window_applies": "1"}, known=False)


def _family(row: Mapping[str, str], *, known: bool) -> Family:
    def size(column: str) -> int:
        return int(row[column] or 0)

    def flag(column: str) -> bool:
        return row[column] == "1"

    return Family(
        model_type=row["model_type"],
        known=known,
        gated_mlp=flag("gated_mlp"),
        tied_embeddings=flag("tied_embeddings"),
        attention_bias=flag("attention_bias"),
        mlp_bias=flag("mlp_bias"),
        norms_per_layer=size("norms_per_layer"),
        learned_positions=flag("learned_positions"),
        attention_gate=flag("attention_gate"),
        ffn_multiple=size("ffn_multiple"),
        ffn_divisor=size("ffn_divisor") or 1,
        ffn_is_expert=flag("ffn_is_expert"),
        window_applies=flag("window_applies"),
        sliding_pattern=size("sliding_pattern"),
        heads=size("heads"),
        kv_heads=size("kv_heads"),
        head_size=size("head_size"),
        vocab_size=size("vocab_size"),
    )
