"""Energy and carbon of what a workload uses: owned machines by their draw, rented ones by an estimate."""

from __future__ import annotations

from gpu_opt import hardware
from gpu_opt.candidates.build import Built
from gpu_opt.costs.defaults import value_of
from gpu_opt.costs.energy import Unknown, carbon_g_per_kwh
from gpu_opt.costs.power import WATTS_PER_KW, Phase, host_class, node_power_kw, phase_draw
from gpu_opt.domain.program import Pool
from gpu_opt.records import record

_GRAMS_PER_KG = 1000.0


@record
class Energy:
    """At the meter, cooling included; carbon is None where nobody knows the grid."""

    kwh: float | None
    carbon_kg: float | None


def energy_of(built: Built, pool: Pool, phase: str, instance_hours: float) -> Energy:
    """Energy of instance-hours at a kind of work."""
    if not phase:
        return Energy(kwh=None, carbon_kg=None)
    if pool.onprem:
        machine = next((m for m in built.capacity.machines.values() if f"onprem/{m.site}/{m.system}" == pool.id), None)
        if machine is None:
            return Energy(kwh=None, carbon_kg=None)
        kwh = pool.busy_kw[phase] * machine.pue_ratio * instance_hours
        grams = None if isinstance(machine.carbon, Unknown) else machine.carbon.g_per_kwh
    else:
        kwh = _rented_kw(pool, Phase(phase)) * value_of("pue_ratio") * instance_hours
        carbon = carbon_g_per_kwh(pool.provider, pool.region)
        grams = None if isinstance(carbon, Unknown) else carbon.g_per_kwh
    return Energy(kwh=round(kwh, 3), carbon_kg=None if grams is None else round(kwh * grams / _GRAMS_PER_KG, 3))


def _rented_kw(pool: Pool, phase: Phase) -> float:
    limit_kw = pool.gpus * hardware.load_accelerators()[pool.gpu].tdp_watts / WATTS_PER_KW
    host_kw = value_of(f"host_busy_ratio_{host_class(int(pool.gpus), 0.0)}") * limit_kw
    fraction = phase_draw(phase).fraction
    return node_power_kw(
        gpu_limit_kw=limit_kw,
        gpu_fraction=fraction,
        host_busy_kw=host_kw,
        host_idle_kw=host_kw * value_of("host_idle_ratio"),
        load_fraction=fraction,
    )
