"""What a command loads: looked up in sys.modules, not on a clock."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_opt.cli._lazy import COMMANDS

ROOT = Path(__file__).parents[2]
FOR_ADAPTERS = {"boto3", "botocore", "google", "requests"}
FOR_PEOPLE = {"pandas", "rich", "scipy", "matplotlib", "IPython"}
FOR_PLANNING = {"pydantic", "yaml", "numpy", "pulp", "highspy", "platformdirs", "filelock"}


def loaded_by(*arguments, cache):
    """The top-level modules that one command line loads in a fresh interpreter."""
    code = (
        "import contextlib, io, json, sys\n"
        "from gpu_opt.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    code = main(sys.argv[1:])\n"
        "print(json.dumps([code, sorted({name.partition('.')[0] for name in sys.modules})]))\n"
    )
    environment = {"GPU_OPT_CACHE": str(cache), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-I", "-c", code, *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    code, modules = json.loads(ran.stdout.splitlines()[-1])
    assert code == 0, ran.stderr
    return set(modules)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_help_loads_no_library_but_typer(arguments, tmp_path):
    loaded = loaded_by(*arguments, cache=tmp_path)
    assert sorted(loaded & (FOR_ADAPTERS | FOR_PEOPLE | FOR_PLANNING)) == []
    assert "typer" in loaded


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_loads_none_of_what_it_needs_to_run(name, tmp_path):
    loaded = loaded_by(name, "--help", cache=tmp_path)
    # Typer itself reads options with pydantic.
    assert sorted(loaded & (FOR_ADAPTERS | FOR_PEOPLE | FOR_PLANNING - {"pydantic"})) == []


def test_planning_from_the_snapshot_loads_neither_adapters_nor_tables_for_people(tmp_path):
    loaded = loaded_by("plan", "examples/quickstart.yaml", cache=tmp_path)
    assert sorted(loaded & (FOR_ADAPTERS | FOR_PEOPLE | {"gpu_opt_providers"})) == []
    assert {"pulp", "highspy"} <= loaded


def test_listing_offers_loads_neither_a_solver_nor_adapters(tmp_path):
    loaded = loaded_by("offers", cache=tmp_path)
    assert sorted(loaded & (FOR_ADAPTERS | FOR_PEOPLE | {"gpu_opt_providers", "pulp", "highspy"})) == []
    assert "gpu_opt_prices" in loaded
