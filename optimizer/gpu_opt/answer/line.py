"""One cost line: quantity × rate, to the cent."""

from __future__ import annotations

from gpu_opt.domain.plan import CostLine

AFTER_HORIZON = "after-horizon"


def cents(quantity: float, rate_usd: float) -> float:
    """Quantity × rate, to the cent."""
    return round(quantity * rate_usd, 2) + 0.0


def make_line(
    label: str,
    period: str,
    workload: str,
    quantity: float,
    unit: str,
    rate_usd: float,
    *,
    provider: str = "",
    market: str = "",
    offer: str = "",
    billed: bool = True,
) -> CostLine:
    """One line; quantities keep nine decimals so that the file reads well and multiplies out."""
    quantity = round(quantity, 9)
    return CostLine(
        label=label,
        period=period,
        workload=workload,
        quantity=quantity,
        unit=unit,
        rate_usd=rate_usd,
        usd=cents(quantity, rate_usd),
        provider=provider,
        market=market,
        offer=offer,
        billed=billed,
    )
