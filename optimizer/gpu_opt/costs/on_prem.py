"""What a machine that one buys, hosts and runs costs per GPU-hour (K1, K2, K4 to K10).

```python
from gpu_opt.costs.on_prem import cost

result = cost(srv=200_000, util=0.5)
result.per_avail, result["per_used"]
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields

from gpu_opt.costs.checks import Checks
from gpu_opt.costs.defaults import value_of
from gpu_opt.costs.finance import MONTHS_PER_YEAR, annuity_usd_per_year, crf, straight_line_usd_per_year
from gpu_opt.records import record
from gpu_opt.units import HOURS_PER_YEAR


@record
class OnPremCost(Mapping[str, float]):
    """The cost of one node. Money is USD per year, except `per_*` and `sl_per_*`: USD per GPU-hour.

    `equip`, `capex0` and `rv` are USD: the equipment, what is paid for it with installation and spares, and what it
    fetches at the end. `cap_annuity` holds the cost of capital, `cap_sl` (straight line) doesn't; `total`, `per_avail`
    and `per_used` are with the annuity. `pavg` is kW of IT load, `kwh` a year's energy with cooling, `avail_h` and
    `used_h` GPU-hours a year. `per_used` is infinite where nothing is used. Fields are read by name as
    in a mapping too.
    """

    equip: float
    capex0: float
    rv: float
    crf: float
    cap_annuity: float
    cap_sl: float
    pavg: float
    kwh: float
    energy: float
    demand: float
    colo: float
    maint: float
    ins: float
    staff: float
    sw: float
    opex: float
    total: float
    avail_h: float
    used_h: float
    per_avail: float
    per_used: float
    sl_per_avail: float
    sl_per_used: float

    def __getitem__(self, name: str) -> float:
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return float(getattr(self, name))

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(self.__dataclass_fields__)

    def as_dict(self) -> dict[str, float]:
        """All fields by name."""
        return dict(self)


def cost(  # long: its signature is the list of inputs by their names
    *,
    N: float = value_of("base_node_gpus"),
    srv: float = value_of("base_node_server_usd"),
    net_per_gpu: float = value_of("fabric_usd_per_gpu"),
    stor_per_gpu: float = value_of("storage_usd_per_gpu"),
    install: float = value_of("install_fraction"),
    spares: float = value_of("spares_fraction"),
    L: float = value_of("life_years"),
    resid: float = value_of("residual_fraction_4y"),
    w: float = value_of("cost_of_capital_fraction_per_year"),
    P_busy: float = value_of("base_node_busy_kw"),
    P_idle: float = value_of("base_node_idle_kw"),
    P_max: float = value_of("base_node_max_kw"),
    net_kw: float = value_of("base_node_network_kw"),
    util: float = value_of("utilisation_fraction"),
    avail: float = value_of("availability_fraction"),
    pue: float = value_of("pue_ratio"),
    e: float = value_of("usd_per_kwh"),
    demand: float = value_of("demand_usd_per_kw_month"),
    colo: float = value_of("colo_usd_per_kw_month"),
    maint: float = value_of("maintenance_fraction_per_year"),
    staff_gpu: float = value_of("staff_usd_per_gpu_year"),
    sw_gpu: float = value_of("software_usd_per_gpu_year"),
    ins: float = value_of("insurance_fraction_per_year"),
) -> OnPremCost:
    """Yearly and hourly cost of one node; the defaults are an 8×H100 node of a large cluster in colocation.

    `N` GPUs; `srv` USD for the server, `net_per_gpu` and `stor_per_gpu` USD for fabric and storage; `install` and
    `spares` as shares of the equipment price; life `L` in years with the share `resid` left at its end; cost of
    capital `w` a year. `P_busy`, `P_idle`, `P_max` (rating) and `net_kw` (its part of the fabric) in kW. `util` is the
    busy share of the hours available, `avail` the available share of 8,760. `e` USD per kWh; `demand` and `colo` USD
    per kW-month; `maint` and `ins` a year as shares of the equipment price; `staff_gpu` and `sw_gpu` USD per GPU and
    year. Every default has its range, source and date in defaults.csv.

    InputError lists everything that can't be: negative or missing numbers, shares outside 0 to 1, a PUE below 1.
    """
    given = locals()
    _check(given)
    equip = srv + N * (net_per_gpu + stor_per_gpu)  # K1
    capex0, rv = equip * (1 + install + spares), resid * equip  # K2
    annuity, straight = annuity_usd_per_year(capex0, rv, w, L), straight_line_usd_per_year(capex0, rv, L)
    pavg = P_idle + util * (P_busy - P_idle) + net_kw  # K5
    kwh = pavg * pue * HOURS_PER_YEAR
    lines = {
        "energy": kwh * e,
        "demand": MONTHS_PER_YEAR * demand * (P_busy + net_kw) * pue,
        "colo": MONTHS_PER_YEAR * colo * (P_max + net_kw),
        "maint": maint * equip,
        "ins": ins * equip,
        "staff": N * staff_gpu,
        "sw": N * sw_gpu,
    }  # K6, K7, K8
    opex = sum(lines.values())
    avail_h = N * HOURS_PER_YEAR * avail
    used_h = avail_h * util
    return OnPremCost(
        equip=equip, capex0=capex0, rv=rv, crf=crf(w, L), cap_annuity=annuity, cap_sl=straight, pavg=pavg, kwh=kwh,
        **lines, opex=opex, total=annuity + opex, avail_h=avail_h, used_h=used_h,
        per_avail=(annuity + opex) / avail_h, per_used=_per_hour(annuity + opex, used_h),
        sl_per_avail=(straight + opex) / avail_h, sl_per_used=_per_hour(straight + opex, used_h),
    )  # fmt: skip


def break_even_utilisation(cloud_usd_per_gpu_hour: float, **inputs: float) -> float | None:
    """K10: the busy share of its available hours from which the node is no dearer than cloud GPU-hours.

    `inputs` are those of `cost`, without `util`. None where even a node that is always busy stays dearer.
    """
    checks = Checks()
    checks.positive("cloud_usd_per_gpu_hour", cloud_usd_per_gpu_hour)
    if "util" in inputs:
        checks.fail("util", "the break-even is a utilisation itself.", "Leave util out.")
    checks.done()
    idle, busy = cost(**inputs, util=0.0), cost(**inputs, util=1.0)
    saved_usd = cloud_usd_per_gpu_hour * idle.avail_h - (busy.energy - idle.energy)
    if saved_usd <= 0 or idle.total > saved_usd:
        return None
    return idle.total / saved_usd


def facility_usd_per_kw_month(
    w: float,
    *,
    usd_per_watt: float = value_of("facility_usd_per_watt"),
    life_years: float = value_of("facility_life_years"),
    opex_fraction_per_year: float = value_of("facility_opex_fraction_per_year"),
) -> float:
    """K7 in an own building: its annuity and upkeep per kW of committed IT load, to be used as `colo` in `cost`."""
    checks = Checks()
    checks.at_least("facility_usd_per_watt", usd_per_watt, 0)
    checks.share("facility_opex_fraction_per_year", opex_fraction_per_year)
    checks.done()
    usd_per_kw = usd_per_watt * 1000
    return usd_per_kw * (crf(w, life_years) + opex_fraction_per_year) / MONTHS_PER_YEAR


def _per_hour(usd: float, hours: float) -> float:
    """K9; what nobody uses costs infinitely much per hour of use."""
    return usd / hours if hours else math.inf


def _check(given: Mapping[str, float]) -> None:
    checks = Checks()
    for name in ("N", "L"):
        checks.positive(name, given[name])
    for name in ("install", "spares", "resid", "util", "maint", "ins"):
        checks.share(name, given[name])
    checks.share("avail", given["avail"], zero=False)
    checks.rate("w", given["w"])
    for name in ("srv", "net_per_gpu", "stor_per_gpu", "P_busy", "P_idle", "P_max", "net_kw"):
        checks.at_least(name, given[name], 0)
    for name in ("e", "demand", "colo", "staff_gpu", "sw_gpu"):
        checks.at_least(name, given[name], 0)
    checks.at_least("pue", given["pue"], 1, "PUE is all energy over IT energy.")
    if not checks.problems:
        if given["P_idle"] > given["P_busy"]:
            checks.fail("P_idle", f"{given['P_idle']:g} kW is above P_busy, {given['P_busy']:g} kW.", "Give both.")
        if given["P_busy"] > given["P_max"]:
            checks.fail("P_busy", f"{given['P_busy']:g} kW is above P_max, {given['P_max']:g} kW.", "Give both.")
    checks.done()
