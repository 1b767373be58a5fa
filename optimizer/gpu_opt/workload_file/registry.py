"""Which key of the file is read by which class; classes are loaded only for the keys that a file has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SECTIONS = {
    "horizon": ("sections", "HorizonSection"),
    "prices": ("sections", "PricesSection"),
    "scope": ("sections", "ScopeSection"),
    "defaults": ("sections", "DefaultsSection"),
    "limits": ("sections", "LimitsSection"),
    "commitments": ("estate", "CommitmentsSection"),
    "onprem": ("estate", "OnpremSection"),
    "risk": ("estate", "RiskSection"),
    "objective": ("estate", "ObjectiveSection"),
}
LISTS = {
    "inventory": ("estate", "OwnedEntry"),
    "agreements": ("estate", "AgreementEntry"),
    "credits": ("estate", "CreditEntry"),
}
MAPPINGS = {"overheads": ("estate", "OverheadEntry")}
KINDS = {
    "pretrain": ("training_keys", "PretrainKeys"),
    "finetune": ("training_keys", "FinetuneKeys"),
    "batch": ("serving_keys", "BatchKeys"),
    "gpu_hours": ("gpu_hours_keys", "GpuHoursKeys"),
    "serve": ("serving_keys", "ServeKeys"),
}
TOP_KEYS = ("version", *SECTIONS, *LISTS, *MAPPINGS, "workloads")

NOT_YET = {
    "risk.mode=cvar": "Use `mode: expected`.",
    "objective.stay_close_to": "Leave it out.",
    "prices.snapshot": "Name the offers with `prices.file`.",
}
"""What the contract has and nothing does yet: refused by name, with what to do meanwhile. A path, or path=value
(`true` for any of YAML's words for it); `[]` is each entry of a list (`workloads[].fill_idle=true`)."""


def section_class(place: tuple[str, str]) -> Any:
    """The class behind an entry of the tables above."""
    module, name = place
    return getattr(import_module(f"gpu_opt.workload_file.{module}"), name)
