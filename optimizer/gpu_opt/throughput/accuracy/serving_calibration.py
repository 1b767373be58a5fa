"""Refit of the serving constants to a user's own points: one factor on decoding and one on prefill, per engine."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from gpu_opt.throughput.accuracy.report import Row, quantile
from gpu_opt.throughput.accuracy.serving import evaluate
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.engines import engine_named

PRIOR_POINTS = 1.0
"""How many points the shipped constants weigh as much as."""
_DECODE_RATES = ("weight_bandwidth", "kv_bandwidth", "decode_flops")
_DECODE_TIMES = ("layer_us", "moe_layer_us", "sequence_us", "step_us")
_ROUNDS = 4


def calibrated_constants(rows: Iterable[Mapping[str, str]], constants: Constants | None = None) -> Constants:
    """Constants whose decoding and prefill of each engine meet the median error of its points, shrunk to the priors.

    Decoding is judged by TPOT, or by throughput where there is none; prefill by TTFT. Prefill of few tokens and
    waiting don't scale with the factor, so a few rounds are taken.
    """
    cells = [dict(row, id=str(index)) for index, row in enumerate(rows)]
    engine_of = {row["id"]: engine_named(row.get("engine", "")).name for row in cells}
    known = constants or load_constants()
    start = known
    for _ in range(_ROUNDS):
        factors: dict[tuple[str, str], float] = {}
        for engine, (decode, prefill) in sorted(_errors(evaluate(cells, known).rows, engine_of).items()):
            slower = _shrunk(decode)
            factors.update({(slot, f"engine:{engine}"): 1.0 / slower for slot in _DECODE_RATES})
            factors.update({(slot, f"engine:{engine}"): slower for slot in _DECODE_TIMES})
            if prefill:
                factors["prefill_flops", f"engine:{engine}"] = 1.0 / _shrunk(prefill)
        known = known.scaled(factors)
    return known if cells else start


def _errors(rows: Iterable[Row], engine_of: Mapping[str, str]) -> dict[str, tuple[list[float], list[float]]]:
    """By engine: logarithms of measured over predicted time of decoding, and of prefill."""
    by_id: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.measured is not None and row.measured > 0:
            by_id[row.id][row.metric] = math.log(row.measured / row.predicted)
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for name, errors in by_id.items():
        decode, prefill = found[engine_of[name]]
        if "tpot_ms" in errors:
            decode.append(errors["tpot_ms"])
        elif "throughput_out_tok_s" in errors:
            decode.append(-errors["throughput_out_tok_s"])
        if "ttft_ms" in errors:
            prefill.append(errors["ttft_ms"])
    return dict(found)


def _shrunk(errors: list[float]) -> float:
    """The median error as a factor, drawn to 1 the less points there are."""
    if not errors:
        return 1.0
    return math.exp(quantile(errors, 0.5) * len(errors) / (len(errors) + PRIOR_POINTS))
