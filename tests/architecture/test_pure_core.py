"""Below the command line: no printing, no environment, no clock, no network, no `assert`."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted(
    path
    for path in (ROOT / "optimizer/gpu_opt").rglob("*.py")
    if "cli" not in path.relative_to(ROOT / "optimizer/gpu_opt").parts
)
FORBIDDEN_MODULES = {"socket", "ssl", "urllib", "http", "requests", "subprocess", "random", "tempfile", "logging"}
FORBIDDEN_CALLS = {"print", "input", "breakpoint", "exit", "quit"}
FORBIDDEN_ATTRIBUTES = {  # (object, attribute): a duration by perf_counter is no clock
    ("os", "environ"),
    ("os", "getenv"),
    ("sys", "argv"),
    ("sys", "stdout"),
    ("sys", "stderr"),
    ("time", "time"),
    ("time", "sleep"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
}


def impurities(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots = {alias.name.split(".")[0] for alias in node.names}
            yield from ((node.lineno, f"import {root}") for root in sorted(roots & FORBIDDEN_MODULES))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
            yield node.lineno, f"from {node.module}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            yield node.lineno, node.func.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in FORBIDDEN_ATTRIBUTES:
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Assert):
            yield node.lineno, "assert"


def test_the_core_is_pure():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in CORE
        for line, what in impurities(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    ["print(1)", "import os; os.environ['A']", "date.today()", "import urllib.request", "from random import choice"],
)
def test_the_check_sees_an_impurity(line):
    assert list(impurities(ast.parse(line)))
