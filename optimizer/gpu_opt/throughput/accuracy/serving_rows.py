"""From a row of measured serving points (contract, section 5) to a point that the model can predict."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.model import ModelSpec
from gpu_opt.domain.option import Layout
from gpu_opt.throughput.accuracy.report import Skipped
from gpu_opt.throughput.serving.engines import engine_named
from gpu_opt.throughput.serving.memory import max_concurrency, memory_need
from gpu_opt.throughput.serving.points import Candidate, ServingPoint
from gpu_opt.throughput.serving.precision import (
    ComputePlan,
    Refusal,
    find_format,
    kv_bytes_per_element,
    plan_compute,
    weight_formats,
)
from gpu_opt.throughput.serving.profile import ServingProfile, serving_profile
from gpu_opt.throughput.serving.replica import Replica, link_between
from gpu_opt.throughput.serving.tables import read_rows

MAX_SEARCHED_GPUS = 72
_CURRENT_VERSION = {"vllm": (0, 8), "sglang": (0, 5), "tensorrt-llm": (0, 17), "llama.cpp": (0, 0)}
_ALL_CURRENT_FROM = "2025-07"
"""A version below the present ones in a row of this date or later is another product's (a container, Dynamo)."""
_DEFAULT_ACCEPTANCE = 0.65
_MOST = 1e9  # above every count, length and time of a measurement
_VARIED_LONGEST = 3.0
"""Longest output over the mean where a mean that is no whole number shows that lengths vary (ShareGPT)."""
_WORKER = re.compile(r"(prefill|decode) (\d+)x\(tp(\d+) dp(\d+) ep(\d+)\)")


def number(text: str | None) -> float | None:
    """A cell as a number; None when it is blank, no number, or one that nothing measured has."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0.0 <= value <= _MOST else None


def scenario_of(row: Mapping[str, str]) -> str:
    """Which kind of benchmark a row is, from its `scenario` cell and, where that is blank, from what it carries."""
    text = row.get("scenario", "").lower()
    rate = row.get("request_rate", "")
    if "prefill" in text:
        return "prefill"
    if "(decode)" in text:
        return "decode"
    if "static" in text or "latency" in text:
        return "static"
    if "mlperf" in text and ("server" in text or "interactive" in text):
        return "server"
    if "num prompts" in text:
        return "burst"
    if "offline" in text:
        return "offline"
    if "burst" in text or rate == "inf":
        return "burst"
    if "open-loop" in text or (number(rate) is not None and "closed" not in text):
        return "open"
    return "closed"


def weight_spelling(row: Mapping[str, str], spec: ModelSpec, accelerator: Accelerator) -> str:
    """The row's precision; where blank, the checkpoint's own, and in MLPerf the lowest that the GPU computes in."""
    given = row.get("weight_precision", "").strip()
    if given and given.lower() != "unset":
        return given
    if "mlperf" in row.get("scenario", "").lower() and spec.native_precision != "mxfp4":
        peaks = accelerator.peak_tflops
        return "nvfp4" if "fp4" in peaks else "fp8" if "fp8" in peaks else "int4"
    native = spec.native_precision
    return native if native in weight_formats() else "bf16"


def kv_spelling(row: Mapping[str, str], plan: ComputePlan, engine: str, native: str) -> str:
    """The row's KV precision; where blank, FP4 checkpoints and FP8 ones of 16-bit models carry an FP8 cache."""
    given = row.get("kv_precision", "").strip().rstrip("?")
    if given and given.lower() != "auto":
        return given
    exported = plan.format.compute == "fp8" and (engine == "tensorrt-llm" or native == "bf16")
    if plan.format.compute == "fp4" or exported:
        return "fp8"
    return ""


@cache
def _datasets() -> tuple[dict[str, str], ...]:
    return tuple(read_rows("serving_datasets.csv"))


def dataset_of(row: Mapping[str, str]) -> Mapping[str, str]:
    """What the MLPerf rules say of a benchmark's data and its logs don't; else 512 tokens, as a plain assumption."""
    if "mlperf" in row.get("scenario", "").lower():
        for known in _datasets():
            if known["model"] in row.get("model", "").lower():
                return known
    return {"input_tokens": "512", "output_log_sd": "0", "beams": "1"}


def _layouts(row: Mapping[str, str], gpus: int, profile: ServingProfile, engine: str, offline: bool) -> list[Layout]:
    """The row's layout, or those that an operator would try where cells are blank."""
    cell = {name: int(number(row.get(name)) or 0) for name in ("tp", "pp", "dp", "ep")}
    moe = profile.experts > 0
    if cell["tp"]:
        tp, pp, dp = cell["tp"], cell["pp"] or 1, cell["dp"] or 1
        if tp * pp * dp > gpus:
            tp = max(gpus // (pp * dp), 1)
        tp, dp = _counted_once(tp, dp, cell["ep"], gpus)
        found = [Layout(tp=tp, pp=pp, dp=dp if tp * pp * dp <= gpus else 1, ep=cell["ep"] or 1)]
        if moe and offline and not cell["dp"] and tp > 1:
            found.append(Layout(tp=1, dp=tp, pp=pp, ep=tp))
        return found
    if engine == "llama.cpp":
        return [Layout(pp=gpus)]
    sizes = [s for s in (1, 2, 4, 8, 16, 32, 64) if s <= min(gpus, MAX_SEARCHED_GPUS) and gpus % s == 0] or [1]
    found = [Layout(tp=s) for s in sizes if s <= 8] + [Layout(tp=s // 2, pp=2) for s in sizes if 2 <= s <= 16]
    found += [Layout(tp=1, pp=s) for s in sizes if 4 <= s <= 8]
    if moe:
        found += [Layout(tp=1, dp=s, ep=s) for s in sizes if s > 1]
    return found


def _counted_once(tp: int, dp: int, ep: int, gpus: int) -> tuple[int, int]:
    """Rows of attention-DP that multiply one group of ranks with itself (8 GPUs with dp 8 and ep 8 written as 64)."""
    if dp > 1 and tp * dp == gpus and gpus in (4 * 4, 8 * 8):
        side = 4 if gpus == 16 else 8
        if ep in (side, gpus):
            return 1, side
    return tp, dp


def _candidate(
    row: Mapping[str, str],
    profile: ServingProfile,
    accelerator: Accelerator,
    plan: ComputePlan,
    engine: str,
    layout: Layout,
    gpus: float,
    lengths: tuple[float, float],
) -> tuple[Candidate, bool]:
    """A layout as a candidate, and whether memory lets it hold even one sequence."""
    replica = Replica(
        profile=profile,
        accelerator=accelerator,
        plan=plan,
        kv_bytes=kv_bytes_per_element(kv_spelling(row, plan, engine, profile.native_precision), plan.format),
        layout=layout,
        link=link_between(accelerator, layout.tp if layout.tp > 1 else layout.pp, None),
        exchange=link_between(accelerator, layout.tp * layout.dp, None),
        engine=engine,
        tags=tags_of(row, engine),
    )
    settings = engine_named(engine)
    need = memory_need(replica, settings, None)
    inputs, outputs = lengths
    fit = max_concurrency(replica, settings, need, mean_tokens=inputs + 0.5 * outputs, peak_tokens=inputs + outputs)
    counted = layout.dp > 1 and gpus == layout.dp**2 and layout.tp == 1
    copies = 1.0 if counted else max(gpus / replica.gpus, 1.0)
    return Candidate(replica=replica, copies=copies, max_batch=float(max(fit, 1))), fit > 0


def tags_of(row: Mapping[str, str], engine: str) -> tuple[str, ...]:
    """Generation of the engine: `old` before its present scheduler (by version, or in static batches of no version)."""
    current = _CURRENT_VERSION.get(engine)
    version = re.match(r"v?(\d+)\.(\d+)", row.get("engine_version", "").strip())
    if current is None:
        return ()
    if version is None:
        return (f"{engine}:static",) if scenario_of(row) == "static" else ()
    if (int(version[1]), int(version[2])) >= current or row.get("source_date", "") >= _ALL_CURRENT_FROM:
        return ()
    return (f"{engine}:static",) if scenario_of(row) == "static" else (f"{engine}:old",)


def _split_point(
    row: Mapping[str, str],
    profile: ServingProfile,
    accelerator: Accelerator,
    plan: ComputePlan,
    engine: str,
    workers: Mapping[str, tuple[int, ...]],
) -> ServingPoint | Skipped:
    """Separate prefill and decode workers, from `prefill 1x(tp4 dp1 ep1) decode 4x(tp8 dp1 ep8)`."""
    inputs, outputs = number(row.get("input_len")) or 512.0, number(row.get("output_len")) or 256.0
    users = number(row.get("concurrency_or_batch"))
    if not users:
        return Skipped(id=row.get("id", ""), reason="no concurrency and no rate")
    copies, tp, dp, ep = workers["decode"]
    layout = Layout(tp=tp, dp=dp, ep=ep)
    candidate, _ = _candidate(
        row, profile, accelerator, plan, engine, layout, float(copies * tp * dp), (inputs, outputs)
    )
    prefill = workers["prefill"][0] * workers["prefill"][1] * workers["prefill"][2]
    return ServingPoint(
        id=row.get("id", ""),
        candidates=(replace(candidate, copies=float(copies)),),
        scenario="split",
        input_tokens=inputs,
        output_tokens=outputs,
        users=users,
        rate=prefill / (copies * tp * dp),
    )


def _burst_size(row: Mapping[str, str]) -> float | None:
    """The number of requests in `burst (all 1000 requests at t=0)`."""
    found = re.search(r"(\d+) req", row.get("scenario", ""))
    return float(found[1]) if found else None


def drafts_of(text: str) -> tuple[float, float]:
    """(draft tokens, tokens gained per step) from a cell such as `eagle3 k=4`; (0, 1) when it is blank."""
    if not text.strip() or text.strip().lower() in ("none", "no", "off", "false", "0"):
        return 0.0, 1.0
    found = re.search(r"k\s*=\s*(\d+)|(\d+)\s*(?:draft|tokens)", text)
    count = float(next(g for g in found.groups() if g)) if found else 1.0
    rate = _DEFAULT_ACCEPTANCE
    return count, (1.0 - rate ** (count + 1.0)) / (1.0 - rate)


def point_of(
    row: Mapping[str, str],
    find_gpu: Callable[[str], Accelerator | None],
    find_model: Callable[[Mapping[str, str]], ModelSpec | None],
    key: str = "",
) -> ServingPoint | Skipped:
    """The point that a row describes, or why it can't be predicted. `key` stands for its id where ids may repeat."""
    name = key or row.get("id", "")
    accelerator = find_gpu(row.get("gpu", ""))
    if accelerator is None:
        return Skipped(id=name, reason=f"unknown GPU {row.get('gpu', '')!r}")
    spec = find_model(row)
    if spec is None:
        return Skipped(id=name, reason="unknown model without a parameter count")
    weights = find_format(weight_spelling(row, spec, accelerator))
    if weights is None:
        return Skipped(id=name, reason=f"unknown precision {row.get('weight_precision', '')!r}")
    engine = engine_named(row.get("engine", "")).name
    plan = plan_compute(weights, accelerator, engine)
    if isinstance(plan, Refusal):
        return Skipped(id=name, reason=plan.reason)
    return _point({**row, "id": name}, spec, accelerator, plan, engine)


def _point(
    row: Mapping[str, str], spec: ModelSpec, accelerator: Accelerator, plan: ComputePlan, engine: str
) -> ServingPoint | Skipped:
    scenario = scenario_of(row)
    profile = serving_profile(spec)
    workers = {side: tuple(int(n) for n in sizes) for side, *sizes in _WORKER.findall(row.get("disagg", ""))}
    if len(workers) == len(("prefill", "decode")) and scenario == "closed":
        return _split_point(row, profile, accelerator, plan, engine, workers)
    gpus = max(number(row.get("n_gpus")) or 1.0, 1.0)
    outputs = number(row.get("output_len"))
    dataset = dataset_of(row)
    inputs = number(row.get("input_len")) or float(dataset["input_tokens"])
    lengths = (max(inputs, 1.0), 256.0 if outputs is None else max(outputs, 1.0))
    if scenario == "closed" and not number(row.get("concurrency_or_batch")):
        return Skipped(id=row.get("id", ""), reason="no concurrency and no rate")
    users = number(row.get("concurrency_or_batch")) or _burst_size(row) or (1.0 if scenario != "offline" else 0.0)
    rate = number(row.get("request_rate")) or 0.0
    drafts, accepted = drafts_of(row.get("spec_decode", ""))
    drafts = max(drafts, float(dataset["beams"]) - 1.0)
    layouts = _layouts(row, int(gpus), profile, engine, scenario in ("offline", "open", "server"))
    pairs = [_candidate(row, profile, accelerator, plan, engine, layout, gpus, lengths) for layout in layouts]
    fitting = [candidate for candidate, fits in pairs if fits]
    candidates = tuple(fitting or [pairs[-1][0]])
    if scenario == "open" and users > 1.0:
        candidates = tuple(replace(c, max_batch=min(c.max_batch, users)) for c in candidates)
    return ServingPoint(
        id=row.get("id", ""),
        candidates=candidates,
        scenario=scenario,
        input_tokens=lengths[0],
        output_tokens=lengths[1],
        users=users,
        rate=rate,
        draft_tokens=drafts,
        accepted_tokens=accepted,
        output_log_sd=float(dataset["output_log_sd"]),
        longest_ratio=_VARIED_LONGEST if scenario == "burst" and lengths[1] % 1.0 else 1.0,
    )
