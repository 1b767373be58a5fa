"""What the throughput model or the user's measurements say of each workload on each shape, asked once a shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpu_opt import hardware
from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.option import JobOption, Layout, Rejection, ReplicaOption
from gpu_opt.domain.question import Question
from gpu_opt.domain.workload import BatchJob, Measured, Service, TrainJob

_WHOLE = 1e-9


@dataclass(slots=True)
class Sizing:
    """Options by (workload, shape), each computed once; the rejections that came with them."""

    question: Question
    training_calibration: object | None = None
    serving_calibration: object | None = None
    job_options: dict[tuple[str, str], tuple[JobOption, ...]] = field(default_factory=dict)
    replica_options: dict[tuple[str, str], tuple[ReplicaOption, ...]] = field(default_factory=dict)
    rejections: dict[tuple[str, str], tuple[Rejection, ...]] = field(default_factory=dict)

    def jobs(self, job: TrainJob, shape: Shape) -> tuple[JobOption, ...]:
        """Gangs of a training job on a shape."""
        key = (job.name, shape.name)
        if key not in self.job_options:
            measured, modelled = _measured_jobs(job, shape), not job.only_measured
            found: tuple[JobOption, ...] = ()
            if modelled:
                found, self.rejections[key] = self._train(job, shape)
            elif not measured:
                self.rejections[key] = (_not_measured(job.name, shape),)
            taken = {option.gpus for option in measured}
            self.job_options[key] = (*measured, *(o for o in found if o.gpus not in taken))
        return self.job_options[key]

    def replicas(self, work: Service | BatchJob, shape: Shape) -> tuple[ReplicaOption, ...]:
        """Replicas of a service or batch job on a shape."""
        key = (work.name, shape.name)
        if key not in self.replica_options:
            measured = _measured_replicas(work, shape)
            found: tuple[ReplicaOption, ...] = ()
            if not work.only_measured:
                found, self.rejections[key] = self._serve(work, shape)
            elif not measured:
                self.rejections[key] = (_not_measured(work.name, shape),)
            taken = {option.gpus for option in measured}
            self.replica_options[key] = (*measured, *(o for o in found if o.gpus not in taken))
        return self.replica_options[key]

    def _train(self, job: TrainJob, shape: Shape) -> tuple[tuple[JobOption, ...], tuple[Rejection, ...]]:
        from gpu_opt.throughput.training import job_options

        reserve = job.memory_reserve_fraction
        return job_options(
            job,
            shape,
            hardware.load_accelerators()[shape.gpu],
            calibration=self.training_calibration,  # type: ignore[arg-type]
            memory_reserve_fraction=self.question.memory_reserve_fraction if reserve is None else reserve,
        )

    def _serve(self, work: Service | BatchJob, shape: Shape) -> tuple[tuple[ReplicaOption, ...], tuple[Rejection, ...]]:
        from gpu_opt.throughput.serving import batch_options, service_options

        accelerator = hardware.load_accelerators()[shape.gpu]
        reserve = work.memory_reserve_fraction
        calibration = self.serving_calibration
        if isinstance(work, Service):
            return service_options(work, shape, accelerator, memory_reserve_fraction=reserve, calibration=calibration)  # type: ignore[arg-type]
        return batch_options(work, shape, accelerator, memory_reserve_fraction=reserve, calibration=calibration)  # type: ignore[arg-type]


def _not_measured(workload: str, shape: Shape) -> Rejection:
    reason = f"{shape.name} isn't among the measured configurations, and only_measured is set"
    return Rejection(workload=workload, subject=shape.name, code="measured", reason=reason)


def _on_shape(measured: Iterable[Measured], shape: Shape) -> Iterable[Measured]:
    """Measurements of a shape's GPU that whole instances, or a whole part of one, can make up."""
    for entry in measured:
        if entry.gpu != shape.gpu:
            continue
        instances, per_instance = entry.gpus / shape.gpus, shape.gpus / entry.gpus
        if (abs(instances - round(instances)) < _WHOLE and round(instances) >= 1) or per_instance >= 1:
            yield entry


def _measured_jobs(job: TrainJob, shape: Shape) -> tuple[JobOption, ...]:
    found = []
    for entry in _on_shape(job.measured, shape):
        whole = entry.gpus / shape.gpus
        if entry.tokens_per_second is None or abs(whole - round(whole)) > _WHOLE or round(whole) < 1:
            continue
        found.append(
            JobOption(
                shape=shape.name,
                gpus=entry.gpus,
                tokens_per_second=entry.tokens_per_second,
                layout=Layout(dp=1),
                stack=job.stack,
                source="measured",
                effective=entry.effective,
            )
        )
    return tuple(found)


def _measured_replicas(work: Service | BatchJob, shape: Shape) -> tuple[ReplicaOption, ...]:
    found = []
    for entry in _on_shape(work.measured, shape):
        rate = entry.requests_per_second
        if rate is None and entry.tokens_per_second is not None:
            rate = entry.tokens_per_second / (work.input_tokens.mean_tokens + work.output_tokens.mean_tokens)
        if rate is None:
            continue
        found.append(
            ReplicaOption(
                shape=shape.name,
                gpus=entry.gpus,
                requests_per_second=rate,
                layout=Layout(),
                engine=work.engine,
                source="measured",
            )
        )
    return tuple(found)
