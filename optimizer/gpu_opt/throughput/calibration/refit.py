"""Refit the few constants that a stack needs to one's own runs, held to the model's values by a ridge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gpu_opt.errors import InputError, Problem
from gpu_opt.throughput.accuracy.report import Skipped, quantile
from gpu_opt.throughput.accuracy.row_model import number
from gpu_opt.throughput.accuracy.training_points import Point, point_of
from gpu_opt.throughput.accuracy.training_predict import Resolved, batch_of, resolve
from gpu_opt.throughput.calibration.profile import Calibration
from gpu_opt.throughput.training.constants import stack_constants
from gpu_opt.throughput.training.intervals import P90_SCORE
from gpu_opt.throughput.training.step import step

Array = npt.NDArray[np.float64]
LEAST_RUNS = 3
_NOISE_LOG_SD = 0.03  # of one measurement
_LEAST_LOG_SD = 0.04
# How far a constant may move (its logarithm's prior standard deviation), in the order in which runs pay for them.
_MOVES = (("efficiency", 0.20), ("elementwise", 0.25), ("launch_ms", 0.4))
_LINKED_MOVES = (("scaleup_share", 0.2), ("network_share", 0.3))
_RUNS_PER_CONSTANT = 2
_ITERATIONS = 8
_NUDGE = 1e-4
_SHARES = frozenset({"scaleup_share", "network_share"})


def calibrate(rows: Sequence[Mapping[str, str]], name: str) -> Calibration:
    """Constants refitted to runs of one stack; InputError for too few usable runs or for several stacks."""
    resolved, measured = _usable(rows)
    stack = _one_stack([each.point for each in resolved])
    moves = _moves(resolved)
    prior = stack_constants(stack)
    target = np.log(np.array(measured))
    before = _log_error(resolved, target, stack, prior)
    fitted = _fit(resolved, target, stack, prior, moves)
    left_out = _leave_one_out(resolved, target, stack, prior, moves)
    log_sd = max(_LEAST_LOG_SD, float(np.sqrt(np.mean(left_out**2))) * math.sqrt(1.0 + 1.0 / len(measured)))
    return Calibration(
        name=name,
        stack=stack,
        constants={key: float(f"{fitted[key]:.6g}") for key, _ in moves},
        gpus=tuple(sorted({each.point.accelerator.name for each in resolved})),
        runs=len(measured),
        log_sd=float(f"{log_sd:.4g}"),
        low_ratio=float(f"{math.exp(-P90_SCORE * log_sd):.4g}"),
        high_ratio=float(f"{math.exp(P90_SCORE * log_sd):.4g}"),
        median_error_before=_median_error(before),
        median_error_after=_median_error(left_out),
    )


def _usable(rows: Sequence[Mapping[str, str]]) -> tuple[list[Resolved], list[float]]:
    resolved: list[Resolved] = []
    measured: list[float] = []
    reasons: list[str] = []
    for place, row in enumerate(rows):
        point = point_of({"id": str(place + 1), **row})
        speed = number(row.get("tokens_per_s_per_gpu"))
        if isinstance(point, Skipped):
            reasons.append(point.reason)
        elif not speed or speed <= 0:
            reasons.append("tokens_per_s_per_gpu is blank")
        else:
            resolved.append(resolve(point))
            measured.append(speed)
    if len(measured) < LEAST_RUNS:
        detail = f" ({reasons[0]})" if reasons else ""
        what = f"{len(measured)} usable runs{detail}, and at least {LEAST_RUNS} are needed."
        raise InputError(Problem(what=what, remedy="Add runs of the same stack, of different sizes or layouts."))
    return resolved, measured


def _one_stack(points: Sequence[Point]) -> str:
    names = sorted({point.stack.name for point in points})
    if len(names) > 1:
        what = f"runs of several stacks: {', '.join(names)}."
        raise InputError(Problem(what=what, remedy="Calibrate each stack from its own file."))
    return names[0]


def _moves(resolved: Sequence[Resolved]) -> tuple[tuple[str, float], ...]:
    """The constants that these runs can tell apart: one for every two runs, links only where runs use them."""
    linked = any(each.point.gpus > 1 for each in resolved)
    crossing = any(each.point.gpus > each.device.scaleup_domain[0] for each in resolved)
    candidates = list(_MOVES)
    if crossing:
        candidates.insert(1, _LINKED_MOVES[1])
    elif linked:
        candidates.insert(1, _LINKED_MOVES[0])
    return tuple(candidates[: max(1, len(resolved) // _RUNS_PER_CONSTANT)])


def _moved(prior: Mapping[str, float], moves: Sequence[tuple[str, float]], shift: Array) -> dict[str, float]:
    values = dict(prior)
    for (name, _), by in zip(moves, shift, strict=True):
        value = prior[name] * math.exp(by)
        values[name] = min(value, 0.98) if name in _SHARES else value
    return values


def _log_error(resolved: Sequence[Resolved], target: Array, stack: str, constants: Mapping[str, float]) -> Array:
    batch = batch_of(resolved, {stack: constants})
    return np.asarray(np.log(step(batch.runs).tokens_per_second_per_gpu) - target)


def _fit(
    resolved: Sequence[Resolved],
    target: Array,
    stack: str,
    prior: Mapping[str, float],
    moves: Sequence[tuple[str, float]],
) -> dict[str, float]:
    """Gauss-Newton on log errors and the ridge; the problem has a handful of unknowns and is nearly linear."""
    spread = np.array([sd for _, sd in moves])

    def residuals(shift: Array) -> Array:
        error = _log_error(resolved, target, stack, _moved(prior, moves, shift)) / _NOISE_LOG_SD
        return np.concatenate([error, shift / spread])

    shift = np.zeros(len(moves))
    for _ in range(_ITERATIONS):
        base = residuals(shift)
        slopes = np.stack([_slope(residuals, shift, base, place) for place in range(len(moves))], axis=1)
        shift = shift - np.linalg.lstsq(slopes, base, rcond=None)[0]
        shift = np.clip(shift, -3.0 * spread, 3.0 * spread)
    return _moved(prior, moves, shift)


def _slope(residuals: Callable[[Array], Array], shift: Array, base: Array, place: int) -> Array:
    nudged = shift.copy()
    nudged[place] += _NUDGE
    return (residuals(nudged) - base) / _NUDGE


def _leave_one_out(
    resolved: Sequence[Resolved],
    target: Array,
    stack: str,
    prior: Mapping[str, float],
    moves: Sequence[tuple[str, float]],
) -> Array:
    errors = []
    for place in range(len(resolved)):
        others = [each for index, each in enumerate(resolved) if index != place]
        fitted = _fit(others, np.delete(target, place), stack, prior, moves)
        errors.append(_log_error([resolved[place]], target[place : place + 1], stack, fitted)[0])
    return np.array(errors)


def _median_error(log_errors: Array) -> float:
    return float(f"{quantile([abs(math.expm1(each)) for each in log_errors], 0.5):.4g}")
