"""The checks of the chapter on GPUs."""

import numpy as np

from attention_src.costs.algorithms import decode_cost
from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.messages import report

# --- Apart and fused --------------------------------------------------------------------------


def chain_time(flops, sizes, peak, bandwidth):
    moved = sizes[:-1] + sizes[1:]  # each step reads one and writes one
    apart = np.maximum(flops / peak, moved / bandwidth).sum()
    ends = sizes[0] + sizes[-1]
    return apart, np.maximum(flops.sum() / peak, ends / bandwidth)


def _draw_chain(rng: np.random.Generator) -> tuple:
    n_steps = int(rng.integers(1, 7))
    flops = 10 ** rng.uniform(6, 12, n_steps) * (rng.random(n_steps) < 0.9)
    sizes = 10 ** rng.uniform(5, 10, n_steps + 1) * (rng.random(n_steps + 1) < 0.9)
    return flops, sizes, 10 ** rng.uniform(11, 15), 10 ** rng.uniform(10, 13)


NINE = [10.0, 90, 20, 80, 30, 70, 40, 60, 50], [4.0, 1, 7, 2, 9, 3, 8, 5, 6, 4]
CHAINS: dict[str, tuple] = {
    "two steps, memory decides": ([10.0, 20], [400.0, 800, 200], 100.0, 10.0),
    "one step": ([50.0], [100.0, 300], 10.0, 200.0),
    "one computes, one moves": ([9000.0, 10], [40.0, 8, 4000], 100.0, 10.0),
    "arithmetic decides": ([700.0, 900, 500], [2.0, 4, 8, 16], 100.0, 10.0),
    "no operations": ([0.0, 0], [10.0, 50, 30], 100.0, 10.0),
    "nine steps": (*NINE, 10.0, 1.0),
    "nothing is moved": ([30.0, 70], [0.0, 0, 0], 100.0, 10.0),
    "first and last of one size": ([10.0, 20], [400.0, 900, 400], 100.0, 10.0),
    "forty steps": (np.arange(40.0) * 37 % 11, np.arange(41.0) * 23 % 13, 2.0, 3.0),
}
CLOSELY = {
    "nanoseconds, to twelve digits": ([8e5, 3e5], [2e4, 5e4, 3e4], 1e15, 3e12),
    "parts of operations and bytes": ([7.7, 2.25], [0.5, 0.125, 0.3], 3.0, 2.0),
}

check_chain_time = Check(
    "chain_time",
    chain_time,
    asks="f(flops, sizes, peak, bandwidth) -> (apart, fused), in seconds",
    cases=[
        Case(name, (*map(np.array, given[:2]), *given[2:]), rtol=rtol)
        for rtol, chains in ((None, CHAINS), (1e-12, CLOSELY))
        for name, given in chains.items()
    ],
    draw=_draw_chain,
    mistakes="""
total instead of each: You took one maximum of two totals for the separate steps. Each waits for \
its own: a step that computes does not overlap with the next one's reading.
    apart = np.maximum(flops.sum() / peak, moved.sum() / bandwidth)
arithmetic and memory added: You added the two times. They overlap: take the longer one.
    apart = (flops / peak + moved / bandwidth).sum()
    return apart, flops.sum() / peak + ends / bandwidth
the shorter time: You took the shorter of the two times; a step is done when both are.
    apart = np.minimum(flops / peak, moved / bandwidth).sum()
    return apart, np.minimum(flops.sum() / peak, ends / bandwidth)
each array moved once: Between two steps an array is moved twice: written by one, read by the next.
    moved = sizes[1:] + np.where(np.arange(len(flops)) == 0, sizes[0], 0)
only reads: A step writes its result too.
    moved = sizes[:-1]
only writes: A step reads its input too.
    moved = sizes[1:]
fused still moves everything: Your fused kernel still moves what lies between the steps. It keeps \
that on the chip.
    ends = moved.sum()
fused, longest step: The fused kernel makes the operations of all steps, not only of the longest.
    return apart, np.maximum(flops.max() / peak, ends / bandwidth)
exchanged: The two are exchanged: first apart, then fused.
    return np.maximum(flops.sum() / peak, ends / bandwidth), apart
""",
    returns=("apart", "fused"),
    hints=[
        "Which bytes does step 0 move? sizes[0] and sizes[1].",
        "moved = sizes[:-1] + sizes[1:]; what is the bound of each step?",
        "apart = maximum(flops / peak, moved / bandwidth).sum()",
    ],
)

# --- Where a tile lies ------------------------------------------------------------------------


def tile(a, b, shape, strides, block):
    top, left = a * block[0], b * block[1]
    rows = top + np.arange(block[0], dtype=np.int64)[:, None]
    columns = left + np.arange(block[1], dtype=np.int64)[None, :]
    at = rows * strides[0] + columns * strides[1]
    return at, (rows < shape[0]) & (columns < shape[1])


TILES = {
    "the first tile": (0, 0, (5, 7), (7, 1), (2, 3)),
    "one further down, two to the right": (1, 2, (9, 11), (11, 1), (2, 3)),
    "the same tile of a wider table": (0, 0, (5, 7), (20, 2), (2, 3)),
    "over the edges": (2, 1, (5, 5), (5, 1), (2, 3)),
    "a transposed table": (1, 0, (6, 5), (1, 6), (3, 4)),
    "every second row of a wider table": (0, 1, (4, 6), (40, 2), (2, 4)),
    "wholly outside": (9, 9, (4, 4), (4, 1), (2, 2)),
    "a row repeated": (1, 1, (8, 8), (0, 1), (3, 2)),
    "read backwards": (1, 0, (7, 3), (-3, -1), (2, 2)),
    "one number": (3, 4, (9, 9), (9, 1), (1, 1)),
    "beyond 2^31 places": (3, 1, (40_000, 300_000), (300_000, 1), (9_000, 2)),
    "rows 2^33 apart": (5, 0, (100, 4), (2**33, 1), (3, 2)),
    "a column repeated": (1, 1, (8, 8), (1, 0), (3, 2)),
    "one number repeated": (1, 1, (8, 8), (0, 0), (3, 2)),
    "10^12 places further": (10, 1, (20, 4), (10**11, 1), (1, 3)),
    "10^12 places back": (10, 1, (20, 4), (-(10**11), -1), (1, 3)),
}


def _draw_tile(rng: np.random.Generator) -> tuple:
    a, b = (int(x) for x in rng.integers(0, 4, 2))
    n_rows, n_columns = (int(x) for x in rng.integers(1, 12, 2))
    block_rows, block_columns = (int(x) for x in rng.integers(1, 6, 2))
    far = int(rng.choice([1, 1000, 10**9]))
    strides = [(n_columns, 1), (1, n_rows), (far * n_columns, far), (0, 1), (-n_columns, 2)]
    step = strides[rng.integers(len(strides))]
    return a, b, (n_rows, n_columns), step, (block_rows, block_columns)


def _floats(f):
    said = "tile: wrong. The places are right, but floats. A place is a whole number: np.int64."
    at = to_array(f(*TILES["the first tile"])[0])
    return report("wrong", [said]) if at.dtype.kind == "f" else None


check_tile = Check(
    "tile",
    tile,
    asks="f(a, b, shape, strides, block) -> (at, inside)",
    cases=[Case(name, args) for name, args in TILES.items()],
    draw=_draw_tile,
    mistakes="""
strides exchanged: Going down one row moves by strides[0], not by strides[1].
    at = rows * strides[1] + columns * strides[0]
one row after the other: You counted as if rows lay one after the other in memory. Use the strides.
    at = rows * shape[1] + columns
columns next to each other: You left strides[1] out: columns need not be neighbours in memory.
    at = rows * strides[0] + columns
32 bits: These places wrapped around at 2^31. Count in 64 bits: np.arange(..., dtype=np.int64).
    at = (rows * strides[0] + columns * strides[1] + 2**31) % 2**32 - 2**31
program ids exchanged: a counts tiles from above (rows), b from the left (columns).
    top, left = b * block[0], a * block[1]
a not multiplied: Program a begins at row a * block[0]: it handles a whole tile.
    top, left = a, b
blocks exchanged: Rows begin at a * block[0], columns at b * block[1].
    top, left = a * block[1], b * block[0]
one too many: Rows are numbered from 0: row shape[0] is the first outside.
    return at, (rows <= shape[0]) & (columns <= shape[1])
rows only: A tile may stick out on the right too.
    return at, (rows < shape[0]) & (columns < np.inf)
columns only: A tile may stick out at the bottom too.
    return at, (rows < np.inf) & (columns < shape[1])
or: Inside means: its row and its column belong to the table.
    return at, (rows < shape[0]) | (columns < shape[1])
by place: You compared places. Behind the end of a row the next one begins: compare rows with \
shape[0] and columns with shape[1].
    return at, rows * shape[1] + columns < shape[0] * shape[1]
""",
    also=_floats,
    returns=("at", "inside"),
    rtol=1e-14,  # places are whole numbers, up to 10^12
    hints=[
        "Which rows of the table does program a handle? They begin at a * block[0].",
        "rows = a * block[0] + np.arange(block[0], dtype=np.int64)[:, None]",
        "at = rows * strides[0] + columns * strides[1], and inside compares both.",
    ],
)

# --- Under which roof? ------------------------------------------------------------------------

N, SHARE = 1024, 4
H100, T4 = CHIPS["H100"].ridge(), CHIPS["T4"].ridge()
# FLOP per byte of keys and values, which the exercise counts alone: of each head.
HEAD = decode_cost(N, 64, 64, n_heads=1, n_kv_heads=1).flops / (2 * N * (64 + 64))

check_intensity = Ladder("intensity", [
    Rung("a", "FLOP per byte of z = x + y", 1 / (3 * 4), {
        1 / 3: "You counted numbers. A float32 number has 4 bytes.",
        1 / 8: "z is written too.",
        2 / 12: "One addition for each number is one operation.",
        12: "That is bytes for each FLOP; turn it round.",
    }, hint="Per number: how many operations, and how many bytes read and written?"),
    Rung("b", "FLOP per byte of a product of matrices", 2 * N**3 / (3 * 2 * N**2), {
        N / 6: "A multiplication and an addition are two operations.",
        N / 2: "The result is written too: three matrices move.",
        2 * N / 3: "You counted numbers. A float16 number has 2 bytes.",
    }, hint="2 n^3 operations; three matrices of n^2 numbers."),
    Rung("c", "FLOP per byte of decoding where 4 heads share", SHARE * HEAD, {
        1: "So it is if each head has its own keys and values.",
        2 * SHARE: "You counted keys alone: a value is read too.",
        1 / SHARE: "Sharing saves bytes, so intensity grows.",
        SHARE / 2: "The scores are not all: values are weighed and added.",
    }, hint="For one key and its value: bytes, and operations of each of the 4 heads."),
    Rung("d", "heads that share, up to the ridge of an H100", H100 / HEAD, {
        H100 / 4: "How many in all, not how many fours.",
        T4: "That is the ridge of a T4.",
    }, hint="The ridge is peak / bandwidth. How many FLOP per byte does each head add?"),
    Rung("e", "texts, up to the ridge of a T4", T4, {
        T4 / 2: "A weight has 2 bytes, and takes 2 FLOP.",
        2 * T4: "Multiplication and addition: 2 FLOP.",
        H100: "That is the ridge of an H100.",
    }, hint="How many operations is each weight read for?"),
], asks="the rungs of the exercise \"Under which roof?\"")  # fmt: skip

# --- A test for kernels -----------------------------------------------------------------------


def softmax(s):
    n_rows, n = s.shape
    p = np.zeros(s.shape, np.result_type(s, np.float32))
    for i in range(n_rows):
        x = s[i]
        m = max(x.max(), -1e38)  # −∞ − (−∞) is NaN
        e = np.exp(x - m)
        l = e.sum()
        p[i, : len(e)] = e[:n] / (l or 1)
    return p


def in_blocks(s, rescaled=True):
    """Maximum and sum 16 columns at a time, then the weights."""
    m, l = np.full((len(s), 1), -1e38), np.zeros((len(s), 1))
    for start in range(0, s.shape[1], 16):
        x = s[:, start : start + 16]
        m_new = np.maximum(m, x.max(axis=1, keepdims=True))
        l = l * np.exp(m - m_new) ** rescaled + np.exp(x - m_new).sum(axis=1, keepdims=True)
        m = m_new
    return np.exp(s - m) / np.where(l == 0, 1, l)


check_kernel_test = TestCheck(
    "my_kernel_test",
    asks="test(softmax), which should raise AssertionError for a wrong softmax",
    of=softmax,
    right="""
row by row: one program for each row
float32: it computes in float32, so its seventh digit is its last: allow for 1e-5
    - p = np.zeros
    + e = np.exp(s - np.maximum(s.max(axis=1, keepdims=True), -1e38))
    + return e / np.maximum(e.sum(axis=1, keepdims=True), 1e-38)
in blocks: a running maximum and sum are exact
    return in_blocks(s)
base 2: powers of 2 do as well, and a GPU has them
    e = np.exp2((x - m) * np.float32(np.log2(np.e)))
backwards: it adds up from the right
    for i in reversed(range(n_rows)):
    l = e[::-1].sum()
by columns: its result lies column by column
    return np.asfortranarray(p)
""",
    wrong="""
last block lost: it handles full blocks of four columns only. Is your n no multiple of four?
    x = s[i, : max(n // 4 * 4, 1)]
last row lost: its programs take two rows each. Do you try an odd number of rows?
    for i in range(n_rows - n_rows % 2 or 1):
unmasked load: it reads into the next row where n is no power of two
    + memory = np.concatenate([s.ravel(), np.full(n, -np.inf, s.dtype)])
    x = memory[i * n : i * n + (1 << (n - 1).bit_length())]
padded by zero: it loads places behind the row as 0, which get weight
    x = np.pad(s[i], (0, (1 << (n - 1).bit_length()) - n))
as it lies: it does not look at strides. Do you pass a transposed table?
    + s = s.ravel(order="K").reshape(s.shape)
no maximum: exp overflows. Do you try scores of some hundreds?
    m = 0
one maximum: its rows share one maximum. Is one of your rows far below its neighbours?
    m = max(s.max(), -1e38)
one sum: its rows share one sum
    + one = np.exp(s - np.maximum(s.max(axis=1, keepdims=True), -1e38)).sum()
    l = one
NaN if hidden: a row of -inf becomes NaN. Do you have such a row, and does NaN fail your comparison?
    m = x.max()
mean if hidden: a row of -inf gets even weights instead of 0
    x = np.where(s[i] == -np.inf, np.float32(-1e9), s[i])
float16: it sums in 16 bits. Is your tolerance small enough?
    e = np.exp((x - m).astype(np.float16))
    p = np.zeros(s.shape, np.float16)
in place: it overwrites the scores, which the caller still needs
    p = s
no sum: its rows do not sum to 1
    l = 1
not rescaled: its running sum is wrong when the maximum grows after column 16. Are your rows long?
    return in_blocks(s, rescaled=False)
powers of 2: its rows sum to 1, with powers of 2 for those of e. Do you compare each weight?
    e = np.exp2(x - m)
mirrored: its rows sum to 1, and all but the two ends of each are stored from the right. Do you \
compare each weight?
    p[i, : len(e)] = np.concatenate([e[:1], e[1 : n - 1][::-1], e[1:n][-1:]])[: len(e)] / (l or 1)
""",
    hints=[
        "Try several shapes: (1, 1), (3, 7), (13, 37). Which are no multiples of anything?",
        "Four tables of each shape: plain, transposed, one row 200 lower than the next, -inf.",
        "Compare with reference.softmax by np.allclose(..., rtol=0, atol=1e-5), and the input "
        "with a copy that you made before.",
    ],
)

# --- Your first kernel ------------------------------------------------------------------------


def row_lse(s):
    x = s.astype(np.float64)
    m = x.max(axis=1)
    l = np.exp(x - m[:, None]).sum(axis=1)
    return (m + np.log(l)).astype(np.float32)


def _draw_scores(rng: np.random.Generator) -> tuple:
    shape = int(rng.integers(1, 4)), int(rng.choice([1, 2, 7, 31, 64]))
    return ((rng.normal(size=shape) * rng.choice([1, 30, 1000])).astype(np.float32),)


ROWS = {
    "two rows of three": [[0, 1, 2], [5, 3, 5]],
    "one number": [[7]],
    "large scores": [[9000, 10000, 9999], [-10000, -9999, -9998]],
    "as low as announced, three columns": [[-10000, -10000, -10000]],
    "five columns": np.arange(15).reshape(3, 5) - 6,
    "twenty rows": np.cos(np.arange(60.0)).reshape(20, 3) * 5,
    "64 columns": np.sin(np.arange(128.0)).reshape(2, 64),
    "negative, seven columns": [[-30, -31, -32, -33, -34, -35, -36]],
}

check_row_lse = Check(
    "row_lse",
    row_lse,
    asks="f(s), [n_rows, n] -> [n_rows], both float32",
    cases=[Case(name, (np.array(rows, np.float32),)) for name, rows in ROWS.items()],
    draw=_draw_scores,
    drawn=12,
    mistakes="""
no maximum: exp of a large score overflows. Subtract the row's maximum, and add it at the end.
    return np.log(np.exp(s).sum(axis=1))
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0, and \
log(0) is -inf. Take the maximum of the row's own scores.
    m = np.maximum(x.max(axis=1), 0)
maximum not added: You subtracted the maximum and did not add it again.
    return np.log(l)
maximum: This is the maximum of each row.
    return m
sum: This is l, the sum: take its log, add m.
    return l
padded by zero: Places behind the row were loaded as 0 and counted. Load them as -inf.
    x = np.pad(s, ((0, 0), (0, (1 << (s.shape[1] - 1).bit_length()) - s.shape[1]))).astype(float)
unmasked: Your programs read into the next row: load with mask=j < n.
    - x = s
    + n, memory = s.shape[1], np.append(s.astype(float), np.full(s.shape[1], -np.inf))
    + x = np.stack([memory[i * n :][: 1 << (n - 1).bit_length()] for i in range(len(s))])
base 2: tl.log2 is not tl.log.
    return m + np.log2(l)
sign: The sign is turned.
    return -m - np.log(l)
first row: All programs read row 0.
    x = s[:1].repeat(len(s), 0).astype(np.float64)
mean: This is the log of the mean of exponentials. Do not divide by n.
    return m + np.log(l / s.shape[1])
""",
    rtol=1e-5,
    seconds=60,  # the first run on a GPU compiles
    hints=[
        "row = tl.program_id(0); the row begins at s_ptr + row * n.",
        "Load with mask=j < n and other=-float('inf'); then tl.max, tl.exp, tl.sum, tl.log.",
        "tl.store(lse_ptr + row, m + tl.log(l))",
    ],
)
