"""The parts that every report is made of, whatever it is printed as: labelled lines and tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_opt.records import record


@record
class Line:
    """One line of an answer. Lines that follow without a label belong to the one above."""

    label: str
    text: str


@record
class Section:
    """A table, a list, or both. Cells are plain text, neutralised when they are printed.

    `align` has one letter a column: `l` or `r`. `has_total` marks the last row as a sum. `note` says what was left out.
    """

    key: str
    title: str
    header: tuple[str, ...] = ()
    align: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()
    has_total: bool = False
    note: str = ""


@record
class Report:
    """A title, the answer's lines, and the sections behind them."""

    title: str
    answer: tuple[Line, ...]
    sections: tuple[Section, ...]


def table(
    key: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    limit: int | None = None,
    has_total: bool = False,
    note: str = "",
    rest_is: str = "in plan.json",
) -> Section:
    """A table section. A column named `>cost` is set to the right. Columns without any content are left out.

    Beyond `limit` rows the rest is counted in the note, with where to find it.
    """
    names = [column.removeprefix(">") for column in columns]
    used = [place for place in range(len(names)) if not rows or any(row[place] for row in rows)]
    shown = rows if limit is None or len(rows) <= limit else rows[:limit]
    if len(shown) < len(rows):
        more = f"{len(rows) - len(shown)} more {'row is' if len(rows) - len(shown) == 1 else 'rows are'} {rest_is}."
        note = f"{note} {more}".strip()
    return Section(
        key=key,
        title=title,
        header=tuple(names[place] for place in used),
        align="".join("r" if columns[place].startswith(">") else "l" for place in used),
        rows=tuple(tuple(row[place] for place in used) for row in shown),
        has_total=has_total,
        note=note,
    )
