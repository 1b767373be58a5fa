"""Commented starter files, one for each kind of workload."""

from __future__ import annotations

from pathlib import Path

from gpu_opt.workload_file.registry import KINDS

_FOLDER = Path(__file__).parent / "starters"


def starter(kind: str) -> str:
    """The text of a starter; KeyError for a kind that there is none of."""
    if kind not in KINDS:
        raise KeyError(kind)
    return (_FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")
