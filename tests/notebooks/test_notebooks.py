"""Every notebook runs from top to bottom on the snapshot, and is kept without output."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def kernel_environment(monkeypatch, tmp_path):
    """The packages of this checkout, a folder of its own, this interpreter; a kernel talks to this machine only."""
    roots = [str(ROOT / name) for name in ("optimizer", "providers", "pricing_cache")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(roots))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    kernels = Path(sys.prefix) / "share/jupyter"
    monkeypatch.setenv("JUPYTER_PATH", str(kernels))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, kernel_environment):
    with warnings.catch_warnings():
        # Of Jupyter's own making: its event loop and its paths.
        warnings.simplefilter("ignore")
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}})
        client.execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert re.search(r"^T4 .*(best|no|has)", printed, flags=re.MULTILINE), "a T4 misses 100 ms, with the reason"
    assert re.search(r"^ 3 months: rent", printed, flags=re.MULTILINE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path):
    notebook = nbformat.read(path, as_version=4)
    assert [cell.id for cell in notebook.cells if cell.get("outputs")] == []
