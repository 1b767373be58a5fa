"""What one machine of a system costs on a site: capital, what it costs while it stands, and what work adds."""

from __future__ import annotations

from dataclasses import replace

from gpu_opt.costs.energy import Carbon, Unknown
from gpu_opt.costs.machine_inputs import Assumption, MachineInputs, resolve
from gpu_opt.costs.on_prem import cost
from gpu_opt.costs.power import NodePower, Phase
from gpu_opt.domain.hardware import System
from gpu_opt.domain.question import Site, SystemOverride
from gpu_opt.records import record
from gpu_opt.units import HOURS_PER_YEAR

_CONFIDENCES = ("none", "low", "medium", "high")
_TABLE_NUMBERS = ("price_usd", "max_kw", "idle_kw", "train_kw", "infer_kw")


@record
class RunningLine:
    """One thing that a standing machine costs by the hour of 8,760, busy or not."""

    label: str
    usd_per_hour: float


@record
class MachineCost:
    """The cost of one machine. Power in kW is IT load with the machine's part of the fabric, before cooling.

    `price_usd` is the equipment with fabric and storage, `capex_usd` what is paid for it with installation and spares.
    The annuity runs for `life_years` from the purchase; the running cost as long as the machine stands; work at `phase`
    adds `busy_usd_per_hour`. `committed_kw` is what the site must keep free. `assumptions` are all numbers that the
    workload file didn't give, `confidence` is the lowest of those that the system table gave.
    """

    system: str
    site: str
    gpus: int
    server_usd: float
    price_usd: float
    capex_usd: float
    residual_usd: float
    life_years: float
    annuity_usd_per_year: float
    straight_line_usd_per_year: float
    running: tuple[RunningLine, ...]
    phase: Phase
    power: NodePower
    fabric_kw: float
    pue_ratio: float
    usd_per_kwh: float
    racks: float
    carbon: Carbon | Unknown
    assumptions: tuple[Assumption, ...]
    confidence: str

    @property
    def annuity_usd_per_hour(self) -> float:
        """The annuity by the hour of 8,760."""
        return self.annuity_usd_per_year / HOURS_PER_YEAR

    @property
    def straight_line_usd_per_hour(self) -> float:
        """Straight-line depreciation by the hour of 8,760."""
        return self.straight_line_usd_per_year / HOURS_PER_YEAR

    @property
    def running_usd_per_hour(self) -> float:
        """What it costs while it stands, without capital: the sum of `running`."""
        return sum(line.usd_per_hour for line in self.running)

    @property
    def busy_usd_per_hour(self) -> float:
        """The energy that work adds to an idle hour."""
        return (self.busy_kw - self.idle_kw) * self.pue_ratio * self.usd_per_kwh

    @property
    def idle_kw(self) -> float:
        """Draw without work."""
        return self.power.idle_kw + self.fabric_kw

    @property
    def busy_kw(self) -> float:
        """Draw at `phase`."""
        return self.power.busy_kw(self.phase) + self.fabric_kw

    @property
    def committed_kw(self) -> float:
        """The rating: what circuits and colocation are sized and billed by."""
        return self.power.max_kw + self.fabric_kw

    @property
    def idle_kwh_per_hour(self) -> float:
        """Energy of an idle hour at the meter, cooling included."""
        return self.idle_kw * self.pue_ratio

    @property
    def busy_kwh_per_hour(self) -> float:
        """Energy of a busy hour at the meter, cooling and the idle part included."""
        return self.busy_kw * self.pue_ratio

    @property
    def idle_carbon_g_per_hour(self) -> float | None:
        """Carbon of an idle hour; None where nobody knows the grid."""
        return None if isinstance(self.carbon, Unknown) else self.idle_kwh_per_hour * self.carbon.g_per_kwh

    @property
    def busy_carbon_g_per_hour(self) -> float | None:
        """Carbon of a busy hour, the idle part included; None where nobody knows the grid."""
        return None if isinstance(self.carbon, Unknown) else self.busy_kwh_per_hour * self.carbon.g_per_kwh

    def at_phase(self, phase: Phase) -> MachineCost:
        """The same machine at another kind of work: only the busy figures differ."""
        return replace(self, phase=phase)

    def break_even_busy_fraction(self, rent_usd_per_hour: float) -> float | None:
        """The busy share of 8,760 h from which the machine is no dearer than rent for the busy hours alone.

        None where even an always busy machine stays dearer. K10 for one machine, without downtime.
        """
        saved = rent_usd_per_hour - self.busy_usd_per_hour
        standing = self.annuity_usd_per_hour + self.running_usd_per_hour
        return standing / saved if 0 < standing <= saved else None


def machine_cost(
    system: System,
    override: SystemOverride,
    site: Site,
    *,
    cost_of_capital_fraction_per_year: float,
    phase: Phase = Phase.DENSE_TRAINING,
    cluster_instances: int | None = None,
    gpu_tdp_watts: float | None = None,
    where: str = "",
) -> MachineCost:
    """One machine on a site, from the system table, what the file says over it, and the defaults.

    `cluster_instances` sizes the fabric (K14); without it, a large cluster's. `gpu_tdp_watts` sharpens draws that the
    system table lacks. `where` is the path in the workload file that errors name. InputError where the system has no
    price, or a number can't be.
    """
    found = resolve(
        system,
        override,
        site,
        cost_of_capital_fraction_per_year=cost_of_capital_fraction_per_year,
        cluster_instances=cluster_instances,
        gpu_tdp_watts=gpu_tdp_watts,
        where=where,
    )
    standing = cost(**found.at_busy_kw(found.highest_busy_kw), util=0.0)
    lines = (
        ("facility" if site.mode == "owned" else "colocation", standing.colo),
        ("maintenance", standing.maint),
        ("insurance and tax", standing.ins),
        ("staff", standing.staff),
        ("software", standing.sw),
        ("idle energy", standing.energy),
        ("demand charge", standing.demand),
    )
    return MachineCost(
        system=system.name,
        site=site.name,
        gpus=system.gpus,
        server_usd=found.inputs["srv"],
        price_usd=standing.equip,
        capex_usd=standing.capex0,
        residual_usd=standing.rv,
        life_years=found.inputs["L"],
        annuity_usd_per_year=standing.cap_annuity,
        straight_line_usd_per_year=standing.cap_sl,
        running=tuple(RunningLine(label=label, usd_per_hour=usd / HOURS_PER_YEAR) for label, usd in lines if usd),
        phase=phase,
        power=found.power,
        fabric_kw=found.inputs["net_kw"],
        pue_ratio=found.inputs["pue"],
        usd_per_kwh=found.inputs["e"],
        racks=found.racks,
        carbon=found.carbon,
        assumptions=found.assumptions,
        confidence=_lowest(found),
    )


def on_prem_inputs(
    system: System,
    override: SystemOverride,
    site: Site,
    *,
    cost_of_capital_fraction_per_year: float,
    phase: Phase = Phase.DENSE_TRAINING,
    where: str = "",
) -> dict[str, float]:
    """The inputs of `on_prem.cost` and `break_even_utilisation` for a system on a site, all but `util`."""
    found = resolve(
        system, override, site, cost_of_capital_fraction_per_year=cost_of_capital_fraction_per_year, where=where
    )
    return found.at_busy_kw(found.power.busy_kw(phase))


def _lowest(found: MachineInputs) -> str:
    """Of the price and the draws, which come from the system table; `high` where the file gave them all."""
    stated = [item.confidence for item in found.assumptions if item.name in _TABLE_NUMBERS and item.confidence]
    return min(stated, key=_CONFIDENCES.index, default="high")
