"""A formula has one address: its tag belongs to one package, and one page of the explanation numbers it.

A docstring that begins with `M1:` or `T2, T3:` implements that formula.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "optimizer/gpu_opt"
FAMILIES = "CGIKMOST"
TAGS = re.compile(rf"^((?:[{FAMILIES}]\d{{1,2}}(?:, | and )?)+)\b")
NUMBERED = re.compile(rf"^(?:#+ |\| *|[-*] +)?\**([{FAMILIES}]\d{{1,2}})\b", re.MULTILINE)


def tags_of(text):
    """The tags that the docstrings of a module and of what it defines begin with."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    docstrings = (ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, documented))
    for docstring in docstrings:
        if found := TAGS.match(docstring or ""):
            yield from re.findall(r"[A-Z]\d+", found[1])


def tagged_packages():
    """Tag -> the packages that implement it: `throughput/serving`, `costs`."""
    found = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for tag in tags_of(path.read_text(encoding="utf-8")):
            found[tag].add(path.parent.relative_to(PACKAGE).as_posix())
    return found


def explained():
    """Tag -> the pages that number it: at the start of a heading, of a table row or of a bold run."""
    found = defaultdict(set)
    for page in sorted((ROOT / "docs/explanation").rglob("*.md")):
        for tag in re.findall(
            rf"^(?:#+ |\| *|[-*] +)?\**([{FAMILIES}]\d{{1,2}})\b", page.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found[tag].add(page.name)
    return found


def test_a_formula_tag_belongs_to_one_package():
    assert {tag: sorted(packages) for tag, packages in tagged_packages().items() if len(packages) > 1} == {}


def test_every_formula_of_the_code_is_explained_on_one_page():
    pages = explained()
    assert {tag: sorted(pages[tag]) for tag in sorted(tagged_packages()) if len(pages[tag]) != 1} == {}


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("M1: bytes.", ["M1"]),
        ("T2, T3: seconds.", ["T2", "T3"]),
        ("K11 for a preset.", ["K11"]),
        ("P10 of the H100.", []),
    ],
)
def test_tags_are_read_from_the_start_of_a_docstring(docstring, expected):
    assert list(tags_of(f'def f():\n    """{docstring}"""')) == expected
