"""Chips as their data sheets have them, and the roof: which of two times is the longer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.costs.algorithms import decode_cost, dense_cost, flash_backward_cost, flash_cost
from attention_src.costs.roofline import CHIPS, Chip, Cost

# 10 FLOP/s and 2 bytes/s: ridge 5.
TOY = Chip("toy", 80, {"fp16": 10.0, "fp32": 5.0}, 2.0, 1000, 100)
COUNTS = st.integers(0, 10**18)


def test_the_longer_time_counts():
    assert TOY.ridge() == TOY.ridge("fp16") == 5
    assert TOY.ridge("fp32") == 2.5
    assert Cost(100, 10).time_s(TOY) == 10  # arithmetic: 10 s, memory: 5 s
    assert Cost(100, 10).time_s(TOY, "fp32") == 20
    assert Cost(10, 100).time_s(TOY) == 50  # arithmetic: 1 s, memory: 50 s
    assert Cost(10, 100).intensity == 0.1
    assert Cost(0, 0).time_s(TOY) == 0


@given(COUNTS, st.integers(1, 10**18), st.sampled_from(sorted(CHIPS)))
def test_the_ridge_divides(flops, n_bytes, name):
    chip, cost = CHIPS[name], Cost(flops, n_bytes)
    time_s = cost.time_s(chip)
    if cost.intensity < chip.ridge() * (1 - 1e-12):
        assert time_s == n_bytes / chip.bytes_per_s
    elif cost.intensity > chip.ridge() * (1 + 1e-12):
        assert time_s == flops / chip.peak()
    else:
        assert time_s == pytest.approx(flops / chip.peak())


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_costs_add(a, b, c, d):
    total = Cost(a, b) + Cost(c, d)
    assert total == Cost(a + c, b + d)
    # Together they may hide each other's waiting; apart they cannot.
    assert total.time_s(TOY) <= (Cost(a, b).time_s(TOY) + Cost(c, d).time_s(TOY)) * (1 + 1e-12)


# The chips' own arithmetic, of the architecture white papers: multiprocessors; operations a clock
# of each one, and GHz, in fp16 on the matrix units; the same in fp32 outside them.
UNITS = {
    "T4": (40, 1024, 1.59, 128, 1.59),
    "A100": (108, 2048, 1.41, 128, 1.41),
    "H100": (132, 4096, 1.83, 256, 1.98),
    "H200": (132, 4096, 1.83, 256, 1.98),
}


@pytest.mark.parametrize("name", UNITS)
def test_peaks_are_dense_and_follow_from_the_units(name):
    n, matrix, matrix_ghz, plain, plain_ghz = UNITS[name]
    chip = CHIPS[name]
    assert chip.peak("fp16") == pytest.approx(n * matrix * matrix_ghz * 1e9, rel=0.01)
    assert chip.peak("fp32") == pytest.approx(n * plain * plain_ghz * 1e9, rel=0.01)


@pytest.mark.parametrize("name", CHIPS)
def test_chips_are_consistent(name):
    chip = CHIPS[name]
    peaks = chip.flops_per_s
    assert chip.name.startswith(name)
    assert peaks["int8"] == pytest.approx(2 * peaks["fp16"], rel=0.001)
    assert peaks["fp32"] < peaks["fp16"]
    if "tf32" in peaks:
        assert peaks["bf16"] == peaks["fp16"]
        assert peaks["tf32"] == pytest.approx(peaks["fp16"] / 2, rel=0.03)
    else:
        assert "bf16" not in peaks and chip.capability < 80  # both came together
    assert chip.ridge() == peaks["fp16"] / chip.bytes_per_s
    with pytest.raises(TypeError):
        peaks["fp16"] = 1.0
    with pytest.raises(TypeError):
        CHIPS["mine"] = TOY


def test_shared_memory_is_what_compiling_assumes():
    kernel_compile = pytest.importorskip("attention_src.triton_support.compile")
    for chip in CHIPS.values():
        assert chip.shared_bytes == kernel_compile.SHARED_BYTES[chip.capability]


def test_figures_known_from_elsewhere():
    # 989 TFLOP/s over 3.35 TB/s; faster memory moves the ridge down, faster arithmetic up.
    assert CHIPS["H100"].ridge("bf16") == pytest.approx(295, abs=1)
    assert CHIPS["H200"].ridge("bf16") == pytest.approx(206, abs=1)
    # Reading 141 GiB at 4.8 TB/s takes 32 ms, whatever is computed meanwhile.
    h200 = CHIPS["H200"]
    assert Cost(0, h200.memory_bytes).time_s(h200) * 1e3 == pytest.approx(31.5, abs=0.1)


@pytest.mark.parametrize(
    ("name", "mib"),
    [("T4", 15_360), ("A100", 81_920), ("H100", 81_559), ("H200", 143_771), ("B200", 182_630)],
)
def test_memory_holds_what_drivers_report_of_it(name, mib):
    # nvidia-smi's totals (B200: 178.35 GiB, CUDA's), of which error correction has taken its part.
    assert 0.93 < mib * 2**20 / CHIPS[name].memory_bytes <= 1


@pytest.mark.parametrize("name", CHIPS)
def test_who_waits_for_what(name):
    chip = CHIPS[name]
    heads = dict(n_heads=16, batch=4)
    prefill = flash_cost(4096, 4096, 128, 128, causal=True, **heads)
    training = flash_backward_cost(4096, 4096, 128, 128, causal=True, **heads)
    assert prefill.intensity > chip.ridge() and training.intensity > chip.ridge()
    assert dense_cost(4096, 4096, 128, 128, **heads).intensity < chip.ridge()
    decode = decode_cost(4096, 128, 128, **heads)
    assert decode.intensity < chip.ridge() / 100
    # Tiles of 128 queries live on the cache between chip and memory: alone they would wait.
    assert flash_cost(4096, 4096, 128, 128, block_q=128, **heads).intensity < chip.ridge()


BAD = [
    (
        lambda: CHIPS["T4"].peak("bf16"),
        "dtype is 'bf16'; for T4 it should be one of 'fp16', 'fp32'",
    ),
    (lambda: TOY.ridge("float16"), "dtype is 'float16'; for toy"),
    (lambda: Cost(1, 1).time_s(TOY, "int8"), "dtype is 'int8'"),
    (lambda: Cost(-1, 1), "flops is -1; it should not be negative"),
    (lambda: Cost(1, -1), "n_bytes is -1"),
    (lambda: Cost(math.nan, 1), "flops is nan"),
    (lambda: Cost(1, 0).intensity, "n_bytes is 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
