"""What users install: the wheel, in a fresh environment, beside folders of theirs that are named like ours."""

import json
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpu_opt import __version__

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/quickstart.yaml"
PACKAGES = {"gpu_opt": "optimizer", "gpu_opt_providers": "providers", "gpu_opt_prices": "pricing_cache"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as it is published: made from the source distribution, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel; the libraries are those of this one, without what is installed editable."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    # A folder that a .pth file names is searched, but its own .pth files (the editable install) are not read.
    (packages / "libraries.pth").write_text("\n".join(site.getsitepackages()))
    return folder / "env" / "bin"


@pytest.fixture
def users_repository(tmp_path):
    """A repository that owns `optimizer`, `providers` and `pricing_cache` itself, all of which must not be imported."""
    for name in PACKAGES.values():
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text(f"raise SystemExit('the decoy {name} was imported')\n")
    return tmp_path


def run_there(command, folder):
    environment = {"PYTHONPATH": ".", "PATH": "/usr/bin:/bin", "GPU_OPT_CACHE": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def shipped_files(package, root):
    folder = ROOT / root / package
    return {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_three_packages_and_nothing_else_at_its_top(wheel):
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert top == {*PACKAGES, f"gpu_opt-{__version__}.dist-info"}


def test_the_wheel_holds_every_file_of_the_packages(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == set().union(*(shipped_files(package, root) for package, root in PACKAGES.items()))


def test_the_wheel_carries_its_licence(wheel):
    archive = zipfile.ZipFile(wheel)
    text = archive.read(f"gpu_opt-{__version__}.dist-info/licenses/LICENSE").decode()
    assert "Apache License" in text


def test_the_version_is_said_once_and_the_same_everywhere(wheel, installed, tmp_path):
    assert f"-{__version__}-" in wheel.name
    assert run_there([installed / "gpu-opt", "--version"], tmp_path).stdout == f"gpu-opt {__version__}\n"


def test_the_installed_packages_are_those_of_the_wheel(installed, users_repository):
    code = f"import {', '.join(PACKAGES)}; print(*(p.__file__ for p in ({', '.join(PACKAGES)})), sep='\\n')"
    ran = run_there([installed / "python", "-c", code], users_repository)
    assert all(Path(line).is_relative_to(installed.parent) for line in ran.stdout.splitlines()), ran
    assert len(ran.stdout.splitlines()) == len(PACKAGES), ran.stderr


def test_an_installed_gpu_opt_plans_beside_folders_named_like_ours(installed, users_repository):
    shutil.copy(EXAMPLE, users_repository / "workload.yaml")
    ran = run_there([installed / "gpu-opt", "plan", "workload.yaml", "--format", "json"], users_repository)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["status"] == "optimal"
