"""What asking sixty shapes for their options costs, as ratios to importing pandas, in one run.

`python benchmarks/option_search.py [--rounds 9]`. Exits 1 when a search costs more than the import. Every round is a
process of its own, so that nothing is remembered; user CPU time of the search itself, medians.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

from gpu_opt import hardware
from gpu_opt.domain.workload import Service, Slo, TokenLength, TrafficBlock, TrainJob
from gpu_opt.models import preset
from gpu_opt.throughput.serving import service_options
from gpu_opt.throughput.training import job_options

SHAPES = 60
TARGET_RATIO = 1.0
MODELS = {"training": "llama-2-70b", "serving": "llama-3.1-8b"}


def main() -> int:
    """Prints one row a search; with `--child` runs one and prints its seconds."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--child", choices=list(MODELS))
    given = arguments.parse_args()
    if given.child:
        print(searched_seconds(given.child))
        return 0
    met = True
    for kind, model in MODELS.items():
        times = [(child_seconds(kind), pandas_seconds()) for _ in range(given.rounds)]
        ours, theirs = (float(statistics.median(side)) for side in zip(*times, strict=True))
        met &= ours <= TARGET_RATIO * theirs
        words = f"{kind} options of {model} on {SHAPES} shapes"
        print(f"{words:<52} {ours:.3f} s, import pandas {theirs:.3f} s, ratio {ours / theirs:.2f}")
    return 0 if met else 1


def searched_seconds(kind: str) -> float:
    """User CPU time of the options of one workload on every shape."""
    shapes = list({shape.name: shape for _, _, shape in hardware.shape_table()}.values())[:SHAPES]
    parts = hardware.load_accelerators()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for shape in shapes:
        if kind == "training":
            job_options(JOB, shape, parts[shape.gpu], memory_reserve_fraction=0.25)
        else:
            service_options(SERVICE, shape, parts[shape.gpu], memory_reserve_fraction=None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


JOB = TrainJob(
    name="tune",
    kind="finetune",
    model=preset(MODELS["training"]),
    method="full",
    tokens_per_run=1e9,
    sequence_length_tokens=4096,
    active_to_hours=2160.0,
    deadline_hours=2160.0,
)
SERVICE = Service(
    name="chat",
    kind="serve",
    model=preset(MODELS["serving"]),
    blocks=(TrafficBlock(name="all", hours_share_fraction=1.0, requests_per_second=10.0),),
    input_tokens=TokenLength(mean_tokens=600.0, p95_tokens=2500.0),
    output_tokens=TokenLength(mean_tokens=200.0),
    slo=Slo(limit_ms={("ttft", "p95"): 1000.0, ("tpot", "p95"): 60.0}),
    active_to_hours=2160.0,
)


def child_seconds(kind: str) -> float:
    """One search in a process of its own."""
    ran = subprocess.run([sys.executable, __file__, "--child", kind], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def pandas_seconds() -> float:
    """User CPU time of a process that imports pandas and nothing else."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-c", "import pandas"], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    sys.exit(main())
