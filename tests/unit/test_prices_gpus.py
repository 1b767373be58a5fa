"""Providers' own words for a GPU: the form factor and the memory must be in them, or in the table."""

from __future__ import annotations

import pytest

from gpu_opt_providers.gpus import gpu_from_text, known_type


@pytest.mark.parametrize(
    ("text", "memory_gib", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", 80, "H100-SXM"),
        ("NVIDIA H100 PCIe", 80, "H100-PCIe"),
        ("NVIDIA H100 NVL", 94, "H100-NVL"),
        ("H100 (80 GB SXM5)", None, "H100-SXM"),
        ("H100", 80, None),
        ("NVIDIA H200", 141, "H200-SXM"),
        ("NVIDIA H200 NVL", 143, "H200-NVL"),
        ("A100", 80, None),
        ("A100 SXM4", None, None),
        ("A100 SXM4", 40, "A100-40GB-SXM"),
        ("NVIDIA A100-SXM4-80GB", 80, "A100-80GB-SXM"),
        ("NVIDIA A100 80GB PCIe", 80, "A100-80GB-PCIe"),
        ("A100 SXM4", 64, None),
        ("A800 PCIE", 80, None),
        ("V100", 16, None),
        ("Tesla V100-SXM2-16GB", 16, "V100-SXM-16GB"),
        ("A10 (24 GB PCIe)", None, "A10"),
        ("B200 (180 GB SXM6)", None, "B200-SXM"),
        ("NVIDIA B300 SXM6 AC", 288, "B300-SXM"),
        ("GH200 (96 GB)", None, "GH200"),
        ("NVIDIA GeForce RTX 4090", 24, "RTX-4090"),
        ("NVIDIA RTX 6000 Ada Generation", 48, "RTX-6000-Ada"),
        ("AMD Instinct MI300X OAM", 192, "MI300X"),
        ("NVIDIA", None, None),
        ("", None, None),
    ],
)
def test_a_name_is_canonical_or_unknown(text: str, memory_gib: float | None, gpu: str | None) -> None:
    assert gpu_from_text(text, memory_gib) == gpu


def test_instance_types_are_found_without_regard_to_case_and_spelled_as_the_table_spells_them() -> None:
    found = known_type("azure", "STANDARD_nd96ISR_h100_v5")
    assert found is not None
    assert (found[0], found[1].gpu, found[1].gpus) == ("Standard_ND96isr_H100_v5", "H100-SXM", 8.0)
    assert known_type("azure", "Standard_ND0") is None
