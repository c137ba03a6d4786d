"""Loops are found in machine code, and what they hold is counted, on code written by hand."""

import pytest

from attention_src.triton_support.inner_loop import (
    Instruction,
    bytes_in_flight,
    copy_bytes,
    count,
    hot_loop,
    innermost_loops,
    kind,
    matrix_flop,
    parse,
)

# From nvdisasm 12.8, of a flash kernel compiled for sm_90.
REAL = """
.L_x_3:
        /*23a0*/              @!P0 IMAD.WIDE R30, R23, 0x2, R6.reuse ;
        /*23b0*/                   LDGSTS.E.BYPASS.128 [R212+0x2800], desc[UR16][R30.64], P0 ;
        /*23c0*/                   LDGDEPBAR ;
        /*23d0*/              @!PT LDS RZ, [RZ] ;
        /*23e0*/             @P1 BRA `(.L_x_3) ;
"""


def test_real_lines_are_read():
    scale, copy, close, never, jump = parse(REAL)
    assert (scale.address, scale.name) == (0x23A0, "IMAD.WIDE")
    assert scale.operands == "R30, R23, 0x2, R6.reuse" and scale.target is None
    assert copy_bytes(copy) == 32 * 16
    assert (close.name, close.operands) == ("LDGDEPBAR", "")
    assert never.name == "LDS" and [x.never for x in (scale, never, jump)] == [False, True, False]
    assert (jump.name, jump.target) == ("BRA", 0x23A0)


def program(*texts):
    """Labels (".L_x_0:") and instructions, 16 bytes each, as the disassembler prints them."""
    lines, address = [], 0
    for text in texts:
        is_label = text.startswith(".L")
        lines.append(text if is_label else f"        /*{address:04x}*/                   {text} ;")
        address += 0 if is_label else 16
    return "\n".join(lines)


NESTED = program(
    ".L_x_0:", "MOV R1, R2", ".L_x_1:", "HMMA.16816.F32 R4", "FADD R1", "BRA `(.L_x_1)",
    "IADD3 R1", "@P0 BRA `(.L_x_0)", ".L_x_2:", "HMMA.16816.F32 R4", "BRA `(.L_x_2)",
    "BRA `(.L_x_3)", "EXIT", ".L_x_3:", "BRA `(.L_x_3)",
)  # fmt: skip


def test_only_loops_without_loops_inside_are_innermost():
    loops = innermost_loops(parse(NESTED))
    names = [[x.name.split(".")[0] for x in loop] for loop in loops]
    assert names == [["HMMA", "FADD", "BRA"], ["HMMA", "BRA"]]


def test_the_hot_loop_has_most_matrix_work_and_no_mask():
    assert [x.name for x in hot_loop(parse(NESTED))] == ["HMMA.16816.F32", "BRA"]
    double = NESTED.replace("FADD R1", "HMMA.1688.F32 R1")
    assert len(hot_loop(parse(double))) == 3
    without = parse(NESTED.replace("HMMA.16816.F32", "FMUL"))
    assert len(hot_loop(without)) == 3, "the longest"
    assert hot_loop(parse(program("EXIT", ".L_x_0:", "BRA `(.L_x_0)"))) == []


KINDS = {
    "matrix": "HGMMA.64x128x16.F32.BF16 HMMA.16816.F32 IMMA.16832.S8.S8 UTCHMMA",
    "exponential": "MUFU.EX2",
    "floating_point": "FADD FMUL.FTZ FFMA FMNMX FSEL FSETP.GT.AND F2FP.BF16.F32.PACK_AB HFMA2.MMA",
    "integer": "IADD3 IMAD.WIDE LEA.HI LOP3.LUT SHF.R.S32 PRMT SEL ISETP.GE UIADD3 UMOV ULEA",
    "load": "LDG.E.128 LDGSTS.E.BYPASS.128 LDS.128 LDSM.16.M88.4 LDL UTMALDG.2D",
    "barrier": "BAR.SYNC.DEFER_BLOCKING DEPBAR.LE LDGDEPBAR WARPGROUP.ARRIVE SYNCS MEMBAR FENCE",
    "other": "MUFU.RCP SHFL.BFLY STS.128 STG.E MOV BRA S2R",
}


@pytest.mark.parametrize("wanted", KINDS)
def test_kinds(wanted):
    assert {name: kind(name) for name in KINDS[wanted].split()} == dict.fromkeys(
        KINDS[wanted].split(), wanted
    )


def test_matrix_work():
    def flop(name):
        return matrix_flop([Instruction(0, name)], num_warps=8)

    assert flop("HGMMA.64x128x16.F32.BF16") == 2 * 2 * 64 * 128 * 16  # two groups of four warps
    assert flop("HMMA.16816.F32.BF16") == 8 * 2 * 16 * 8 * 16
    assert flop("HMMA.1688.F32.TF32") == 8 * 2 * 16 * 8 * 8
    assert flop("FFMA") == 0


def ring(kept):
    """A loop that waits, computes, and copies two groups of 512 and 256 bytes a warp."""
    copies = "LDGSTS.E.BYPASS.128 [R1]", "LDGDEPBAR", "LDGSTS.E.64 [R2]", "LDGDEPBAR"
    skipped = "@!PT LDGSTS.E.BYPASS.128 [R3]"
    wait = f"DEPBAR.LE SB0, 0x{kept:x}"
    loop = ".L_x_0:", wait, "FMUL R1", "MUFU.EX2 R1", *copies, skipped, "BRA `(.L_x_0)"
    return parse(program(*loop))


@pytest.mark.parametrize(("kept", "in_flight"), [(0, 0), (1, 256), (2, 768), (3, 1024), (4, 1536)])
def test_copies_under_way_are_those_that_no_wait_has_ended(kept, in_flight):
    assert bytes_in_flight(ring(kept), num_warps=1) == in_flight
    assert bytes_in_flight(ring(kept), num_warps=4) == 4 * in_flight


def test_what_counts_is_the_least_at_any_exponential():
    early = [x for x in ring(2) if x.name != "DEPBAR.LE"]
    wait, work = ring(0)[0], ring(0)[2]
    assert bytes_in_flight([*early, wait, work], 1) == 0
    assert bytes_in_flight([work, *early[2:], wait], 1) == 0
    assert bytes_in_flight([x for x in ring(2) if "LDGSTS" not in x.name], 1) is None


def test_an_iteration_is_counted():
    counted = count(hot_loop(ring(2)), num_warps=4)
    assert counted.instructions == 9 and counted.exponential == counted.floating_point == 1
    assert (counted.load, counted.barrier, counted.matrix, counted.flop) == (3, 3, 0, 0)
    assert (counted.bytes_copied, counted.bytes_in_flight) == (4 * 768, 4 * 768)
