"""A calibration: the few constants of a stack refitted to one's own runs, and what error is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpu_opt.records import record


@record
class Calibration:
    """Constants that replace a stack's, by name, with the error that they leave.

    `gpus` are the canonical names of the measured GPUs; others get the constants with the model's own interval.
    `log_sd` is the standard deviation of the logarithm of measured over predicted, each run left out in turn.
    """

    name: str
    stack: str
    constants: Mapping[str, float]
    gpus: tuple[str, ...] = ()
    runs: int = 0
    log_sd: float = 0.0
    low_ratio: float = 1.0
    high_ratio: float = 1.0
    median_error_before: float = 0.0
    median_error_after: float = 0.0
    notes: tuple[str, ...] = field(default=())
