"""The plan's range: how far the cost moves with the speeds' errors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from gpu_opt.answer.allocations import Choices
from gpu_opt.domain.plan import CostLine

_P90_SCORE = 1.2816  # of a standard normal


def cost_range_usd(lines: Iterable[CostLine], choices: Choices, total_usd: float) -> tuple[float, float]:
    """P10–P90 of the total. A workload's cost follows its speed; what all GPUs share moves all workloads of a kind
    together, the rest averages out. What no workload used doesn't move."""
    by_workload: dict[str, float] = defaultdict(float)
    for line in lines:
        if line.workload:
            by_workload[line.workload] += line.usd
    shared_usd, own_variance = 0.0, 0.0
    for workload, usd in sorted(by_workload.items()):
        options = [c.option for (name, _, _), c in choices.items() if name == workload and c.option is not None]
        shared = max((o.interval.shared_log_sd for o in options), default=0.0)
        own = max((o.interval.own_log_sd for o in options), default=0.0)
        shared_usd += usd * shared
        own_variance += (usd * own) ** 2
    spread = math.sqrt(shared_usd**2 + own_variance) * _P90_SCORE
    relative = spread / total_usd if total_usd > 0.0 else 0.0
    return round(total_usd * math.exp(-relative), 2), round(total_usd * math.exp(relative), 2)
