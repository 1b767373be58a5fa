"""Which layouts of a replica are worth trying on a shape."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpu_opt.domain.hardware import Shape
from gpu_opt.domain.option import Layout
from gpu_opt.domain.workload import Parallelism
from gpu_opt.throughput.serving.profile import ServingProfile

_MAX_INSTANCES = 4
_MAX_GPUS = 64


def _powers_of_two(limit: int) -> list[int]:
    return [2**i for i in range(int(math.log2(limit)) + 1)] if limit >= 1 else [1]


def _splits(profile: ServingProfile, shape: Shape, gpus: int) -> Iterator[Layout]:
    """tp inside the fast domain; pp over PCIe and instances; attention-DP with experts spread for MoE."""
    per_instance = max(int(shape.gpus), 1)
    fast = max(min(shape.scaleup_domain_gpus, gpus), 1)
    for tp in _powers_of_two(gpus):
        if profile.kv_heads and gpus % tp:
            continue
        rest = gpus // tp
        if tp > per_instance and tp > fast:
            continue
        if rest == 1:
            yield Layout(tp=tp)
            if profile.experts and tp > 1:
                yield Layout(tp=tp, ep=tp)
            continue
        slow_link = tp >= fast or fast == 1
        if slow_link and profile.layers >= rest:
            yield Layout(tp=tp, pp=rest)
        if profile.experts:
            yield Layout(tp=tp, dp=rest, ep=gpus)


def _allowed(layout: Layout, fixed: Parallelism) -> bool:
    wanted = {"tp": fixed.tp, "pp": fixed.pp, "dp": fixed.dp, "ep": fixed.ep}
    return all(value is None or getattr(layout, name) == value for name, value in wanted.items())


def replica_layouts(profile: ServingProfile, shape: Shape, fixed: Parallelism, *, instances: int) -> list[Layout]:
    """Layouts within one instance, or over exactly `instances` whole ones. A share of a GPU holds one rank."""
    per_instance = max(int(shape.gpus), 1)
    if instances > 1:
        sizes = [per_instance * instances]
    elif fixed.tp or fixed.pp or fixed.dp:
        sizes = [(fixed.tp or 1) * (fixed.pp or 1) * (fixed.dp or 1)]
        if sizes[0] > per_instance:
            return []
    else:
        sizes = _powers_of_two(per_instance)
        if per_instance not in sizes:
            sizes.append(per_instance)
    found: list[Layout] = []
    for size in sizes:
        if size > _MAX_GPUS:
            continue
        fitting = [layout for layout in _splits(profile, shape, size) if _allowed(layout, fixed)]
        wished = Layout(tp=fixed.tp or 1, pp=fixed.pp or 1, dp=fixed.dp or 1, ep=fixed.ep or 1)
        if not fitting and wished.tp <= per_instance and wished.tp * wished.pp * wished.dp == size:
            fitting = [wished]
        found.extend(layout for layout in fitting if layout not in found)
    return found


def instance_counts(shape: Shape) -> range:
    """How many instances a replica may span when one is too small."""
    return range(2, _MAX_INSTANCES + 1) if shape.gpus >= 1 else range(0)
