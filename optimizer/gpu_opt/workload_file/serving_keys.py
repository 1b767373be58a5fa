"""Online services and offline inference, as they stand in the file."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from gpu_opt.workload_file.scalars import (
    Amount,
    AmountOrZero,
    AtLeastOne,
    Count,
    CountOrZero,
    Flag,
    Fraction,
    Growth,
    Milliseconds,
    Moment,
    PositiveHours,
    Share,
    Text,
    Wrong,
)
from gpu_opt.workload_file.section import Section
from gpu_opt.workload_file.workload_keys import DeadlineOf, ModelOf, ParallelOf, WorkloadKeys, under

Engine = Literal["vllm", "sglang", "tensorrt-llm", "llama.cpp"]
KvPrecision = Literal["auto", "fp32", "bf16", "fp16", "fp8", "int8", "int4"]


def _switch(value: Any) -> Any:
    """`true` stands for a mapping of defaults, `false` for nothing."""
    word = str(value).lower() if isinstance(value, str | bool) else ""
    return {} if word in ("true", "yes", "on") else None if word in ("false", "no", "off") else value


def _yes_or_no(value: Any) -> Any:
    words = {"true": "yes", "on": "yes", "false": "no", "off": "no"}
    return words.get(str(value).lower(), value) if isinstance(value, str | bool) else value


class Length(Section):
    mean: AtLeastOne
    p95: AtLeastOne | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p95 is not None and self.p95 < self.mean:
            raise Wrong(f"p95 {self.p95:g} is below the mean {self.mean:g}.", "Give the 95th percentile of tokens.")
        return self


LengthOf = Annotated[Length, under("mean")]


class MixEntry(Section):
    share: Share
    input_tokens: LengthOf
    output_tokens: LengthOf


class TrafficBlockEntry(Section):
    name: Text
    hours_share: Share | None = None
    rps: AmountOrZero


class Burst(Section):
    peak_to_mean: AtLeastOne


class Traffic(Section):
    rps: AmountOrZero | None = None
    blocks: tuple[TrafficBlockEntry, ...] | None = None
    trace: Text | None = None
    growth_per_period: Growth = 0.0
    burst: Burst | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(value is not None for value in (self.rps, self.blocks, self.trace)) != 1:
            raise Wrong("the load must be said in one way.", "Give one of: rps, blocks, trace.")
        if self.blocks is not None and not any(block.rps > 0 for block in self.blocks):
            raise Wrong("no block has any requests.", "Give an rps above zero.")
        if self.rps == 0:
            raise Wrong("0 requests per second need nothing.", "Give an rps above zero, or remove the workload.")
        return self


class Percentiles(Section):
    mean: Milliseconds | None = None
    p50: Milliseconds | None = None
    p95: Milliseconds | None = None
    p99: Milliseconds | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_fields_set:
            raise Wrong("it sets no limit.", "Give one such as {p95: 800ms}.")
        return self


class SloKeys(Section):
    ttft: Percentiles | None = None
    tpot: Percentiles | None = None
    itl: Percentiles | None = None
    e2e: Percentiles | None = None


class Availability(Section):
    target: Fraction
    repair: PositiveHours | None = None

    @model_validator(mode="after")
    def _below_one(self) -> Self:
        if self.target >= 1:
            raise Wrong("an availability of 1 can't be reached.", "Write a fraction below 1, such as 0.999.")
        return self


class Speculative(Section):
    tokens: Count
    acceptance: Fraction


class Autoscale(Section):
    efficiency: Share = 0.85


class BatchKeys(WorkloadKeys):
    kind: Literal["batch"]
    model: ModelOf
    requests: AtLeastOne | None = None
    requests_per_period: AtLeastOne | None = None
    input_tokens: LengthOf | None = None
    output_tokens: LengthOf | None = None
    units_per_request: Amount | None = None
    deadline: DeadlineOf | None = None
    earliest: Moment | None = None
    max_hours_per_run: Amount | None = None
    fill_idle: Flag = False
    engine: Engine = "vllm"
    kv_precision: KvPrecision | None = None


class ServeKeys(WorkloadKeys):
    kind: Literal["serve"]
    model: ModelOf
    traffic: Traffic
    input_tokens: LengthOf | None = None
    output_tokens: LengthOf | None = None
    units_per_request: Amount | None = None
    request_mix: tuple[MixEntry, ...] = ()
    slo: SloKeys | None = None
    availability: Annotated[Availability, under("target")] | None = None
    min_replicas: CountOrZero = 0
    max_share_per_zone: Share | None = None
    engine: Engine = "vllm"
    parallel: ParallelOf | None = None
    kv_precision: KvPrecision | None = None
    prefix_cache_hit: Fraction = 0.0
    speculative: Speculative | None = None
    disaggregated: Annotated[Literal["auto", "yes", "no"], BeforeValidator(_yes_or_no)] = "no"
    autoscale: Annotated[Autoscale | None, BeforeValidator(_switch)] = None
    pool: Text | None = None
    routing: Literal["weighted", "round_robin"] = "weighted"
