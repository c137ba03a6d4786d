"""The checks of the chapter on rotary positions."""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.rope.reference import sinusoids  # noqa: F401  one wrong rotation adds them

Array = np.ndarray

# --- Rotate -----------------------------------------------------------------------------------


def rotate(x, positions, base=10_000.0):
    d = x.shape[-1]
    theta = base ** (-2 * np.arange(d // 2) / d)  # [d/2]
    angle = positions[:, None] * theta  # [n, d/2]
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    y1 = x1 * np.cos(angle) - x2 * np.sin(angle)
    y2 = x1 * np.sin(angle) + x2 * np.cos(angle)
    return np.concatenate([y1, y2], axis=-1)


def _case(name: str, shape: tuple[int, ...], positions: Any, base: float = 10_000.0) -> Case:
    x = np.random.default_rng(0).normal(size=shape).round(2)
    return Case(name, (x, np.asarray(positions), base))


def _draw(rng: np.random.Generator) -> tuple:
    leading = [int(size) for size in rng.integers(1, 4, rng.integers(0, 3))]
    n, d = int(rng.integers(1, 6)), 2 * int(rng.integers(1, 6))
    largest = int(rng.choice([4, 100, 9_000, 200_000]))
    positions: Array = rng.integers(0, largest, n)
    if rng.random() < 0.3:
        positions = positions - largest / 2 + 0.25
    x = rng.normal(size=(*leading, n, d))
    if rng.random() < 0.3:
        x, positions = x.astype(np.float32), positions.astype(np.int32)
    return x, positions, float(rng.choice([50.0, 10_000.0, 10_000.0, 500_000.0]))


check_rotate = Check(
    "rotate",
    rotate,
    asks="f(x [..., n, d], positions [n], base=10_000.0) -> [..., n, d], half-split pairs",
    cases=[
        Case("two tokens, one pair", (np.array([[1.0, 0.0], [3.0, 4.0]]), np.array([0, 1]), 1e4)),
        Case("one token, two pairs", (np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([1]), 1e4)),
        _case("three tokens, two pairs", (3, 4), [0, 1, 2]),
        _case("positions that do not begin at 0", (3, 4), [7, 8, 9]),
        _case("positions that jump, and go backwards", (4, 6), [40, 2, 2, 1000]),
        _case("another base", (3, 6), [0, 3, 5], base=100.0),
        _case("a batch of heads", (2, 3, 4, 6), [5, 6, 7, 8]),
        _case("far away", (2, 8), [100_000, 131_071]),
        _case("fractions and negative numbers", (3, 4), [-2.5, 0.25, 3.0]),
        _case("fractions far away", (3, 4), [-199_999.3, 0.1, 150_000.7]),
        _case("as many tokens as components", (6, 6), [0, 1, 2, 3, 4, 5]),
        _case("the same places, another base", (6, 6), [0, 1, 2, 3, 4, 5], base=60.5),
        _case("a base just above 1", (3, 6), [0, 3, 50], base=1.5),
        _case("a wide head", (2, 256), [3, 7]),
        _case("five axes", (1, 2, 1, 3, 2, 4), [3, 7]),
        _case("a long text", (3000, 2), np.arange(3000)),
    ],
    draw=_draw,
    mistakes="""
interleaved: You paired neighbours: 0 with 1, 2 with 3. Here component i goes with i + d/2.
    x1, x2 = x[..., ::2], x[..., 1::2]
    return np.stack([y1, y2], axis=-1).reshape(x.shape)
backwards: You turned the other way: clockwise. Which of the two sines has the minus?
    angle = -positions[:, None] * theta
both sines with a plus: The first of the two sines needs a minus; otherwise lengths change.
    y1 = x1 * np.cos(angle) + x2 * np.sin(angle)
positions ignored: You turned token i by i steps. Turn it by positions[i] steps.
    angle = np.arange(x.shape[-2])[:, None] * theta
exponent -i/d: Your slow pairs turn too fast. With i = 0 ... d/2 - 1 the exponent is -2i/d.
    theta = base ** (-np.arange(d // 2) / d)
base ignored: Your answer does not depend on base.
    theta = 10_000.0 ** (-2 * np.arange(d // 2) / d)
one frequency: All your pairs turn by one angle. Pair i has its own: theta[i].
    theta = np.ones(d // 2)
float32 angles: Far away your angles are off by thousandths: they were computed in float32.
    angle = (positions[:, None] * theta).astype(np.float32).astype(float)
degrees: The angles are in radians already.
    angle = np.deg2rad(positions[:, None] * theta)
""",
    hints=[
        "theta has d/2 entries; angle = positions[:, None] * theta is [n, d/2].",
        "x1, x2 = x[..., : d // 2], x[..., d // 2 :] are the two components of all pairs.",
        "y1 = x1 cos - x2 sin, y2 = x1 sin + x2 cos; concatenate them on the last axis.",
    ],
)

# --- From one pairing to the other ------------------------------------------------------------


def to_half_split(w, n_heads):
    rows, columns = w.shape
    pairs = w.reshape(rows, n_heads, columns // n_heads // 2, 2)
    return pairs.swapaxes(-1, -2).reshape(rows, columns)


def _labelled(rows: int, n_heads: int, d: int) -> np.ndarray:
    """Row r, head h, component c holds 100 r + 10 h + c."""
    parts = np.arange(rows)[:, None, None], np.arange(n_heads)[:, None], np.arange(d)
    return np.asarray(100.0 * parts[0] + 10 * parts[1] + parts[2]).reshape(rows, -1)


def _draw_weights(rng: np.random.Generator) -> tuple:
    n_heads, rows, half = (int(size) for size in rng.integers(1, 6, 3))
    w = rng.normal(size=(rows, n_heads * 2 * half))
    return (w.astype(np.float32) if rng.random() < 0.3 else w), n_heads


check_to_half_split = Check(
    "to_half_split",
    to_half_split,
    asks="f(w [d_model, n_heads * d], n_heads) -> the same columns, ordered for half-split pairs",
    cases=[
        Case("one head of width 4", (_labelled(1, 1, 4), 1)),
        Case("two heads of width 6", (_labelled(1, 2, 6), 2)),
        Case("three rows, two heads of width 8", (_labelled(3, 2, 8), 2)),
        Case("as many rows as columns", (_labelled(8, 2, 4), 2)),
        Case("heads of width 2: nothing moves", (_labelled(2, 3, 2), 3)),
        Case("numbers that float32 cannot hold", (1e300 * _labelled(2, 2, 4), 2)),
        Case("three heads of width 128", (_labelled(1, 3, 128), 3)),
        Case("more rows than columns", (_labelled(20, 2, 6), 2)),
    ],
    draw=_draw_weights,
    rtol=0,
    mistakes="""
the way back: This is the way back, from half-split to interleaved.
    pairs = w.reshape(rows, n_heads, 2, columns // n_heads // 2)
all heads at once: You reordered all columns as one head. Each head keeps its own d columns.
    pairs = w.reshape(rows, 1, columns // 2, 2)
rows: You moved rows. We write x @ w: a component of a query is a column.
    return w[np.concatenate([np.arange(0, rows, 2), np.arange(1, rows, 2)])]
n_heads taken for the width: You made heads of width n_heads. n_heads is how many there are.
    pairs = w.reshape(rows, -1, n_heads)
    return np.concatenate([pairs[..., ::2], pairs[..., 1::2]], axis=-1).reshape(rows, columns)
nothing: Nothing moved.
    return w.copy()
odd ones first: The odd components came first. That turns every pair the other way round.
    return pairs[..., ::-1].swapaxes(-1, -2).reshape(rows, columns)
""",
    hints=[
        "Within a head the new order is 0, 2, 4, ..., then 1, 3, 5, ...",
        "w.reshape(rows, n_heads, d // 2, 2) has the pairs on the last axis.",
        "Swap its last two axes, and reshape back.",
    ],
)

# --- How slow is slow? ------------------------------------------------------------------------

D, PAIRS = 64, 32
BASE, FAR_BASE, LENGTH, FACTOR = 10_000.0, 100_000.0, 2048, 4.0


def _wavelength(i: float, base: float) -> float:
    """Positions that pair i needs for a full turn, 2 pi / theta_i."""
    return 2 * math.pi * base ** (i / PAIRS)


def _unturned(base: float, length: int = LENGTH) -> int:
    return sum(_wavelength(i, base) > length for i in range(PAIRS))


# fmt: off
check_wavelengths = Ladder("wavelengths", [
    Rung("a", "positions for a full turn of the fastest pair", _wavelength(0, BASE), {
        1: "It turns by 1 radian a step. A full turn has 2 pi of them.",
        360: "The angle is in radians.",
    }, hint="theta_0 = base ** 0."),
    Rung("b", "positions for a full turn of the slowest pair", _wavelength(PAIRS - 1, BASE), {
        _wavelength(PAIRS, BASE): "That is 2 pi base. The last pair is i = 31, and 2 i / d is a "
            "little below 1.",
        BASE ** (31 / 32): "That is 1 / theta. A turn has 2 pi radians.",
        _wavelength(31 / 2, BASE): "The exponent is 2 i / d, not i / d.",
    }, hint="2 pi / theta_31."),
    Rung("c", "pairs of SmolLM2 that do not complete a turn in 2,048 positions",
         _unturned(FAR_BASE), {
        PAIRS - _unturned(FAR_BASE): "So many do complete a turn.",
        _unturned(BASE): "That is for base 10,000. SmolLM2 has 100,000.",
        _unturned(FAR_BASE, 8192): "That is for 8,192 positions.",
    }, hint="For which i is 2 pi 100000 ** (i / 32) above 2048?", rtol=1e-9),
    Rung("d", "the angle between neighbours of the fastest pair after interpolation by 4",
         1 / FACTOR, {
        FACTOR: "Interpolation slows down.",
        1: "Interpolation slows all pairs, the fastest too.",
    }, hint="theta' = theta / factor, and theta_0 = 1."),
    Rung("e", "NTK's new base for 4 times the length", FAR_BASE * FACTOR ** (D / (D - 2)), {
        FAR_BASE * FACTOR: "Close, but then the slowest pair falls short.",
        BASE * FACTOR ** (D / (D - 2)): "SmolLM2's base is 100,000.",
    }, hint="Solve b' ** (-62/64) = b ** (-62/64) / 4 for b'."),
    Rung("f", "the base whose slowest pair needs 131,072 positions for a turn",
         (131_072 / (2 * math.pi)) ** (PAIRS / (PAIRS - 1)), {
        131_072 / (2 * math.pi): "Nearly. The slowest exponent is 31/32.",
        131_072: "A turn has 2 pi radians, and the exponent is 31/32.",
    }, hint="Solve 2 pi b ** (31/32) = 131072 for b."),
], asks="the rungs of the exercise \"How slow is slow?\"")
# fmt: on

# --- A test for rotations ---------------------------------------------------------------------


def rotated(x, positions):
    m = np.asarray(positions, dtype=np.float64)
    d = x.shape[1]
    theta = 10_000.0 ** (-2 * np.arange(d // 2) / d)
    angle = m[:, None] * theta
    x1, x2 = np.split(np.asarray(x, dtype=np.float64), 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    y1 = x1 * cos - x2 * sin
    y2 = x1 * sin + x2 * cos
    return np.concatenate([y1, y2], axis=-1)


def bfloat16(x: Array) -> Array:
    """Numbers as bfloat16 holds them: 8 significant bits."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.int64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


check_rotation_test = TestCheck(
    "my_rotation_test",
    asks="test(rotate), which raises AssertionError if rotate is no relative rotation",
    of=rotated,
    right="""
half-split pairs: it is this chapter's own
complex numbers: its pairs are neighbours, for q and k
    x1, x2 = x[:, ::2], x[:, 1::2]
    return np.stack([y1, y2], axis=-1).reshape(x.shape)
clockwise: it turns the other way, queries and keys alike
    m = -np.asarray(positions, dtype=np.float64)
counting from 1: a step more for both changes no distance
    m = np.asarray(positions, dtype=np.float64) + 1
a quarter as fast: a slower turn is a turn
    angle = m[:, None] * theta / 4
half of the pairs: pairs that never turn keep their scores
    angle = np.where(np.arange(d // 2) < (d // 2 + 1) // 2, m[:, None] * theta, 0.0)
mixed first: an orthogonal matrix before it keeps dot products
    angle = m[:, None] * theta
    + mix, _ = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))
    x1, x2 = np.split(x @ mix, 2, axis=-1)
a reflection: two reflections, of q and of k, make one rotation by the difference
    y1 = x1 * cos + x2 * sin
    y2 = x1 * sin - x2 * cos
float32 inside: it keeps seven digits, so allow for a difference of 1e-4
    x1, x2 = np.split(np.asarray(x, dtype=np.float32), 2, axis=-1)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    return np.concatenate([y1, y2], axis=-1).astype(np.float64)
""",
    wrong="""
nothing: it does nothing. Should a step matter?
    return np.array(x)
counts tokens: it counts the tokens of a call and never looks at positions
    m = np.arange(len(x)) * 1.0
counts from the first: it counts from the first position of each call. Do you move one side alone?
    m = np.asarray(positions, dtype=np.float64) - positions[0]
sinusoids: it adds sinusoids
    return x + sinusoids(positions, d)
longer by a tenth: it makes every vector longer. Do you look at lengths?
    return 1.1 * np.concatenate([y1, y2], axis=-1)
longer by a hundredth: it makes every vector longer, by one per cent. How far off do you allow?
    return 1.01 * np.concatenate([y1, y2], axis=-1)
grows: vectors grow with their position
    return np.concatenate([y1, y2], axis=-1) * (1 + 1e-4 * m[:, None])
both sines plus: both sines have a plus, so lengths change
    y1 = x1 * cos + x2 * sin
bfloat16 positions: its positions are rounded to 8 bits: right up to 256. How far do you go?
    m = bfloat16(np.asarray(positions))
float16 positions: its positions are rounded to 11 bits: right up to 2,048. How far do you go?
    m = np.asarray(positions).astype(np.float16).astype(np.float64)
bfloat16 angles: its angles are rounded to 8 bits
    angle = bfloat16(m[:, None] * theta)
begins again: it begins again at position 512. Do you move pairs across such a border?
    m = np.asarray(positions, dtype=np.float64) % 512
stops: it treats all positions beyond 4,096 alike
    m = np.minimum(np.asarray(positions, dtype=np.float64), 4096)
table too short: beyond position 3,000 it leaves vectors alone
    return np.where(m[:, None] < 3000, np.concatenate([y1, y2], axis=-1), x)
every second: two neighbours share an angle. Do you move by 1?
    m = np.asarray(positions, dtype=np.float64) // 2
square root: its angle grows with the root of m
    m = np.sqrt(np.asarray(positions, dtype=np.float64))
share of the text: it divides by the largest position of a call
    m = 100 * np.asarray(positions, dtype=np.float64) / (1 + np.max(positions))
""",
    hints=[
        "score(m, n) = (rotate(q, m) * rotate(k, n)).sum(axis=1), for many q, k, m and n at once.",
        "Lengths; scores after moving both by 1, by 100, by 5000; scores after moving one by 1.",
        "Draw m and n from 0 to 5000; allow 1e-4; a step of one side should change some score by "
        "more than 0.01.",
    ],
)
