"""What every workload may say, and the pieces that several kinds share."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gpu_opt.workload_file.scalars import (
    Amount,
    AmountOrZero,
    Count,
    CountOrZero,
    Flag,
    Fraction,
    Gib,
    GpuName,
    GpuPattern,
    Moment,
    PositiveHours,
    Scalar,
    Text,
    Tib,
    Wrong,
    between,
)
from gpu_opt.workload_file.section import OneOrMore, Precision, Section

ZeroStage = Annotated[int, Scalar(between(0, 3, whole=True), {"type": "integer", "minimum": 0, "maximum": 3})]
Priority = Annotated[int, Scalar(between(1, 9, whole=True), {"type": "integer", "minimum": 1, "maximum": 9})]


def under(key: str) -> BeforeValidator:
    """A shorthand: a bare value stands for a mapping with this one key."""
    return BeforeValidator(lambda value: value if isinstance(value, dict) else {key: value})


def _as_tags(value: Any) -> Any:
    if isinstance(value, dict):
        return [f"{key}={entry}" for key, entry in value.items()]
    return [value] if isinstance(value, str) else value


class ModelKeys(Section):
    """A language model by preset, configuration file or its sizes; or other work by its cost a unit."""

    preset: Text | None = None
    config: Text | None = None
    name: Text | None = None
    params_billion: Amount | None = None
    active_params_billion: Amount | None = None
    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    ffn: Count | None = None
    vocab: Count | None = None
    experts: CountOrZero | None = None
    experts_per_token: CountOrZero | None = None
    shared_experts: CountOrZero | None = None
    expert_ffn: CountOrZero | None = None
    dense_layers: CountOrZero | None = None
    tied_embeddings: Flag | None = None
    gated_mlp: Flag | None = None
    sliding_window: CountOrZero | None = None
    max_positions: CountOrZero | None = None
    unit: Text | None = None
    flops_per_unit: Amount | None = None
    memory_gib: Gib | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = self.model_fields_set
        custom = given & {"unit", "flops_per_unit", "memory_gib"}
        sizes = given - {"preset", "config", "unit", "flops_per_unit", "memory_gib", "name"}
        ways = [bool("preset" in given), bool("config" in given), bool(sizes), bool(custom)]
        if sum(ways) != 1:
            raise Wrong(
                "it must be said in one way." if sum(ways) else "it says no model.",
                "Give one of: `preset`; `config`; sizes such as `params_billion`; or `unit`, `flops_per_unit` and "
                "`memory_gib`.",
            )
        if custom and len(custom) != 3:
            raise Wrong("work that is no language model is incomplete.", "Give unit, flops_per_unit and memory_gib.")
        return self


class Deadline(Section):
    by: Moment
    usd_per_day_late: AmountOrZero | None = None


class Active(Section):
    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")


class DataKeys(Section):
    tib: Tib
    location: Text
    sync_tib_per_period: Tib = 0.0


class Spot(Section):
    allow: Flag = False
    max_share: Fraction = 1.0
    reacquire: PositiveHours = 1.0


class MeasuredEntry(Section):
    gpu: GpuName
    gpus: Amount
    tokens_per_second: Amount | None = None
    units_per_second: Amount | None = None
    requests_per_second: Amount | None = None
    basis: Literal["steady", "effective"] = "steady"

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        rates = (self.tokens_per_second, self.units_per_second, self.requests_per_second)
        if sum(rate is not None for rate in rates) != 1:
            raise Wrong("it needs exactly one speed.", "Give tokens_per_second or requests_per_second.")
        return self


class Parallel(Section):
    tp: Count | None = None
    pp: Count | None = None
    dp: Count | None = None
    cp: Count | None = None
    ep: Count | None = None
    zero: ZeroStage | None = None
    recompute: Literal["none", "selective", "full"] | None = None
    micro_batch: Count | None = None


ModelOf = Annotated[ModelKeys, under("preset")]
DeadlineOf = Annotated[Deadline, under("by")]
SpotOf = Annotated[Spot, under("allow")]
ParallelOf = Annotated[Parallel, BeforeValidator(lambda value: {} if value == "auto" else value)]


class WorkloadKeys(Section):
    """What every workload may say."""

    name: Text
    kind: str
    team: Text | None = None
    tags: Annotated[tuple[Text, ...], BeforeValidator(_as_tags)] = ()
    active: Active | None = None
    gpus: OneOrMore[GpuPattern] = ()
    regions: OneOrMore[Text] = ()
    priority: Priority = 5
    optional: Flag = False
    value_usd: AmountOrZero | None = None
    data: DataKeys | None = None
    spot: SpotOf | None = None
    measured: tuple[MeasuredEntry, ...] = ()
    only_measured: Flag = False
    precision: Precision | None = None
    memory_reserve: Fraction | None = None
