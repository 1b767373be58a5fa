"""Language models: published ones by name, configurations, and shapes from a few sizes."""

from __future__ import annotations

from gpu_opt.domain.names import UnknownName
from gpu_opt.models.assumed import assumed
from gpu_opt.models.config import from_config, from_config_file
from gpu_opt.models.given import from_fields
from gpu_opt.models.parameters import ParameterCount, count_parameters
from gpu_opt.models.presets import find, preset, preset_names, published_params_billion

__all__ = [
    "ParameterCount",
    "UnknownName",
    "assumed",
    "count_parameters",
    "find",
    "from_config",
    "from_config_file",
    "from_fields",
    "preset",
    "preset_names",
    "published_params_billion",
]
