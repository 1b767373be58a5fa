"""Accelerators, instance shapes, systems that can be bought, and where regions lie.

Data tables lie beside the code; each row carries its source, and `confidence` says how far to trust it.
"""

from __future__ import annotations

from gpu_opt.domain.names import UnknownName, nearest
from gpu_opt.hardware.accelerators import canonical_gpu, link_of, load_accelerators, match_gpus
from gpu_opt.hardware.regions import countries_in, country_of
from gpu_opt.hardware.shapes import shape_of, shape_table, system_shape
from gpu_opt.hardware.systems import find_system, load_systems

__all__ = [
    "UnknownName",
    "canonical_gpu",
    "countries_in",
    "country_of",
    "find_system",
    "link_of",
    "load_accelerators",
    "load_systems",
    "match_gpus",
    "nearest",
    "shape_of",
    "shape_table",
    "system_shape",
]
