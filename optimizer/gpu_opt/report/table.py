"""Reports for the terminal: plain aligned text, wrapped to a width where one is given, coloured only when asked."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from gpu_opt.report.section import Line, Report, Section
from gpu_opt.report.text import plain

_GAP = "  "
_PART = re.compile(r"[^ /-]+[/-]?")
_LEAST_WIDTH = 8
_LEAST_HEAD = 6
_UNBOUNDED = 1_000_000
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def render(report: Report, *, width: int | None = None, colour: bool = False) -> str:
    """The whole report. `width` is the terminal's; without it nothing is wrapped."""
    parts = [answer_text(report.answer, width=width, colour=colour)]
    parts += [section_text(section, width=width, colour=colour) for section in report.sections]
    return "\n\n".join(parts) + "\n"


def answer_text(lines: Sequence[Line], *, width: int | None = None, colour: bool = False) -> str:
    """Labels in a column of their own; a line that is too long goes on below its text."""
    space = max((len(line.label) for line in lines), default=0)
    shown = []
    for line in lines:
        label = _style(plain(line.label).ljust(space), _BOLD, colour and bool(line.label))
        first, *more = _wrapped(plain(line.text), None if width is None else width - space - len(_GAP))
        shown += [f"{label}{_GAP}{first}".rstrip(), *(" " * space + _GAP + text for text in more)]
    return "\n".join(shown)


def section_text(section: Section, *, width: int | None = None, colour: bool = False) -> str:
    """Title, table, items and note of a section."""
    lines = [_style(plain(section.title), _BOLD, colour)]
    if section.rows:
        lines += grid(section, width=width, colour=colour)
    for item in section.items:
        lines += _wrapped(f"- {plain(item)}", width, indent="  ")
    if section.note:
        lines += [_style(text, _DIM, colour) for text in _wrapped(plain(section.note), width)]
    return "\n".join(lines)


def grid(section: Section, *, width: int | None = None, colour: bool = False) -> list[str]:
    """The lines of a table: header, rule, rows; a rule above a total."""
    cells = [[plain(cell) for cell in row] for row in (section.header, *section.rows)]
    widths = _fitted(cells, section.align, width if width is not None else _UNBOUNDED)
    rule = _GAP.join("-" * space for space in widths)
    lines = [_style(text, _BOLD, colour) for text in _row(cells[0], widths, section.align)] + [rule]
    for place, row in enumerate(cells[1:], start=1):
        if section.has_total and place == len(cells) - 1:
            lines.append(rule)
        lines += _row(row, widths, section.align)
    return lines


def _fitted(cells: Sequence[Sequence[str]], align: str, total: int) -> list[int]:
    """Widths of the columns. Columns give way, the widest first, until the table fits or nothing is left to give:
    numbers stay whole, only their headers break; words of text break last, down to eight characters."""
    columns = range(len(align))
    widths = [max(len(row[place]) for row in cells) for place in columns]
    whole = [max(_longest_part(row[place]) for row in cells) for place in columns]
    body = [max((len(row[place]) for row in cells[1:]), default=0) for place in columns]
    least = [max(body[p], _LEAST_HEAD) if align[p] == "r" else min(widths[p], _LEAST_WIDTH) for p in columns]
    for floor in ([max(pair) for pair in zip(whole, least, strict=True)], least):
        while sum(widths) + len(_GAP) * (len(widths) - 1) > total:
            giving = [place for place in columns if widths[place] > floor[place]]
            if not giving:
                break
            widths[max(giving, key=lambda place: (widths[place], -place))] -= 1
    return widths


def _longest_part(cell: str) -> int:
    return max((len(part) for part in _PART.findall(cell)), default=0)


def _row(cells: Sequence[str], widths: Sequence[int], align: str) -> list[str]:
    """One row, on as many lines as its fullest cell needs."""
    split = [_broken(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(lines) for lines in split)
    rows = []
    for place in range(height):
        shown = [lines[place] if place < len(lines) else "" for lines in split]
        padded = [
            text.rjust(width) if letter == "r" else text.ljust(width)
            for text, width, letter in zip(shown, widths, align, strict=True)
        ]
        rows.append(_GAP.join(padded).rstrip())
    return rows


def _broken(cell: str, width: int) -> list[str]:
    """A cell over several lines, broken after spaces, slashes and hyphens where that is possible."""
    if len(cell) <= width:
        return [cell]
    lines: list[str] = []
    rest = cell
    while len(rest) > width:
        place = max(rest.rfind(mark, 0, width) for mark in " /-")
        place = width if place < width // 3 else place + 1
        lines.append(rest[:place].rstrip())
        rest = rest[place:].lstrip()
    return [*lines, rest] if rest else lines


def _wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None or len(text) <= width or not text.strip():
        return [text]
    return textwrap.wrap(text, max(width, 20), subsequent_indent=indent, break_on_hyphens=False)


def _style(text: str, code: str, wanted: bool) -> str:
    return f"{code}{text}{_RESET}" if wanted else text
