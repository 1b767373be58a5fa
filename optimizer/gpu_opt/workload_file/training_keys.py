"""Training runs, as they stand in the file."""

# Annotations are evaluated here and now: as text, pydantic would compile and evaluate each of them at every start.
from typing import Literal

from gpu_opt.workload_file.scalars import Amount, AtLeastOne, Count, Flag, Moment, PositiveHours, Text
from gpu_opt.workload_file.section import Section
from gpu_opt.workload_file.workload_keys import DeadlineOf, ModelOf, ParallelOf, WorkloadKeys


class Checkpoint(Section):
    interval: PositiveHours


class TrainKeys(WorkloadKeys):
    model: ModelOf
    sequence_length: Count | None = None
    global_batch_tokens: AtLeastOne | None = None
    deadline: DeadlineOf | None = None
    earliest: Moment | None = None
    stack: Text | None = None
    parallel: ParallelOf | None = None
    optimizer: Text = "adam"
    checkpoint: Checkpoint | None = None
    preemptible: Flag = False
    min_network_gbps_per_gpu: Amount | None = None
    max_gpus: Count | None = None


class PretrainKeys(TrainKeys):
    kind: Literal["pretrain"]
    tokens: AtLeastOne | None = None
    units: Amount | None = None


class FinetuneKeys(TrainKeys):
    kind: Literal["finetune"]
    dataset_tokens: AtLeastOne | None = None
    dataset_units: Amount | None = None
    method: Literal["full", "lora", "qlora"] = "full"
    rank: Count = 16
    epochs: Amount = 1.0
    runs_per_period: Count | None = None
    max_hours_per_run: Amount | None = None
