"""Reading a Hugging Face `config.json` into the shape of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_opt.domain.model import ModelSpec
from gpu_opt.errors import InputError, Problem
from gpu_opt.models.config_attention import head_sizes, linear_sizes, window_sizes
from gpu_opt.models.config_mlp import mlp_sizes, searched_blocks
from gpu_opt.models.config_precision import native_precision
from gpu_opt.models.config_values import MOST_LAYERS, MOST_POSITIONS, ConfigValues
from gpu_opt.models.config_vision import tower_params
from gpu_opt.models.families import NOT_DECODERS, STATE_SPACE, Family, family_of
from gpu_opt.models.parameters import counted

_TEXT_KEYS = ("text_config", "language_config", "llm_config", "thinker_config", "language_model", "text_model")
_POSITION_KEYS = (
    "max_position_embeddings", "max_seq_len", "max_sequence_length", "model_max_length", "seq_length", "n_positions",
    "n_ctx",
)  # fmt: skip
_MOST_FILE_BYTES = 20_000_000
_MOST_PARAMS = 1e15


def from_config_file(path: str | Path) -> ModelSpec:
    """The model of a `config.json`, or of a folder that holds one. InputError names the file and each wrong key."""
    place = Path(path)
    if place.is_dir():
        place = place / "config.json"
    return _read(_load(place), name=_name_of(place), file=str(place))


def from_config(config: Mapping[str, Any], name: str = "") -> ModelSpec:
    """The model of a configuration in memory. InputError lists what is missing or wrong, by key path."""
    return _read(config, name=name, file="")


def _name_of(place: Path) -> str:
    return place.resolve().parent.name if place.name == "config.json" else place.stem


def _load(place: Path) -> Mapping[str, Any]:
    def refuse(what: str, remedy: str, line: int = 0) -> InputError:
        return InputError(Problem(file=str(place), line=line, what=what, remedy=remedy))

    try:
        if place.stat().st_size > _MOST_FILE_BYTES:
            raise refuse("is too large for a configuration.", "Point at the model's config.json.")
        config = json.loads(place.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise refuse(f"is no JSON: {error.msg}.", "Point at the model's config.json.", error.lineno) from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise refuse("is no JSON.", "Point at the model's config.json.") from None
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}.", "Check the path.") from None
    if not isinstance(config, Mapping):
        raise refuse("holds no mapping.", "Point at the model's config.json.")
    return config


def _read(config: Mapping[str, Any], *, name: str, file: str) -> ModelSpec:
    whole = ConfigValues(config, file)
    text = _text_part(whole)
    family = _family(text, whole)
    sizes = _sizes(text, whole, family)
    whole.finish()
    known = "" if family.known else f" (architecture {family.model_type or 'without a name'} read by the usual keys)"
    label = name or whole.text("_name_or_path", "name_or_path").rsplit("/", 1)[-1] or family.model_type or "config"
    where = file or "configuration"
    spec = counted(ModelSpec(name=label, params=0.0, active_params=0.0, origin="config", source=where + known, **sizes))
    if spec.params > _MOST_PARAMS:
        whole.wrong("hidden_size", f"the sizes hold {spec.params:.2g} parameters.", "Check the sizes.")
    whole.finish()
    return replace(spec, vision_params=tower_params(whole, spec.hidden_size) if text is not whole else 0.0)


def _text_part(whole: ConfigValues) -> ConfigValues:
    """The language model's mapping, however deep it lies; what it leaves out is taken from the levels above."""
    current = whole
    for _ in range(4):
        inner = next((found for key in _TEXT_KEYS if (found := _nested_model(current, key)) is not None), None)
        if inner is None:
            return current
        above = {key: value for key, value in current.values.items() if key not in (*_TEXT_KEYS, "model_type")}
        merged = {**above, **{key: value for key, value in inner.values.items() if value is not None}}
        current = ConfigValues(merged, whole.file, inner.prefix, whole.problems)
    return current


def _nested_model(values: ConfigValues, key: str) -> ConfigValues | None:
    return values.nested(key) if isinstance(values.values.get(key), Mapping) else None


def _family(text: ConfigValues, whole: ConfigValues) -> Family:
    model_type = text.text("model_type") or whole.text("model_type")
    plain = model_type.casefold()
    if plain in STATE_SPACE:
        what = f"{model_type!r} mixes in state-space layers, which are not supported yet."
        whole.wrong("model_type", what, "Give params_billion and the sizes instead.")
    elif plain in NOT_DECODERS or whole.flag("is_encoder_decoder"):
        whole.wrong("model_type", f"{model_type!r} is no decoder-only language model.", "Give unit and flops_per_unit.")
    whole.finish()
    return family_of(model_type)


def _sizes(text: ConfigValues, whole: ConfigValues, family: Family) -> dict[str, Any]:
    layers = text.needed("num_hidden_layers", "n_layers", "n_layer", "num_layers", most=MOST_LAYERS)
    hidden = text.needed("hidden_size", "d_model", "n_embd", "n_embed", "dim", most=1_000_000)
    positions = text.integer(*_POSITION_KEYS, default=0, most=MOST_POSITIONS)
    sizes: dict[str, Any] = {
        "layers": layers,
        "hidden_size": hidden,
        "vocab_size": text.needed("vocab_size", "padded_vocab_size", "n_vocab", default=family.vocab_size),
        "max_positions": positions,
        "native_precision": native_precision(text, whole),
    }
    sizes.update(head_sizes(text, family, hidden))
    sizes.update(mlp_sizes(text, family, layers, hidden))
    sizes.update(searched_blocks(text, layers, hidden, sizes["heads"]))
    sizes.update(window_sizes(text, family, layers, positions))
    sizes.update(linear_sizes(text, layers, hidden, sizes))
    sizes.update(_switches(text, whole, family, positions))
    return sizes


def _switches(text: ConfigValues, whole: ConfigValues, family: Family, positions: int) -> dict[str, Any]:
    """Flags that a configuration may set against its family's custom."""
    tied = text.flag("tie_word_embeddings", default=whole.flag("tie_word_embeddings", default=family.tied_embeddings))
    bias = text.flag(
        "attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias", "bias", default=family.attention_bias
    )
    norms = family.norms_per_layer
    falcon = family.model_type in ("falcon", "refinedweb", "refinedwebmodel")
    if falcon and text.flag("parallel_attn", default=True) and not text.flag("new_decoder_architecture"):
        norms = 1
    return {
        "tied_embeddings": tied,
        "gated_mlp": family.gated_mlp,
        "attention_bias": bias,
        "mlp_bias": text.flag("mlp_bias", "use_bias", default=family.mlp_bias),
        "norms_per_layer": norms,
        "attention_gate": text.flag("attn_output_gate", default=family.attention_gate),
        "learned_positions": _learned_positions(text, family, positions),
    }


def _learned_positions(text: ConfigValues, family: Family, positions: int) -> int:
    if family.model_type == "mpt":
        attention = text.nested("attn_config")
        by_bias = attention is not None and (attention.flag("alibi") or attention.flag("rope"))
        return positions if text.flag("learned_pos_emb", default=True) and not by_bias else 0
    return min(positions, 10_000_000) if family.learned_positions else 0
