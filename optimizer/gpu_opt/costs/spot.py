"""How often spot instances are interrupted: published by AWS per type and region, assumed elsewhere."""

from __future__ import annotations

import math
from functools import cache

from gpu_opt.costs._tables import rows
from gpu_opt.costs.finance import MONTHS_PER_YEAR
from gpu_opt.records import record
from gpu_opt.units import HOURS_PER_YEAR

_OPEN_BAND_MIDPOINT_FRACTION = 0.25  # the band above 20 % has no end; taken as wide as a band of 20 to 30 %
_HOURS_PER_MONTH = HOURS_PER_YEAR / MONTHS_PER_YEAR


@record
class SpotRate:
    """Interruptions per hour that one instance runs (λ of S2, S3), within `low_per_hour` and `high_per_hour`.

    `assumed` marks a rate that nobody publishes for this type and region.
    """

    rate_per_hour: float
    low_per_hour: float
    high_per_hour: float
    source: str
    date: str
    assumed: bool


def hourly_rate(monthly_fraction: float) -> float:
    """λ of a memoryless interruption that hits this share of instances within a month."""
    return -math.log1p(-monthly_fraction) / _HOURS_PER_MONTH


@cache
def _advisor() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["region"], row["instance_type"]): row for row in rows("spot_aws")}


@cache
def _assumed() -> dict[str, dict[str, str]]:
    return {row["provider"]: row for row in rows("spot_default")}


def interruptions_per_instance_hour(provider: str, region: str, instance_type: str) -> SpotRate:
    """The rate of one instance: AWS's monthly band where it names the type and region, else the provider's default."""
    row = _advisor().get((region, instance_type)) if provider == "aws" else None
    if row is not None:
        low = float(row["monthly_low_fraction"])
        high = float(row["monthly_high_fraction"]) if row["monthly_high_fraction"] else None
        middle = _OPEN_BAND_MIDPOINT_FRACTION if high is None else (low + high) / 2
        top = 2 * _OPEN_BAND_MIDPOINT_FRACTION if high is None else high
        band = f"above {low:.0%}" if high is None else f"{low:.0%} to {high:.0%}"
        return SpotRate(
            rate_per_hour=hourly_rate(middle),
            low_per_hour=hourly_rate(low),
            high_per_hour=hourly_rate(top),
            source=f"{row['source']}: {band} a month",
            date=row["date"],
            assumed=False,
        )
    default = _assumed().get(provider, _assumed()["*"])
    return SpotRate(
        rate_per_hour=float(default["interruptions_per_hour"]),
        low_per_hour=float(default["low"]),
        high_per_hour=float(default["high"]),
        source=f"{default['basis']}: {default['source']}",
        date=default["date"],
        assumed=True,
    )
