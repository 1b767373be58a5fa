"""Every session of the pages is real: its commands run, in the page's order, and print what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest
from tests.docs.pages import PAGES, ROOT, Block, blocks, commands, is_run, replaced

MORE = "…\n"
PROGRESS = re.compile(r"gpu-opt: \w+ … \d+ s$")


def with_sessions():
    return [page for page in PAGES if any(is_run(block) for block in blocks(page))]


def shown(block: Block, run_line, folder) -> str:
    """The block as its commands print it now; `head` keeps the first lines of each."""
    head, text = block.option("head", 10_000), ""
    for command in commands(block):
        arguments = shlex.split(command, comments=True)
        assert arguments[0] == "gpu-opt", block.name
        printed = run_line(folder, *arguments[1:])
        assert printed.code == block.option("exit", 0), f"{block.name}: {command}: {printed.err[-800:]}"
        lines = [line.rstrip() for line in (printed.out or printed.err).splitlines() if not PROGRESS.match(line)]
        text += f"$ {command}\n" + "".join(f"{line}\n" for line in lines[:head]) + (MORE if len(lines) > head else "")
    return text


def one_line_commands(block: Block) -> str:
    return re.sub(r" *\\\n\s*", " ", block.body)


@pytest.mark.parametrize("page", with_sessions(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_sessions_of_a_page_are_what_the_commands_print(page, run_line, update_docs, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    changes = []
    for block in blocks(page):
        if block.comment.startswith("file: "):
            (tmp_path / block.comment.removeprefix("file: ").strip()).write_text(block.body, encoding="utf-8")
        elif is_run(block):
            text = shown(block, run_line, tmp_path)
            if update_docs:
                changes.append((block.start, block.end, text))
            else:
                assert one_line_commands(block) == text, f"{block.name}: run pytest tests/docs --update-docs"
    if changes:
        page.write_text(replaced(page, changes), encoding="utf-8")
