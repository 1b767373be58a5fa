"""The accelerator table: facts that common tables get wrong, and the names it is known by."""

from __future__ import annotations

import pytest

from gpu_opt.hardware import UnknownName, canonical_gpu, link_of, load_accelerators, match_gpus

TABLE = load_accelerators()


@pytest.mark.parametrize(
    ("gpu", "precision", "tflops"),
    [
        ("A100-80GB-SXM", "fp16", 312),  # 624 counts sparsity
        ("A100-80GB-SXM", "fp32", 19.5),  # often printed as its FP16 figure
        ("A100-80GB-SXM", "tf32", 156),
        ("H100-SXM", "bf16", 989.4),  # 1,979 counts sparsity
        ("H100-SXM", "fp8", 1978.9),
        ("H100-PCIe", "bf16", 756.5),
        ("B200-SXM", "fp8", 4500),
        ("B200-SXM", "fp4", 9000),
        ("GB200", "fp4", 10_000),  # a rack: 720 PFLOPS / 72
        ("B300-SXM", "fp4", 13_500),
        ("B300-SXM", "int8", 153.5),  # cut: never plan INT8 there
        ("A10", "fp16", 125),
        ("A10G", "fp16", 70),
        ("L40", "bf16", 181.05),
        ("L40S", "bf16", 362.05),
        ("RTX-4090", "fp16", 165.2),  # FP32 accumulation
        ("RTX-5090", "fp16", 209.5),
        ("Jetson-Thor", "fp4", 1035),
        ("Jetson-AGX-Orin-64GB", "int8", 85),
        ("Gaudi3", "bf16", 1678),
        ("MI250", "bf16", 362.1),
        ("MI300X", "bf16", 1307.4),
    ],
)
def test_peaks_are_dense(gpu: str, precision: str, tflops: float) -> None:
    assert TABLE[gpu].peak_tflops[precision] == tflops


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [
        ("B200-SXM", 179), ("B300-SXM", 268.6), ("GB200", 185), ("GB300", 277.5), ("H100-NVL", 94),
        ("MI325X", 256), ("MI300X", 192), ("H100-SXM", 80), ("H200-SXM", 141),
    ],
)  # fmt: skip
def test_memory_is_what_the_device_can_use(gpu: str, gib: float) -> None:
    assert TABLE[gpu].memory_gib == gib


def test_a_precision_that_a_part_lacks_is_absent() -> None:
    assert "fp8" not in TABLE["A100-80GB-SXM"].peak_tflops
    assert "bf16" not in TABLE["V100-SXM-16GB"].peak_tflops
    assert "bf16" not in TABLE["T4"].peak_tflops
    assert "fp4" not in TABLE["H100-SXM"].peak_tflops


@pytest.mark.parametrize(
    ("gpu", "gb_per_second"),
    [
        ("A100-80GB-SXM", 300),  # NVLink 3: 600 both ways
        ("H100-SXM", 450),
        ("B200-SXM", 900),
        ("Rubin-VR200", 1800),
        ("A800-80GB-SXM", 200),  # cut
        ("H800-SXM", 200),
        ("MI300X", 448),  # to all peers
        ("L40S", 0),
    ],
)
def test_links_are_one_way_per_gpu(gpu: str, gb_per_second: float) -> None:
    assert TABLE[gpu].nvlink_gb_per_second == gb_per_second


@pytest.mark.parametrize(
    ("gpu", "gb_per_second"),
    # lanes x rate after line coding: 16 x 0.985, 16 x 1.969, 16 x 3.938, 8 x 1.969
    [("T4", 15.76), ("A100-80GB-SXM", 31.5), ("H100-SXM", 63.01), ("Jetson-AGX-Orin-64GB", 15.75)],
)
def test_pcie_follows_from_generation_and_lanes(gpu: str, gb_per_second: float) -> None:
    assert TABLE[gpu].pcie_gb_per_second == pytest.approx(gb_per_second, abs=0.01)


def test_server_and_workstation_editions_of_the_rtx_pro_6000_differ() -> None:
    assert TABLE["RTX-PRO-6000"].memory_gb_per_second == 1597
    assert TABLE["RTX-PRO-6000-WS"].memory_gb_per_second == 1792


def test_every_part_can_compute_and_has_its_source() -> None:
    assert len(TABLE) == 84
    for gpu in TABLE.values():
        assert gpu.memory_gib > 0, gpu.name
        assert gpu.memory_gb_per_second > 0, gpu.name
        assert gpu.tdp_watts > 0, gpu.name
        assert gpu.pcie_gb_per_second > 0, gpu.name
        assert gpu.peak_tflops, gpu.name
        assert all(tflops > 0 for tflops in gpu.peak_tflops.values()), gpu.name
        assert gpu.source, gpu.name
        assert gpu.confidence in ("high", "medium", "low"), gpu.name
        assert gpu.notes or gpu.confidence != "low", f"{gpu.name} is of low confidence without a word why"


def test_every_family_of_peaks_falls_with_precision() -> None:
    for gpu in TABLE.values():
        peaks = gpu.peak_tflops
        for wide, narrow in (("fp32", "bf16"), ("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4")):
            if wide in peaks and narrow in peaks:
                assert peaks[wide] <= peaks[narrow], f"{gpu.name}: {wide} above {narrow}"


def test_a_spelling_means_one_part() -> None:
    owners: dict[str, str] = {}
    for gpu in TABLE.values():
        for spelling in (gpu.name, *gpu.aliases):
            key = "".join(letter for letter in spelling.casefold() if letter not in " _-")
            assert owners.setdefault(key, gpu.name) == gpu.name, spelling


@pytest.mark.parametrize(
    ("spelling", "gpu"),
    [
        ("H100", "H100-SXM"), ("h100", "H100-SXM"), ("A100", "A100-40GB-SXM"), ("a100_80gb", "A100-80GB-SXM"),
        ("rtx 4090", "RTX-4090"), ("RTX_PRO_6000_WS", "RTX-PRO-6000-WS"), ("H100NVL", "H100-NVL"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"), ("NVIDIA A100-SXM4-80GB", "A100-80GB-SXM"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"), ("Tesla V100-SXM2-32GB", "V100-SXM-32GB"),
        ("AMD Instinct MI300X OAM", "MI300X"), ("  b200 ", "B200-SXM"), ("trn2", "Trainium2"), ("T4g", "T4"),
    ],
)  # fmt: skip
def test_spellings_resolve(spelling: str, gpu: str) -> None:
    assert canonical_gpu(spelling) == gpu


@pytest.mark.parametrize(
    ("spelling", "meant"), [("H10O", "H100"), ("H200-SXN", "H200-SXM"), ("NVIDIA RTX 4091", "RTX-4090")]
)
def test_an_unknown_name_tells_the_nearest(spelling: str, meant: str) -> None:
    with pytest.raises(UnknownName, match="did you mean") as caught:
        canonical_gpu(spelling)
    assert caught.value.nearest == meant


def test_a_name_like_nothing_has_no_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        canonical_gpu("zzz")
    assert caught.value.nearest == ""
    assert str(caught.value) == "unknown GPU 'zzz'"


@pytest.mark.parametrize(
    ("pattern", "gpus"),
    [
        ("H100*", ("H100-PCIe", "H100-SXM", "H100-96GB-SXM", "H100-NVL")),
        ("h100", ("H100-SXM",)),
        ("A100-80*", ("A100-80GB-PCIe", "A100-80GB-SXM")),
        ("mi3?5x", ("MI325X", "MI355X")),
        ("rtx pro 6000*", ("RTX-PRO-6000", "RTX-PRO-6000-WS")),
        ("RTXPRO6000*", ("RTX-PRO-6000", "RTX-PRO-6000-WS")),
        ("B[23]00-SXM", ("B200-SXM", "B300-SXM")),
    ],
)
def test_patterns_cover_families(pattern: str, gpus: tuple[str, ...]) -> None:
    assert match_gpus(pattern) == gpus


def test_a_star_covers_all_and_a_pattern_that_covers_nothing_is_an_error() -> None:
    assert match_gpus("*") == tuple(TABLE)
    with pytest.raises(UnknownName):
        match_gpus("Z100*")


def test_boards_join_eight_racks_seventy_two_and_cards_none() -> None:
    assert link_of("H100-SXM") == ("nvlink", 8)
    assert link_of("MI300X") == ("infinity_fabric", 8)
    assert link_of("GB200") == ("nvlink", 72)
    assert link_of("H100-NVL") == ("nvlink", 1)  # bridges are not taken for granted
    assert link_of("L40S") == ("none", 1)


def test_announced_parts_are_marked_and_of_low_confidence() -> None:
    announced = [gpu for gpu in TABLE.values() if gpu.status == "announced"]
    assert [(gpu.name, gpu.confidence) for gpu in announced] == [("Rubin-VR200", "low")]
    assert {gpu.status for gpu in TABLE.values()} == {"announced", "current", "export", "legacy", "rare", "used"}
