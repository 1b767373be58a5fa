"""Fit the serving constants to measured points, and say how far off they are where they never saw the data.

    python tools/fit_serving.py POINTS.csv [--write] [--folds 4]

POINTS.csv has the serving columns of the accuracy report and, where known, `quality` (C is not fitted on).
The constants' priors stay in the table; `--write` replaces the values, the intervals and the committed points.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gpu_opt.throughput.accuracy.row_model import model_of
from gpu_opt.throughput.accuracy.serving import CELLS, find_accelerator, measured_value
from gpu_opt.throughput.accuracy.serving_rows import point_of
from gpu_opt.throughput.serving.constants import Constants, load_constants
from gpu_opt.throughput.serving.points import ServingPoint, bundle_points, predict_bundle, predict_points
from gpu_opt.throughput.serving.replica import SLOTS, Factors, slot_keys, stack_factors
from gpu_opt.throughput.serving.scenarios import SCENARIOS
from gpu_opt.throughput.serving.tables import read_rows

DATA = Path(__file__).parents[1] / "optimizer" / "gpu_opt" / "throughput" / "data"
Row = dict[str, str]
Theta = dict[tuple[str, str], float]

LOG_SD = {
    "weight_bandwidth": 0.1, "kv_bandwidth": 0.15, "decode_flops": 0.2, "prefill_flops": 0.15, "layer_us": 0.25,
    "sequence_us": 0.4, "moe_layer_us": 0.4, "step_us": 0.3, "hop_us": 0.3, "hop_growth": 0.3, "link_bandwidth": 0.2,
    "exchange_us": 0.4, "exchange_bandwidth": 0.3, "request_ms": 0.4, "closed_ms": 0.6, "crowd": 0.8,
    "burst": 0.5, "mixed_us": 0.5,
    "expert_bandwidth": 0.15, "expert_flops": 0.15, "score_flops": 0.3, "overlap": 0.1, "expert_coverage": 0.15,
    "prefill_share": 0.15, "queue": 0.4, "first_steps": 0.4, "decode_growth": 0.3, "prefill_half_tokens": 0.3,
}  # fmt: skip
BASE_SD_RATIO = 3.0
RIDGE = 0.25
RIDGE_LATER = 0.12
HOLD = 8.0
FITTED = ("closed", "static", "decode", "prefill", "offline")
SCALE = 0.12
FIRST_SCALE = 0.06
NUDGE = 1e-3
FAMILY_POWER = 0.25
METRIC_WEIGHT = {
    "throughput_out_tok_s": 1.0, "tpot_mean": 1.0, "e2e_mean": 0.7, "ttft_mean": 0.35, "ttft_p50": 0.35,
}  # fmt: skip
SOURCE_WEIGHT = {"GPS": 0.1, "DST": 0.4, "IXE": 0.1, "MLP": 0.6}
FIRST_STAGE = ("SIL",)
FIT_SOURCE = "fit of tools/fit_serving.py to public benchmarks of 2023-2026"
FIT_DATE = "2026-12"
LATER = ("decode_growth", "request_ms", "queue")
LEAST_POINTS = 40
LEAST_FAMILIES = 4
COMMITTED = 1450
POINT_COLUMNS = (
    "id", "source", "source_date", "engine", "engine_version", "model", "params_b", "active_params_b", "gpu",
    "gpu_mem_gb", "n_gpus", "tp", "pp", "ep", "dp", "weight_precision", "kv_precision", "input_len", "output_len",
    "concurrency_or_batch", "request_rate", "scenario", "disagg", "spec_decode", "throughput_out_tok_s",
    "derived_out_tok_s", "ttft_ms", "ttft_stat", "ttft_p50_ms", "ttft_p99_ms", "tpot_ms", "tpot_stat", "tpot_p99_ms",
    "e2e_ms", "e2e_stat", "e2e_p99_ms",
)  # fmt: skip


def family(row: Row) -> tuple[str, ...]:
    """A configuration family: model, GPU, engine and weight precision."""
    return (row["model"], row["gpu"], row["engine"], row["weight_precision"])


def values_of(row: Row) -> dict[str, float]:
    """Measured metrics of a row, latencies in seconds, by the model's own names."""
    found = {}
    for cell, name in CELLS:
        value = measured_value(row, cell)
        if value is not None and value > 0:
            found.setdefault(name, value if name.startswith("throughput") else value / 1e3)
    return found


class Stack:
    """Points of some rows, stacked by scenario, their layout choice frozen, with their measurements."""

    def __init__(self, rows: Sequence[Row], points: dict[str, ServingPoint], constants: Constants, cap: int) -> None:
        rng = np.random.default_rng(0)
        grouped: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in rows:
            if row["id"] in points:
                grouped[family(row)].append(row)
        self.rows: dict[str, Row] = {}
        for members in grouped.values():
            chosen = members
            if len(members) > cap:
                chosen = [members[i] for i in sorted(rng.choice(len(members), cap, replace=False))]
            self.rows.update({row["id"]: row for row in chosen})
        frozen = _freeze([points[name] for name in self.rows], constants)
        self.bundles = bundle_points(frozen)
        self.keys = [[slot_keys(replica) for replica in bundle.replicas] for bundle in self.bundles]
        self.counts = Counter(family(row) for row in self.rows.values())

    def places(self, least_families: int = 2) -> set[tuple[str, str]]:
        """Constants that at least some families depend on."""
        seen: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
        for bundle, keys in zip(self.bundles, self.keys, strict=True):
            for name, by_slot in zip(bundle.ids, keys, strict=True):
                for slot, used in by_slot.items():
                    for key in used:
                        seen[slot, key].add(family(self.rows[name]))
        return {place for place, families in seen.items() if len(families) >= least_families}

    def index(self, place: dict[tuple[str, str], int]) -> None:
        """Remember which parameter each entry's slots use."""
        self.used = []
        for keys in self.keys:
            table = {}
            for slot in SLOTS:
                width = max(len(by_slot[slot]) for by_slot in keys)
                table[slot] = np.full((len(keys), width), len(place))
                for i, by_slot in enumerate(keys):
                    for j, key in enumerate(by_slot[slot]):
                        table[slot][i, j] = place.get((slot, key), len(place))
            self.used.append(table)

    def outcomes(self, theta: np.ndarray, moved: str = "") -> list[dict[str, np.ndarray]]:
        """Predictions by bundle at log constants `theta`, those of the slot `moved` a little higher."""
        padded = np.append(theta, 0.0)
        found = []
        for bundle, table in zip(self.bundles, self.used, strict=True):
            logs = {slot: padded[table[slot]].sum(axis=1) + (NUDGE if slot == moved else 0.0) for slot in SLOTS}
            factors = Factors(**{slot: np.exp(values) for slot, values in logs.items()})
            found.append(predict_bundle(bundle, factors))
        return found


def _freeze(points: Sequence[ServingPoint], constants: Constants) -> list[ServingPoint]:
    """Keep the layout of highest capacity where a row leaves the choice open."""
    kept = {}
    for bundle in bundle_points([point for point in points if len(point.candidates) > 1]):
        scenario = SCENARIOS["offline" if bundle.scenario in ("open", "server") else bundle.scenario]
        factors = stack_factors(bundle.replicas, constants)
        outcome = scenario(bundle.facts, factors, bundle.load, bundle.users, bundle.rate)
        capacity = outcome["capacity"] * bundle.copies
        for i, name in enumerate(bundle.ids):
            end = bundle.starts[i + 1] if i + 1 < len(bundle.starts) else len(capacity)
            kept[name] = int(np.argmax(capacity[bundle.starts[i] : end]))
    return [
        dataclasses.replace(point, candidates=(point.candidates[kept[point.id]],)) if point.id in kept else point
        for point in points
    ]


def priors() -> Theta:
    """Logarithms of the table's priors."""
    return {(row["slot"], row["key"]): math.log(float(row["prior"])) for row in read_rows("serving_constants.csv")}


def spread(place: tuple[str, str]) -> float:
    """How far a constant may move from its prior: bases further, memory types little."""
    if place[0] == "weight_bandwidth" and place[1].startswith("memory:"):
        return 0.05
    wide = place[1] == "base" and place[0] != "overlap"
    return LOG_SD[place[0]] * (BASE_SD_RATIO if wide else 1.0)


def fit(stack: Stack, start: Theta | None = None, steps: int = 14, scale: float = SCALE) -> Theta:
    """Soft-L1 on log errors with a ridge to the priors; constants of `start` are held near their values."""
    prior_of = priors()
    places = sorted(stack.places() | set(prior_of) | set(start or {}))
    stack.index({place: i for i, place in enumerate(places)})
    held = start or {}
    prior = np.array([held.get(place, prior_of.get(place, 0.0)) for place in places])
    free = RIDGE_LATER if held else RIDGE
    ridge = np.array([(HOLD if place in held else free) / spread(place) for place in places])
    targets = _targets(stack)

    def plain(theta: np.ndarray, slot: str = "") -> list[np.ndarray]:
        outcomes = stack.outcomes(theta, slot)
        return [
            weights * np.clip(np.log(np.maximum(outcomes[index][metric][where], 1e-9)) - logs, -3.0, 3.0)
            for index, metric, where, logs, weights in targets
        ]

    def residuals(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([*(_soft(part, scale) for part in plain(theta)), (theta - prior) * ridge])

    def jacobian(theta: np.ndarray) -> np.ndarray:
        """By slot: what an entry's factor moves is what each of the constants in it moves."""
        base = plain(theta)
        soft = [_soft(part, scale) for part in base]
        edges = np.cumsum([0, *(len(part) for part in base)])
        found = np.zeros((int(edges[-1]) + len(theta), len(theta) + 1))
        for slot in SLOTS:
            moved = plain(theta, slot)
            for k, (index, _, where, _, _) in enumerate(targets):
                slope = (_soft(moved[k], scale) - soft[k]) / NUDGE
                lines = np.arange(edges[k], edges[k + 1])
                for column in stack.used[index][slot][where].T:
                    found[lines, column] += slope
        found = found[:, :-1]
        found[int(edges[-1]) :] = np.diag(ridge)
        return found

    return dict(zip(places, _levenberg_marquardt(residuals, jacobian, prior.copy(), steps), strict=True))


def _soft(plain: np.ndarray, scale: float) -> np.ndarray:
    """Signed residuals whose squares are the soft-L1 loss."""
    return np.sign(plain) * scale * np.sqrt(2.0 * (np.sqrt(1.0 + (plain / scale) ** 2) - 1.0))


def _targets(stack: Stack) -> list[tuple[int, str, np.ndarray, np.ndarray, np.ndarray]]:
    found = []
    for index, bundle in enumerate(stack.bundles):
        measured = [values_of(stack.rows[name]) for name in bundle.ids]
        for metric, weight in METRIC_WEIGHT.items():
            if metric.startswith(("ttft", "tpot", "e2e")) and bundle.scenario == "server":
                weight *= 0.5
            where = np.array([i for i, values in enumerate(measured) if metric in values], dtype=int)
            if not where.size or metric not in _metrics_of(bundle.scenario):
                continue
            logs = np.log([measured[i][metric] for i in where])
            names = [bundle.ids[i] for i in where]
            weights = [
                weight * stack.counts[family(stack.rows[n])] ** -FAMILY_POWER * SOURCE_WEIGHT.get(n[:3], 1.0)
                for n in names
            ]
            found.append((index, metric, where, logs, np.array(weights)))
    return found


def _metrics_of(scenario: str) -> tuple[str, ...]:
    if scenario == "decode":
        return ("throughput_out_tok_s", "tpot_mean")
    if scenario == "prefill":
        return ("ttft_mean",)
    if scenario == "offline":
        return ("throughput_out_tok_s", "tpot_mean")
    if scenario == "static":
        return ("throughput_out_tok_s", "tpot_mean", "ttft_mean", "e2e_mean")
    return tuple(METRIC_WEIGHT)


def _levenberg_marquardt(
    residuals: Callable[[np.ndarray], np.ndarray],
    slopes: Callable[[np.ndarray], np.ndarray],
    theta: np.ndarray,
    steps: int,
) -> np.ndarray:
    current, damping = residuals(theta), 1e-2
    cost = float(current @ current)
    for _ in range(steps):
        jacobian = slopes(theta)
        normal, gradient = jacobian.T @ jacobian, jacobian.T @ current
        for _ in range(6):
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-6), gradient)
            trial = theta + np.clip(step, -0.5, 0.5)
            after = residuals(trial)
            if float(after @ after) < cost:
                break
            damping *= 4.0
        else:
            break
        gain = 1.0 - float(after @ after) / cost
        theta, current, cost, damping = trial, after, float(after @ after), max(damping / 3.0, 1e-5)
        if gain < 1e-3:
            break
    return theta


def fit_all(rows: Sequence[Row], points: dict[str, ServingPoint], cap: int = 8) -> Theta:
    """First today's serving engines under load, then everything else beside those constants."""
    usable = [r for r in rows if not r["disagg"] and r["id"] in points and points[r["id"]].scenario in FITTED]
    first = Stack([r for r in usable if r["id"][:3] in FIRST_STAGE], points, load_constants(), 16)
    start: Theta = {}
    if first.rows:
        known_places, fitted = first.places(1), fit(first, scale=FIRST_SCALE)
        start = {place: value for place, value in fitted.items() if place in known_places and place[0] not in LATER}
    known = constants_of({**priors(), **start})
    return fit(Stack(usable, points, known, cap), start=start)


def constants_of(theta: Theta) -> Constants:
    """Constants from their logarithms."""
    return Constants(value={place: math.exp(value) for place, value in theta.items()})


def errors_of(rows: Sequence[Row], points: dict[str, ServingPoint], theta: Theta) -> list[tuple[str, str, float]]:
    """(id, metric, log of predicted over measured) of each measurement."""
    predicted = predict_points([points[r["id"]] for r in rows if r["id"] in points], constants_of(theta))
    found = []
    for row in rows:
        for metric, value in values_of(row).items():
            guess = predicted.get(row["id"], {}).get(metric, 0.0)
            if guess > 0:
                found.append((row["id"], metric, math.log(guess / value)))
    return found


def held_out(
    rows: Sequence[Row], points: dict[str, ServingPoint], key: Callable[[Row], object], folds: int
) -> list[tuple[str, str, float]]:
    """Errors of each row under constants fitted without the fold that its group is in."""
    found = []
    fold_of = {value: zlib.crc32(repr(value).encode()) % folds for value in {key(row) for row in rows}}
    for fold in range(folds):
        test = [row for row in rows if fold_of[key(row)] == fold]
        if test:
            train = [row for row in rows if fold_of[key(row)] != fold]
            found += errors_of(test, points, fit_all(train, points, cap=6))
    return found


def load_points(path: Path) -> tuple[list[Row], dict[str, ServingPoint]]:
    """Rows that may be fitted on, and the points that they describe."""
    with path.open(encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table) if row.get("quality", "A") in ("A", "B")]
    points = {}
    for row in rows:
        if row["id"].startswith("IPF"):
            row.update(_per_token(row))
        point = point_of(row, find_accelerator, model_of)
        if isinstance(point, ServingPoint):
            points[row["id"]] = point
    return rows, points


def _per_token(row: Row) -> Row:
    """Cells of inference-perf, which averages time per token over stream chunks of two: the mean by its definition."""
    blank = {name: "" for name in row if name.startswith(("tpot_", "itl_"))}
    seconds, tokens = float(row["e2e_ms"]) - float(row["ttft_ms"]), float(row["output_len"]) - 1.0
    return {**blank, "tpot_ms": f"{seconds / tokens:.5g}", "tpot_stat": "mean"}


def write_constants(theta: Theta) -> None:
    """Replace the values in the constants' table, keeping priors; factors within 0.5 % of 1 are left out."""
    known = {(row["slot"], row["key"]): row for row in read_rows("serving_constants.csv")}
    lines = []
    for place in sorted(theta, key=lambda p: (p[0], p[1] != "base", p[1])):
        value, row = math.exp(theta[place]), known.get(place)
        if place[1] != "base" and abs(value - 1.0) < 0.005 and (row is None or float(row["prior"]) == 1.0):
            continue
        prior = row["prior"] if row else "1"
        unit = row["unit"] if row else "factor"
        lines.append([*place, f"{value:.4g}", unit, prior, FIT_SOURCE, FIT_DATE])
    _write("serving_constants.csv", ["slot", "key", "value", "unit", "prior", "source", "source_date"], lines)


def write_intervals(
    rows: Sequence[Row], points: dict[str, ServingPoint], errors: Sequence[tuple[str, str, float]]
) -> None:
    """P10–P90 of measured over predicted by metric and class, from errors on families left out of the fit."""
    family_of = {row["id"]: family(row) for row in rows}
    grouped: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for name, metric, error in errors:
        if metric in _page_metrics():
            scenario = f"scenario:{points[name].scenario}"
            accelerator = points[name].candidates[0].replica.accelerator
            for group in (
                "all",
                scenario,
                f"{scenario}|vendor:{accelerator.vendor}",
                f"vendor:{accelerator.vendor}",
                f"architecture:{accelerator.architecture}",
            ):
                grouped[metric, group].append((name, -error))
    lines = []
    for (metric, group), members in sorted(grouped.items()):
        logs = np.array([error for _, error in members])
        families = {family_of[name] for name, _ in members}
        if group != "all" and (len(logs) < LEAST_POINTS or len(families) < LEAST_FAMILIES):
            continue
        low, high = np.exp(np.quantile(logs, [0.1, 0.9]))
        shared, own = _split_spread(members, family_of)
        numbers = [f"{value:.3f}" for value in (min(low, 1.0), max(high, 1.0), shared, own)]
        lines.append([metric, group, *numbers, str(len(logs)), "families left out of the fit", FIT_DATE])
    header = ["metric", "group", "low_ratio", "high_ratio", "shared_log_sd", "own_log_sd", "points", "source"]
    _write("serving_intervals.csv", [*header, "source_date"], lines)


def _page_metrics() -> tuple[str, ...]:
    return ("throughput_out_tok_s", "tpot_mean", "tpot_p99", "ttft_mean", "ttft_p99", "e2e_mean", "e2e_p99")


def _split_spread(members: Sequence[tuple[str, float]], family_of: dict[str, tuple[str, ...]]) -> tuple[float, float]:
    """Standard deviations of what a workload (model, engine, precision) has in common, and of the rest."""
    by_workload: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for name, error in members:
        model, _, engine, precision = family_of[name]
        by_workload[model, engine, precision].append(float(np.clip(error, -1.0, 1.0)))
    shared = float(np.std([np.mean(values) for values in by_workload.values()]))
    own = float(np.sqrt(np.mean([np.var(values) for values in by_workload.values()])))
    return shared, max(own, 0.05)


def write_points(rows: Sequence[Row], points: dict[str, ServingPoint]) -> None:
    """Commit a spread of measured points, each with its source: the accuracy page is made from them."""
    grouped: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["id"] in points:
            grouped[(row["id"][:3], *family(row))].append(row)
    per_family = 1
    while sum(min(len(members), per_family + 1) for members in grouped.values()) <= COMMITTED:
        per_family += 1
    chosen = []
    for _, members in sorted(grouped.items()):
        steps = np.linspace(0, len(members) - 1, min(len(members), per_family)).round().astype(int)
        chosen += [members[i] for i in sorted(set(steps.tolist()))]
    columns = [name for name in POINT_COLUMNS if name in chosen[0]]
    _write("serving_points.csv", columns, [[row[name] for name in columns] for row in chosen])


def write_held_out(errors_by: dict[str, list[tuple[str, str, float]]]) -> None:
    """Median error and share within 20 % of what was left out of the fit."""
    lines = []
    for label, errors in errors_by.items():
        for metric in _page_metrics():
            values = [abs(math.expm1(error)) for _, name, error in errors if name == metric]
            if values:
                within = sum(value <= 0.2 for value in values) / len(values)
                column = metric if metric.startswith("throughput") else metric.removesuffix("_mean") + "_ms"
                lines.append([label, column, str(len(values)), f"{np.median(values):.4f}", f"{within:.4f}"])
    header = ["held_out", "metric", "points", "median_ape", "within_20pct", "source", "source_date"]
    _write("serving_held_out.csv", header, [[*line, FIT_SOURCE, FIT_DATE] for line in lines])


def _write(name: str, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    with (DATA / name).open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def show(errors: Sequence[tuple[str, str, float]], label: str, points: dict[str, ServingPoint]) -> None:
    """Print median and mean error by metric and kind of benchmark."""
    grouped: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, metric, error in errors:
        if metric in (*_page_metrics(), "ttft_p50"):
            for group in ("all", f"{name[:3]} {points[name].scenario}"):
                grouped[metric, group].append(abs(math.expm1(error)))
    for (metric, group), values in sorted(grouped.items()):
        within = sum(value <= 0.2 for value in values) / len(values)
        print(
            f"{label:12} {metric:22} {group:14} {len(values):5} median {np.median(values):6.1%} "
            f"mean {np.mean(values):6.1%} within 20 % {within:4.0%}",
            flush=True,
        )


def main() -> None:
    """Fit, report, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", type=Path)
    parser.add_argument("--write", action="store_true", help="replace constants, intervals and committed points")
    parser.add_argument("--folds", type=int, default=4, help="folds of the held-out errors; 0 skips them")
    options = parser.parse_args()
    rows, points = load_points(options.points)
    theta = fit_all(rows, points)
    show(errors_of(rows, points, theta), "seen", points)
    if options.write:
        write_constants(theta)
        write_points(rows, points)
    if not options.folds:
        return
    found = {}
    for label, key in (("family", family), ("GPU", lambda row: row["gpu"]), ("model", lambda row: row["model"])):
        found[label] = held_out(rows, points, key, options.folds)
        show(found[label], label, points)
        if options.write:
            write_held_out(found)
            if label == "family":
                write_intervals(rows, points, found[label])


if __name__ == "__main__":
    main()
