"""`.ci/environment.py`, which makes .venv for `make plan` and `make test`: what it does when, without doing it."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """The script on an empty project; it notes commands in place of running them."""
    spec = importlib.util.spec_from_file_location("environment", ROOT / ".ci/environment.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name in ("requirements/core.txt", "requirements/test.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    venv = tmp_path / ".venv"
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "ROOT": tmp_path,
        "VENV": venv,
        "PYTHON": venv / "python",
        "INSTALLING": venv / ".installing",
    }.items():
        monkeypatch.setattr(script, name, str(value))
    monkeypatch.setattr(script, "is_sound", lambda: (venv / "python").exists())
    monkeypatch.setattr(script, "can_make_environments", lambda: True)
    commands = []

    def run(*command):
        commands.append(" ".join(command))
        if "venv" in command:
            (venv / "python").parent.mkdir(exist_ok=True)
            (venv / "python").write_text("")
            (venv / ".installing").unlink(missing_ok=True)
        return script.results.get(command[-1], 0)

    script.results = {}
    script.commands = commands
    monkeypatch.setattr(script, "run", run)
    return script


def steps(script):
    found = ["make" if "-m venv" in command else command.split("install -qq ")[-1] for command in script.commands]
    script.commands.clear()
    return found


CORE = ["--require-hashes -r requirements/core.txt", "--no-build-isolation --no-deps -e ."]
TEST = ["--require-hashes -r requirements/test.txt", "--no-build-isolation --no-deps -e ."]


def test_nothing_there_makes_an_environment_and_installs_with_hashes(environment):
    environment.main("core")
    assert steps(environment) == ["make", *CORE]


def test_a_second_run_does_nothing(environment):
    environment.main("core")
    steps(environment)
    environment.main("core")
    assert steps(environment) == []


def test_tests_add_to_an_environment_that_only_plans(environment):
    environment.main("core")
    steps(environment)
    environment.main("test")
    assert steps(environment) == TEST


def test_planning_needs_nothing_more_where_tests_run(environment):
    environment.main("test")
    steps(environment)
    environment.main("core")
    assert steps(environment) == []


@pytest.mark.parametrize("name", ["requirements/core.txt", "pyproject.toml"])
def test_what_changed_is_installed_again(environment, name):
    environment.main("core")
    steps(environment)
    Path(name).write_text("another")
    environment.main("core")
    assert steps(environment) == CORE


def test_an_install_that_was_killed_starts_from_an_empty_environment(environment):
    environment.main("core")
    steps(environment)
    Path(environment.INSTALLING).write_text("")
    environment.main("core")
    assert steps(environment) == ["make", *CORE]


def test_an_environment_whose_python_is_gone_is_made_anew(environment):
    environment.main("core")
    steps(environment)
    Path(environment.PYTHON).unlink()
    environment.main("core")
    assert steps(environment) == ["make", *CORE]


def test_a_failed_install_is_told_and_tried_again(environment):
    environment.results = {"requirements/core.txt": 1}
    with pytest.raises(SystemExit, match="could not be installed"):
        environment.main("core")
    environment.results = {}
    steps(environment)
    environment.main("core")
    assert steps(environment) == CORE


def test_an_old_python_is_refused_with_a_way_out(environment, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11"):
        environment.main("core")


def test_a_user_is_told_which_package_holds_the_venv_module(environment, monkeypatch):
    monkeypatch.setattr(environment, "can_make_environments", lambda: False)
    monkeypatch.setattr(environment.os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match=rf"sudo apt-get install python{environment.THIS}-venv"):
        environment.main("core")


def test_root_on_debian_gets_the_package(environment, monkeypatch):
    monkeypatch.setattr(environment, "can_make_environments", lambda: False)
    monkeypatch.setattr(environment.os, "geteuid", lambda: 0)
    monkeypatch.setattr(environment.shutil, "which", lambda name: f"/usr/bin/{name}")
    environment.main("core")
    assert environment.commands[0].startswith("apt-get install -y")
    assert environment.commands[0].endswith(f" python{environment.THIS}-venv")
