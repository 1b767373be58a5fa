"""M5: whether a need fits, with the confidence that the model's own error leaves."""

from __future__ import annotations

import math

FITS_CONFIDENCE = 0.9


def fit_confidence(need_gib: float, capacity_gib: float, log_sd: float) -> float:
    """Probability that a predicted need stays within a capacity when its error is log-normal."""
    if need_gib <= 0:
        return 1.0
    score = math.log(capacity_gib / need_gib) / log_sd
    return 0.5 * math.erfc(-score / math.sqrt(2.0))


def verdict(confidence: float) -> str:
    """`fits` from 90 % confidence on, `tight` down to 50 %, else `doesn't fit`."""
    if confidence >= FITS_CONFIDENCE:
        return "fits"
    return "tight" if confidence >= 0.5 else "doesn't fit"
