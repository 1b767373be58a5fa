"""Constants of GPU families and software stacks, read from their tables, and who inherits from whom."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.records import record

STACK_CONSTANTS = (
    "efficiency", "elementwise", "launch_ms", "step_seconds", "selective", "scaleup_share", "network_share",
    "tp_overlap", "dp_overlap", "gather_overlap", "fsdp_overlap", "cp_overlap", "moe_factor",
    "moe_launch_ms", "ep_overlap", "tp_launch_ms", "pp_launch_ms", "dequantise", "adapter",
    "hop_us", "jitter", "gradient_bytes", "network_decay", "rails",
)  # fmt: skip
_STACK_TABLE = "training_stack_constants.csv"
_POWER_EXPONENT = 0.5  # sustained rate falls with about the square root of missing power (dynamic power ~ f V²)


@record
class FamilyRates:
    """What a GPU family reaches in one precision: shares of the data sheet's peak, and losses of small multiplies.

    `measured` names its GPUs whose training runs the constants were fitted to; `log_sd` is what a family without any
    may be off by.
    """

    family: str
    efficiency: float
    half_rows: float
    half_sides: float
    attention: float
    watts_per_tflop: float
    log_sd: float
    measured: tuple[str, ...]
    source: str


@record
class StackInfo:
    """A software stack: what it can do, how it stores state, and the stacks its constants fall back on."""

    name: str
    aliases: tuple[str, ...]
    like: str
    has_tp: bool
    has_pp: bool
    has_cp: bool
    has_ep: bool
    zero: tuple[int, ...]
    recompute: tuple[str, ...]
    memory: str
    about: str


def table_rows(name: str) -> Iterator[dict[str, str]]:
    """Rows of a table of the throughput data folder."""
    text = (resources.files("gpu_opt.throughput") / "data" / name).read_text(encoding="utf-8")
    return iter(csv.DictReader(text.splitlines()))


@cache
def _families() -> tuple[tuple[str, str, FamilyRates], ...]:
    rows = []
    for row in table_rows("training_gpu_families.csv"):
        rates = FamilyRates(
            family=row["family"],
            efficiency=float(row["efficiency"]),
            half_rows=float(row["half_rows"]),
            half_sides=float(row["half_sides"]),
            attention=float(row["attention"]),
            watts_per_tflop=float(row["watts_per_tflop"]),
            log_sd=float(row["log_sd"]),
            measured=tuple(filter(None, row["measured"].split(";"))),
            source=row["source"],
        )
        rows.append((row["match"], row["precision"], rates))
    return tuple(rows)


def family_of(accelerator: Accelerator) -> str:
    """The family whose constants an accelerator gets: by compute capability, else by architecture, else `other`."""
    for match, _, rates in _families():
        for pattern in filter(None, match.split(";")):
            kind, _, prefix = pattern.partition(":")
            text = accelerator.compute_capability if kind == "cc" else accelerator.architecture
            if text.startswith(prefix):
                return rates.family
    return "other"


def rates_of(accelerator: Accelerator, precision_group: str) -> FamilyRates:
    """Rates of an accelerator's family in `half`, `fp8`, `fp4` or `int8`; `other` where its family has none."""
    family = family_of(accelerator)
    fallback = None
    for _, precision, rates in _families():
        if precision == precision_group and rates.family == family:
            return rates
        if precision == precision_group and rates.family == "other":
            fallback = rates
    if fallback is None:
        raise KeyError(precision_group)
    return fallback


def power_share(accelerator: Accelerator, rates: FamilyRates) -> float:
    """Share of the family's rate that a part with less power per FLOP/s sustains (PCIe cards, 72 W parts)."""
    peak = accelerator.peak_tflops.get("bf16") or accelerator.peak_tflops.get("fp16")
    if not peak or accelerator.tdp_watts <= 0:
        return 1.0
    watts_per_tflop = accelerator.tdp_watts / peak
    return float(min(1.0, (watts_per_tflop / rates.watts_per_tflop) ** _POWER_EXPONENT))


@cache
def stacks() -> Mapping[str, StackInfo]:
    """Stacks by name."""
    found = {}
    for row in table_rows("training_stacks.csv"):
        found[row["stack"]] = StackInfo(
            name=row["stack"],
            aliases=tuple(filter(None, row["aliases"].split(";"))),
            like=row["like"],
            has_tp=row["tp"] == "yes",
            has_pp=row["pp"] == "yes",
            has_cp=row["cp"] == "yes",
            has_ep=row["ep"] == "yes",
            zero=tuple(int(stage) for stage in row["zero"].split(";")),
            recompute=tuple(row["recompute"].split(";")),
            memory=row["memory"],
            about=row["about"],
        )
    return found


def find_stack(text: str) -> StackInfo | None:
    """A stack by its name or an alias, spelled in any case with spaces, dashes or underscores; None if unknown."""
    wanted = text.strip().lower().replace("_", "-").replace(" ", "-")
    for stack in stacks().values():
        if wanted == stack.name or wanted in stack.aliases:
            return stack
    for stack in stacks().values():
        if any(wanted.startswith(name + "-") for name in (stack.name, *stack.aliases)):
            return stack
    return None


@cache
def _own_constants() -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in table_rows(_STACK_TABLE):
        found.setdefault(row["stack"], {})[row["constant"]] = float(row["value"])
    return found


def stack_constants(stack: str) -> dict[str, float]:
    """Every constant of a stack: its own, else those of the stacks it is like, else the defaults."""
    chain = [stack]
    while chain[-1] in stacks() and stacks()[chain[-1]].like:
        chain.append(stacks()[chain[-1]].like)
    merged = dict(_own_constants()["default"])
    for name in reversed(chain):
        merged.update(_own_constants().get(name, {}))
    return merged


@cache
def is_fitted(stack: str) -> bool:
    """Whether a stack's own constants were fitted to its runs, not only taken over from relatives."""
    return any(row["stack"] == stack and row["source"].startswith("fit on") for row in table_rows(_STACK_TABLE))
