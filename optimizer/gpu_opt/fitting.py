"""On which GPUs a workload runs: memory by line, layout and speed on each, or why it doesn't. No prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpu_opt import hardware
from gpu_opt.candidates.sizing import Sizing
from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import JobOption, Layout, MemoryLine, ReplicaOption
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, GpuHours, Service, TrainJob, Workload
from gpu_opt.records import record

_USUAL_COUNTS = (1, 2, 4, 8)
_ONE_MACHINE_GPUS = 16  # more than that in one shape is a rack
_FULL_GPUS = 8  # a machine that no table knows
_ANNOUNCED = "announced"


@record
class FitOptions:
    """Which GPUs to look at: `gpus` are canonical names, empty for all that can be had."""

    gpus: tuple[str, ...] = ()
    training_calibration: object | None = None
    serving_calibration: object | None = None


@record
class Fit:
    """One way in which a workload runs on `gpus` GPUs of a shape. Speeds are tokens per second per GPU (of a service:
    those put out), with their P10 and P90; `requests_per_second` is that of one replica with its targets met.

    `memory_gib` is what the fullest GPU holds, of `usable_gib` that the reserve or the engine leaves of `device_gib`.
    """

    gpu: str
    shape: str
    gpus: float
    layout: Layout
    software: str
    memory: tuple[MemoryLine, ...]
    memory_gib: float | None
    device_gib: float
    tokens_per_second_per_gpu: float | None
    low: float | None
    high: float | None
    requests_per_second: float | None
    latency_ms: dict[str, float]
    verdict: str
    source: str
    notes: tuple[str, ...]


@record
class Misfit:
    """Why a workload doesn't run on a shape."""

    gpu: str
    shape: str
    code: str
    reason: str


@record
class WorkloadFit:
    """All ways of one workload, those on few GPUs first, and the reasons of the GPUs on which there is none."""

    name: str
    kind: str
    model: str
    assumed_shape: bool
    precision: str
    fits: tuple[Fit, ...]
    misfits: tuple[Misfit, ...]


@record
class FitReport:
    """What was found. `on_offer` are the GPUs of machines that are rented or sold as far as the tables know; the
    others were looked at as parts."""

    workloads: tuple[WorkloadFit, ...]
    on_offer: frozenset[str]
    warnings: tuple[str, ...] = ()


def fit(question: Question, options: FitOptions) -> FitReport:
    """Sizes every workload on a usual machine of each GPU, with one card and with as many as one machine has."""
    sizing = Sizing(
        question,
        training_calibration=options.training_calibration,
        serving_calibration=options.serving_calibration,
    )
    shapes = usual_shapes(options.gpus or question.scope.gpus)
    found, warnings = [], []
    for workload in question.workloads:
        if isinstance(workload, GpuHours):
            warnings.append(f"{workload.name}: hours of a GPU are asked for, not a model; there is nothing to fit.")
        else:
            found.append(_workload(sizing, workload, _allowed(shapes, workload.gpus)))
    on_offer = frozenset(shape.gpu for shape in _known_shapes())
    return FitReport(workloads=tuple(found), on_offer=on_offer, warnings=(*question.warnings, *warnings))


def usual_shapes(gpus: Sequence[str] = ()) -> tuple[Shape, ...]:
    """The machines to look at: for each GPU the best connected one of each usual count, by GPU and count.

    Parts that are only announced are left out unless they are named.
    """
    wanted = set(gpus) or {name for name, part in hardware.load_accelerators().items() if part.status != _ANNOUNCED}
    best: dict[tuple[str, float], Shape] = {}
    for shape in sorted((shape for shape in _known_shapes() if shape.gpu in wanted), key=_rank):
        best[shape.gpu, shape.gpus] = shape
    for name in wanted - {gpu for gpu, _ in best}:
        full = float(max(1, min(hardware.link_of(name)[1], _FULL_GPUS)))
        best[name, full] = hardware.shape_of("", "", name, full)
    for name in wanted:
        best.setdefault((name, 1.0), hardware.shape_of("", "", name, 1.0))
    largest = {name: max(count for gpu, count in best if gpu == name) for name in wanted}
    kept = [key for key in sorted(best) if key[1] in _USUAL_COUNTS or key[1] == largest[key[0]]]
    return tuple(best[key] for key in kept)


def _known_shapes() -> Iterable[Shape]:
    """Whole machines that can be rented or bought; racks and shares of a GPU are left out."""
    for _, _, shape in hardware.shape_table():
        if 1 <= shape.gpus <= _ONE_MACHINE_GPUS:
            yield shape
    for system in hardware.load_systems().values():
        if system.gpus <= _ONE_MACHINE_GPUS:
            yield hardware.system_shape(system)


def _rank(shape: Shape) -> tuple[int, bool, float, str]:
    return (shape.scaleup_domain_gpus, shape.rdma, shape.network_gbps or 0.0, shape.name)


def _allowed(shapes: Iterable[Shape], gpus: Sequence[str]) -> list[Shape]:
    return [shape for shape in shapes if not gpus or shape.gpu in gpus]


def _workload(sizing: Sizing, workload: TrainJob | Service | BatchJob, shapes: Sequence[Shape]) -> WorkloadFit:
    fits: list[tuple[float, Fit]] = []
    misfits: list[Misfit] = []
    for shape in shapes:
        options = sizing.jobs(workload, shape) if isinstance(workload, TrainJob) else sizing.replicas(workload, shape)
        fits += [(shape.gpus, _fit(workload, shape, option)) for option in options]
        if not options:
            misfits += [
                Misfit(gpu=shape.gpu, shape=shape.name, code=said.code, reason=said.reason)
                for said in sizing.rejections.get((workload.name, shape.name), ())
            ]
    model = workload.model
    named = model.name if isinstance(model, ModelSpec) else model.unit
    return WorkloadFit(
        name=workload.name,
        kind=workload.kind,
        model=named,
        assumed_shape=isinstance(model, ModelSpec) and model.origin == "assumed",
        precision=workload.precision,
        fits=tuple(fit for _, fit in sorted(fits, key=lambda pair: _order(*pair))),
        misfits=tuple(misfits),
    )


def _order(machine_gpus: float, fit: Fit) -> tuple[float, float, str, float, str]:
    return (fit.gpus, fit.device_gib, fit.gpu, machine_gpus, fit.shape)


def _fit(workload: Workload, shape: Shape, option: JobOption | ReplicaOption) -> Fit:
    job = isinstance(option, JobOption)
    speed = _speed(workload, option)
    latency = {} if isinstance(option, JobOption) else _latency(option)
    return Fit(
        gpu=shape.gpu,
        shape=shape.name,
        gpus=option.gpus,
        layout=option.layout,
        software=option.stack if isinstance(option, JobOption) else option.engine,
        memory=option.memory,
        memory_gib=sum(line.gib for line in option.memory) if option.memory else None,
        device_gib=min(shape.gpus, 1.0) * shape.memory_gib_per_gpu,
        tokens_per_second_per_gpu=speed,
        low=None if speed is None else speed * option.interval.low_ratio,
        high=None if speed is None else speed * option.interval.high_ratio,
        requests_per_second=None if job else _rate(option),
        latency_ms=latency,
        verdict=option.verdict if isinstance(option, JobOption) else "fits",
        source=option.source,
        notes=option.notes,
    )


def _rate(option: JobOption | ReplicaOption) -> float | None:
    return option.requests_per_second if isinstance(option, ReplicaOption) else None


def _speed(workload: Workload, option: JobOption | ReplicaOption) -> float | None:
    if isinstance(option, JobOption):
        return option.tokens_per_second / option.gpus
    if isinstance(workload, Service | BatchJob):
        return option.requests_per_second * workload.output_tokens.mean_tokens / option.gpus
    return None


def _latency(option: ReplicaOption) -> dict[str, float]:
    return {f"{metric}_{statistic}_ms": value for (metric, statistic), value in sorted(option.latency.value_ms.items())}
