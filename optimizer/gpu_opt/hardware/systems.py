"""Machines that can be bought."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from gpu_opt.domain.hardware import System
from gpu_opt.domain.names import UnknownName, folded, nearest
from gpu_opt.hardware._tables import number, rows


@cache
def load_systems() -> Mapping[str, System]:
    """Every system by name, in the table's order."""
    return MappingProxyType({row["name"]: _system(row) for row in rows("systems.csv")})


def _system(row: Mapping[str, str]) -> System:
    return System(
        name=row["name"],
        gpu=row["gpu"],
        gpus=int(row["gpus"]),
        price_usd=number(row["price_usd"]),
        price_low_usd=number(row["price_low_usd"]),
        price_high_usd=number(row["price_high_usd"]),
        price_date=row["price_date"],
        max_kw=float(row["max_kw"]),
        train_kw=number(row["train_kw"]),
        infer_kw=number(row["infer_kw"]),
        idle_kw=number(row["idle_kw"]),
        rack_units=float(row["rack_units"]),
        liquid_fraction=float(row["liquid_fraction"]),
        network_gbps=float(row["network_gbps"]),
        confidence=row["confidence"],
        source=f"{row['source']} ({row['source_date']})" if row["source_date"] else row["source"],
        notes=row["note"],
    )


@cache
def systems_with_rdma() -> frozenset[str]:
    """Names of systems whose network cards reach GPU memory without the host."""
    return frozenset(row["name"] for row in rows("systems.csv") if row["rdma"] == "yes")


def find_system(name: str) -> System:
    """A system by any spelling of its name; UnknownName carries the nearest."""
    table = load_systems()
    found = table.get(name) or {folded(key): value for key, value in table.items()}.get(folded(name))
    if found is None:
        raise UnknownName("system", name, nearest(name, table))
    return found
