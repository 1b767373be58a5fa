"""One cell of an offer file into a value, or the reason why not. Strict: nothing is guessed, nothing is mended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from gpu_opt.domain.offer import Market
from gpu_opt.hardware import UnknownName, canonical_gpu
from gpu_opt_prices.columns import parse_date, read_text_cell

MAX_CELL_CHARS = 300
_SHOWN_CHARS = 40
_MAX_GPUS = 100_000
# Far outside what any instance costs: a slip of units or of the decimal point, not a price.
LEAST_USD = 1e-6
MOST_USD = 1e6
MOST_UPFRONT_USD = 1e9
PLACEHOLDER = "the price is a placeholder that feeds use for an unknown one"
_NUMBER = re.compile(r"[+-]?(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})

# Placeholders for an unknown price in the feeds of peers (Karpenter for Azure: 999, a catalogue: 700), with their
# usual spellings.
SENTINEL_USD = frozenset({700.0, 999.0, 999.99, 9999.0, 9999.99, 99999.0, 99999.99, 999999.0, 999999.99, 9999999.0})
_MARKETS = {market.value: market for market in Market if market is not Market.QUOTE}


class BadRow(Exception):
    """Why a row is refused; `value` is the offending cell."""

    def __init__(self, code: str, reason: str, value: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason, self.value = code, reason, shown(value)


class UnknownGpu(Exception):
    """A GPU name outside the accelerator table."""

    def __init__(self, value: str, nearest: str) -> None:
        super().__init__(value)
        self.value, self.nearest = shown(value), nearest


def shown(value: str) -> str:
    """A cell as a message may show it: printable and short."""
    text = "".join(char if char.isprintable() else "?" for char in value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _number(text: str, column: str) -> float:
    if _NUMBER.match(text):
        value = float(text)
        if value not in (float("inf"), float("-inf")):
            return value
    elif not _NOT_FINITE.match(text):
        raise BadRow(f"{column}-not-a-number", f"{column} is not a number", text)
    raise BadRow(f"{column}-not-finite", f"{column} is not finite", text)


def _required_text(text: str, column: str) -> str:
    if not text:
        raise BadRow("empty", f"{column} is empty")
    return _text(text, column)


def _text(text: str, column: str) -> str:
    if not text.isprintable():
        raise BadRow("control-character", f"{column} has a control character", text)
    return read_text_cell(text)


def _provider(text: str, column: str) -> str:
    return _required_text(text, column).lower()


def _positive(text: str, column: str) -> float | None:
    if not text:
        return None
    value = _number(text, column)
    if value <= 0:
        raise BadRow(f"{column}-not-positive", f"{column} is not above zero", text)
    return value


def _whole(text: str, column: str) -> int | None:
    if not text:
        return None
    value = _number(text, column)
    if value < 0 or value != int(value):
        raise BadRow(f"{column}-not-whole", f"{column} is not a whole number", text)
    return int(value)


def _flag(text: str, column: str) -> bool | None:
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    if word:
        raise BadRow(f"{column}-not-a-flag", f"{column} is neither true nor false", text)
    return None


def _gpu_count(text: str, column: str) -> float:
    if not text:
        raise BadRow("gpu_count-missing", "gpu_count is missing")
    value = _number(text, column)
    if value <= 0 or value > _MAX_GPUS or (value > 1 and value != int(value)):
        raise BadRow("gpu_count", "gpu_count is neither a whole number nor a share of one GPU", text)
    return value


def _market(text: str, column: str) -> Market:
    market = _MARKETS.get(text)
    if market is None:
        raise BadRow("market", "the market is unknown" if text else "market is empty", text)
    return market


def _price(text: str, column: str) -> float:
    if not text:
        raise BadRow("price-missing", "the price is missing")
    price = _number(text, "price")
    if price < 0:
        raise BadRow("price-negative", "the price is negative", text)
    if price in SENTINEL_USD:
        raise BadRow("price-sentinel", PLACEHOLDER, text)
    if 0 < price < LEAST_USD or price > MOST_USD:
        raise BadRow("price-implausible", "no instance costs that", text)
    return price


def _upfront(text: str, column: str) -> float:
    upfront = _number(text, column) if text else 0.0
    if upfront < 0:
        raise BadRow("upfront-negative", "upfront_usd is negative", text)
    if upfront > MOST_UPFRONT_USD:
        raise BadRow("upfront-implausible", "no instance costs that upfront", text)
    return upfront


def _as_of(text: str, column: str) -> date | None:
    day = parse_date(text)
    if day is None and text:
        raise BadRow("as-of", "as_of is not a day like 2026-08-19", text)
    return day


def user_gpu(text: str, column: str) -> str:
    """The canonical name behind a name or alias; UnknownGpu for any other."""
    name = _required_text(text, column)
    try:
        return canonical_gpu(name)
    except UnknownName as unknown:
        raise UnknownGpu(name, unknown.nearest) from None


def provider_gpu(text: str, column: str) -> str:
    """A canonical name as it is; in a provider's data an alias is never enough."""
    try:
        canonical = user_gpu(text, column)
    except UnknownGpu:
        raise BadRow("gpu", "the GPU is unknown", text) from None
    if canonical != text:
        raise BadRow("gpu", "the GPU's name leaves its form factor or memory open", text)
    return canonical


PARSERS: Mapping[str, Callable[[str, str], object]] = {
    "market": _market, "usd_per_instance_hour": _price, "upfront_usd": _upfront, "provider": _provider,
    "region": _required_text, "zone": _text, "instance_type": _required_text, "gpu_count": _gpu_count,
    "gpu_memory_gib": _positive, "vcpus": _positive, "memory_gib": _positive, "term_months": _whole,
    "max_instances": _whole, "holds_capacity": _flag, "purchasable": _flag, "as_of": _as_of, "source": _text,
    "payment": _text, "note": _text,
}  # fmt: skip
