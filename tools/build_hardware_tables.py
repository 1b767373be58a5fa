"""Build the hardware tables from raw fact files: `build_hardware_tables.py DATA_FOLDER`.

Reads `gpus.csv`, `gpu_names.csv`, `cloud_instances.csv`, `onprem_systems.csv` and `region_country.csv`, converts
units (links become one way per GPU, a fabric is told from the host's own network) and writes the tables that ship.
Sources, their dates and notes are edited by hand in the tables themselves: a rebuild keeps them.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "optimizer" / "gpu_opt" / "hardware"
Row = dict[str, str]

# One way, after line coding, per lane: PCI-SIG base specifications 3.0, 4.0, 5.0 and 6.0.
PCIE_GB_PER_SECOND_PER_LANE = {3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
# Parts without a published figure; their notes say so.
ASSUMED_TDP_WATTS = {
    "Trainium1": 150,
    "Trainium2": 500,
    "Trainium3": 1000,
    "Inferentia1": 75,
    "Inferentia2": 150,
    "TPU-v5e": 200,
    "TPU-v5p": 450,
    "TPU-v6e": 300,
    "TPU-v7": 900,
}
ASSUMED_PCIE_GEN = {"Trainium2": 5, "Trainium3": 5, "TPU-v7": 5, "Inferentia1": 3}
# How many GPUs of one machine the link joins where nothing else is known of the machine.
LINK_DOMAIN_GPUS = {
    "Trainium1": 16,
    "Trainium2": 16,
    "Trainium3": 144,
    "Inferentia1": 1,
    "Inferentia2": 12,
    "TPU-v4": 4096,
    "TPU-v5e": 256,
    "TPU-v5p": 8960,
    "TPU-v6e": 256,
    "TPU-v7": 9216,
    "GH200": 1,
    "GH200-144GB": 1,
}
# Names that drivers and cloud consoles print, beside those of the raw list.
MORE_ALIASES = {
    "H100-SXM": ("H100 80GB HBM3",),
    "H100-PCIe": ("H100 80GB PCIe",),
    "RTX-6000-Ada": ("RTX 6000 Ada Generation",),
    "RTX-5000-Ada": ("RTX 5000 Ada Generation",),
    "RTX-4000-Ada": ("RTX 4000 Ada Generation",),
    "RTX-PRO-6000": ("RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server"),
    "RTX-PRO-6000-WS": ("RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Workstation"),
    "GH200": ("GH200 480GB", "GH200 96GB HBM3"),
    "GH200-144GB": ("GH200 144G HBM3e",),
    "MI300X": ("MI300X OAM",),
    "Trainium1": ("trn1",),
    "Trainium2": ("trn2",),
    "Trainium3": ("trn3",),
    "Inferentia1": ("inf1",),
    "Inferentia2": ("inf2",),
    "TPU-v5e": ("v5e", "TPU v5 lite"),
    "TPU-v5p": ("v5p",),
    "TPU-v6e": ("v6e",),
    "TPU-v7": ("TPU7x",),
}
PEAKS = {
    "fp32": "fp32_tflops",
    "tf32": "tf32_tflops",
    "fp16": "fp16_tflops",
    "bf16": "bf16_tflops",
    "fp8": "fp8_tflops",
    "int8": "int8_tops",
    "fp4": "fp4_tflops",
}
# One word each; `announced` is behind a flag, `used` is out of production but rented and resold.
STATUS = {
    "current (used/rental)": "used",
    "EOL (used)": "used",
    "current (China)": "current",
    "export variant": "export",
    "not widely shipped": "rare",
    "not sold": "rare",
    "ramping H2 2026": "announced",
}
HAND_WRITTEN = ("source", "source_date", "note")


def read(path: Path) -> list[Row]:
    """Rows of a CSV file, none when it does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(name: str, rows: Iterable[Mapping[str, object]], key: tuple[str, ...]) -> None:
    """Write a table, keeping the hand-written cells of rows that it held before."""
    path = OUT / name
    kept = {tuple(old[column] for column in key): old for old in read(path)}
    merged = []
    for row in rows:
        old = kept.get(tuple(str(row[column]) for column in key), {})
        merged.append({**row, **{column: old[column] for column in HAND_WRITTEN if column in row and old.get(column)}})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(merged[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(merged)


def plain(value: float) -> str:
    """The shortest text of a number, without a trailing `.0`."""
    return f"{value:.6g}"


def link_kind(words: str) -> str:
    """`nvlink`, `infinity_fabric`, `neuronlink`, `ici` … of a description of a link; `none` without one."""
    kinds = {
        "NVLink": "nvlink",
        "Infinity": "infinity_fabric",
        "NeuronLink": "neuronlink",
        "ICI": "ici",
        "Xe Link": "xe_link",
        "RoCE": "roce_mesh",
        "HCCS": "hccs",
    }
    return next((kind for start, kind in kinds.items() if start in words), "none")


def link_domain_gpus(row: Row) -> int:
    """SXM, OAM and modules join up to 8 GPUs, NVL72 parts 72, cards none (bridges are not taken for granted)."""
    form = row["form_factor"]
    if row["name"] in LINK_DOMAIN_GPUS:
        return LINK_DOMAIN_GPUS[row["name"]]
    if "NVL72" in form:
        return 72
    return 8 if form.startswith(("SXM", "OAM", "module")) else 1


def accelerator(row: Row) -> dict[str, object]:
    """One accelerator in the columns that ship: dense peaks, links one way."""
    name = row["name"]
    gen = int(row["pcie_gen"] or ASSUMED_PCIE_GEN.get(name, 4))
    lanes = int(row["pcie_lanes"] or 16)
    return {
        "name": name,
        "vendor": row["vendor"],
        "form_factor": row["form_factor"],
        "architecture": row["architecture"],
        "compute_capability": row["compute_capability"],
        "release_year": row["release_year"],
        "memory_gib": row["memory_gib"],
        "memory_type": row["memory_type"],
        "memory_gb_per_second": row["mem_bw_gb_s"],
        **{f"{precision}_tflops": row[column] for precision, column in PEAKS.items()},
        "sparse_ratio": row["sparse_multiplier"],
        "link": link_kind(row["interconnect"]),
        "link_domain_gpus": link_domain_gpus(row),
        "link_gb_per_second": plain(float(row["interconnect_gb_s_bidir_per_gpu"] or 0) / 2),
        "pcie_gen": gen,
        "pcie_lanes": lanes,
        "pcie_gb_per_second": plain(round(PCIE_GB_PER_SECOND_PER_LANE[gen] * lanes, 2)),
        "tdp_watts": row["tdp_w"] or ASSUMED_TDP_WATTS[name],
        "tdp_basis": "published" if row["tdp_w"] else "estimate",
        "cuda_cores": row["cuda_cores"],
        "status": STATUS.get(row["status"], row["status"]),
        "confidence": row["confidence"],
        "verified": row["verified"],
        "source": row["source"],
        "source_date": "",
        "note": "",
    }


SHAPE_SOURCES = (
    ("karpenter", "EC2 instance data of the Karpenter AWS provider", "2026-08-21"),
    ("awsdocs-neuron", "AWS Neuron documentation", "2026"),
    ("p6e-gb200.36xlarge", "AWS P6e-GB200 UltraServer documentation", "2026"),
    ("HyperPod", "AWS announcement of P6e-GB200 UltraServers", "2025"),
    ("AWS", "AWS EC2 documentation and announcements", "2026"),
    ("tpu", "Google Cloud TPU documentation", "2026-04-14"),
    ("TPU", "Google Cloud TPU documentation", "2026-04-14"),
    ("compute/docs/gpus", "Google Cloud GPU machine types page", "2026-04-14"),
    ("MicrosoftDocs", "Microsoft Azure GPU size tables", "2026-08-12"),
    ("computeshapes", "Oracle Cloud compute shapes page", "2025-02-13"),
    ("OCI announcements", "Oracle Cloud announcements", "2026"),
    ("Lambda", "Lambda on-demand documentation", "2026-07"),
    ("coreweave", "CoreWeave pricing page", "2026-09-20"),
    ("gd-8x", "CoreWeave pricing page", "2026-09-20"),
    ("Nebius docs", "Nebius documentation, preset name", "2026"),
)


def shape_source(row: Row) -> tuple[str, str]:
    """Where a shape's facts were published, and when."""
    catalogue = (f"price catalogue of {row['provider']}", "2026")
    return next(((text, date) for key, text, date in SHAPE_SOURCES if key in row["source"]), catalogue)


def shape_note(row: Row, origin: str) -> str:
    """What a reader must know about the row, in one sentence."""
    notes = row["notes"]
    if origin == "derived":
        return "Link taken from the form factor; the network is not published."
    known = {
        "from the price feed": "GPU share and count follow from the size's name in the price list.",
        "GPU count from the price": "The share of a GPU follows from equal prices of a documented size.",
        "baseline; bursts": "Baseline network; short bursts go higher.",
        "scaleup_domain = max pod": "The domain is the largest pod.",
        "inside a GPU cluster": "The fabric is there only inside a GPU cluster.",
        "Spot/Flex-start": "Sold as spot and flex start only.",
        "fraction": "A share of a GPU.",
        "MIG slice": "A MIG slice of 24 GiB.",
        "T4G": "Arm host.",
        "94 GB NVL": "The 94 GB NVL card, not the 80 GB parts.",
        "UltraServer": "Priced as one UltraServer or part of one.",
        "sizes unverified": "Announced; sizes not confirmed.",
        "shapes not verified": "Announced; shape not confirmed.",
        "withdrawn": "No longer in the provider's instance data.",
        "another name": "Another name of the same size.",
    }
    return next((text for key, text in known.items() if key in notes), "")


def fabric_and_host_gbps(row: Row) -> tuple[str, str]:
    """The network that GPUs reach each other over, and the host's own where a published sum holds both."""
    kind, total = row["network_type"], row["network_gbps"]
    match = re.search(r"(\d+)x(\d+)\)?\s*\+\s*(\d+)", kind)
    if match:
        return plain(int(match[1]) * int(match[2])), match[3]
    return plain(float(total)) if total else "", ""


def shape(row: Row) -> dict[str, object]:
    """One instance type in the columns that ship."""
    origin = "derived" if row["network_type"] == "unknown" else "table"
    gpus = float(row["accel_count"])
    domain = (
        1 if row["accelerator"] == "Inferentia1" else int(row["scaleup_domain_gpus"])
    )  # its link has no published rate
    rate = re.search(r"(\d+)\s*GB/s", row["intra_node_link"])
    fabric, host = fabric_and_host_gbps(row)
    source, date = shape_source(row)
    return {
        "provider": row["provider"],
        "instance_type": row["instance_type"],
        "gpu": row["accelerator"],
        "gpus": plain(gpus),
        "scaleup_domain_gpus": domain,
        "scaleup_gb_per_second": plain(int(rate[1]) / 2) if rate and domain > 1 else "",
        "fabric_gbps": fabric,
        "host_gbps": host,
        "network": "" if row["network_type"] == "unknown" else re.sub(r"\s*\(1-Click.*", "", row["network_type"]),
        "rdma": "yes" if row["gpudirect_rdma"] in ("yes", "TCPX", "TCPXO") else "no",
        "vcpus": row["vcpu"],
        "host_memory_gib": row["ram_gib"],
        "local_disk_gb": row["local_ssd_gb"],
        "status": re.sub(r"priced, in no.*", "priced only", row["status"]),
        "origin": origin,
        "confidence": row["confidence"],
        "source": source,
        "source_date": date,
        "note": shape_note(row, origin),
    }


def power_basis(words: str) -> str:
    """`measured`, `published` (the highest draw; the rest estimated) or `estimate`."""
    if "MEASURED" in words or "DGX H100" in words or "As DGX H100" in words or "as H100" in words:
        return "measured"
    return "published" if "max = NVIDIA" in words or "nominal" in words else "estimate"


def system(row: Row) -> dict[str, object]:
    """One system that can be bought. Its link follows from the accelerator."""
    fast = int(row["gpu_count"]) >= 8 and float(row["nic_included_gbps"]) >= 100 * float(row["gpu_count"])
    return {
        "name": row["name"],
        "label": row["system"],
        "gpu": row["gpu"],
        "gpus": row["gpu_count"],
        "price_usd": row["price_default_usd"],
        "price_low_usd": row["price_low_usd"],
        "price_high_usd": row["price_high_usd"],
        "price_date": row["price_date"],
        "max_kw": row["max_kw"],
        "train_kw": row["typical_train_kw"],
        "infer_kw": row["typical_infer_kw"],
        "idle_kw": row["idle_kw"],
        "power_basis": power_basis(row["power_basis"]),
        "rack_units": row["rack_units"],
        "cooling": row["cooling"],
        "liquid_fraction": row["liquid_fraction"],
        "network_gbps": row["nic_included_gbps"],
        "rdma": "yes" if fast else "no",
        "confidence": row["price_confidence"].replace("none", "low"),
        "source": row["price_source"],
        "source_date": row["price_date"],
        "note": "",
    }


def main(data: Path) -> None:
    """Write every table."""
    write("accelerators.csv", map(accelerator, read(data / "gpus.csv")), ("name",))
    aliases = (
        {"gpu": row["canonical"], "alias": alias.strip()}
        for row in read(data / "gpu_names.csv")
        for alias in [*row["aliases"].split(";"), *MORE_ALIASES.get(row["canonical"], ())]
        if alias.strip()
    )
    write("aliases.csv", aliases, ("gpu", "alias"))
    write("shapes.csv", map(shape, read(data / "cloud_instances.csv")), ("provider", "instance_type"))
    write("systems.csv", map(system, read(data / "onprem_systems.csv")), ("name",))
    regions = (
        {
            "provider": row["provider"],
            "region": row["region"],
            "country": row["country"],
            "source": f"regions and locations as {row['provider']} lists them" if row["country"] else "no country told",
            "source_date": "2026",
        }
        for row in read(data / "region_country.csv")
    )
    write("regions.csv", regions, ("provider", "region"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
