"""Every quantity of the domain carries its unit in its name."""

import dataclasses
import importlib
import pkgutil
import typing

import pytest

import gpu_opt.domain

TIME_AND_MONEY = "ms seconds hours days months years usd"
SIZES_AND_RATES = "bytes gb gib tib gbps flops tflops"
POWER = "watts kw kwh g kg"
COUNTS = "gpus instances replicas requests tokens params vcpus racks"
PURE_NUMBERS = "fraction ratio sd"
LAST_WORDS = frozenset(" ".join((TIME_AND_MONEY, SIZES_AND_RATES, POWER, COUNTS, PURE_NUMBERS)).split())
NAMED = {
    "racks_free": "racks",
    "power_kw_free": "kW",
    "gpu_count": "GPUs",
    "rack_units": "rack units of 44.45 mm",
    "concurrency": "requests at one time",
    "gap": "fraction of the minimized cost",
    "gap_asked": "fraction of the minimized cost",
    "interval": "low and high, in tokens per second and GPU",
    "quantity": "the line's own `unit`",
    "maximum": "what the limit counts",
    "standing_weight": "what the limit counts, an instance",
    "term_weight": "what the limit counts, an instance",
    "rent_weight": "what the limit counts, an instance",
    "work": "the demand's own unit",
    "work_per_hour": "the demand's own unit an hour",
    "units": "instances, or USD per hour of a savings plan",
    "substitutes": "demand hours that one hour does",
    "plan_rates": "USD per instance and hour",
    "stops_paying_if_prices_fall_annually": "fraction a year",
    "periods": "hours, by name",
}
"""Names whose last word is no unit, with what they count. Keep it short: rename rather than add."""


def float_fields():
    for found in pkgutil.iter_modules(gpu_opt.domain.__path__):
        module = importlib.import_module(f"gpu_opt.domain.{found.name}")
        for cls in vars(module).values():
            if dataclasses.is_dataclass(cls) and cls.__module__ == module.__name__:
                hints = typing.get_type_hints(cls)
                yield from ((cls.__name__, f.name) for f in dataclasses.fields(cls) if holds_float(hints[f.name]))


def holds_float(hint):
    return hint is float or any(holds_float(part) for part in typing.get_args(hint))


def has_unit(name):
    """A unit ends the name or stands before a `per`: `price_usd`, `usd_per_gpu_hour`, `tokens_per_second_per_gpu`."""
    parts = name.split("_per_")
    return any(part.split("_")[-1] in LAST_WORDS for part in (*parts[:-1], name))


def test_every_float_of_the_domain_carries_its_unit():
    assert [f"{cls}.{name}" for cls, name in float_fields() if not has_unit(name) and name not in NAMED] == []


def test_no_exception_is_left_over():
    names = {name for _, name in float_fields()}
    assert sorted(set(NAMED) - names) == []
    assert [name for name in NAMED if has_unit(name)] == []


@pytest.mark.parametrize("name", ["price_usd", "usd_per_gpu_hour", "tokens_per_second_per_gpu", "max_kw", "gib"])
def test_a_unit_is_seen(name):
    assert has_unit(name)


@pytest.mark.parametrize("name", ["price", "speed", "usd_total", "cost_per_hour", "time"])
def test_a_missing_unit_is_seen(name):
    assert not has_unit(name)
