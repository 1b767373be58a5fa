"""Reports in Markdown, for pull requests and notes. Nothing in a name or a message is markup."""

from __future__ import annotations

from gpu_opt.report.section import Report, Section
from gpu_opt.report.text import markdown


def render(report: Report) -> str:
    """The whole report; the answer is a list, its labels bold."""
    parts = [f"# {markdown(report.title)}", _answer(report), *(section_markdown(s) for s in report.sections)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answer(report: Report) -> str:
    lines = []
    for line in report.answer:
        if line.label:
            lines.append(f"- **{markdown(line.label)}**: {markdown(line.text)}")
        else:
            lines.append(f"  - {markdown(line.text)}")
    return "\n".join(lines)


def section_markdown(section: Section) -> str:
    """A heading with its table, list and note."""
    parts = [f"## {markdown(section.title)}"]
    if section.rows:
        rules = ["---:" if letter == "r" else "---" for letter in section.align]
        rows = [[markdown(cell) for cell in row] for row in section.rows]
        if section.has_total:
            rows[-1] = [f"**{cell}**" if cell else "" for cell in rows[-1]]
        table = [[markdown(name) for name in section.header], rules, *rows]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in table))
    if section.items:
        parts.append("\n".join(f"- {markdown(item)}" for item in section.items))
    if section.note:
        parts.append(markdown(section.note))
    return "\n\n".join(parts)
