"""From a system, the file's overrides and a site to the inputs of the cost formulas, with every assumption named."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_opt.costs.checks import Checks
from gpu_opt.costs.cooling import climate_named, climate_pue_ratio
from gpu_opt.costs.defaults import default, value_of
from gpu_opt.costs.energy import Carbon, Unknown, electricity, grid_carbon
from gpu_opt.costs.on_prem import facility_usd_per_kw_month
from gpu_opt.costs.power import NodePower, complete_power, fabric
from gpu_opt.domain.hardware import System
from gpu_opt.domain.question import Site, SystemOverride
from gpu_opt.errors import Problem
from gpu_opt.records import record

_FROM_FILE = "workload file"
_RESIDUAL_AGES_YEARS = (3, 4, 5, 7)  # those that defaults.csv has a residual for


@record
class Assumption:
    """A number that the workload file didn't give. `confidence` is empty where the source states none."""

    name: str
    value: float
    unit: str
    source: str
    confidence: str = ""


@record
class MachineInputs:
    """`inputs` are those of `on_prem.cost`, all but `P_busy` and `util`."""

    inputs: dict[str, float]
    power: NodePower
    racks: float
    carbon: Carbon | Unknown
    assumptions: tuple[Assumption, ...]

    @property
    def highest_busy_kw(self) -> float:
        """The higher of the typical draws, which a demand charge bills."""
        return max(self.power.train_kw, self.power.infer_kw)

    def at_busy_kw(self, busy_kw: float) -> dict[str, float]:
        """The inputs with a draw at work."""
        return {**self.inputs, "P_busy": busy_kw}


@dataclass(slots=True)
class _Ledger:
    """Takes a given number, or notes the one assumed in its place."""

    assumptions: list[Assumption] = field(default_factory=list)

    def note(self, name: str, value: float, unit: str, source: str, confidence: str = "") -> float:
        self.assumptions.append(Assumption(name=name, value=value, unit=unit, source=source, confidence=confidence))
        return value

    def take(self, given: float | None, name: str) -> float:
        """The given number, else the default of that name."""
        if given is not None:
            return given
        found = default(name)
        return self.note(name, found.value, found.unit, f"{found.source}, {found.date}")


def resolve(
    system: System,
    override: SystemOverride,
    site: Site,
    *,
    cost_of_capital_fraction_per_year: float,
    cluster_instances: int | None = None,
    gpu_tdp_watts: float | None = None,
    where: str = "",
) -> MachineInputs:
    """Everything that the formulas need, given or assumed; InputError with all that can't be."""
    _check(system, override, site, cost_of_capital_fraction_per_year, where)
    ledger = _Ledger()
    power = _power(ledger, system, override, gpu_tdp_watts, where)
    fabric_usd_per_gpu, fabric_kw = _fabric(ledger, system, override, cluster_instances)
    life_years = ledger.take(override.life_years, "life_years")
    take = ledger.take
    inputs = {
        "N": float(system.gpus),
        "srv": _price(ledger, system, override),
        "net_per_gpu": fabric_usd_per_gpu,
        "stor_per_gpu": _storage(ledger, system, override),
        "install": take(override.install_fraction, "install_fraction"),
        "spares": take(override.spares_fraction, "spares_fraction"),
        "L": life_years,
        "resid": _residual(ledger, override, life_years),
        "w": cost_of_capital_fraction_per_year,
        "P_idle": power.idle_kw,
        "P_max": power.max_kw,
        "net_kw": fabric_kw,
        "avail": value_of("availability_fraction"),
        "pue": _pue(ledger, system, site),
        "e": _usd_per_kwh(ledger, site),
        "demand": take(site.demand_usd_per_kw_month, "demand_usd_per_kw_month"),
        "colo": _usd_per_kw_month(ledger, site, cost_of_capital_fraction_per_year),
        "maint": take(override.maintenance_fraction_per_year, "maintenance_fraction_per_year"),
        "staff_gpu": take(override.staff_usd_per_gpu_year, "staff_usd_per_gpu_year"),
        "sw_gpu": take(override.software_usd_per_gpu_year, "software_usd_per_gpu_year"),
        "ins": take(override.insurance_fraction_per_year, "insurance_fraction_per_year"),
    }
    return MachineInputs(
        inputs=inputs,
        power=power,
        racks=system.rack_units / value_of("rack_height_units"),
        carbon=_carbon(ledger, site),
        assumptions=tuple(ledger.assumptions),
    )


def residual_fraction(life_years: float) -> float:
    """What is left of the equipment price after a life: linear between the ages of defaults.csv, flat below them."""
    ages = _RESIDUAL_AGES_YEARS
    left = [value_of(f"residual_fraction_{age}y") for age in ages]
    if life_years <= ages[0]:
        return left[0]
    for young, old, more, less in zip(ages, ages[1:], left, left[1:], strict=False):
        if life_years <= old:
            return more + (less - more) * (life_years - young) / (old - young)
    return left[-1]


def _price(ledger: _Ledger, system: System, override: SystemOverride) -> float:
    if override.price_usd is not None:
        return override.price_usd
    price_usd = system.price_usd or 0.0  # _check refused a system without one
    return ledger.note(
        "price_usd", price_usd, "USD per system", f"{system.source}, {system.price_date}", system.confidence
    )


def _power(
    ledger: _Ledger, system: System, override: SystemOverride, gpu_tdp_watts: float | None, where: str
) -> NodePower:
    def first(given: float | None, known: float | None) -> float | None:
        return known if given is None else given

    max_kw = system.max_kw if override.max_kw is None else override.max_kw
    power = complete_power(
        max_kw=max_kw,
        idle_kw=first(override.idle_kw, system.idle_kw),
        train_kw=first(override.train_kw, system.train_kw),
        infer_kw=first(override.infer_kw, system.infer_kw),
        gpus=system.gpus,
        liquid_fraction=system.liquid_fraction,
        gpu_tdp_watts=gpu_tdp_watts,
    )
    checks = Checks(where=where)
    for name, kw in (("train_kw", power.train_kw), ("infer_kw", power.infer_kw)):
        if kw > max_kw:
            checks.fail(name, f"{kw:g} kW is above max_kw, {max_kw:g} kW.", "Give both, or a higher max_kw.")
        if kw < power.idle_kw:
            checks.fail(name, f"{kw:g} kW is below idle_kw, {power.idle_kw:g} kW.", "Give both, or a lower idle_kw.")
    checks.done()
    for name in ("max_kw", "idle_kw", "train_kw", "infer_kw"):
        if getattr(override, name) is None:
            estimated = name in power.estimated
            source = "estimate from the rating (K13)" if estimated else f"system table: {system.name}"
            ledger.note(name, getattr(power, name), "kW", source, "low" if estimated else "")
    return power


def _fabric(
    ledger: _Ledger, system: System, override: SystemOverride, cluster_instances: int | None
) -> tuple[float, float]:
    """USD per GPU and kW per machine. A fabric that is said to cost nothing draws nothing either."""
    usual = fabric(
        gpus=system.gpus,
        network_gbps=system.network_gbps,
        rack_units=system.rack_units,
        cluster_instances=cluster_instances,
    )
    usd_per_gpu, kw = override.fabric_usd_per_gpu, override.fabric_kw
    if usd_per_gpu is None:
        usd_per_gpu = ledger.note("fabric_usd_per_gpu", usual.usd_per_gpu, "USD per GPU", usual.source)
    if kw is None:
        none = override.fabric_usd_per_gpu == 0
        source = "no fabric is paid for" if none else usual.source
        kw = ledger.note("fabric_kw", 0.0 if none else usual.kw, "kW per system", source)
    return usd_per_gpu, kw


def _storage(ledger: _Ledger, system: System, override: SystemOverride) -> float:
    if override.storage_usd_per_gpu is None and system.rack_units <= 0:
        return ledger.note(
            "storage_usd_per_gpu", 0.0, "USD per GPU", "stands outside a rack: its own disk, no shared storage"
        )
    return ledger.take(override.storage_usd_per_gpu, "storage_usd_per_gpu")


def _residual(ledger: _Ledger, override: SystemOverride, life_years: float) -> float:
    if override.residual_fraction is not None:
        return override.residual_fraction
    source = f"{default('residual_fraction_4y').source}, for {life_years:g} years"
    unit = default("residual_fraction_4y").unit
    return ledger.note("residual_fraction", residual_fraction(life_years), unit, source, "low")


def _pue(ledger: _Ledger, system: System, site: Site) -> float:
    if site.pue_ratio is not None or not site.climate:
        return ledger.take(site.pue_ratio, "pue_ratio")
    climate = climate_named(site.climate, where=f"onprem.sites.{site.name}.climate")
    pue = climate_pue_ratio(climate, system.liquid_fraction)
    source = f"climate {climate.name} with {system.liquid_fraction:.0%} liquid cooling (K11)"
    return ledger.note("pue_ratio", pue, "ratio", source, "low")


def _usd_per_kwh(ledger: _Ledger, site: Site) -> float:
    if site.usd_per_kwh is not None or not site.country:
        return ledger.take(site.usd_per_kwh, "usd_per_kwh")
    price = electricity(site.country)
    source = f"{price.region}: {price.source}, {price.date}"
    if price.fallback:
        source += f" (none for {site.country})"
    return ledger.note("usd_per_kwh", price.usd_per_kwh, "USD per kWh", source, price.confidence)


def _usd_per_kw_month(ledger: _Ledger, site: Site, w: float) -> float:
    """Colocation rent, or an own building's annuity and upkeep, per committed kW."""
    if site.mode == "colo":
        return ledger.take(site.colo_usd_per_kw_month, "colo_usd_per_kw_month")
    return facility_usd_per_kw_month(
        w,
        usd_per_watt=ledger.take(site.facility_usd_per_watt, "facility_usd_per_watt"),
        life_years=ledger.take(None, "facility_life_years"),
        opex_fraction_per_year=ledger.take(None, "facility_opex_fraction_per_year"),
    )


def _carbon(ledger: _Ledger, site: Site) -> Carbon | Unknown:
    if site.carbon_g_per_kwh is not None:
        return Carbon(g_per_kwh=site.carbon_g_per_kwh, region=site.name, source=_FROM_FILE, date="")
    carbon = grid_carbon(site.country)
    if isinstance(carbon, Carbon):
        source = f"{carbon.region}: {carbon.source}, {carbon.date}"
        ledger.note("carbon_g_per_kwh", carbon.g_per_kwh, "g per kWh", source)
    return carbon


def _check(system: System, override: SystemOverride, site: Site, w: float, where: str) -> None:
    checks = Checks(where=where)
    if override.price_usd is None and system.price_usd is None:
        checks.fail("price_usd", f"{system.name} has no public price.", "Give the price you were quoted.")
    for name in ("price_usd", "life_years", "max_kw"):
        if getattr(override, name) is not None:
            checks.positive(name, getattr(override, name))
    for name in (
        "train_kw", "infer_kw", "idle_kw", "fabric_kw", "fabric_usd_per_gpu", "storage_usd_per_gpu",
        "staff_usd_per_gpu_year", "software_usd_per_gpu_year",
    ):  # fmt: skip
        if getattr(override, name) is not None:
            checks.at_least(name, getattr(override, name), 0)
    for name in (
        "residual_fraction", "maintenance_fraction_per_year", "install_fraction", "spares_fraction",
        "insurance_fraction_per_year",
    ):  # fmt: skip
        if getattr(override, name) is not None:
            checks.share(name, getattr(override, name))
    problems = [*checks.problems, *_site_problems(site)]
    rate = Checks(where="defaults")
    rate.rate("cost_of_capital_annual", w)
    checks.problems = [*problems, *rate.problems]
    checks.done()


def _site_problems(site: Site) -> list[Problem]:
    checks = Checks(where=f"onprem.sites.{site.name}")
    for name in (
        "usd_per_kwh", "colo_usd_per_kw_month", "facility_usd_per_watt", "demand_usd_per_kw_month", "carbon_g_per_kwh",
    ):  # fmt: skip
        if getattr(site, name) is not None:
            checks.at_least(name, getattr(site, name), 0)
    if site.pue_ratio is not None:
        checks.at_least("pue", site.pue_ratio, 1, "PUE is all energy over IT energy.")
    if site.mode not in ("colo", "owned"):
        checks.fail("mode", f"{site.mode!r} is unknown.", "Use colo or owned.")
    if site.mode == "owned" and site.colo_usd_per_kw_month is not None:
        checks.fail("colo_usd_per_kw_month", "an owned site pays no rent.", "Use mode: colo, or leave it out.")
    if site.mode == "colo" and site.facility_usd_per_watt is not None:
        checks.fail("facility_usd_per_watt", "colocation rent holds the building.", "Use mode: owned, or leave it out.")
    return checks.problems
