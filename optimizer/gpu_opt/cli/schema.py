"""`gpu-opt schema`: the JSON Schema of the workload file, for editors and other tools."""

from __future__ import annotations

from gpu_opt.cli._common import write_json


def command() -> None:
    """Print the JSON Schema of the workload file."""
    from gpu_opt.workload_file.json_schema import json_schema

    write_json(json_schema())
