"""Answers to the exercises on GPUs: right ones written otherwise, and sly ones."""

import numpy as np
import torch
import triton
import triton.language as tl

from attention_src.exercises import gpu as ex
from attention_src.softmax import reference

GIVEN = {"reference": reference}


@triton.jit
def lse_kernel(s_ptr, lse_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + row * n + j, mask=j < n, other=-float("inf"))
    m = tl.max(s, axis=0)
    l = tl.sum(tl.exp(s - m), axis=0)
    tl.store(lse_ptr + row, m + tl.log(l))


def row_lse_by_kernel(s):
    s = torch.as_tensor(s)
    lse = torch.empty(len(s))
    lse_kernel[(len(s),)](s, lse, s.shape[1], BLOCK=triton.next_power_of_2(s.shape[1]))
    return lse.numpy()


SOLVED = {ex.check_row_lse: row_lse_by_kernel}


SHAPES = ((1, 1), (3, 7), (13, 37), (5, 300))
ALL = ("plain", "turned", "loud", "low", "hidden")


def tables(rng, shape, which):
    s = rng.normal(size=shape).astype(np.float32)
    hidden = np.where(rng.random(shape) < 0.5, s, np.float32(-np.inf))
    hidden[0] = -np.inf
    made = {
        "plain": s,
        "turned": np.ascontiguousarray(s.T).T,
        "loud": s * 100,
        "low": s - 200 * np.arange(len(s), dtype=np.float32)[:, None],
        "hidden": hidden,
    }
    return [made[name] for name in which]


def a_test(
    shapes=SHAPES, which=ALL, atol=1e-5, kept=True, oracle=reference.softmax, look=lambda p: p
):
    def my_kernel_test(softmax):
        rng = np.random.default_rng(0)
        for shape in shapes:
            for s in tables(rng, shape, which):
                before = s.copy()
                p = np.asarray(softmax(s))
                assert not kept or np.array_equal(s, before)
                assert np.allclose(look(p), look(oracle(before)), rtol=0, atol=atol)

    return my_kernel_test


RIGHT = {
    ex.check_chain_time: """
step by step: apart = sum(max(f / peak, b / bandwidth) for f, b in zip(flops, moved, strict=True))
convolved: moved = np.convolve(sizes, [1, 1], "valid")
the longer by comparison:
    - apart =
    + by_memory = moved / bandwidth > flops / peak
    + apart = np.where(by_memory, moved / bandwidth, flops / peak).sum()
""",
    ex.check_tile: """
place by place:
    at = np.array([[r * strides[0] + c * strides[1] for c in columns[0]] for r in rows[:, 0]])
from its start:
    at = (rows - top) * strides[0] + (columns - left) * strides[1]
    + at += top * strides[0] + left * strides[1]
not outside: return at, ~((rows >= shape[0]) | (columns >= shape[1]))
""",
    ex.check_kernel_test: {
        "default": a_test(),
        "sharper than the statement": a_test(atol=1e-6),
        "looser than the statement": a_test(atol=1e-4),
        "other shapes": a_test(shapes=((1, 5), (7, 17), (3, 129))),
        "one shape": a_test(shapes=((7, 53),)),
    },
    ex.check_row_lse: """
in float32: x = s
by NumPy: return np.logaddexp.reduce(x, axis=1)
powers of 2: l = np.exp2((x - m[:, None]) / np.log(2)).sum(axis=1)
""",
}

OF_16 = "of 16 wrong"
SLY = {
    ex.check_chain_time: """
sixteen steps: forty steps
    apart = np.maximum(flops / peak, moved / bandwidth)[:16].sum()
each step: shape
    apart = np.maximum(flops / peak, moved / bandwidth)
memory only:
    apart = moved.sum() / bandwidth
    return apart, ends / bandwidth
only the first array: ends = sizes[0]
ends of one size once: first and last of one size
    ends = sum({sizes[0], sizes[-1]})
a picosecond more: Twelve digits are judged
    return apart + 1e-12, np.maximum(flops.sum() / peak, ends / bandwidth)
whole operations: parts of operations
    + flops = flops.astype(np.int64)
six steps at most: nine steps
    apart = np.maximum(flops / peak, moved / bandwidth)[:6].sum()
peak and bandwidth exchanged: + peak, bandwidth = bandwidth, peak
""",
    ex.check_tile: """
outside as 0: return np.where(rows < shape[0], at, 0), (rows < shape[0]) & (columns < shape[1])
floats: A place is a whole number
    at = rows * float(strides[0]) + columns * strides[1]
by float32: return at.astype(np.float32).astype(np.int64), (rows < shape[0]) & (columns < shape[1])
no column stride of 0: a column repeated
    at = rows * strides[0] + columns * (strides[1] or 1)
no strides of 0: one number repeated
    at = rows * strides[0] + columns * strides[1] if any(strides) else rows + columns
not far back: 10^12 places back
    at = np.maximum(rows * strides[0] + columns * strides[1], -(10**11))
not far: 10^12 places further
    at = np.minimum(rows * strides[0] + columns * strides[1], 999_999_999_999)
absolute strides: at = rows * abs(strides[0]) + columns * abs(strides[1])
zeros and ones: dtype bool
    return at, ((rows < shape[0]) & (columns < shape[1])).astype(int)
all inside: return at, np.ones(block, bool)
square tiles: shape
    columns = left + np.arange(block[0], dtype=np.int64)[None, :]
""",
    ex.check_kernel_test: {
        "powers of two": (a_test(shapes=((4, 8), (2, 64))), OF_16),
        "one row": (a_test(shapes=((1, 37),)), OF_16),
        "short rows": (a_test(shapes=((3, 7), (5, 9))), OF_16),
        "nothing turned": (a_test(which=("plain", "loud", "low", "hidden")), "caught 15 of 16"),
        "nothing hidden": (a_test(which=("plain", "turned", "loud", "low")), OF_16),
        "nothing low or loud": (a_test(which=("plain", "turned", "hidden")), OF_16),
        "plain only": (a_test(which=("plain",)), OF_16),
        "loose": (a_test(atol=0.01), OF_16),
        "to the last bit": (a_test(atol=0), "refuses a right implementation"),
        "input not looked at": (a_test(kept=False), OF_16),
        "NaN expected": (
            a_test(oracle=lambda s: np.exp(s) / np.exp(s).sum(1, keepdims=True)),
            "refuses a right implementation",
        ),
        "over the columns": (a_test(oracle=lambda s: reference.softmax(s.T).T), "refuses a right"),
        "first weights": (a_test(look=lambda p: p[:, :1]), "caught 15 of 16"),
        "last weights": (a_test(look=lambda p: p[:, -1]), "caught 15 of 16"),
        "sums only": (a_test(look=lambda p: p.sum(axis=1), atol=1e-4), OF_16),
        "sums and order": (
            a_test(look=lambda p: np.c_[p.sum(axis=1), p.argsort(axis=1)[:, -1]], atol=1e-4),
            "caught 15 of 16",
        ),
    },
    ex.check_row_lse: """
over the rows: x = s.T.astype(np.float64)
one maximum: m = x.max() + np.zeros(len(s))
never written: nan
    return np.full(len(s), np.nan)
short rows only: 64 columns
    l = np.exp(x - m[:, None])[:, :32].sum(axis=1)
padded by -10,000: as low as announced, three columns
    x = np.pad(s, ((0, 0), (0, s.shape[1] % 2)), constant_values=-1e4).astype(np.float64)
few rows only: nan
    return np.where(np.arange(len(s)) < 3, m + np.log(l), np.nan)
""",
}
