"""The speed of one replica, as tables that the event loop reads without calling the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """Decode: `decode_base_seconds[b] + decode_per_context_seconds[b] × (sum of contexts)` for batch b.

    Prefill: `prefill_linear_seconds[t] + prefill_square_seconds × (end² − start²)` for t tokens in a step, at positions
    start to end of their prompts. `shared_seconds` is what a step with both pays once: reading the weights, launching
    the kernels.
    """

    decode_base_seconds: list[float]
    decode_per_context_seconds: list[float]
    prefill_linear_seconds: list[float]
    prefill_square_seconds: float
    shared_seconds: float
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
    chunk = max(1, model.chunk_tokens)
    tokens = np.arange(0, min(chunk, _MAX_TABLE_TOKENS) + 1, dtype=np.float64)
    square = _prefill_square(model, float(tokens[-1]))
    linear = model.prefill_seconds(np.maximum(tokens, 1.0)) - square * tokens**2
    linear = np.maximum.accumulate(linear)
    alone = model.decode_step_seconds(np.ones(1), np.ones(1))
    return StepTable(
        decode_base_seconds=[0.0, *base.tolist()],
        decode_per_context_seconds=[0.0, *(slope / batch).tolist()],
        prefill_linear_seconds=linear.tolist(),
        prefill_square_seconds=square,
        shared_seconds=min(float(alone[0]), float(linear[min(1, len(linear) - 1)])),
        kv_token_capacity=float(model.kv_token_capacity),
        max_num_seqs=int(model.max_num_seqs),
        chunk_tokens=min(chunk, _MAX_TABLE_TOKENS),
    )


def _prefill_square(model: StepModel, chunk: float) -> float:
    """The part of prefill that grows with the square of the prompt (attention), by second difference."""
    step = max(chunk, 4096.0)
    one, two, three = model.prefill_seconds(np.array([step, 2 * step, 3 * step])).tolist()
    return max(0.0, (three - 2 * two + one) / (2 * step**2))
