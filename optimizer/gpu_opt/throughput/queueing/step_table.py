"""The speed of one replica, as tables that the event loop reads without calling the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpu_opt.records import record

Floats = npt.NDArray[np.float64]

_MAX_TABLE_TOKENS = 1 << 17


class StepModel(Protocol):
    """What one replica does in a step. The two functions take and return arrays of one shape."""

    @property
    def kv_token_capacity(self) -> float:
        """Tokens of context that fit in all."""

    @property
    def max_num_seqs(self) -> int:
        """Sequences that run at one time."""

    @property
    def chunk_tokens(self) -> int:
        """Tokens that one step computes at most, decoded ones included."""

    def decode_step_seconds(self, batch: Floats, mean_context_tokens: Floats) -> Floats:
        """One step that gives each of `batch` sequences a token."""

    def prefill_seconds(self, tokens: Floats) -> Floats:
        """One prompt of so many tokens, alone on the replica."""


@runtime_checkable
class LoadedStepModel(StepModel, Protocol):
    """A step model that also knows what a prompt adds to a step that reads the weights anyway."""

    def prefill_work_seconds(self, tokens: Floats) -> Floats:
        """What so many prompt tokens add to a step of a busy replica."""


@record
class StepTable:
    """Decode: `decode_base_seconds[b] + decode_per_context_seconds[b] × (sum of contexts)` for batch b.

    Prefill alone: `alone_seconds[t] + alone_square_seconds × (end² − start²)` for t tokens in a step, at positions
    start to end of their prompts. Beside decoding, `added_…` is what they add: without reading the weights and
    launching the kernels once more.
    """

    decode_base_seconds: list[float]
    decode_per_context_seconds: list[float]
    alone_seconds: list[float]
    alone_square_seconds: float
    added_seconds: list[float]
    added_square_seconds: float
    kv_token_capacity: float
    max_num_seqs: int
    chunk_tokens: int


def build_table(model: StepModel, *, typical_context_tokens: float) -> StepTable:
    """Samples a model: decode on a chord from half to twice the typical context, prefill up to its chunk."""
    batch = np.arange(1, model.max_num_seqs + 1, dtype=np.float64)
    low, high = 0.5 * typical_context_tokens, 2.0 * typical_context_tokens
    at_low = model.decode_step_seconds(batch, np.full_like(batch, low))
    at_high = model.decode_step_seconds(batch, np.full_like(batch, high))
    slope = np.maximum(0.0, (at_high - at_low) / (high - low))
    base = np.maximum(at_low - slope * low, 0.0)
    chunk = min(max(1, model.chunk_tokens), _MAX_TABLE_TOKENS)
    alone, alone_square = _prefill_table(model.prefill_seconds, chunk)
    if isinstance(model, LoadedStepModel):
        added, added_square = _prefill_table(model.prefill_work_seconds, chunk)
    else:
        one_step = float(model.decode_step_seconds(np.ones(1), np.ones(1))[0])
        added, added_square = np.maximum(0.0, alone - min(one_step, float(alone[1]))), alone_square
    return StepTable(
        decode_base_seconds=[0.0, *base.tolist()],
        decode_per_context_seconds=[0.0, *(slope / batch).tolist()],
        alone_seconds=alone.tolist(),
        alone_square_seconds=alone_square,
        added_seconds=added.tolist(),
        added_square_seconds=added_square,
        kv_token_capacity=float(model.kv_token_capacity),
        max_num_seqs=int(model.max_num_seqs),
        chunk_tokens=chunk,
    )


def _prefill_table(seconds_of: Callable[[Floats], Floats], chunk: int) -> tuple[Floats, float]:
    """Seconds of 0…chunk tokens without their square part, and that part per squared token (by second difference)."""
    step = max(float(chunk), 4096.0)
    one, two, three = seconds_of(np.array([step, 2 * step, 3 * step])).tolist()
    square = max(0.0, float(three - 2 * two + one) / (2 * step**2))
    tokens = np.arange(0, chunk + 1, dtype=np.float64)
    linear = seconds_of(np.maximum(tokens, 1.0)) - square * tokens**2
    return np.maximum.accumulate(np.maximum(linear, 0.0)), square
