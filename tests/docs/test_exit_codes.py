"""The exit codes of the pages are those of the errors."""

import re

import pytest
from tests.docs.pages import ROOT, text_of

from gpu_opt import errors


def codes(page):
    return {int(code) for code in re.findall(r"^\| (\d+) \|", text_of(ROOT / page), flags=re.MULTILINE)}


def of_errors():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return {kind.exit_code for kind in kinds if issubclass(kind, errors.GpuOptError)}


@pytest.mark.parametrize("page", ["README.md", "docs/reference/exit-codes.md"])
def test_every_kind_of_error_has_its_code_on_the_page(page):
    assert {0, *of_errors()} <= codes(page)


def test_a_question_that_nothing_meets_exits_3(shared):
    printed = shared("plan", "--model", "llama-3.1-70b", "--train", "lora", "--tokens", "15B", "--by", "1h")
    assert printed.code == 3
    assert "lora-llama-3.1-70b" in printed.out + printed.err


def test_what_is_not_built_exits_2_by_name(shared):
    assert [shared(name).code for name in ("check", "budget", "export")] == [2, 2, 2]


def test_bad_input_exits_2_and_names_the_nearest(shared):
    printed = shared("fit", "--model", "llama-3.1-70b", "--gpu", "H100-SMX")
    assert printed.code == 2
    assert "H100-SXM" in printed.err
