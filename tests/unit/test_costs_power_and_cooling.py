"""Draw of machines by what they do, fabric by cluster size, and PUE by climate."""

import pytest

from gpu_opt.costs.cooling import air_cop, climate_named, climate_pue_ratio, pue_ratio
from gpu_opt.costs.power import Phase, complete_power, fabric, node_power_kw, phase_draw, phase_draws
from gpu_opt.errors import InputError


def h100_node(**known):
    given = {"max_kw": 10.2, "idle_kw": 1.8, "train_kw": 7.75, "infer_kw": 5.6, "gpus": 8, "liquid_fraction": 0.0}
    return complete_power(**(given | known))


@pytest.mark.parametrize(
    ("climate", "cop", "air", "liquid"),
    [
        ("hot-humid", 5.000, 1.3300, 1.1600),
        ("hot-dry", 5.176, 1.3232, 1.1590),
        ("temperate", 7.857, 1.2573, 1.1491),
        ("cold", 12.941, 1.2073, 1.1416),
    ],
)
def test_climates_give_their_pue(climate, cop, air, liquid):
    preset = climate_named(climate)
    assert air_cop(preset.mechanical_cop, preset.free_cooling_hours_fraction) == pytest.approx(cop, abs=5e-4)
    assert climate_pue_ratio(preset) == pytest.approx(air, abs=5e-5)
    assert climate_pue_ratio(preset, 0.85) == pytest.approx(liquid, abs=5e-5)


def test_a_years_cop_is_the_harmonic_mean_not_the_mean_over_time():
    harmonic = air_cop(4.39, 0.35)
    assert harmonic == pytest.approx(5.9075, abs=5e-5)
    # the mean over time, 0.65 × 4.39 + 0.35 × 16.5 = 8.63, flatters it by 46 %
    assert (0.65 * 4.39 + 0.35 * 16.5) / harmonic == pytest.approx(1.46, abs=5e-3)


def test_cooling_refuses_what_cannot_be():
    with pytest.raises(InputError, match=r"'arctic' is unknown. Use hot-humid, hot-dry, temperate, cold"):
        climate_named("arctic")
    with pytest.raises(InputError, match="mechanical_cop"):
        air_cop(0, 0.5)
    with pytest.raises(InputError, match="liquid_fraction"):
        pue_ratio(mechanical_cop=4, free_cooling_hours_fraction=0.5, liquid_fraction=1.5)


def test_node_power_of_eight_h100_by_hand():
    # 8 × 0.7 kW × 0.88 = 4.928, host 2.8
    busy = node_power_kw(gpu_limit_kw=5.6, gpu_fraction=0.88, host_busy_kw=2.8, host_idle_kw=1.1)
    assert busy == pytest.approx(7.728)
    # half the load: host 1.1 + 1.7 / 2 = 1.95
    half = node_power_kw(gpu_limit_kw=5.6, gpu_fraction=0.44, host_busy_kw=2.8, host_idle_kw=1.1, load_fraction=0.5)
    assert half == pytest.approx(1.95 + 2.464)
    with pytest.raises(InputError, match="gpu_fraction: 88 is not a share"):
        node_power_kw(gpu_limit_kw=5.6, gpu_fraction=88, host_busy_kw=2.8, host_idle_kw=1.1)


def test_a_rating_alone_gives_the_draw_of_known_machines():
    # 10.2 kW × 0.8235 / 1.5 = 5.6 kW of GPUs: 8 × 700 W
    h100 = h100_node(idle_kw=None, train_kw=None, infer_kw=None)
    assert h100.gpu_limit_kw == pytest.approx(5.6)
    assert h100.train_kw == pytest.approx(7.75, rel=0.01)
    assert h100.infer_kw == pytest.approx(5.6, rel=0.03)
    assert h100.idle_kw == pytest.approx(1.8, rel=0.1)
    assert h100.estimated == ("idle_kw", "train_kw", "infer_kw")
    # GB200 NVL72: 72 × 1.2 kW = 86.4 kW
    rack = complete_power(max_kw=132, idle_kw=30, train_kw=110, infer_kw=None, gpus=72, liquid_fraction=0.87)
    assert rack.gpu_limit_kw == pytest.approx(86.4, rel=0.01)
    assert rack.estimated == ("infer_kw",)


def test_a_known_gpu_limit_is_used():
    assert h100_node(gpu_tdp_watts=700.0, train_kw=None).train_kw == pytest.approx(0.5 * 5.6 + 0.88 * 5.6)


def test_a_liquid_cooled_node_spends_less_on_its_host():
    liquid = h100_node(train_kw=None, liquid_fraction=0.8, gpu_tdp_watts=700.0)
    assert liquid.train_kw == pytest.approx((0.35 + 0.88) * 5.6)


def test_known_draws_stay_and_other_work_moves_from_them():
    node = h100_node()
    assert node.busy_kw(Phase.DENSE_TRAINING) == 7.75
    assert node.busy_kw(Phase.DECODE_BATCH_8) == 5.6
    # prefill: 5.6 + (0.92 − 0.60) × 5.6 kW of GPUs
    assert node.busy_kw(Phase.PREFILL) == pytest.approx(5.6 + 0.32 * 5.6)
    # a mixture of experts: 7.75 − 0.13 × 5.6
    assert node.busy_kw(Phase.MOE_TRAINING) == pytest.approx(7.75 - 0.13 * 5.6)
    assert node.busy_kw(Phase.IDLE_BARE) == 1.8
    assert node.busy_kw(Phase.IDLE_CONTEXT) == pytest.approx(1.8 + 0.05 * 5.6)


def test_draw_stays_between_idle_and_rating():
    assert h100_node(train_kw=2.0).busy_kw(Phase.LORA) == 1.8
    assert h100_node(infer_kw=10.0).busy_kw(Phase.PREFILL) == 10.2


def test_decoding_is_sorted_by_batch():
    assert [Phase.decode(batch) for batch in (1, 7.9, 8, 63, 64, 512)] == [
        Phase.DECODE_BATCH_1,
        Phase.DECODE_BATCH_1,
        Phase.DECODE_BATCH_8,
        Phase.DECODE_BATCH_8,
        Phase.DECODE_BATCH_64,
        Phase.DECODE_BATCH_64,
    ]


def test_every_phase_has_its_row_within_its_range():
    assert set(phase_draws()) == set(Phase)
    for draw in phase_draws().values():
        assert draw.low_fraction <= draw.fraction <= draw.high_fraction
    assert phase_draw(Phase.PREFILL).fraction == 0.92


@pytest.mark.parametrize(
    ("instances", "usd_per_gpu", "kw"),
    [(None, 4_250, 0.55), (1, 600, 0.1), (2, 1_882, 0.2), (64, 1_882, 0.2), (65, 4_250, 0.55), (513, 6_612, 0.7)],
)
def test_fabric_by_the_size_of_the_cluster(instances, usd_per_gpu, kw):
    found = fabric(gpus=8, network_gbps=3200, rack_units=8, cluster_instances=instances)
    assert (found.usd_per_gpu, found.kw) == (usd_per_gpu, pytest.approx(kw))


def test_fabric_shrinks_with_the_machines_network():
    # DGX A100: 1,600 / 8 = 200 of 400 Gb/s a GPU
    found = fabric(gpus=8, network_gbps=1600, rack_units=6)
    assert found.usd_per_gpu == pytest.approx(2_125)
    assert found.kw == pytest.approx(0.275)
    assert "× 0.5 for 200 of 400 Gb/s a GPU" in found.source


def test_a_rack_of_72_has_nine_nodes_worth_of_fabric_and_a_desktop_none():
    assert fabric(gpus=72, network_gbps=28800, rack_units=48).kw == pytest.approx(9 * 0.55)
    assert fabric(gpus=1, network_gbps=200, rack_units=0).usd_per_gpu == 0
