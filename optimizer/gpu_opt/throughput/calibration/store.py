"""A calibration as a file: what `calibrate` writes and `plan` reads."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.training.constants import STACK_CONSTANTS, stacks

SCHEMA = "gpu-opt/calibration/1"
_REMEDY = "Write it anew with `gpu-opt calibrate`."


def dump_calibration(calibration: Calibration) -> dict[str, object]:
    """The document of a calibration."""
    return {"schema": SCHEMA, **asdict(calibration)}


def load_calibration(text: str, file: str = "") -> Calibration:
    """A calibration from its document; InputError when it is none, or names what the model doesn't know."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
            raise ValueError(f"no {SCHEMA} document")
        gpus, notes = tuple(document.pop("gpus", ())), tuple(document.pop("notes", ()))
        calibration = Calibration(gpus=gpus, notes=notes, **document)
        _check(calibration)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(Problem(file=file, what="not a calibration.", remedy=_REMEDY)) from error
    return calibration


def _check(calibration: Calibration) -> None:
    if calibration.stack not in stacks() or not isinstance(calibration.name, str):
        raise ValueError(calibration.stack)
    for name, value in calibration.constants.items():
        if name not in STACK_CONSTANTS or not math.isfinite(value) or value <= 0:
            raise ValueError(name)
    if not 0 < calibration.low_ratio <= 1 <= calibration.high_ratio or not calibration.log_sd >= 0:
        raise ValueError("interval")
