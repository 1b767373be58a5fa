"""Reading the tables that lie beside this file: plain CSV, one header line, blank cells mean the default."""

from __future__ import annotations

import csv
from pathlib import Path

_FOLDER = Path(__file__).parent


def rows(name: str) -> list[dict[str, str]]:
    """All rows of a table."""
    with (_FOLDER / name).open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        header = next(lines)
        return [dict(zip(header, line, strict=True)) for line in lines]
