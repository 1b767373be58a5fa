"""Examples plan as they stand, and cost what their comments say."""

import json
from pathlib import Path

from gpu_opt.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_measured_example_costs_what_it_says(capsys):
    # 82.8e9 tokens at 230,000 a second are 360,000 s = 100 h; 100 h × $23.60 = $2,360.00.
    assert main(["plan", str(EXAMPLES / "measured-h100-vs-a100.yaml"), "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["objective_usd"] == 2360.0
    (allocation,) = plan["workloads"][0]["allocations"]
    assert (allocation["gpu"], allocation["instance_hours"]) == ("H100-SXM", 100.0)


def test_the_dearer_choice_of_the_measured_example_costs_what_it_says(capsys):
    # 82.8e9 tokens at 100,000 a second are 828,000 s = 230 h; 230 h × $22.32 = $5,133.60.
    arguments = ["plan", str(EXAMPLES / "measured-h100-vs-a100.yaml"), "--format", "json", "--set", "scope.gpus=A100*"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["objective_usd"] == 5133.6


def test_the_quickstart_plans(capsys):
    assert main(["plan", str(EXAMPLES / "quickstart.yaml"), "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [workload["name"] for workload in plan["workloads"]] == ["chat", "weekly-adapter"]
    assert plan["verified"] is True
