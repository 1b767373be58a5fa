"""Reads the pages of the documentation: fenced blocks with the comment above them, links, generated parts.

Comments that mean something: `<!-- run head=8 exit=3 -->` (a console block whose output is real), `<!-- file: NAME -->`
(a block that the next runs find as a file), `<!-- fragment -->` (YAML that is a part of a workload file),
`<!-- not a workload file -->`, and `<!-- generated: NAME -->` … `<!-- /generated -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK = re.compile(
    r"^(?:<!-- (?P<comment>[^\n]*?) -->\n)?(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_GENERATED = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- /generated -->)", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `comment` is what stands in the comment right above it."""

    page: Path
    line: int
    comment: str
    language: str
    body: str
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def option(self, name: str, usual: int) -> int:
        """`head=8` in the comment."""
        found = re.search(rf"\b{name}=(\d+)", self.comment)
        return int(found[1]) if found else usual


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    text = text_of(page)
    return [
        Block(
            page=page,
            line=text.count("\n", 0, found.start("language")) + 1,
            comment=found["comment"] or "",
            language=found["language"],
            body=found["body"],
            start=found.start("body"),
            end=found.end("body"),
        )
        for found in _BLOCK.finditer(text)
    ]


def all_blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language == language]


def is_run(block: Block) -> bool:
    """Whether the output of a console block is real."""
    return block.comment.split()[:1] == ["run"]


def commands(block: Block) -> list[str]:
    """The command lines of a console block, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", block.body).splitlines()
    return [line[2:].strip() for line in lines if line.startswith("$ ")]


def replaced(page: Path, changes: list[tuple[int, int, str]]) -> str:
    """The page's text with [start, end) replaced, for each of `changes`."""
    text = text_of(page)
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def generated(page: Path, makers: dict[str, Callable[[], str]]) -> str:
    """The page's text with each generated part made anew."""
    return _GENERATED.sub(lambda part: f"{part[1]}{makers[part['name']]()}{part[4]}", text_of(page))


def generated_names(page: Path) -> list[str]:
    return [part["name"] for part in _GENERATED.finditer(text_of(page))]


def links(page: Path) -> Iterator[str]:
    """Targets of links outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL)
    yield from _LINK.findall(prose)


def anchors(page: Path) -> set[str]:
    """The anchors that headings get: lower case, spaces to hyphens, punctuation dropped."""
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}
