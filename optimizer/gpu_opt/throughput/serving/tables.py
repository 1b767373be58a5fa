"""Reading the serving model's own tables."""

from __future__ import annotations

import csv
import io
from importlib.resources import files


def read_rows(name: str) -> list[dict[str, str]]:
    """Rows of `throughput/data/<name>` as dictionaries by column."""
    text = (files("gpu_opt.throughput") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))
