"""A serving calibration: factors on the serving constants that one's own points ask for, as a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.throughput.accuracy.report import Report, summary
from gpu_opt.throughput.accuracy.serving import evaluate
from gpu_opt.throughput.accuracy.serving_calibration import calibrated_constants
from gpu_opt.throughput.calibration.store import SCHEMA
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.replica import SLOTS

KIND = "serving"
_REMEDY = "Write it anew with `gpu-opt calibrate`."
_WIDEST = 100.0
_FOLDS = 5
_JUDGED = ("throughput_out_tok_s", "tpot_ms")


@record
class ServingCalibration:
    """Factors on the shipped constants by `slot key`, and the error on the points before and with each left out."""

    name: str
    points: int
    factors: Mapping[str, float]
    median_error_before: float
    median_error_after: float

    def constants(self) -> Constants:
        """The shipped constants times the factors."""
        places = {(place.partition(" ")[0], place.partition(" ")[2]): value for place, value in self.factors.items()}
        return load_constants().scaled(places)


def calibrate_serving(rows: Sequence[Mapping[str, str]], name: str) -> ServingCalibration:
    """Refit to measured points of serving; InputError when none can be predicted and holds a speed."""
    before = evaluate(rows)
    error = _error(before)
    if error is None:
        reasons = sorted({skipped.reason for skipped in before.skipped})
        what = f"no point can be predicted: {'; '.join(reasons[:3])}." if reasons else "no point holds a speed."
        remedy = "Give --model, --gpu, --gpus and --precision where the file leaves them out."
        raise InputError(Problem(what=what, remedy=remedy))
    known, fitted = load_constants().value, calibrated_constants(rows).value
    factors = {
        " ".join(place): value / known.get(place, 1.0)
        for place, value in sorted(fitted.items())
        if value != known.get(place, 1.0)
    }
    return ServingCalibration(
        name=name,
        points=len(rows) - len(before.skipped),
        factors=MappingProxyType({place: float(f"{value:.6g}") for place, value in factors.items()}),
        median_error_before=error,
        median_error_after=_left_out_error(rows),
    )


def _left_out_error(rows: Sequence[Mapping[str, str]]) -> float:
    """Median error of points whose fold was not fitted on; of one point alone that is the error before."""
    folds = min(_FOLDS, len(rows))
    errors = []
    for fold in range(folds):
        train = [row for i, row in enumerate(rows) if i % folds != fold]
        tested = evaluate([row for i, row in enumerate(rows) if i % folds == fold], calibrated_constants(train))
        errors += [
            abs(row.predicted / row.measured - 1.0)
            for row in tested.rows
            if row.metric == _judged(tested) and row.measured
        ]
    ordered = sorted(errors)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _judged(report: Report) -> str | None:
    return next((metric for metric in _JUDGED if metric in summary(report)), None)


def _error(report: Report) -> float | None:
    metric = _judged(report)
    return summary(report)[metric].median_ape if metric else None


def dump_serving(calibration: ServingCalibration) -> dict[str, object]:
    """The document of a serving calibration."""
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "name": calibration.name,
        "points": calibration.points,
        "factors": dict(calibration.factors),
        "median_error_before": round(calibration.median_error_before, 6),
        "median_error_after": round(calibration.median_error_after, 6),
    }


def is_serving(text: str) -> bool:
    """Whether a document says that it is a serving calibration."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA and document.get("kind") == KIND


def load_serving(text: str, file: str = "") -> ServingCalibration:
    """A serving calibration from its document; InputError when it names or holds what the model can't use."""
    try:
        document = json.loads(text)
        factors = {str(place): float(value) for place, value in document["factors"].items()}
        for place, value in factors.items():
            if place.partition(" ")[0] not in SLOTS or not 1.0 / _WIDEST <= value <= _WIDEST:
                raise ValueError(place)
        before, after = (float(document[f"median_error_{when}"]) for when in ("before", "after"))
        if not isinstance(document["name"], str) or not math.isfinite(before + after):
            raise ValueError("name")
        return ServingCalibration(
            name=document["name"],
            points=int(document["points"]),
            factors=MappingProxyType(factors),
            median_error_before=before,
            median_error_after=after,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(Problem(file=file, what="not a calibration.", remedy=_REMEDY)) from error
