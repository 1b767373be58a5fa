"""The base of every mapping in the file: unknown keys are errors, values are frozen, schemas are built when used."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from gpu_opt.workload_file.scalars import listed

T = TypeVar("T")

OneOrMore = Annotated[tuple[T, ...], BeforeValidator(listed)]
"""A list, or its only entry."""

Precision = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "int8", "int4", "nvfp4", "mxfp4"]


class Section(BaseModel):
    """A mapping of the file. Names end in their unit where the file's keys do; other types carry it in their name."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, populate_by_name=False)
