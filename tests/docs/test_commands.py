"""The pages name every command and option that there is, and no other."""

from __future__ import annotations

import re
import shlex

import pytest
from tests.docs.pages import PAGES, ROOT, all_blocks, commands, text_of

from gpu_opt.cli._lazy import COMMANDS, PLANNED, load

PAGE = ROOT / "docs/reference/commands.md"
GROUPS = ("prices",)


def names():
    for name in COMMANDS:
        yield (name,)
        if name in GROUPS:
            yield from ((name, sub) for sub in load(name).commands)


def helped(run_line, folder):
    """The help of the whole tool and of every command, as the page has it."""
    text = f"## gpu-opt\n\n```text\n{run_line(folder, '--help').out.rstrip()}\n```\n"
    for name in names():
        title = " ".join(name)
        text += f"\n## {title}\n\n```text\n{run_line(folder, *name, '--help').out.rstrip()}\n```\n"
    return text


def test_the_page_of_commands_is_what_help_prints(run_line, update_docs, tmp_path):
    before, mark, after = text_of(PAGE).partition("<!-- help -->\n")
    text = helped(run_line, tmp_path)
    if update_docs:
        PAGE.write_text(before + mark + text, encoding="utf-8")
    else:
        assert after == text, "run pytest tests/docs --update-docs"


def test_the_table_of_the_readme_is_the_help(shared):
    table = dict(re.findall(r"^\| `gpu-opt ([a-z]+)` \| (.*?) \|$", text_of(ROOT / "README.md"), flags=re.MULTILINE))
    assert table == {name: line for name, (_, line) in COMMANDS.items()}
    for name, line in table.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", shared("--help").out, flags=re.MULTILINE)


def test_the_readme_names_what_is_not_built():
    part = text_of(ROOT / "README.md").split("## What it does not do yet")[1].split("\n## ")[0]
    assert set(PLANNED) <= set(re.findall(r"`(\w+)`", part))


def lines_of_pages():
    """Every command line that a page shows, in a console block or in the text."""
    found = {line for block in all_blocks("console") for line in commands(block) if line.startswith("gpu-opt ")}
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
        found |= {line for line in re.findall(r"`(gpu-opt [^`]+)`", prose) if not line.startswith("gpu-opt -")}
    return sorted(found)


@pytest.mark.parametrize("line", lines_of_pages())
def test_a_command_line_of_the_pages_has_options_that_exist(line):
    words = shlex.split(re.split(r"[|>]", line.replace("…", ""))[0], comments=True)[1:]
    if words[0] in PLANNED:
        return
    command = load(words[0])
    if words[0] in GROUPS and len(words) > 1 and not words[1].startswith("-"):
        command = command.commands[words[1]]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"-h", "--help"}
    asked = {word.split("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
    assert asked <= known, f"{line}: {sorted(asked - known)}"
