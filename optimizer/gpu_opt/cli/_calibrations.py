"""Calibration files for planning: what `gpu-opt calibrate` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpu_opt.errors import InputError, Problem

if TYPE_CHECKING:
    from gpu_opt.throughput.calibration.profile import Calibration
    from gpu_opt.throughput.calibration.serving import ServingCalibration
    from gpu_opt.throughput.serving.constants import Constants

_MAX_BYTES = 2**20


def read_calibration(path: Path | None) -> Calibration | ServingCalibration | None:
    """The calibration in a file; None without one. InputError when it can't be read or is none."""
    if path is None:
        return None
    from gpu_opt.throughput.calibration.store import load_calibration

    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        remedy = "`gpu-opt calibrate` writes one."
        raise InputError(Problem(file=str(path), what=f"can't be read: {why}.", remedy=remedy)) from None
    if '"serving"' in text:
        from gpu_opt.throughput.calibration.serving import is_serving, load_serving

        if is_serving(text):
            return load_serving(text, str(path))
    return load_calibration(text, str(path))


def of_training(found: Calibration | ServingCalibration | None) -> Calibration | None:
    """The calibration where it is one of training."""
    if found is None:
        return None
    from gpu_opt.throughput.calibration.profile import Calibration

    return found if isinstance(found, Calibration) else None


def of_serving(found: Calibration | ServingCalibration | None) -> Constants | None:
    """The constants of a serving calibration; None where it is none."""
    if found is None or of_training(found) is not None:
        return None
    from gpu_opt.throughput.calibration.serving import ServingCalibration

    return found.constants() if isinstance(found, ServingCalibration) else None
