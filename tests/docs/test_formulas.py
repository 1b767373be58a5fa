"""The page of formulas and the tags in the code's docstrings agree, in both directions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from tests.docs.pages import ROOT, text_of

PAGE = ROOT / "docs/explanation/model.md"
CODE = ROOT / "optimizer/gpu_opt"
STARTS = re.compile(r"^((?:[CGIKMOST]\d{1,2}(?:, | and |–)?)+)")
TAG = r"(?:\[(?P<linked>[A-Z]\d+)\]\((?P<page>[\w.-]+)\)|(?P<own>[A-Z]\d+))"
ROW = re.compile(rf"^\| {TAG} \| (?P<what>.*?) \|(?P<code>.*?)\|$", re.MULTILINE)


def in_code():
    """Tag -> files below gpu_opt with a docstring that begins with it."""
    found = defaultdict(set)
    for path in sorted(CODE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                start = STARTS.match(ast.get_docstring(node) or "")
                for tag in re.findall(r"[A-Z]\d+", start[1]) if start else ():
                    found[tag].add(path.relative_to(CODE).as_posix())
    return found


def rows():
    return {(row["linked"] or row["own"]): row for row in ROW.finditer(text_of(PAGE))}


def tag_order(tag):
    return tag[0], int(tag[1:])


def test_the_page_lists_each_tag_of_the_code_and_no_other():
    tags = {tag for tag in in_code() if tag[0] != "K"}
    assert sorted(rows(), key=tag_order) == sorted(tags, key=tag_order)


def test_a_linked_tag_is_on_the_page_that_it_leads_to():
    for tag, row in rows().items():
        if row["page"]:
            page = text_of(PAGE.parent / row["page"])
            assert re.search(rf"^(?:#+ |\| *|[-*] +)?\**{tag}\b", page, flags=re.MULTILINE), tag


def test_each_tag_names_the_files_that_implement_it(update_docs):
    files = in_code()

    def named(row):
        tag = row["linked"] or row["own"]
        places = ", ".join(f"`{name}`" for name in sorted(files[tag]))
        head = row[0][: row.start("code") - row.start()]
        return f"{head} {places} |"

    text = ROW.sub(named, text_of(PAGE))
    if update_docs:
        PAGE.write_text(text, encoding="utf-8")
    else:
        assert text == text_of(PAGE), "run pytest tests/docs --update-docs"
