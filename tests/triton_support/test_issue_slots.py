"""The model of issue slots against loops whose time is known on paper."""

import pytest

from attention_src.triton_support import cycle_model
from attention_src.triton_support.inner_loop import hot_loop, parse
from triton_support.sass import program


def cycles(*texts, chip=90, num_warps=4, blocks=1, options=None, **schedules):
    """Cycles of a loop of some instructions, with a jump that stalls for one cycle."""
    loop = parse(program(".L_x_0:", *texts, "BRA `(.L_x_0)", **schedules))
    placed = dict(num_warps=num_warps, blocks=blocks) | (options or {})
    return cycle_model.cycles(hot_loop(loop), chip, **placed)


def test_a_warp_waits_as_long_as_its_instructions_say():
    assert cycles("MOV R1", "NOP", NOP=dict(stall=9), MOV=dict(stall=4)) == 4 + 9 + 1


def test_warps_share_the_issue_slots():
    """One instruction a cycle for each quarter of the multiprocessor: 1 warp of 4, 2 of 8."""
    alone = cycles(*["NOP"] * 9, NOP=dict(stall=2))
    assert alone == 9 * 2 + 1
    assert cycles(*["NOP"] * 9, NOP=dict(stall=2), num_warps=8) == pytest.approx(2 * 10, abs=0.5)
    assert cycles(*["NOP"] * 9, NOP=dict(stall=2), blocks=2) == pytest.approx(2 * 10, abs=0.5)


@pytest.mark.parametrize(
    ("name", "each"),
    [("MUFU.EX2 R1", 8), ("FFMA R1", 1), ("IMAD R1", 2), ("FMNMX R1", 2), ("LDS.128 R1", 16)],
)
def test_a_unit_takes_so_many_cycles_for_a_warp(name, each):
    assert cycles(*[name] * 40, num_warps=8) == pytest.approx(2 * max(each * 40, 41), abs=2)


def test_ampere_has_half_the_multiply_adds():
    assert cycles(*["FFMA R1"] * 40, chip=80, num_warps=8) == pytest.approx(2 * 80, abs=2)


def test_a_result_is_waited_for_by_its_scoreboard():
    loaded = dict(LDG=dict(sets=(3, 7)))
    free = cycles("LDG R1", "FADD R2", **loaded)
    held = cycles("LDG R1", "FADD R2", FADD=dict(waits=1 << 3), **loaded)
    other = cycles("LDG R1", "FADD R2", FADD=dict(waits=1 << 2), **loaded)
    assert free == other < 20 and held == pytest.approx(cycle_model.LATENCY["LDG"], abs=3)


WGMMA = "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24, gsb0"


@pytest.mark.slow
def test_matrix_units_are_never_faster_than_their_peak():
    products = ["HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24"] * 7 + [WGMMA]
    busy = 8 * 2 * 64 * 128 * 16 / 4096
    wait = "WARPGROUP.DEPBAR.LE gsb0, 0x0"
    assert cycles(*products, wait) == pytest.approx(busy + cycle_model.DRAIN, abs=12)
    assert cycles(*products, wait, num_warps=8) == pytest.approx(2 * busy, rel=0.02)
    assert cycles(*products, "WARPGROUP.DEPBAR.LE gsb0, 0x1") == pytest.approx(busy, rel=0.02)


def copies(kept):
    wait = f"DEPBAR.LE SB0, 0x{kept}"
    return cycles(wait, *["MUFU.EX2 R1"] * 30, *["LDGSTS.E.BYPASS.128 [R1]"] * 4, "LDGDEPBAR")


def test_copies_under_way_during_the_arithmetic_cost_nothing():
    arithmetic = 30 * 8 + 5 * 16
    assert copies(2) == pytest.approx(arithmetic, abs=20)
    assert copies(0) > arithmetic + cycle_model.COPY_LATENCY


def test_the_cache_moves_so_many_bytes_a_cycle():
    moved = 20 * 4 * 32 * 16
    taken = cycles(*["LDGSTS.E.BYPASS.128 [R1]"] * 20, "LDGDEPBAR", "DEPBAR.LE SB0, 0x4")
    assert taken == pytest.approx(moved / cycle_model.COPY_BYTES, rel=0.02)


def test_tiles_of_the_memory_accelerator_arrive_stages_later():
    def taken(stages):
        texts = ("SYNCS.PHASECHK", *["MUFU.EX2 R1"] * 20, "UTMALDG.2D")
        return cycles(*texts, options=dict(tma_bytes=4000, stages=stages))

    alone = 20 * 8 + 4000 / cycle_model.COPY_BYTES + cycle_model.TMA_LATENCY
    for stages in (2, 3, 4):
        assert taken(stages) == pytest.approx(alone / (stages - 1), rel=0.05)
    assert taken(8) == pytest.approx(20 * 8, rel=0.05)
    with pytest.raises(ValueError, match="the loop waits for itself"):
        taken(1)


def test_a_barrier_holds_every_warp_of_a_block():
    held = cycles(*["MUFU.EX2 R1"] * 4, "BAR.SYNC 0x0", num_warps=8)
    assert held >= 7 * 8 + cycle_model.BARRIER
    apart = cycles(*["MUFU.EX2 R1"] * 4, "BAR.SYNC 0x0", blocks=2)
    assert apart < held


def test_speed_is_work_over_time():
    texts = WGMMA, "WARPGROUP.DEPBAR.LE gsb0, 0x1", "BRA `(.L_x_0)"
    loop = hot_loop(parse(program(".L_x_0:", *texts)))
    speed = cycle_model.tflop_per_s(loop, 90, num_warps=8, blocks=2)
    peak = 132 * 1.755e9 * 4096 / 1e12
    assert speed == pytest.approx(cycle_model.CALIBRATION * peak, rel=0.01)
