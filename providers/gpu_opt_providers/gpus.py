"""Which GPU an instance has: the instance type decides first, then the family with its form factor and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from gpu_opt.domain.hardware import Shape
from gpu_opt.hardware import UnknownName, canonical_gpu, shape_table

# Families that are sold in several form factors or sizes: a bare name is never enough.
_FORMS = ("SXM", "PCIE", "NVL", "HBM3")
_FAMILY = re.compile(r"\b(A100|A800|H100|H200|H800|V100)X?\b")
_MEMORY = re.compile(r"\b(\d{2,3})\s?GI?B\b")
_FORM_WORDS = re.compile(r"\b(PCIE|SXM\d?|AC)\b")
_NOISE = re.compile(r"\b(NVIDIA|AMD|INTEL|TESLA|GEFORCE|INSTINCT|OAM|GPU|GENERATION|LAPTOP)\b")


@cache
def _shapes(provider: str) -> Mapping[str, tuple[str, Shape]]:
    return {name.casefold(): (name, shape) for owner, name, shape in shape_table() if owner == provider}


def known_type(provider: str, instance_type: str) -> tuple[str, Shape] | None:
    """The instance type as the shape table spells it, with its shape; None for one that the table lacks."""
    return _shapes(provider).get(instance_type.casefold())


def known_types(provider: str) -> tuple[tuple[str, Shape], ...]:
    """Every instance type that the shape table has of a provider, by name."""
    return tuple(sorted(_shapes(provider).values(), key=lambda item: item[0]))


def gpu_from_text(text: str, memory_gib: float | None = None) -> str | None:
    """The canonical name behind a provider's own words, or None where they leave the form factor or memory open.

    `memory_gib` is of one GPU, and settles what the words don't say.
    """
    words = re.sub(r"[_\-/(),]+", " ", text.upper())
    family = _FAMILY.search(re.sub(r"(SXM|PCIE|NVL)\d?", r" \1 ", words))
    if family:
        return _of_family(family[1], words, memory_gib)
    plain = " ".join(_NOISE.sub(" ", words).split())
    without_memory = " ".join(_MEMORY.sub("", plain).split())
    for spelling in (plain, without_memory, " ".join(_FORM_WORDS.sub("", without_memory).split())):
        try:
            return canonical_gpu(spelling)
        except UnknownName:
            continue
    return None


def _of_family(family: str, words: str, memory_gib: float | None) -> str | None:
    written = _MEMORY.search(words)
    memory = float(written[1]) if written else memory_gib
    form = next((form for form in _FORMS if form in words), "")
    if family == "H200":
        return "H200-NVL" if form == "NVL" else "H200-SXM"
    if family in ("H100", "H800"):
        if memory is not None and 90 < memory < 100 and form != "SXM":
            form = "NVL"
        if form in ("SXM", "HBM3"):
            return f"{family}-SXM"
        return {"PCIE": "H100-PCIe", "NVL": "H100-NVL"}.get(form) if family == "H100" else None
    if memory is None or form not in ("SXM", "PCIE"):
        return None
    sizes = {"A100": (40, 80), "A800": (80,), "V100": (16, 32)}[family]
    size = min(sizes, key=lambda gib: abs(gib - memory))
    if abs(size / memory - 1) > 0.1:
        return None
    style = "SXM" if form == "SXM" else "PCIe"
    name = f"V100-{style}-{size}GB" if family == "V100" else f"{family}-{size}GB-{style}"
    try:
        return canonical_gpu(name)
    except UnknownName:
        return None
