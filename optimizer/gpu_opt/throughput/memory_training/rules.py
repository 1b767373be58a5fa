"""How a stack and an optimizer store their state: bytes a parameter and factors, from their table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpu_opt.records import record
from gpu_opt.throughput.training.arrays import Array, Columns
from gpu_opt.throughput.training.columns import one
from gpu_opt.throughput.training.constants import table_rows

# Moments of each optimizer in bytes a parameter when they are kept in fp32 (8-bit ones hold a byte each), and
# whether they can leave the GPU. Muon keeps one momentum for matrices.
_OPTIMIZER_STATE_BYTES = {
    "adam": 8.0,
    "adamw": 8.0,
    "adam_bf16": 4.0,
    "adamw_8bit": 2.0,
    "adam_8bit": 2.0,
    "paged_adamw": 8.0,
    "paged_adamw_8bit": 2.0,
    "adafactor": 0.1,
    "lion": 4.0,
    "sgd": 0.0,
    "sgd_momentum": 4.0,
    "muon": 4.0,
}
_PURE_HALF = ("adam_bf16",)


@record
class Rules(Columns):
    """Bytes and factors of memory, as columns that broadcast with the runs'."""

    weight_bytes: Array
    low_weight_bytes: Array
    gradient_bytes: Array
    master_bytes: Array
    state_bytes: Array
    activation: Array
    logit_bytes: Array
    live_layers: Array
    base_bytes: Array
    frozen_activation: Array
    gathered_bytes: Array
    head_bytes: Array
    balances_head: Array
    reports_first: Array
    full_live: Array
    shard_widening: Array
    step_bytes: Array
    gradients_persist: Array
    fragmentation: Array
    reserved: Array
    context_bytes: Array
    pressure: Array
    log_sd: Array


@cache
def memory_constants(scheme: str) -> Mapping[str, float]:
    """Constants of a memory scheme over the defaults."""
    found: dict[str, dict[str, float]] = {}
    for row in table_rows("training_memory.csv"):
        found.setdefault(row["scheme"], {})[row["constant"]] = float(row["value"])
    return {**found["default"], **found.get(scheme, {})}


def known_optimizers() -> tuple[str, ...]:
    """Names that `rules_of` accepts."""
    return tuple(sorted(_OPTIMIZER_STATE_BYTES))


def normal_optimizer(text: str) -> str:
    """An optimizer's name in the table's spelling; `adam` for one that is not known."""
    name = _folded(text)
    return name if name in _OPTIMIZER_STATE_BYTES else "adam"


def is_known_optimizer(text: str) -> bool:
    """Whether the table has an optimizer, in any spelling."""
    return _folded(text) in _OPTIMIZER_STATE_BYTES


def _folded(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace("adamw8bit", "adamw_8bit").replace("8_bit", "8bit")


@cache
def rules_of(scheme: str, optimizer: str) -> Rules:
    """M1: bytes a parameter for weights, gradients, master copy and optimizer state under a stack's scheme."""
    values = memory_constants(scheme)
    name = normal_optimizer(optimizer)
    state = _OPTIMIZER_STATE_BYTES[name]
    state = state * values["state_factor"] if state > 2.0 else state
    weight, gradient, master = values["weight_bytes"], values["gradient_bytes"], values["master_bytes"]
    if name in _PURE_HALF:
        weight, gradient, master, state = 2.0, 2.0, 0.0, 4.0
    if name.startswith("paged"):
        state = 0.0
    return Rules(
        weight_bytes=one(weight),
        low_weight_bytes=one(values["low_weight_bytes"]),
        gradient_bytes=one(gradient),
        master_bytes=one(master),
        state_bytes=one(state),
        activation=one(values["activation"]),
        logit_bytes=one(values["logit_bytes"]),
        live_layers=one(values["live_layers"]),
        base_bytes=one(values["base_gb"] * 1e9),
        frozen_activation=one(values["frozen_activation"]),
        gathered_bytes=one(values["gathered_bytes"]),
        head_bytes=one(values["head_bytes"]),
        balances_head=one(values["balances_head"]),
        reports_first=one(values["reports_first"]),
        full_live=one(values["full_live"]),
        shard_widening=one(values["shard_widening"]),
        step_bytes=one(values["step_bytes"]),
        gradients_persist=one(values["gradients_persist"]),
        fragmentation=one(values["fragmentation"]),
        reserved=one(values["reserved"]),
        pressure=one(values["pressure"]),
        context_bytes=one(values["context_gb"] * 1e9),
        log_sd=one(values["log_sd"]),
    )
