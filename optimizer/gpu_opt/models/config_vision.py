"""Parameters of the towers beside the text model, estimated from their sizes."""

from __future__ import annotations

from gpu_opt.models.config_values import ConfigValues

_TOWERS = ("vision_config", "audio_config", "vision_tower_config", "visual")


def tower_params(whole: ConfigValues, text_hidden: int) -> float:
    """Parameters of vision and audio towers and their projection into the text model; 0 without any.

    Layers of four square projections and a plain MLP: within about a tenth of the published towers.
    """
    total = 0.0
    for key in _TOWERS:
        tower = whole.nested(key)
        if tower is not None:
            total += _tower(tower, text_hidden)
    return total


def _tower(tower: ConfigValues, text_hidden: int) -> float:
    # Qwen2-VL's `hidden_size` is that of the text model behind the tower, its own is `embed_dim`.
    size = tower.integer("embed_dim", "vt_hidden_size", "hidden_size", "width", "d_model", default=0, least=0)
    layers = tower.integer(
        "num_hidden_layers",
        "depth",
        "vt_num_hidden_layers",
        "layers",
        "encoder_layers",
        default=0,
        least=0,
        most=10_000,
    )
    layers += tower.integer("num_global_layers", default=0, least=0, most=10_000)
    if not size or not layers:
        return 0.0
    mlp = tower.integer("intermediate_size", "vt_intermediate_size", "encoder_ffn_dim", default=4 * size)
    patch = tower.integer("patch_size", default=14)
    merged = tower.integer("spatial_merge_size", default=1) ** 2
    per_layer = 4 * size * size + 2 * size * mlp
    return float(layers * per_layer + 3 * patch * patch * size + merged * size * (merged * size + text_hidden))
