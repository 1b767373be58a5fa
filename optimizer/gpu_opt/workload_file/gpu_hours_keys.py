"""Demand in hours of GPUs, as it stands in the file."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gpu_opt.workload_file.scalars import Amount, AmountOrZero, GpuName, distinct_gpus
from gpu_opt.workload_file.workload_keys import WorkloadKeys


def _per_period(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


Hours = Annotated[tuple[AmountOrZero, ...], BeforeValidator(_per_period)]


class GpuHoursKeys(WorkloadKeys):
    kind: Literal["gpu_hours"]
    demand: Annotated[dict[GpuName, Hours], BeforeValidator(distinct_gpus)]
    substitutes: Annotated[dict[GpuName, Amount], BeforeValidator(distinct_gpus)] = Field(default_factory=dict)
