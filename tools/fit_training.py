"""Fit the training model's constants to measured runs, and report errors on what each fit never saw.

    python tools/fit_training.py measured.csv [--write] [--leave-out source|gpu|model]

Log error under a soft L1 loss, every source with equal weight, every constant held to its prior by a ridge. Priors
stand beside this file; the fitted tables are those that the product reads.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from gpu_opt.throughput.accuracy.report import Skipped
from gpu_opt.throughput.accuracy.training_points import Point, point_of
from gpu_opt.throughput.accuracy.training_predict import Batch, Resolved, batch_of, pressed, resolve
from gpu_opt.throughput.memory_training import memory
from gpu_opt.throughput.training.arrays import Runs, Stack
from gpu_opt.throughput.training.compute import model_flops_per_token
from gpu_opt.throughput.training.constants import STACK_CONSTANTS, family_of, stacks
from gpu_opt.throughput.training.step import step

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent
DATA = HERE.parent / "optimizer" / "gpu_opt" / "throughput" / "data"
SOFT = 0.10
NUDGE = 1e-4
GROUP_SHARE = 0.7  # of what a stack may move alone, its group may move together
LEAST_RUNS_OF_A_MODEL = 40
LEAST_UTILISATION = 0.15
SHARES = frozenset({"selective", "scaleup_share", "network_share", "tp_overlap", "dp_overlap", "gather_overlap",
                    "fsdp_overlap", "cp_overlap", "ep_overlap", "rails"})  # fmt: skip
# How far (in log or logit) a constant may move for all stacks together, and for one stack on its own.
COMMON_SD = {
    "efficiency": 0.02, "elementwise": 0.2, "launch_ms": 0.5, "step_seconds": 0.5, "selective": 0.3,
    "scaleup_share": 0.4, "network_share": 0.4, "tp_overlap": 0.5, "dp_overlap": 0.5, "gather_overlap": 0.5,
    "fsdp_overlap": 0.5, "cp_overlap": 0.5, "moe_factor": 0.2, "moe_launch_ms": 0.5, "ep_overlap": 0.5,
    "tp_launch_ms": 0.5, "pp_launch_ms": 0.5, "dequantise": 0.3, "adapter": 0.3, "hop_us": 0.5,
    "network_decay": 0.8, "rails": 0.5,
    "jitter": 0.5,
}  # fmt: skip
OWN_SD = {
    "efficiency": 0.08, "elementwise": 0.25, "launch_ms": 0.5, "step_seconds": 0.7, "selective": 0.3,
    "scaleup_share": 0.3, "network_share": 0.3, "tp_overlap": 0.5, "dp_overlap": 0.5, "gather_overlap": 0.5,
    "fsdp_overlap": 0.5, "cp_overlap": 0.5, "moe_factor": 0.3, "moe_launch_ms": 0.5, "ep_overlap": 0.5,
    "tp_launch_ms": 0.7, "pp_launch_ms": 0.7, "dequantise": 0.3, "adapter": 0.4, "hop_us": 0.4,
    "network_decay": 1.0, "rails": 0.5,
    "jitter": 0.4,
}  # fmt: skip
FAMILY_SD = {"efficiency": 0.04, "half_rows": 0.4, "half_sides": 0.4, "attention": 0.15}
FAMILY_CONSTANTS = tuple(FAMILY_SD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A measured run: its point, tokens per second and GPU, and the group that shares one weight."""

    resolved: Resolved
    measured: float
    group: str
    row: Mapping[str, str]


def read(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def stack_priors() -> dict[str, dict[str, float]]:
    """Prior constants of each stack, inherited like the product's."""
    own: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read(HERE / "training_prior_stacks.csv"):
        own[row["stack"]][row["constant"]] = float(row["value"])
    merged = {}
    for name in stacks():
        chain = [name]
        while stacks()[chain[-1]].like:
            chain.append(stacks()[chain[-1]].like)
        values = dict(own["default"])
        for each in reversed(chain):
            values.update(own.get(each, {}))
        merged[name] = values
    merged["default"] = dict(own["default"])
    return merged


def published_tokens(row: Mapping[str, str], point: Point, flops: float) -> float | None:
    """Tokens per second and GPU of a row: as measured, else from its TFLOP/s by its source's own count."""
    if row["tokens_per_s_per_gpu"]:
        return float(row["tokens_per_s_per_gpu"])
    if not row["tflops_per_gpu"]:
        return None
    tera = float(row["tflops_per_gpu"]) * 1e12
    model = point.model
    if "2104.04473" in row["source"]:
        ratio = (
            1 + point.sequence / (6 * model.hidden_size) + model.vocab_size / (16 * model.layers * model.hidden_size)
        )
        return tera / (96 * model.layers * model.hidden_size**2 * ratio)
    causal = 6.0 * model.layers * model.heads * model.head_size * point.sequence
    return tera / (flops + causal)


def group_of(row: Mapping[str, str]) -> str:
    """The source of a row; mixtures and adapters of one source weigh for themselves."""
    prefix = row["id"].split("-")[0]
    kind = "moe" if row["experts"] else row["method"] if prefix in ("mlperf", "fmsacc") else ""
    return f"{prefix}/{kind}" if kind else prefix


def clean(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Rows fit for fitting: of noisy repeats only the fastest, and none below 15 % utilisation."""
    best: dict[tuple[str, ...], Mapping[str, str]] = {}
    kept = []
    for row in rows:
        if row["stack"] != "nanotron":
            kept.append(row)
            continue
        if float(row["mfu"] or 0) < LEAST_UTILISATION:
            continue
        key = tuple(row[name] for name in ("model", "n_gpus", "micro_batch", "dp", "tp", "pp", "n_kv_heads"))
        if key not in best or float(row["tokens_per_s_per_gpu"]) > float(best[key]["tokens_per_s_per_gpu"]):
            best[key] = row
    return kept + list(best.values())


def samples_of(rows: Iterable[Mapping[str, str]]) -> list[Sample]:
    """Samples of all rows with a speed."""
    found = []
    for row in rows:
        point = point_of(row)
        if isinstance(point, Skipped):
            continue
        resolved = resolve(point)
        flops = float(model_flops_per_token(resolved.dims, resolved.task)[0])
        measured = published_tokens(row, point, flops)
        if measured:
            found.append(Sample(resolved=resolved, measured=measured, group=group_of(row), row=row))
    return found


class Problem:
    """The parameter vector and what it means."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self.batch: Batch = batch_of([sample.resolved for sample in samples])
        self.measured = np.log([sample.measured for sample in samples])
        steps = step(self.batch.runs)
        pressure = pressed(steps, memory(self.batch.runs, self.batch.rules), self.batch)
        self.slower = np.log(steps.tokens_per_second_per_gpu / pressure.tokens_per_second_per_gpu)
        self.priors = stack_priors()
        self.stack_names = [sample.resolved.point.stack.name for sample in samples]
        priors = {(r["family"], r["precision"]): r for r in read(HERE / "training_prior_gpus.csv")}
        current = {(r["family"], r["precision"]): r for r in read(DATA / "training_gpu_families.csv")}
        # The columns carry the tables in use; the fit starts from the priors.
        self.restart = {
            (key, constant): float(row[constant]) / float(current[key][constant]) * _power(row, current[key], constant)
            for key, row in priors.items()
            for constant in FAMILY_CONSTANTS
        }
        self.names: list[tuple[str, str, str]] = []
        self.sd: list[float] = []
        for constant, sd in COMMON_SD.items():
            self._add("common", "", constant, sd)
        for group in sorted({root_of(name) for name in self.stack_names}):
            for constant, sd in OWN_SD.items():
                self._add("group", group, constant, sd * GROUP_SHARE)
        for stack in sorted(set(self.stack_names)):
            for constant, sd in OWN_SD.items():
                self._add("stack", stack, constant, sd)
        self._index_families()
        for precision in ("half", "fp8"):
            for constant in FAMILY_CONSTANTS:
                self._add("all", precision, constant, FAMILY_SD[constant])
        for family, precision in sorted(set(self.linear_keys) | set(self.half_keys)):
            for constant in FAMILY_CONSTANTS:
                if constant != "attention" or precision == "half":
                    self._add("family", f"{family}/{precision}", constant, FAMILY_SD[constant])
        self.position = {name: index for index, name in enumerate(self.names)}
        groups = [sample.group for sample in samples]
        sizes = {group: groups.count(group) for group in groups}
        self.weight = np.array([(30.0 / max(sizes[group], 6)) ** 0.5 for group in groups])

    def _add(self, kind: str, owner: str, constant: str, sd: float) -> None:
        self.names.append((kind, owner, constant))
        self.sd.append(sd)

    def _index_families(self) -> None:
        self.linear_keys, self.half_keys = [], []
        for sample in self.samples:
            point = sample.resolved.point
            family = family_of(point.accelerator)
            group = "fp4" if "fp4" in point.precision else "fp8" if "fp8" in point.precision else "half"
            group = "int8" if point.precision == "int8" else group
            self.linear_keys.append((family, group))
            self.half_keys.append((family, "half"))

    def stack_values(self, theta: Array) -> dict[str, dict[str, float]]:
        """Constants of every stack under a parameter vector."""
        values = {}
        for stack, prior in self.priors.items():
            values[stack] = dict(prior)
            for constant in COMMON_SD:
                shift = theta[self.position["common", "", constant]]
                for level, owner in (("group", root_of(stack)), ("stack", stack)):
                    place = self.position.get((level, owner, constant))
                    shift += theta[place] if place is not None else 0.0
                values[stack][constant] = moved(prior[constant], shift, constant in SHARES)
        return values

    def family_factor(self, theta: Array, key: tuple[str, str], constant: str) -> float:
        """Factor of a family's prior constant."""
        own = self.position.get(("family", "/".join(key), constant))
        common = self.position["all", "half" if key[1] == "half" else "fp8", constant]
        return float(np.exp(theta[common] + (theta[own] if own is not None else 0.0)))

    def runs(self, theta: Array) -> Runs:
        """The samples' runs under a parameter vector."""
        values = self.stack_values(theta)
        columns = {}
        for constant in STACK_CONSTANTS:
            column = np.array([values[name][constant] for name in self.stack_names])
            name = constant.replace("launch_ms", "launch_seconds").replace("hop_us", "hop_seconds")
            columns[name] = column * (1e-3 if constant.endswith("_ms") else 1e-6 if constant.endswith("_us") else 1.0)
        factor = {
            (key, constant): self.family_factor(theta, key, constant) * self.restart[key, constant]
            for key in set(self.linear_keys) | set(self.half_keys)
            for constant in FAMILY_CONSTANTS
        }

        def of(keys: Sequence[tuple[str, str]], constant: str) -> Array:
            return np.array([factor[key, constant] for key in keys])

        device = self.batch.runs.device
        device = replace(
            device,
            linear_flops=device.linear_flops * of(self.linear_keys, "efficiency"),
            half_flops=device.half_flops * of(self.half_keys, "efficiency"),
            attention_flops=device.attention_flops * of(self.half_keys, "attention"),
            half_rows=device.half_rows * of(self.linear_keys, "half_rows"),
            half_sides=device.half_sides * of(self.linear_keys, "half_sides"),
        )
        return replace(self.batch.runs, device=device, stack=Stack(**columns))

    def log_error(self, theta: Array) -> Array:
        """Logarithm of predicted over measured."""
        return np.asarray(np.log(step(self.runs(theta)).tokens_per_second_per_gpu) - self.slower - self.measured)

    def residuals(self, theta: Array, weight: Array) -> Array:
        """Soft L1 residuals, weighted, and the ridge."""
        return np.concatenate([softened(self.log_error(theta)) * weight * 10.0, theta / np.array(self.sd)])

    def slopes(self, theta: Array, weight: Array) -> Array:
        """The Jacobian of `residuals`. Stacks, and families of one precision, touch disjoint rows: moved together."""
        base = softened(self.log_error(theta)) * weight * 10.0
        rows = len(self.samples)
        jacobian = np.zeros((rows + len(self.names), len(self.names)))
        jacobian[rows + np.arange(len(self.names)), np.arange(len(self.names))] = 1.0 / np.array(self.sd)
        for places, owners in self.bundles():
            nudged = theta.copy()
            nudged[places] += NUDGE
            slope = (softened(self.log_error(nudged)) * weight * 10.0 - base) / NUDGE
            for place in places:
                kind, owner, constant = self.names[place]
                mask = np.array([each == owner for each in owners])
                jacobian[:rows, place] = np.where(mask, slope, 0.0)
                precision = "half" if owner.endswith("/half") else "fp8"
                common = ("common", "", constant) if kind == "stack" else ("all", precision, constant)
                jacobian[:rows, self.position[common]] += jacobian[:rows, place]
                if kind == "stack":
                    jacobian[:rows, self.position["group", root_of(owner), constant]] += jacobian[:rows, place]
        return jacobian

    def bundles(self) -> list[tuple[list[int], list[str]]]:
        """Parameters that touch disjoint rows, with the owner of each row."""
        found = []
        for constant in COMMON_SD:
            places = [index for index, name in enumerate(self.names) if name[0] == "stack" and name[2] == constant]
            found.append((places, self.stack_names))
        for keys, is_half in ((self.half_keys, True), (self.linear_keys, False)):
            owners = ["/".join(key) for key in keys]
            for constant in FAMILY_CONSTANTS:
                places = [
                    index
                    for index, name in enumerate(self.names)
                    if name[0] == "family" and name[2] == constant and name[1].endswith("/half") == is_half
                ]
                if places:
                    found.append((places, owners))
        return found

    def fit(self, use: npt.NDArray[np.bool_] | None = None) -> Array:
        """The best parameters for the samples in use."""
        weight = self.weight if use is None else self.weight * use
        start = np.zeros(len(self.names))
        found = least_squares(
            self.residuals, start, self.slopes, args=(weight,), x_scale=np.array(self.sd), max_nfev=25, ftol=1e-4
        )
        return np.asarray(found.x)


def softened(error: Array) -> Array:
    """Log errors under the soft L1 loss, as residuals whose squares add up to it."""
    scaled = error / SOFT
    return np.asarray(np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + scaled**2) - 1.0)) * SOFT)


def _power(prior: Mapping[str, str], current: Mapping[str, str], constant: str) -> float:
    """What a changed reference of power does to rates of parts below it."""
    if constant not in ("efficiency", "attention"):
        return 1.0
    return (float(current["watts_per_tflop"]) / float(prior["watts_per_tflop"])) ** 0.5


def root_of(stack: str) -> str:
    """The stack that a stack's constants fall back on last."""
    while stack in stacks() and stacks()[stack].like:
        stack = stacks()[stack].like
    return stack


def moved(prior: float, shift: float, is_share: bool) -> float:
    """A prior moved by a shift in its logarithm, or in its logit where it is a share."""
    if not is_share:
        return float(prior * np.exp(shift))
    logit = np.log(prior / (1.0 - prior)) + shift
    return float(1.0 / (1.0 + np.exp(-logit)))


def errors_line(label: str, error: Array) -> str:
    """Median, P90 and bias of a set of log errors."""
    ape = np.abs(np.expm1(error))
    within = np.mean(ape <= 0.2)
    return (f"{label:44s} n {len(ape):4d}  median {np.median(ape):6.1%}  p90 {np.quantile(ape, 0.9):6.1%}  "
            f"within 20 % {within:5.0%}  bias {np.median(error):+.2f}")  # fmt: skip


def leave_out(problem: Problem, kind: str) -> list[dict[str, str]]:
    """Log errors of each class under a fit that never saw it, as rows of the table of left-out errors."""
    key = KEYS[kind]
    names = [key(sample) for sample in problem.samples]
    classes = sorted(name for name in set(names) if kind != "model" or names.count(name) >= LEAST_RUNS_OF_A_MODEL)
    rows: list[dict[str, str]] = []
    for name in classes:
        mask = np.array([key(sample) == name for sample in problem.samples])
        theta = problem.fit(~mask)
        error = problem.log_error(theta)[mask]
        print(errors_line(f"without {name}", error), flush=True)
        left = [sample for sample in problem.samples if key(sample) == name]
        rows += [
            {
                "left_out": kind,
                "class": name,
                "id": sample.row["id"],
                "group": sample.group,
                "gpu": sample.resolved.point.accelerator.name,
                "stack": sample.resolved.point.stack.name,
                "method": sample.resolved.point.method,
                "precision": sample.resolved.point.precision,
                "log_error": f"{each:.4f}",
            }
            for sample, each in zip(left, error, strict=True)
        ]
    return rows


KEYS: dict[str, Callable[[Sample], str]] = {
    "source": lambda sample: sample.row["id"].split("-")[0],
    "gpu": lambda sample: sample.resolved.point.accelerator.name,
    "model": lambda sample: re.sub(r"^nanotron-", "", sample.row["model"]),
}


def main(arguments: Sequence[str]) -> None:
    """Fit, report, and write the tables when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--leave-out", choices=sorted(KEYS), action="append", default=[])
    options = parser.parse_args(arguments)
    samples = samples_of(clean(read(options.measured)))
    problem = Problem(samples)
    theta = problem.fit()
    report(problem, theta)
    if options.write:
        write(problem, theta)
    rows = [row for name in options.leave_out for row in leave_out(problem, name)]
    if rows and options.write:
        _save(HERE / "training_left_out.csv", rows)


def report(problem: Problem, theta: Array) -> None:
    """Errors of the fit by group, and the constants that moved."""
    error = problem.log_error(theta)
    for group in sorted({sample.group for sample in problem.samples}):
        mask = np.array([sample.group == group for sample in problem.samples])
        print(errors_line(group, error[mask]))
    for name, value, sd in zip(problem.names, theta, problem.sd, strict=True):
        if abs(value) > 0.75 * sd:
            print(*name, f"{value:+.2f}", f"({value / sd:+.1f} sd)")


def write(problem: Problem, theta: Array) -> None:
    """Write the fitted tables that the product reads."""
    date = max(sample.row["source_date"] for sample in problem.samples)
    values = problem.stack_values(theta)
    counts = {name: problem.stack_names.count(name) for name in set(problem.stack_names)}
    rows = []
    units = {row["constant"]: row["unit"] for row in read(HERE / "training_prior_stacks.csv")}
    for row in read(HERE / "training_prior_stacks.csv"):
        stack, constant = row["stack"], row["constant"]
        if stack not in counts and constant in COMMON_SD:
            rows.append(
                {**row, "value": f"{values[stack][constant]:.4g}", "source": row["source"] + ", moved with all stacks"}
            )
        elif stack not in counts or constant not in COMMON_SD:
            rows.append(row)
    for stack, count in sorted(counts.items()):
        for constant in COMMON_SD:
            source = f"fit on {count} measured runs of this stack"
            rows.append({"stack": stack, "constant": constant, "value": f"{values[stack][constant]:.4g}",
                         "unit": units[constant], "source": source, "source_date": date})  # fmt: skip
    _save(DATA / "training_stack_constants.csv", rows)
    used = {key: problem.linear_keys.count(key) for key in set(problem.linear_keys)}
    families = []
    for row in read(HERE / "training_prior_gpus.csv"):
        key = (row["family"], row["precision"])
        scaled = {
            name: f"{float(row[name]) * problem.family_factor(theta, key, name):.4g}" for name in FAMILY_CONSTANTS[:3]
        }
        half = (row["family"], "half")
        scaled["attention"] = f"{float(row['attention']) * problem.family_factor(theta, half, 'attention'):.4g}"
        note = (
            f"fit on {used[key]} measured runs from: {row['source']}"
            if key in used
            else f"{row['source']}, moved with all families"
        )
        families.append({**row, **scaled, "source": note, "source_date": date if key in used else row["source_date"]})
    _save(DATA / "training_gpu_families.csv", families)


def _save(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
