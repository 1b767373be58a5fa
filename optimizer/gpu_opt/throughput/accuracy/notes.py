"""Facts that measured points carry in words: the network, pipeline interleaving, shard groups, fused losses."""

from __future__ import annotations

import re

from gpu_opt.records import record

_PORTS = re.compile(r"(\d+)\s*x\s*(\d+)\s*gb?(?:it|ps|b/s)?\b", re.IGNORECASE)
_NODE_RATE = re.compile(r"(\d+)\s*gbps node", re.IGNORECASE)
_VIRTUAL = re.compile(r"\bVP\s*=\s*(\d+)")
_SHARD = re.compile(r"zero1 group\s*=?\s*(\d+)")
_ACCUMULATION = re.compile(r"(?:grad_accum|micro_num)\s*=\s*(\d+)")
_RANK = re.compile(r"\b(?:lora )?r(?:ank)?\s*=?\s*(\d+)\b", re.IGNORECASE)


@record
class Hints:
    """What the words say; None where they say nothing. Network is in Gb/s of a node."""

    node_network_gbps: float | None = None
    virtual_stages: int | None = None
    shard_group: int | None = None
    accumulation: int | None = None
    lora_rank: int | None = None
    chunked_loss: bool = False
    fused_kernels: bool = False


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None


def read_hints(notes: str, source: str) -> Hints:
    """Hints in the notes and the source of a point."""
    ports = _PORTS.search(notes)
    rate = _NODE_RATE.search(source) or _NODE_RATE.search(notes)
    network = float(rate[1]) if rate else float(ports[1]) * float(ports[2]) if ports else None
    lowered = notes.lower()
    return Hints(
        node_network_gbps=network,
        virtual_stages=_number(_VIRTUAL, notes),
        shard_group=_number(_SHARD, notes),
        accumulation=_number(_ACCUMULATION, notes),
        lora_rank=_number(_RANK, notes) if "lora" in lowered else None,
        chunked_loss="liger" in lowered or "chunked" in lowered or "cut cross" in lowered,
        fused_kernels="foak" in lowered or "liger" in lowered or "unsloth" in lowered or "fused" in lowered,
    )
