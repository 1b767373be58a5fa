"""How each engine takes memory and batches requests."""

from __future__ import annotations

from functools import cache

from gpu_opt.records import record
from gpu_opt.throughput.serving.tables import read_rows


@record
class Engine:
    """`memory_fraction` is of the whole device (`total`) or of what weights and workspace leave (`free`).

    `admits_by` tells whether a request is let in when its mean length fits or only when its `peak` does.
    """

    name: str
    memory_fraction: float
    fraction_of: str
    block_tokens: int
    max_sequences: int
    max_batched_tokens: int
    context_gb: float
    admits_by: str


@cache
def _tables() -> tuple[dict[str, Engine], dict[str, str]]:
    engines: dict[str, Engine] = {}
    names: dict[str, str] = {}
    for row in read_rows("serving_engines.csv"):
        name = row["engine"]
        engines[name] = Engine(
            name=name,
            memory_fraction=float(row["memory_fraction"]),
            fraction_of=row["fraction_of"],
            block_tokens=int(row["block_tokens"]),
            max_sequences=int(row["max_sequences"]),
            max_batched_tokens=int(row["max_batched_tokens"]),
            context_gb=float(row["context_gb"]),
            admits_by=row["admits_by"],
        )
        names.update({alias.lower(): name for alias in (name, *row["aliases"].split(";"))})
    return engines, names


def engine_named(name: str) -> Engine:
    """The engine by any of its names; one that isn't known (or not given) behaves like vLLM, the default."""
    engines, names = _tables()
    return engines[names.get(name.strip().lower(), "vllm")]
