"""The whole question that a file asks, with its names checked against the places that prices know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from gpu_opt.domain.offer import Market
from gpu_opt.domain.question import (
    Agreement,
    Budget,
    Credit,
    ExistingCommitment,
    Horizon,
    Overhead,
    Owned,
    PricePath,
    Purchasable,
    Question,
    Quota,
    Scope,
    Site,
    SystemOverride,
)
from gpu_opt.domain.workload import Workload
from gpu_opt.errors import InputError
from gpu_opt.workload_file.places import Places
from gpu_opt.workload_file.reader import WorkloadFile
from gpu_opt.workload_file.section_reader import in_order
from gpu_opt.workload_file.times import horizon_of
from gpu_opt.workload_file.to_workloads import WorkloadBuilder, gpus_of
from gpu_opt.workload_file.yaml_lines import KeyPath


def to_question(
    file: WorkloadFile,
    *,
    newest_as_of: date,
    known_regions: Mapping[str, frozenset[str]],
    base_dir: Path | None = None,
) -> Question:
    """The question of a file. `newest_as_of` is the prices' newest day, after which a horizon without a start begins;
    `known_regions` are the regions by provider that prices know. InputError with every problem at once."""
    file = file if base_dir is None else replace(file, base_dir=base_dir)
    horizon = horizon_of(file, newest_as_of)
    builder = WorkloadBuilder(file, horizon)
    workloads = [built for index in range(len(file.workloads)) if (built := builder.build(index)) is not None]
    places = Places(file, known_regions)
    existing = list(_existing(file, horizon, places))
    places.check_all()
    problems = [*builder.problems, *places.problems]
    if problems:
        raise InputError(in_order(problems))
    rent, consider = markets_of(file, workloads)
    return Question(
        horizon=horizon,
        workloads=tuple(workloads),
        scope=_scope(file, places),
        rent_markets=rent,
        consider=consider,
        price_paths=tuple(
            PricePath(gpu=gpu, annual_change_fraction=change.annual_change)
            for gpu, change in sorted(file.prices.path.items())
        ),
        budget=Budget(**file.limits.budget.model_dump()),
        quotas=tuple(_quotas(file, places)),
        max_providers=file.limits.max_providers,
        inventory=tuple(_inventory(file)),
        existing=tuple(existing),
        agreements=tuple(_agreements(file, places)),
        credits=tuple(Credit(provider=places.provider(c.provider), usd=c.usd, expires=c.expires) for c in file.credits),
        overheads=tuple(
            Overhead(provider=places.provider(name), **o.model_dump()) for name, o in sorted(file.overheads.items())
        ),
        sites=tuple(_sites(file)),
        purchasable=tuple(_purchasable(file)),
        demand_spread_fraction=file.risk.demand_spread if file.risk else 0.0,
        price_spread_fraction=file.risk.price_spread if file.risk else 0.0,
        occupancy_fraction=file.defaults.occupancy,
        memory_reserve_fraction=file.defaults.memory_reserve,
        cost_of_capital_fraction_per_year=file.defaults.cost_of_capital_annual,
        warnings=tuple(dict.fromkeys([*builder.warnings, *places.warnings, *_market_warnings(file, workloads)])),
    )


def markets_of(file: WorkloadFile, workloads: Iterable[Workload]) -> tuple[tuple[Market, ...], tuple[Market, ...]]:
    """What may be rented (default: on demand, and spot where a workload allows it) and which terms may be bought
    (default: those among `prices.markets`)."""
    given = file.prices.markets
    rent: tuple[Market, ...]
    terms: tuple[Market, ...] = ()
    if given is None:
        spot = any(workload.spot.allow for workload in workloads)
        rent = (Market.ON_DEMAND, Market.SPOT) if spot else (Market.ON_DEMAND,)
    else:
        markets = tuple(Market(name) for name in dict.fromkeys(given))
        rent = tuple(market for market in markets if market.is_rent)
        terms = tuple(market for market in markets if not market.is_rent)
    consider = file.commitments.consider if file.commitments else None
    return rent, terms if consider is None else tuple(Market(name) for name in dict.fromkeys(consider))


def _market_warnings(file: WorkloadFile, workloads: Iterable[Workload]) -> Iterator[str]:
    if "spot" in (file.prices.markets or ()) and not any(workload.spot.allow for workload in workloads):
        yield "prices.markets lists spot, but no workload allows it: add `spot: {allow: true}` where it may be used."


def _scope(file: WorkloadFile, places: Places) -> Scope:
    return Scope(
        providers=tuple(places.provider(name) for name in file.scope.providers),
        regions=file.scope.regions,
        gpus=gpus_of(file.scope.gpus),
        data_residency=file.scope.data_residency,
    )


def _quotas(file: WorkloadFile, places: Places) -> Iterator[Quota]:
    for key, entries in (("quotas", file.limits.quotas), ("obtainable", file.limits.obtainable)):
        for index, entry in enumerate(entries):
            yield Quota(
                name=f"{key}[{index}]",
                provider=places.provider(entry.provider or ""),
                region=entry.region or "",
                instance_types=entry.instance_types,
                gpu=entry.gpu or "",
                market=entry.market or "",
                max_instances=entry.max_instances,
                max_gpus=entry.max_gpus,
                max_vcpus=entry.max_vcpus,
                obtainable=key == "obtainable",
            )


def _override(keys: Any) -> SystemOverride:
    return SystemOverride(**{name: getattr(keys, name) for name in SystemOverride.__dataclass_fields__})


def _inventory(file: WorkloadFile) -> Iterator[Owned]:
    for entry in file.inventory:
        yield Owned(
            name=entry.name,
            system=entry.system,
            instances=entry.instances,
            purchased=entry.purchased,
            site=entry.site,
            override=_override(entry),
        )


def _purchasable(file: WorkloadFile) -> Iterator[Purchasable]:
    for entry in file.onprem.purchasable if file.onprem else ():
        yield Purchasable(
            system=entry.system,
            site=entry.site,
            max_instances=entry.max_instances,
            lead_time_hours=entry.lead_time,
            override=_override(entry),
        )


def _sites(file: WorkloadFile) -> Iterator[Site]:
    for entry in file.onprem.sites if file.onprem else ():
        said = entry.model_dump(exclude_none=True)
        pue = said.pop("pue", None)
        yield Site(**said, pue_ratio=pue)


def _agreements(file: WorkloadFile, places: Places) -> Iterator[Agreement]:
    for entry in file.agreements:
        yield Agreement(
            provider=places.provider(entry.provider),
            min_spend_usd_per_year=entry.min_spend_usd_per_year,
            discount_fraction=entry.discount,
            other_spend_usd_per_year=entry.other_spend_usd_per_year,
        )


def _existing(file: WorkloadFile, horizon: Horizon, places: Places) -> Iterator[ExistingCommitment]:
    for index, entry in enumerate(file.commitments.existing if file.commitments else ()):
        path: KeyPath = ("commitments", "existing", index)
        provider = (
            places.provider(entry.provider)
            if entry.provider
            else places.provider_of(path, entry.region, entry.instance_type)
        )
        if entry.ends < horizon.start:
            places.warnings.append(
                f"commitment {entry.name or index} ended on {entry.ends}, before the horizon: it is left out."
            )
            continue
        yield ExistingCommitment(
            name=entry.name or f"existing-{index + 1}",
            provider=provider,
            region=entry.region,
            instance_type=entry.instance_type,
            instances=entry.instances,
            ends=entry.ends,
            usd_per_instance_hour=entry.usd_per_instance_hour or 0.0,
            already_paid=entry.already_paid,
        )
