"""Workloads of the file as domain workloads: everything resolved to plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.question import Horizon
from gpu_opt.domain.workload import (
    BatchJob,
    CustomUnit,
    DataLocation,
    GpuHours,
    Measured,
    Parallelism,
    RequestClass,
    Service,
    Slo,
    SpotPolicy,
    TokenLength,
    TrafficBlock,
    TrainJob,
    Workload,
)
from gpu_opt.errors import InputError, Problem
from gpu_opt.hardware.accelerators import match_gpus
from gpu_opt.workload_file.models import resolve_model
from gpu_opt.workload_file.times import active_of, window_of
from gpu_opt.workload_file.yaml_lines import KeyPath

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile

WHOLE_DAY = "all"


class WorkloadBuilder:
    """Builds workloads within one horizon; collects problems and warnings instead of raising."""

    def __init__(self, file: WorkloadFile, horizon: Horizon) -> None:
        self.file = file
        self.horizon = horizon
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def build(self, index: int) -> Workload | None:
        """The workload at an index; None when it has problems."""
        keys: Any = self.file.workloads[index]
        path: KeyPath = ("workloads", index)
        builders: dict[str, Callable[[KeyPath, Any], Workload]] = {
            "pretrain": self._training,
            "finetune": self._training,
            "batch": self._batch,
            "gpu_hours": self._gpu_hours,
            "serve": self._service,
        }
        before = len(self.problems)
        try:
            found = builders[keys.kind](path, keys)
        except InputError as error:
            self.problems.extend(error.problems)
            return None
        model = getattr(found, "model", None)
        if isinstance(model, ModelSpec) and model.origin == "assumed":
            self.warnings.append(f"{keys.name}: the shape of its model is assumed: {model.source}.")
        self.warnings.extend(_other_precision(keys, found))
        return found if len(self.problems) == before else None

    def _common(self, keys: Any, window: tuple[float, float]) -> dict[str, Any]:
        spot = keys.spot
        return {
            "name": keys.name,
            "kind": keys.kind,
            "team": keys.team or "",
            "tags": keys.tags,
            "active_from_hours": window[0],
            "active_to_hours": window[1],
            "gpus": gpus_of(keys.gpus),
            "regions": keys.regions,
            "priority": keys.priority,
            "optional": keys.optional,
            "value_usd": keys.value_usd,
            "data": _data(keys.data),
            "spot": SpotPolicy(allow=spot.allow, max_share_fraction=spot.max_share, reacquire_hours=spot.reacquire)
            if spot
            else SpotPolicy(),
            "measured": tuple(_measured(entry) for entry in keys.measured),
            "only_measured": keys.only_measured,
            "precision": keys.precision or self.file.defaults.precision,
            "memory_reserve_fraction": keys.memory_reserve,
        }

    def _training(self, path: KeyPath, keys: Any) -> TrainJob:
        model = resolve_model(self.file, (*path, "model"), keys.model)
        active = active_of(self.file, path, keys, self.horizon, self.problems)
        begin, end = window_of(self.file, path, keys, self.horizon, self.problems)
        tune = keys.kind == "finetune"
        amount = (keys.dataset_tokens or keys.dataset_units) if tune else (keys.tokens or keys.units)
        return TrainJob(
            **self._common(keys, active),
            model=model,
            tokens_per_run=amount * (keys.epochs if tune else 1.0),
            sequence_length_tokens=keys.sequence_length or 1,
            method=keys.method if tune else "full",
            lora_rank=keys.rank if tune else 16,
            global_batch_tokens=keys.global_batch_tokens,
            runs_per_period=(keys.runs_per_period or 0) if tune else 0,
            max_hours_per_run=keys.max_hours_per_run if tune else None,
            earliest_hours=begin,
            deadline_hours=end,
            usd_per_day_late=keys.deadline.usd_per_day_late if keys.deadline else None,
            stack=keys.stack or "",
            parallel=_parallel(keys.parallel),
            optimizer=keys.optimizer,
            checkpoint_interval_hours=keys.checkpoint.interval if keys.checkpoint else None,
            preemptible=keys.preemptible,
            min_network_gbps_per_gpu=keys.min_network_gbps_per_gpu,
            max_gpus=keys.max_gpus,
        )

    def _batch(self, path: KeyPath, keys: Any) -> BatchJob:
        model = resolve_model(self.file, (*path, "model"), keys.model)
        active = active_of(self.file, path, keys, self.horizon, self.problems)
        begin, end = window_of(self.file, path, keys, self.horizon, self.problems)
        inputs, outputs = _lengths(keys, model)
        return BatchJob(
            **self._common(keys, active),
            model=model,
            requests=keys.requests or keys.requests_per_period,
            per_period=keys.requests_per_period is not None,
            input_tokens=inputs,
            output_tokens=outputs,
            earliest_hours=begin,
            deadline_hours=end,
            max_hours_per_run=keys.max_hours_per_run,
            fill_idle=keys.fill_idle,
            engine=keys.engine,
            kv_precision=_kv(keys.kv_precision),
        )

    def _gpu_hours(self, path: KeyPath, keys: Any) -> GpuHours:
        active = active_of(self.file, path, keys, self.horizon, self.problems)
        periods = len(self.horizon.periods)
        demand = {}
        for gpu, values in keys.demand.items():
            if len(values) not in (1, periods):
                what = f"{len(values)} numbers for {periods} periods."
                remedy = "Give one for each period of the horizon, or one for all."
                self.problems.append(self.file.problem((*path, "demand", gpu), what, remedy))
            demand[gpu] = tuple(values) if len(values) == periods else tuple(values[:1]) * periods
        return GpuHours(**self._common(keys, active), demand_gpu_hours=demand, substitutes=dict(keys.substitutes))

    def _service(self, path: KeyPath, keys: Any) -> Service:
        model = resolve_model(self.file, (*path, "model"), keys.model)
        active = active_of(self.file, path, keys, self.horizon, self.problems)
        burst = keys.traffic.burst.peak_to_mean if keys.traffic.burst else None
        mix = tuple(
            RequestClass(
                share_fraction=part.share,
                input_tokens=_length(part.input_tokens),
                output_tokens=_length(part.output_tokens),
            )
            for part in keys.request_mix
        )
        if keys.traffic.trace is not None:
            blocks, inputs, outputs, trace_burst = self._trace(path, keys.traffic.trace)
            if burst is None and trace_burst > 1:
                burst = trace_burst
                self.warnings.append(
                    f"{keys.name}: replicas are sized for {burst:.2f} times each block's mean, as the trace's busy "
                    "minutes need; `burst: {peak_to_mean: 1}` leaves that out."
                )
        else:
            blocks = self._blocks(keys.traffic)
            inputs, outputs = _mean_of(mix) if mix else _lengths(keys, model)
        return Service(
            **self._common(keys, active),
            model=model,
            blocks=blocks,
            growth_per_period_fraction=keys.traffic.growth_per_period,
            peak_to_mean_ratio=burst or 1.0,
            input_tokens=inputs,
            output_tokens=outputs,
            request_mix=mix,
            slo=_slo(keys.slo),
            availability_fraction=keys.availability.target if keys.availability else None,
            repair_hours=keys.availability.repair if keys.availability else None,
            min_replicas=keys.min_replicas,
            max_share_per_zone_fraction=keys.max_share_per_zone,
            engine=keys.engine,
            parallel=_parallel(keys.parallel),
            kv_precision=_kv(keys.kv_precision),
            prefix_cache_hit_fraction=keys.prefix_cache_hit,
            speculative_tokens=keys.speculative.tokens if keys.speculative else 0,
            speculative_acceptance_fraction=keys.speculative.acceptance if keys.speculative else 0.0,
            disaggregated=keys.disaggregated,
            autoscale_efficiency_fraction=keys.autoscale.efficiency if keys.autoscale else None,
            pool=keys.pool or "",
            round_robin=keys.routing == "round_robin",
            trace_file=str(self.file.path_of(keys.traffic.trace)) if keys.traffic.trace else "",
        )

    def _blocks(self, traffic: Any) -> tuple[TrafficBlock, ...]:
        if traffic.blocks is None:
            return (TrafficBlock(name=WHOLE_DAY, hours_share_fraction=1.0, requests_per_second=traffic.rps),)
        named = {block.name: block.hours_share_fraction for block in self.horizon.blocks}
        return tuple(
            TrafficBlock(
                name=block.name,
                hours_share_fraction=named.get(block.name, block.hours_share),
                requests_per_second=block.rps,
                named=block.name in named,
            )
            for block in traffic.blocks
        )

    def _trace(self, path: KeyPath, name: str) -> tuple[tuple[TrafficBlock, ...], TokenLength, TokenLength, float]:
        """Blocks, lengths and burst of a request trace, which repeats where it is shorter than a period."""
        from gpu_opt.throughput.queueing.summary import derive
        from gpu_opt.throughput.queueing.trace import read_trace

        try:
            trace = read_trace(self.file.path_of(name))
            summary = derive(trace)
        except InputError as error:
            first = error.problems[0]
            at = f"{name}, line {first.line}" if first.line else name
            problem = self.file.problem((*path, "traffic", "trace"), f"{at}: {first.what}", first.remedy)
            raise InputError(problem) from error
        self.warnings.extend((*summary.notes, *map(str, trace.problems)))
        return (
            summary.blocks,
            summary.input_tokens.length,
            summary.output_tokens.length,
            summary.burst_peak_to_mean_ratio,
        )


def _other_precision(keys: Any, found: Workload) -> Iterator[str]:
    """A model that is published in a narrower precision, planned in the default one because the file names none."""
    model = getattr(found, "model", None)
    if isinstance(found, Service | BatchJob) and isinstance(model, ModelSpec) and keys.precision is None:
        native = model.native_precision
        if native not in ("bf16", "fp16", "fp32", found.precision):
            told = f"{model.name} is published in {native} and planned in {found.precision}"
            yield f"{keys.name}: {told}; set `precision` where that isn't meant."


def gpus_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """Canonical names that an allow-list covers, each once; empty for an empty list, which allows all."""
    return tuple(dict.fromkeys(name for pattern in patterns for name in match_gpus(pattern)))


def _data(keys: Any) -> DataLocation | None:
    if keys is None:
        return None
    return DataLocation(tib=keys.tib, location=keys.location, sync_tib_per_period=keys.sync_tib_per_period)


def _measured(entry: Any) -> Measured:
    return Measured(
        gpu=entry.gpu,
        gpus=entry.gpus,
        tokens_per_second=entry.tokens_per_second or entry.units_per_second,
        requests_per_second=entry.requests_per_second,
        effective=entry.basis == "effective",
    )


def _parallel(keys: Any) -> Parallelism:
    return Parallelism(**keys.model_dump()) if keys is not None else Parallelism()


def _kv(precision: str | None) -> str:
    return "" if precision in (None, "auto") else str(precision)


def _length(keys: Any) -> TokenLength:
    return TokenLength(mean_tokens=keys.mean, p95_tokens=keys.p95)


def _lengths(keys: Any, model: object) -> tuple[TokenLength, TokenLength]:
    """Input and output lengths; for work that is no language model, units a request and nothing."""
    if isinstance(model, CustomUnit):
        return TokenLength(mean_tokens=keys.units_per_request or 1.0), TokenLength(mean_tokens=0.0)
    return _length(keys.input_tokens), _length(keys.output_tokens)


def _mean_of(mix: Sequence[RequestClass]) -> tuple[TokenLength, TokenLength]:
    """Mean lengths over a mix of requests."""
    inputs = math.fsum(part.share_fraction * part.input_tokens.mean_tokens for part in mix)
    outputs = math.fsum(part.share_fraction * part.output_tokens.mean_tokens for part in mix)
    return TokenLength(mean_tokens=inputs), TokenLength(mean_tokens=outputs)


def _slo(keys: Any) -> Slo | None:
    if keys is None:
        return None
    limits = {
        (metric, statistic): value
        for metric in ("ttft", "tpot", "itl", "e2e")
        if getattr(keys, metric) is not None
        for statistic in ("mean", "p50", "p95", "p99")
        if (value := getattr(getattr(keys, metric), statistic)) is not None
    }
    return Slo(limit_ms=limits) if limits else None
