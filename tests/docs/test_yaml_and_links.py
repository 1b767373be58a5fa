"""YAML of the pages is read by the tool, links lead somewhere, and the index names every page."""

from __future__ import annotations

import re

import pytest
import yaml
from tests.docs.pages import PAGES, ROOT, all_blocks, anchors, links, text_of

from gpu_opt.workload_file.overlay import load_overlay
from gpu_opt.workload_file.reader import load

SOME_WORKLOAD = "workloads: [{name: some, kind: gpu_hours, demand: {H100-SXM: 100}}]\n"
OUTSIDE = ("http://", "https://", "mailto:")


def workload_blocks():
    return [block for block in all_blocks("yaml") if block.comment != "not a workload file"]


@pytest.mark.parametrize("block", workload_blocks(), ids=lambda block: block.name)
def test_yaml_of_a_page_is_read(block, tmp_path):
    keys, text = set(yaml.safe_load(block.body)), block.body
    fragment = block.comment == "fragment"
    assert fragment != ("version" in keys), f"{block.name}: a part of a file is marked as a fragment, a whole one not"
    if fragment:
        text = "version: 1\n" + text + ("" if "workloads" in keys else SOME_WORKLOAD)
    path = tmp_path / "w.yaml"
    for other in all_blocks("yaml"):
        if other.comment.startswith("file: "):
            (tmp_path / other.comment.removeprefix("file: ")).write_text(other.body, encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    if keys <= {"version", "discounts", "prices", "quotes"} and keys & {"discounts", "quotes"}:
        load_overlay(path)
    else:
        assert load(path).workloads


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = []
    for link in links(page):
        if link.startswith(OUTSIDE):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_index_names_every_page_and_example():
    index = ROOT / "docs/index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    wanted = {page.resolve() for page in PAGES if page != index and page.name != "README.md"}
    wanted |= {path.resolve() for path in (ROOT / "examples").glob("*.yaml")}
    assert sorted(str(path.relative_to(ROOT)) for path in wanted - linked) == []


def test_pages_speak_of_no_other_place():
    assert [page.name for page in PAGES if re.search(r"/home/|/root/|/tmp/", text_of(page))] == []
