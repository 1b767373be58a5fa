"""The model that a workload names: a preset, a Hugging Face configuration, its sizes, or other work by its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.workload import CustomUnit
from gpu_opt.errors import InputError
from gpu_opt.workload_file.scalars import Wrong, known
from gpu_opt.workload_file.yaml_lines import KeyPath

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile


def resolve_model(file: WorkloadFile, path: KeyPath, keys: Any) -> ModelSpec | CustomUnit:
    """The model behind a workload's `model`, which stands at `path`. InputError at its line when there is none."""
    if keys.unit is not None:
        return CustomUnit(unit=keys.unit, flops_per_unit=keys.flops_per_unit, memory_gib=keys.memory_gib)
    try:
        if keys.preset is not None:
            return _preset(keys.preset)
        if keys.config is not None:
            from gpu_opt.models.config import from_config_file

            return from_config_file(file.path_of(keys.config))
        from gpu_opt.models.given import from_fields

        return from_fields(keys.model_dump(exclude_none=True))
    except Wrong as error:
        raise InputError(file.problem(path, error.what, error.remedy)) from None
    except InputError as error:
        raise InputError(_at(file, path, error)) from None


def _preset(name: str) -> ModelSpec:
    from gpu_opt.models.presets import preset

    return known("model", lambda: preset(name), "Give `config` or `params_billion` instead.")


def _at(file: WorkloadFile, path: KeyPath, error: InputError) -> list[Any]:
    """A model's problems at their keys in the file; those of another file say so."""
    found = []
    for problem in error.problems:
        key = (*path, problem.path) if problem.path and "." not in problem.path else path
        place = f"{problem.file}{f', line {problem.line}' if problem.line else ''}: " if problem.file else ""
        found.append(file.problem(key, f"{place}{problem.what}", problem.remedy))
    return found
