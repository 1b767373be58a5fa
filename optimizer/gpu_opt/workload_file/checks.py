"""What must hold between keys of a file, as far as it can be seen without prices."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gpu_opt.errors import InputError, Problem
from gpu_opt.workload_file.problems import not_among
from gpu_opt.workload_file.yaml_lines import Key, KeyPath, quoted

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile

SHARE_TOLERANCE = 1e-6
DEFAULT_OPTIMIZER = "adam"
_LEAST_GPU_HOURS = 0.001  # some seconds of one GPU
_MOST_GPU_HOURS = 1e9  # some hundred thousand GPUs in a quarter; the solver takes far more for infinite


def cross_checks(file: WorkloadFile, positions: Sequence[int], failed: Collection[Key]) -> Iterator[Problem]:
    """Problems between keys. `positions[i]` is the index in the file of the i-th workload that was read; what the
    sections in `failed` would say is unknown."""
    yield from _horizon(file)
    yield from _estate(file, sites_known="onprem" not in failed)
    yield from _limits(file)
    paths = [("workloads", position) for position in positions]
    yield from _unique(file, ((path, entry.name) for path, entry in zip(paths, file.workloads, strict=True)))
    for path, entry in zip(paths, file.workloads, strict=True):
        yield from _common(file, path, entry)
        if entry.kind in ("pretrain", "finetune"):
            yield from _training(file, path, entry)
        elif entry.kind == "batch":
            yield from _batch(file, path, entry)
        elif entry.kind == "serve":
            yield from _serve(file, path, entry, blocks_known="horizon" not in failed)
        elif entry.kind == "gpu_hours":
            yield from _gpu_hours(file, path, entry)
    yield from _pools(file, paths)


def _unique(file: WorkloadFile, named: Iterable[tuple[KeyPath, str]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield file.problem((*path, "name"), f"the name {quoted(name)} is taken.", "Give each its own name.")
        seen.add(name)


def _sums_to_one(file: WorkloadFile, path: KeyPath, shares: Sequence[float], key: str) -> Iterator[Problem]:
    total = math.fsum(shares)
    if abs(total - 1.0) > SHARE_TOLERANCE:
        yield file.problem(path, f"`{key}` sums to {total:g}.", "Make the shares sum to 1.")


def _horizon(file: WorkloadFile) -> Iterator[Problem]:
    blocks = file.horizon.blocks
    if blocks:
        path = ("horizon", "blocks")
        yield from _unique(file, (((*path, index), block.name) for index, block in enumerate(blocks)))
        yield from _sums_to_one(file, path, [block.hours_share for block in blocks], "hours_share")
    start = file.horizon.start
    if start is not None and start.day > 28:
        yield file.problem(
            ("horizon", "start"), f"{start} has no day of its number in every month.", "Start on day 1 to 28."
        )
    if (file.horizon.periods or 0) > 240:
        yield file.problem(("horizon", "periods"), f"{file.horizon.periods} periods are too many.", "Plan up to 240.")


def _estate(file: WorkloadFile, *, sites_known: bool) -> Iterator[Problem]:
    sites = file.onprem.sites if file.onprem else ()
    names = {site.name for site in sites}
    for index, site in enumerate(sites):
        yield from _climate(file, ("onprem", "sites", index, "climate"), site.climate)
    yield from _unique(file, ((("onprem", "sites", index), site.name) for index, site in enumerate(sites)))
    yield from _unique(file, ((("inventory", index), entry.name) for index, entry in enumerate(file.inventory)))
    existing = file.commitments.existing if file.commitments else ()
    yield from _unique(
        file,
        (
            (("commitments", "existing", index), entry.name)
            for index, entry in enumerate(existing)
            if entry.name is not None
        ),
    )
    for index, commitment in enumerate(existing):
        if (commitment.usd_per_instance_hour is None) != commitment.already_paid:
            yield file.problem(
                ("commitments", "existing", index),
                "it needs either a price or the word that it is paid.",
                "Give `usd_per_instance_hour`, or `already_paid: true`.",
            )
    machines: list[tuple[KeyPath, Any]] = [(("inventory", index), entry) for index, entry in enumerate(file.inventory)]
    if file.onprem:
        machines += [(("onprem", "purchasable", index), e) for index, e in enumerate(file.onprem.purchasable)]
    for path, machine in machines:
        yield from _machine(file, path, machine, names if sites_known else {*names, machine.site})


def _climate(file: WorkloadFile, path: KeyPath, climate: str | None) -> Iterator[Problem]:
    if climate is not None:
        from gpu_opt.costs.cooling import climates

        if climate not in climates():
            yield file.problem(path, *not_among(climate, climates()))


def _machine(file: WorkloadFile, path: KeyPath, machine: Any, sites: set[str]) -> Iterator[Problem]:
    from gpu_opt.hardware.systems import load_systems

    if machine.site not in sites:
        known = f"Known sites: {', '.join(sorted(sites))}." if sites else "Add it under `onprem.sites`."
        yield file.problem((*path, "site"), f"the site {quoted(machine.site)} is not described.", known)
    if machine.price_usd is None and load_systems()[machine.system].price_usd is None:
        what = f"nobody publishes a price of {machine.system}."
        yield file.problem((*path, "system"), what, "Add `price_usd` with what you pay.")


def _limits(file: WorkloadFile) -> Iterator[Problem]:
    for key, entries in (("quotas", file.limits.quotas), ("obtainable", file.limits.obtainable)):
        for index, entry in enumerate(entries):
            if entry.max_instances is None and entry.max_gpus is None and entry.max_vcpus is None:
                yield file.problem(
                    ("limits", key, index), "it limits nothing.", "Give max_instances, max_gpus or max_vcpus."
                )


def _common(file: WorkloadFile, path: KeyPath, entry: Any) -> Iterator[Problem]:
    if entry.only_measured and not entry.measured:
        yield file.problem((*path, "only_measured"), "there is no `measured` speed.", "Add at least one.")
    allowed = {
        "serve": ("requests_per_second",),
        "batch": ("requests_per_second", "tokens_per_second"),
        "gpu_hours": (),
    }.get(entry.kind, ("tokens_per_second", "units_per_second"))
    for index, measured in enumerate(entry.measured):
        place = (*path, "measured", index)
        given = measured.model_fields_set & {"requests_per_second", "tokens_per_second", "units_per_second"}
        if not given <= set(allowed):
            remedy = f"Give {' or '.join(allowed)}." if allowed else "Remove it."
            yield file.problem(place, f"{', '.join(sorted(given))} says nothing about {entry.kind}.", remedy)
    if entry.memory_reserve is not None and entry.memory_reserve >= 1:
        yield file.problem((*path, "memory_reserve"), "a reserve of all memory leaves none.", "Write less than 1.")
    if getattr(entry, "model", None) is not None:
        yield from _model(file, path, entry.model)
    if entry.data is not None:
        yield from _location(file, (*path, "data", "location"), entry.data.location)


def _location(file: WorkloadFile, path: KeyPath, location: str) -> Iterator[Problem]:
    from gpu_opt.costs.transfer import split_location

    sites = [site.name for site in file.onprem.sites] if file.onprem else []
    try:
        split_location(location, sites)
    except InputError as error:
        yield from (file.problem(path, problem.what, problem.remedy) for problem in error.problems)


def _model(file: WorkloadFile, path: KeyPath, keys: Any) -> Iterator[Problem]:
    from gpu_opt.workload_file.models import resolve_model

    try:
        resolve_model(file, (*path, "model"), keys)
    except InputError as error:
        yield from error.problems


def _needed(
    file: WorkloadFile, path: KeyPath, entry: Any, need: Sequence[str], instead: Sequence[str] = ()
) -> Iterator[Problem]:
    """Keys that must be there, and keys that have no meaning for this model."""
    for key in need:
        if getattr(entry, key) is None:
            yield file.problem(path, f"`{key}` is missing.", "Add it.")
    for key in instead:
        if getattr(entry, key) is not None:
            yield file.problem((*path, key), "it has no meaning for this model.", f"Use {', '.join(need)}.")


def _training(file: WorkloadFile, path: KeyPath, entry: Any) -> Iterator[Problem]:
    amount = "tokens" if entry.kind == "pretrain" else "dataset_tokens"
    units = "units" if entry.kind == "pretrain" else "dataset_units"
    if entry.model.unit is None:
        yield from _needed(file, path, entry, (amount, "sequence_length"), (units,))
    else:
        yield from _needed(file, path, entry, (units,), (amount,))
    if entry.optimizer != DEFAULT_OPTIMIZER:
        import gpu_opt.throughput.training  # noqa: F401 - memory_training needs it loaded first
        from gpu_opt.throughput.memory_training.rules import known_optimizers, normal_optimizer

        plain_adam = entry.optimizer.strip().lower() == DEFAULT_OPTIMIZER
        if normal_optimizer(entry.optimizer) == DEFAULT_OPTIMIZER and not plain_adam:
            yield file.problem((*path, "optimizer"), *not_among(entry.optimizer, known_optimizers()))


def _lengths(file: WorkloadFile, path: KeyPath, entry: Any) -> Iterator[Problem]:
    if entry.model.unit is None:
        yield from _needed(file, path, entry, ("input_tokens", "output_tokens"), ("units_per_request",))
    else:
        for key in ("input_tokens", "output_tokens"):
            if getattr(entry, key) is not None:
                yield file.problem((*path, key), "it has no meaning for this model.", "Use `units_per_request`.")


def _batch(file: WorkloadFile, path: KeyPath, entry: Any) -> Iterator[Problem]:
    if (entry.requests is None) == (entry.requests_per_period is None):
        yield file.problem(path, "how much there is to do must be said once.", "Give requests or requests_per_period.")
    if entry.deadline is not None and entry.deadline.usd_per_day_late is not None:
        place = (*path, "deadline", "usd_per_day_late")
        yield file.problem(place, "a late batch is not supported yet.", "Leave it out: the deadline then holds.")
    yield from _lengths(file, path, entry)


def _serve(file: WorkloadFile, path: KeyPath, entry: Any, *, blocks_known: bool) -> Iterator[Problem]:
    if entry.traffic.trace is None and not entry.request_mix:
        yield from _lengths(file, path, entry)
    for key in ("input_tokens", "output_tokens"):
        if getattr(entry, key) is not None and (entry.request_mix or entry.traffic.trace):
            other = "request_mix" if entry.request_mix else "traffic.trace"
            yield file.problem((*path, key), f"`{other}` says the lengths.", "Remove one of the two.")
    if entry.request_mix:
        shares = [part.share for part in entry.request_mix]
        yield from _sums_to_one(file, (*path, "request_mix"), shares, "share")
        if entry.traffic.trace:
            yield file.problem((*path, "request_mix"), "`traffic.trace` says the lengths.", "Remove one of the two.")
    if entry.traffic.blocks is not None and blocks_known:
        yield from _blocks(file, (*path, "traffic", "blocks"), entry.traffic.blocks)


def _blocks(file: WorkloadFile, path: KeyPath, blocks: Sequence[Any]) -> Iterator[Problem]:
    named = {block.name: block.hours_share for block in file.horizon.blocks}
    yield from _unique(file, (((*path, index), block.name) for index, block in enumerate(blocks)))
    shares = []
    for index, block in enumerate(blocks):
        given, known = block.hours_share, named.get(block.name)
        if given is None and known is None:
            yield file.problem((*path, index), "`hours_share` is missing.", "Add it, or name the block in the horizon.")
            return
        if given is not None and known is not None and abs(given - known) > SHARE_TOLERANCE:
            what = f"the horizon's block {quoted(block.name)} has {known:g} of the hours."
            yield file.problem((*path, index, "hours_share"), what, "Leave it out, or use another name.")
        shares.append(given if known is None else known)
    yield from _sums_to_one(file, path, shares, "hours_share")


def _gpu_hours(file: WorkloadFile, path: KeyPath, entry: Any) -> Iterator[Problem]:
    if not entry.demand:
        yield file.problem((*path, "demand"), "it asks for nothing.", "Write {H100-SXM: [52000]}.")
    if entry.demand and not any(value > 0 for values in entry.demand.values() for value in values):
        yield file.problem((*path, "demand"), "it asks for no hours.", "Write a number above zero.")
    periods = file.horizon.periods
    for gpu, values in entry.demand.items():
        for index, value in enumerate(values):
            if 0 < value < _LEAST_GPU_HOURS or value > _MOST_GPU_HOURS:
                what = f"{value:g} GPU-hours of a period are no demand that can be planned."
                remedy = f"Write 0, or a number from {_LEAST_GPU_HOURS:g} to {_MOST_GPU_HOURS:g}."
                yield file.problem((*path, "demand", gpu, index), what, remedy)
        if not values or (periods is not None and len(values) not in (1, periods)):
            expected = f"one number or {periods}" if periods is not None else "at least one number"
            what = f"{len(values)} periods where {expected} are expected."
            yield file.problem((*path, "demand", gpu), what, "Give one for each period, or one for all.")


def _pools(file: WorkloadFile, paths: Sequence[KeyPath]) -> Iterator[Problem]:
    """Services of one pool share replicas, so they need one model and one way of serving it."""
    first: dict[str, Any] = {}
    for path, entry in zip(paths, file.workloads, strict=True):
        pool = getattr(entry, "pool", None)
        if pool is None:
            continue
        other: Any = first.setdefault(pool, entry)
        for key in ("model", "precision", "engine"):
            if getattr(other, key) != getattr(entry, key):
                what = f"pool {quoted(pool)} holds another {key} already, that of {quoted(other.name)}."
                yield file.problem((*path, "pool"), what, f"Use the same {key}, or another pool.")
