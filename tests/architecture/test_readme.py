"""The README names the commands that there are, no more and no less, and its two commands work."""

import re
from pathlib import Path

from gpu_opt.cli._lazy import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_readme_names_every_command_of_the_help_and_no_other():
    assert set(re.findall(r"\bgpu-opt ([a-z]+)", README)) == set(COMMANDS)


def test_the_readme_marks_its_two_commands():
    block = README.split("<!-- two-commands -->")[1].split("```")[1]
    commands = block.splitlines()[1:]
    assert len(commands) == 2
    assert all(line.startswith("make ") for line in commands)
    targets = {line.split()[1] for line in commands}
    assert targets <= set(re.findall(r"^([a-z ]+):", MAKEFILE, flags=re.MULTILINE)) | set(
        re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)[1].split()
    )
