"""Plain tables for the terminal and for Markdown, with text from users neutralised."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_opt.cli._common import clean_line

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()!|~])")
_NUMERIC = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?%?\Z|\Z")


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell; columns of numbers to the right."""
    cells = [[clean_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    right = [all(_NUMERIC.match(row[place]) for row in cells[1:]) and len(cells) > 1 for place in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; nothing in a cell is markup."""
    lines = [header, ["---"] * len(header), *([markdown_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_text(text: str) -> str:
    """Text that Markdown and HTML inside it show as it is."""
    plain = clean_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", plain)
