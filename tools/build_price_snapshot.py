"""Make the price snapshot that ships: `python tools/build_price_snapshot.py [DATA_DIR]`.

Reads `prices.csv` and `prices_unusable.csv` of DATA_DIR and writes one file of offers a provider, the rows that
can't be offers (`unusable.csv`) and `manifest.json` (newest date, rows, hash). From these files, with or without a
DATA_DIR, comes `offers.json`, the form that loads quickly. Same input, same bytes. Needs the packages on its path.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from pathlib import Path

COLUMNS = [
    *("provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "memory_gib"),
    *("market", "usd_per_instance_hour", "upfront_usd", "term_months", "max_instances", "holds_capacity"),
    *("purchasable", "as_of", "source", "as_of_exact", "note"),
]
UNUSABLE_COLUMNS = [
    *("provider", "region", "instance_type", "gpu", "gpu_count", "market", "usd_per_instance_hour"),
    *("as_of", "source", "reason"),
]
OUT_DIR = Path(__file__).parent.parent / "pricing_cache" / "gpu_opt_prices" / "snapshot"
TERM_MONTHS = {"reserved_1y": "12", "savings_plan_1y": "12", "reserved_3y": "36", "savings_plan_3y": "36"}

# What the data set says of a source, by a piece of its text (the first that fits) -> the id that SOURCES.md explains.
SOURCES = (
    ("tsaol/aws-gpu (from", "aws-gpu-on-demand"),
    ("tsaol/aws-gpu yrTerm1", "aws-gpu-reserved"),
    ("pricing_aws_us_gov", "karpenter-aws-us-gov"),
    ("zz_generated.pricing_aws.go", "karpenter-aws"),
    ("ec2-capacity-blocks", "aws-capacity-blocks"),
    ("karpenter-provider-azure", "karpenter-azure"),
    ("karpenter-provider-gcp", "karpenter-gcp"),
    ("8 x a3-highgpu-1g", "gcp-calculator-commitments-x8"),
    ("google-cloud-pricing-cost-calculator", "gcp-calculator-commitments"),
    ("gpuhunt tpu_pricing", "gpuhunt-tpu"),
    ("gpuhunt providers/crusoe", "gpuhunt-crusoe"),
    ("test_digitalocean", "gpuhunt-digitalocean"),
    ("skypilot/issues/8102", "skypilot-issue-8102"),
    ("B200 slice SKU", "skypilot-catalog-v9-gcp-b200"),
    ("(preemptible)", "skypilot-catalog-v9-nebius-preemptible"),
    ("coreweave.com/pricing", "comparison-page-coreweave"),
)
NOTES = {
    "in the price feed, in no current size table": "no current size table lists it; GPU share from a sibling's price",
    "size retired": "retired on 2025-09-30",
    "partition apart": "partition apart: needs a scope that names it",
    "price per chip x count": "published per chip; multiplied out",
    "price per GPU x count": "published per GPU; multiplied out",
    "shape not sold on demand": "listed; sold only as spot or flex-start or by reservation",
    "host size of the source": "the source's host size is a placeholder",
}
REASONS = {
    "accelerator without": "accelerator without a published dense peak",
    "GPU count not": "GPU share not published and not derivable",
}


def source_id(text: str) -> str:
    """`snapshot:` and the short id of a source; a file of the SkyPilot catalogue names its version and provider."""
    for piece, name in SOURCES:
        if piece in text:
            return f"snapshot:{name}"
    if "skypilot-catalog" in text:
        _, _, rest = text.partition("catalogs/")
        version, provider = rest.split("/")[:2]
        return f"snapshot:skypilot-catalog-{version}-{provider}"
    raise SystemExit(f"no id for the source {text!r}")


def reworded(text: str, table: dict[str, str]) -> str:
    """Our wording for a remark of the data set; an unknown one stops the build."""
    if not text:
        return ""
    for piece, words in table.items():
        if text.startswith(piece):
            return words
    raise SystemExit(f"no wording for {text!r}")


def offer_row(row: dict[str, str]) -> dict[str, str]:
    """One row in the contract's columns, with nothing left to be guessed."""
    out = {column: row.get(column, "") for column in COLUMNS}
    out["source"] = source_id(row["source"])
    out["note"] = reworded(row["note"], NOTES)
    out["term_months"] = row["term_months"] or TERM_MONTHS.get(row["market"], "")
    out["holds_capacity"] = "true" if row["market"] == "capacity_block" else "false"
    return out


def unusable_row(row: dict[str, str]) -> dict[str, str]:
    """One row that can't be an offer, with the reason."""
    return {
        "provider": row["provider"], "region": row["region"], "instance_type": row["instance_type"], "gpu": row["gpu"],
        "gpu_count": row["gpu_count"], "market": row["purchase"], "usd_per_instance_hour": row["price_usd_hr"],
        "as_of": row["source_date"], "source": source_id(row["source"]), "reason": reworded(row["reason"], REASONS),
    }  # fmt: skip


def write(path: Path, columns: list[str], rows: list[dict[str, str]]) -> bytes:
    """Write a CSV file; its bytes come back for the hash."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path.read_bytes()


def main(data_dir: Path, out_dir: Path) -> None:
    """Build the CSV files of the snapshot and the manifest."""
    with (data_dir / "prices.csv").open(newline="", encoding="utf-8") as file:
        rows = [offer_row(row) for row in csv.DictReader(file)]
    with (data_dir / "prices_unusable.csv").open(newline="", encoding="utf-8") as file:
        unusable = [unusable_row(row) for row in csv.DictReader(file)]
    rows.sort(key=lambda r: [r[c] for c in ("provider", "region", "zone", "instance_type", "market", "term_months")])
    out_dir.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    for provider in sorted({row["provider"] for row in rows}):
        digest.update(write(out_dir / f"{provider}.csv", COLUMNS, [r for r in rows if r["provider"] == provider]))
    digest.update(write(out_dir / "unusable.csv", UNUSABLE_COLUMNS, unusable))
    manifest = {
        "rows": len(rows),
        "providers": len({row["provider"] for row in rows}),
        "newest_as_of": max(row["as_of"] for row in rows),
        "oldest_as_of": min(row["as_of"] for row in rows),
        "sha256": digest.hexdigest(),
    }
    (out_dir / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_compact() -> None:
    """The offers of the CSV files, checked, in the form that loads quickly."""
    from gpu_opt_prices.compact import FILE, to_compact
    from gpu_opt_prices.snapshot_files import checked_offers, files_sha256, snapshot_providers
    from gpu_opt_prices.table import OfferTable

    table = OfferTable(offers=tuple(o for provider in snapshot_providers() for o in checked_offers(provider)))
    text = to_compact(table.offers, files_sha256=files_sha256(), offers_sha256=table.sha256)
    (OUT_DIR / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), OUT_DIR)
    write_compact()
