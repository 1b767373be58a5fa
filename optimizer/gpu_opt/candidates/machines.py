"""Machines that stand on a site or may be bought for it, as pools, standing capacity and purchases."""

from __future__ import annotations

from gpu_opt import hardware
from gpu_opt.candidates.capacity import Capacity
from gpu_opt.candidates.match import ONPREM, gpu_set, residency_countries
from gpu_opt.costs.machines import MachineCost, machine_cost
from gpu_opt.costs.power import Phase
from gpu_opt.domain.hardware import System
from gpu_opt.domain.program import FixedLine, Pool, Purchase, Standing, TermStart
from gpu_opt.domain.question import Owned, Purchasable, Question, Site, SystemOverride
from gpu_opt.errors import InputError, Problem
from gpu_opt.units import HOURS_PER_YEAR


def add_machines(question: Question, capacity: Capacity) -> None:
    """Everything that the file says of owned machines and of systems that may be bought."""
    for owned in question.inventory:
        add_owned(question, capacity, owned)
    for purchasable in question.purchasable:
        add_purchasable(question, capacity, purchasable)


def _site(question: Question, name: str, where: str) -> Site:
    for site in question.sites:
        if site.name == name:
            return site
    raise InputError(Problem(path=where, what=f"site {name!r} isn't among onprem.sites.", remedy="Add it there."))


def _system(name: str, where: str) -> System:
    try:
        return hardware.find_system(name)
    except hardware.UnknownName as unknown:
        hint = f"Did you mean {unknown.nearest}?" if unknown.nearest else "See the systems in the reference."
        raise InputError(Problem(path=where, what=f"unknown system {name!r}.", remedy=hint)) from unknown


def _machine_pool(
    question: Question, capacity: Capacity, system: System, site: Site, override: SystemOverride, where: str, key: str
) -> MachineCost:
    """The pool of one kind of machine on a site, and what one costs."""
    tdp = hardware.load_accelerators()[system.gpu].tdp_watts
    machine = machine_cost(
        system,
        override,
        site,
        cost_of_capital_fraction_per_year=question.cost_of_capital_fraction_per_year,
        gpu_tdp_watts=tdp,
        where=where,
    )
    capacity.machines[where] = machine
    countries = residency_countries(question.scope.data_residency)
    in_scope = not question.scope.providers or ONPREM in question.scope.providers
    allowed = in_scope and (not countries or site.country.upper()[:2] in countries)
    gpus = gpu_set(question.scope.gpus)
    if not allowed or (gpus and system.gpu not in gpus):
        capacity.closed.add(key)
    if key not in capacity.pools:
        phases = {phase.value: machine.at_phase(phase) for phase in Phase}
        shape = hardware.system_shape(system)
        capacity.pools[key] = Pool(
            id=key,
            provider=ONPREM,
            region=site.name,
            zone="",
            instance_type=system.name,
            gpu=system.gpu,
            gpus=float(system.gpus),
            vcpus=shape.vcpus,
            onprem=True,
            idle_kw=machine.idle_kw,
            busy_usd_per_hour={name: at.busy_usd_per_hour for name, at in phases.items()},
            busy_kw={name: at.busy_kw for name, at in phases.items()},
        )
        capacity.shapes[key] = shape
    return machine


def _lines(machine: MachineCost) -> tuple[FixedLine, ...]:
    return tuple(FixedLine(label=line.label, usd_per_instance_hour=line.usd_per_hour) for line in machine.running)


def add_owned(question: Question, capacity: Capacity, owned: Owned) -> None:
    where = f"inventory {owned.name}"
    site = _site(question, owned.site, where)
    system = _system(owned.system, where)
    key = f"{ONPREM}/{site.name}/{system.name}"
    machine = _machine_pool(question, capacity, system, site, owned.override, where, key)
    bought = question.horizon.hours_at(owned.purchased)
    ends = bought + machine.life_years * HOURS_PER_YEAR
    if ends <= 0.0:
        capacity.warnings.append(
            f"{owned.name}: bought {owned.purchased}, its life of {machine.life_years:g} years ended before the"
            " horizon; set life_years to keep it in the plan"
        )
        return
    annuity = FixedLine(label="annuity", usd_per_instance_hour=machine.annuity_usd_per_hour)
    if key in capacity.closed:
        capacity.warnings.append(f"{owned.name}: outside the scope or data_residency: paid for, and not used")
    capacity.standing.append(
        Standing(
            id=owned.name,
            pool=key,
            instances=owned.instances,
            from_hours=max(0.0, bought),
            to_hours=ends,
            owned=True,
            lines=(annuity, *_lines(machine)),
            kw_per_instance=machine.committed_kw,
        )
    )


def add_purchasable(question: Question, capacity: Capacity, wanted: Purchasable) -> None:
    where = f"onprem.purchasable {wanted.system}"
    site = _site(question, wanted.site, where)
    system = _system(wanted.system, where)
    key = f"{ONPREM}/{site.name}/{system.name}"
    machine = _machine_pool(question, capacity, system, site, wanted.override, where, key)
    if key in capacity.closed:
        return
    life = machine.life_years * HOURS_PER_YEAR
    orders = [
        p.start_hours
        for p in question.horizon.periods
        if p.start_hours + wanted.lead_time_hours < question.horizon.hours
    ]
    starts = [order + wanted.lead_time_hours for order in orders]
    if not starts:
        capacity.warnings.append(
            f"{wanted.system} for {wanted.site}: delivered after the horizon, so it can't be part of this plan"
        )
        return
    capacity.purchases.append(
        Purchase(
            id=f"buy {system.name} for {site.name}",
            pool=key,
            site=site.name,
            capex_usd=machine.capex_usd,
            annuity_usd_per_hour=machine.annuity_usd_per_hour,
            straight_line_usd_per_hour=machine.straight_line_usd_per_hour,
            lines=_lines(machine),
            life_hours=life,
            deliveries=tuple(TermStart(start_hours=start, end_hours=start + life) for start in starts),
            order_hours=tuple(orders),
            max_instances=wanted.max_instances,
            kw_per_instance=machine.committed_kw,
            racks_per_instance=machine.racks,
        )
    )
