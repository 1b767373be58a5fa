"""The lock files: everything pinned with hashes, no address, and the two agree with each other and with pyproject."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEXTS = {kind: (ROOT / f"requirements/{kind}.txt").read_text(encoding="utf-8") for kind in ("core", "test")}


def pins(kind):
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", TEXTS[kind], re.MULTILINE))


def wanted(*extras):
    texts = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for extra in extras:
        texts += PROJECT["project"]["optional-dependencies"][extra]
    return [Requirement(text) for text in texts if not text.startswith("gpu-opt[")]


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_a_lock_file_names_no_address_and_no_folder(kind):
    assert re.findall(r"https?:|file:|--index-url|--extra-index-url|--find-links|--trusted-host|@ ", TEXTS[kind]) == []


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_every_pin_has_a_hash(kind):
    blocks = re.split(r"\n(?=[a-z0-9])", TEXTS[kind])[1:]
    assert len(blocks) == len(pins(kind))
    assert [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_core_is_a_part_of_what_tests_use():
    assert pins("core").items() <= pins("test").items()


@pytest.mark.parametrize(("kind", "extras"), [("core", ()), ("test", ("aws", "gcp", "reports", "test"))])
def test_what_the_project_asks_for_is_pinned_within_its_bounds(kind, extras):
    locked = pins(kind)
    loose = [
        str(requirement)
        for requirement in wanted(*extras)
        if not requirement.specifier.contains(locked.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert loose == []


def test_planning_locks_no_extra():
    extras = {canonicalize_name(r.name) for r in wanted("aws", "gcp", "reports")} - {
        canonicalize_name(r.name) for r in wanted()
    }
    assert {"boto3", "pandas"} <= extras
    assert sorted(extras & set(pins("core"))) == []


@pytest.mark.parametrize("name", ["typer", "pulp", "highspy", "pydantic", "numpy"])
def test_these_tests_run_on_the_locked_versions(name):
    assert version(name) == pins("test")[name]
