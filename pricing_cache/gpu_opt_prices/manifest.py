"""What the shipped snapshot says of itself."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path

from gpu_opt.records import record

SNAPSHOT_DIR = Path(__file__).parent / "snapshot"


@record
class Manifest:
    """Rows, dates and hash of the snapshot's files."""

    rows: int
    newest_as_of: date
    oldest_as_of: date
    sha256: str


@cache
def manifest() -> Manifest:
    """The manifest that the builder wrote."""
    found = json.loads((SNAPSHOT_DIR / "manifest.json").read_text(encoding="utf-8"))
    return Manifest(
        rows=found["rows"],
        newest_as_of=date.fromisoformat(found["newest_as_of"]),
        oldest_as_of=date.fromisoformat(found["oldest_as_of"]),
        sha256=found["sha256"],
    )
