"""The numbers of the page about the Llama guide, each from the tool: `makers(run)` returns its generated parts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

Run = Callable[..., Any]
GPUS = ("A100-40GB-SXM", "A100-80GB-SXM", "H100-SXM")
MODELS = ("llama-2-7b", "llama-2-13b", "llama-1-33b", "llama-2-70b")
CARDS = ("T4", "L4", "A10G", "L40S", "A100-40GB-SXM", "H100-SXM")
WAYS = {"serve": "serve", "qlora": "QLoRA", "lora": "LoRA", "full": "train in full"}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def fit(run: Run, *arguments: str) -> list[dict[str, Any]]:
    """The workloads of a `fit`."""
    printed = run("fit", *arguments, "--format", "json")
    assert printed.code == 0, printed.err
    return list(json.loads(printed.out)["workloads"])


def plan(run: Run, path: str, **values: str) -> dict[str, Any]:
    """The plan of a file with values over it."""
    sets = [word for name, value in values.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]
    printed = run("plan", path, *sets, "--format", "json")
    assert printed.code == 0, printed.err
    return dict(json.loads(printed.out))


def options(*gpus: str) -> list[str]:
    return [word for gpu in gpus for word in ("--gpu", gpu)]


def smallest(fits: list[dict[str, Any]], gpu: str) -> dict[str, Any] | None:
    """On the fewest GPUs, the fastest there."""
    mine = [found for found in fits if found["gpu"] == gpu]
    return min(mine, key=lambda found: (found["gpus"], -found["tokens_per_second_per_gpu"])) if mine else None


def line_gib(found: dict[str, Any], *labels: str) -> float:
    return sum(line["gib"] for line in found["memory"] if line["label"] in labels)


def of_model(run: Run, model: str) -> dict[str, dict[str, Any]]:
    return {w["name"].split("-")[0]: w for w in fit(run, "--model", model, *options(*GPUS))}


def memory(run: Run) -> str:
    """GPUs that each way of using a model takes, with the GiB on the fullest."""
    rows = []
    for model in MODELS:
        for way, workload in of_model(run, model).items():
            found = [smallest(workload["fits"], gpu) for gpu in GPUS]
            cells = [f"{one['gpus']:.0f} ({one['memory_gib_per_gpu']:.1f})" if one else "–" for one in found]
            state = "–"
            if way == "full" and found[1] is not None:
                held = line_gib(found[1], "weights", "gradients", "optimizer") * found[1]["gpus"]
                state = f"{held:,.0f}"
            elif found[1] is not None:
                state = f"{line_gib(found[1], 'weights') * found[1]['gpus']:,.0f}"
            rows.append([model, WAYS[way], state, *cells])
    return table(["model", "to", "GiB of weights (in full: and gradients, optimizer)", *GPUS], rows)


def thirteen(run: Run) -> str:
    """A 13B on cards of 16 GB, by precision."""
    rows = []
    for precision in ("fp16", "int8", "int4"):
        workload = fit(run, "--model", "llama-2-13b", "--serve", "--precision", precision, "--gpu", "T4")[0]
        found = smallest(workload["fits"], "T4")
        said = f"{found['gpus']:.0f} × T4, {found['memory_gib_per_gpu']:.1f} GiB each" if found else "does not fit"
        weights = f"{line_gib(found, 'weights') * found['gpus']:.1f}" if found else "–"
        rows.append([precision, weights, said])
    return table(["precision", "GiB of weights", "on the fewest T4"], rows)


def accelerators(run: Run) -> str:
    """Dense peaks, cores and memory."""
    del run
    from gpu_opt.hardware.accelerators import _rows_by_name

    rows = []
    for name in ("A100-40GB-SXM", "A100-80GB-SXM", "H100-SXM", "T4", "RTX-4090", "Jetson-AGX-Orin-64GB", "B200-SXM"):
        row = _rows_by_name()[name]
        columns = ("fp32_tflops", "tf32_tflops", "fp16_tflops", "fp8_tflops", "int8_tflops", "cuda_cores", "memory_gib")
        rows.append([f"`{name}`", *(row[column] or "–" for column in columns), row["source"]])
    head = ["GPU", "FP32", "TF32", "FP16", "FP8", "INT8", "CUDA cores", "GiB", "source"]
    return table(head, rows)


def fastest(fits: list[dict[str, Any]], gpu: str, gpus: int) -> dict[str, Any]:
    mine = [found for found in fits if (found["gpu"], found["gpus"]) == (gpu, gpus)]
    return max(mine, key=lambda found: found["tokens_per_second_per_gpu"])


def speeds(run: Run) -> str:
    """Training speed of A100 and H100, and the layout on eight."""
    rows = []
    for model, way in (("llama-2-7b", "full"), ("llama-2-13b", "full"), ("llama-2-70b", "lora")):
        fits = of_model(run, model)[way]["fits"]
        old, new = (fastest(fits, gpu, 8) for gpu in ("A100-80GB-SXM", "H100-SXM"))
        before, after = old["tokens_per_second_per_gpu"], new["tokens_per_second_per_gpu"]
        shown = ", ".join(f"{key} {new['layout'][key]}" for key in ("dp", "tp", "pp", "zero", "recompute"))
        rows.append([model, WAYS[way], f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.1f}×", shown])
    return table(["model", "to", "8 × A100-80GB", "8 × H100", "ratio", "layout on 8 × H100"], rows)


def links(run: Run) -> str:
    """A 70B tuned on the same cards, by the links between them."""
    workload = fit(run, "--model", "llama-2-70b", "--train", "lora", "--gpu", "A100-80GB-SXM", "--all")[0]
    mine = [found for found in workload["fits"] if found["gpus"] == 8]
    mine.sort(key=lambda found: (found["tokens_per_second_per_gpu"], found["shape"]))
    rows = [
        [f"{8 // int(found['shape'].split('x')[0])} × {found['shape']}", f"{found['tokens_per_second_per_gpu']:,.1f}"]
        for found in mine
    ]
    return table(["eight A100, as", "tokens/s/GPU"], rows)


def allocations(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [allocation for workload in found["workloads"] for allocation in workload["allocations"]]


def requests(run: Run) -> str:
    """What 2,000 requests a second take."""
    found = plan(run, "examples/guide-2000-requests.yaml")
    rows = [
        [
            f"{a['instances']:.0f} × {a['gpu']}",
            a["offer"],
            f"{a['latency']['ttft_p95_ms']:,.0f} ms",
            f"${a['usd']:,.0f}",
        ]
        for a in allocations(found)
    ]
    return table(["GPUs", "offer", "TTFT p95", "a quarter"], rows)


def jetson(run: Run) -> str:
    """The edge case."""
    a = allocations(plan(run, "examples/jetson-edge.yaml"))[0]
    latency = a["latency"]
    return table(
        ["GPU", "TTFT p95", "TPOT p95", "tokens a second to one reader", "energy of the quarter"],
        [[a["gpu"], f"{latency['ttft_p95_ms']:,.0f} ms", f"{latency['tpot_p95_ms']:.0f} ms",
          f"{1000 / latency['tpot_p95_ms']:.0f}", f"{a['energy_kwh']:,.0f} kWh"]],
    )  # fmt: skip


def cost_of_7b(run: Run) -> str:
    """A full fine-tune of a 7B on a billion tokens: rented, and on a machine that is busy most of its life."""
    from gpu_opt.costs.machines import machine_cost
    from gpu_opt.domain.question import Site, SystemOverride
    from gpu_opt.hardware.systems import load_systems

    rows = []
    site = Site(name="lab", country="US", pue_ratio=1.3, usd_per_kwh=0.09, colo_usd_per_kw_month=195.0)
    for gpu, system in (("A100-80GB-SXM", "hgx-a100-8"), ("H100-SXM", "hgx-h100-8"), ("RTX-4090", "rtx-4090-4")):
        printed = run("plan", "examples/guide-finetune-7b.yaml", "--set", f"scope.gpus={gpu}", "--format", "json")
        if printed.code:
            rows.append([gpu, json.loads(printed.out)["conflict"][0].partition(": ")[2], "–", "–", "–"])
            continue
        found = json.loads(printed.out)
        a = allocations(found)[0]
        gpus = a["gpu_hours"] / a["instance_hours"] * a["instances"]
        hours = a["gpu_hours"] / gpus
        cost = machine_cost(load_systems()[system], SystemOverride(), site, cost_of_capital_fraction_per_year=0.10)
        year = cost.annuity_usd_per_year + 8760 * sum(line.usd_per_hour for line in cost.running)
        per_gpu_hour = year / cost.gpus / (8760 * 0.7) + cost.busy_usd_per_hour / cost.gpus
        rows.append(
            [f"{gpus:.0f} × {gpu}", f"{hours:.1f} h", f"${found['objective_usd']:,.0f}",
             f"${a['gpu_hours'] * per_gpu_hour:,.0f}", f"${cost.capex_usd:,.0f}"]
        )  # fmt: skip
    return table(["on", "takes", "rented", "share of an own machine", "price of that machine"], rows)


def bought(found: dict[str, Any]) -> str:
    count = sum(int(purchase["instances"]) for purchase in found["purchases"])
    return f"buy {count}" if count else "rent"


def renting(run: Run) -> str:
    """The rule "under three months: cloud" beside the optimum."""
    rows = []
    for periods, months in ((1, 3), (4, 12), (12, 36)):
        values = {"horizon__periods": str(periods)}
        best = plan(run, "tests/docs/rule.yaml", **values)
        cloud = plan(run, "tests/docs/rule.yaml", scope__providers="[aws,lambda]", **values)
        own = plan(run, "tests/docs/rule.yaml", scope__providers="[onprem]", **values)
        rows.append(
            [f"{months} months", bought(best), f"${best['objective_usd']:,.0f}", f"${cloud['objective_usd']:,.0f}",
             f"${own['objective_usd']:,.0f}"]
        )  # fmt: skip
    return table(["used for", "the plan", "costs", "all rented", "all owned, written off at the end"], rows)


def above_33b(run: Run) -> str:
    """The rule "above 33B: own cluster" beside the optimum, for a small service."""
    best = plan(run, "tests/docs/rule-70b.yaml")
    own = plan(run, "tests/docs/rule-70b.yaml", scope__providers="[onprem]")
    rows = [["the plan", bought(best), f"${best['objective_usd']:,.0f}"]]
    rows.append(["the rule", bought(own), f"${own['objective_usd']:,.0f}"])
    return table(["", "does", "costs for the year"], rows)


def under_100_ms(run: Run) -> str:
    """First tokens within 100 ms, by card: 256 tokens in, 32 out, INT8."""
    rows = []
    for model in MODELS[:2]:
        asked = ["--serve", "--precision", "int8", "--input", "256", "--output", "32", "--ttft-p95", "100ms"]
        workload = fit(run, "--model", model, *asked, *options(*CARDS))[0]
        for card in CARDS:
            found = smallest(workload["fits"], card)
            reasons = [miss["reason"] for miss in workload["does_not_fit"] if miss["gpu"] == card]
            said = reasons[-1] if reasons else "not possible"
            if found:
                said = f"yes: {found['gpus']:.0f} × {card}, {found['requests_per_second']:.1f} requests/s a replica"
                said += f", TTFT p95 {found['latency']['ttft_p95_ms']:.0f} ms"
            rows.append([model, card, re.sub(r"\.$", "", said)])
    return table(["model in INT8", "card", "first token within 100 ms at P95"], rows)


def makers(run: Run) -> dict[str, Callable[[], str]]:
    """Generated part -> what makes it."""
    parts = {
        "memory": memory,
        "thirteen": thirteen,
        "accelerators": accelerators,
        "speeds": speeds,
        "links": links,
        "requests": requests,
        "jetson": jetson,
        "cost-of-7b": cost_of_7b,
        "renting": renting,
        "above-33b": above_33b,
        "under-100-ms": under_100_ms,
    }
    return {name: (lambda make=make: make(run)) for name, make in parts.items()}
