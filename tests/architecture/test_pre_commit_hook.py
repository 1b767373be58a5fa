"""The hook that others add to their repositories does what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def run_hook(*files):
    """As pre-commit does: the entry's words, then the files."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [*shlex.split(HOOK["entry"]), *map(str, files)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).returncode


def test_the_hook_passes_sound_plans_and_fails_on_one_that_was_tampered_with(gpu_opt, tmp_path):
    sound, tampered = tmp_path / "plan a.json", tmp_path / "plan-b.json"
    assert gpu_opt("plan", ROOT / "examples/quickstart.yaml", "-o", sound).code == 0
    text = sound.read_text(encoding="utf-8")
    tampered.write_text(re.sub(r'"objective_usd": [\d.]+', '"objective_usd": 1.0', text), encoding="utf-8")
    assert run_hook(sound, sound) == 0
    assert run_hook(sound, tampered) == 5


def test_the_hook_is_for_plan_files():
    names = ("plan.json", "a/plan-q1.json", "a/workload.yaml", "explain.json")
    assert [name for name in names if re.search(HOOK["files"], name)] == ["plan.json", "a/plan-q1.json"]
