"""Functions and files stay short; what is longer says why on its line, as `# long: the reason`."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTION_LINES = 60
FILE_LINES = 350
REASON = re.compile(r"# long: \S+ \S+")
SOURCES = sorted(path for root in ("optimizer", "providers", "pricing_cache") for path in (ROOT / root).rglob("*.py"))


def too_long(text):
    """(line, what) for each function or file beyond its limit without a reason on its first line."""
    lines = text.splitlines()
    if len(lines) > FILE_LINES and not REASON.search(lines[0]):
        yield 1, f"{len(lines)} lines in the file"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            signature = lines[node.lineno - 1 : node.body[0].lineno]
            if length > FUNCTION_LINES and not any(REASON.search(line) for line in signature):
                yield node.lineno, f"{length} lines in {node.name}"


def test_functions_and_files_stay_short():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in SOURCES
        for line, what in too_long(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(("comment", "expected"), [("", 1), ("  # long: one table of cases", 0), ("  # long:", 1)])
def test_a_long_function_needs_a_reason_on_its_line(comment, expected):
    body = "    pass\n" * FUNCTION_LINES
    assert len(list(too_long(f"def f():{comment}\n{body}"))) == expected


@pytest.mark.parametrize(("comment", "expected"), [("", 1), ("# long: generated from a standard", 0)])
def test_a_long_file_needs_a_reason_on_its_first_line(comment, expected):
    assert len(list(too_long(f"{comment}\n" + "x = 1\n" * FILE_LINES))) == expected
