"""The checks of the chapter on flash attention."""

import numpy as np

from attention_src.attention.reference import attention  # noqa: F401  a right answer calls it
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.flash.reference import flash_attention  # noqa: F401  right answers call it

# --- Merge ------------------------------------------------------------------------------------


def my_merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = np.maximum(m_a, m_b)  # [..., n_q]
    safe = np.where(m == -np.inf, 0, m)  # −∞ − (−∞) is NaN
    a, b = np.exp(m_a - safe), np.exp(m_b - safe)
    l = a * l_a + b * l_b
    acc = a[..., None] * acc_a + b[..., None] * acc_b
    return m, l, acc


def _partial(seed, shape, d_v, spread, blind=0.0, tied=0.0) -> tuple:
    """Two partial results; in a share `blind` of the rows one has seen no key."""
    rng = np.random.default_rng(seed)
    parts: list[np.ndarray] = []
    for _ in range(2):
        m, l = spread * rng.normal(size=shape), rng.uniform(1, 9, shape)
        acc = rng.normal(size=(*shape, d_v)) * l[..., None]
        empty = rng.random(shape) < blind
        parts += [np.where(empty, -np.inf, m), np.where(empty, 0, l)]
        parts.append(np.where(empty[..., None], 0, acc))
    tie = (rng.random(shape) < tied) & np.isfinite(parts[0]) & np.isfinite(parts[3])
    parts[3] = np.where(tie, parts[0], parts[3])
    return tuple(parts)


def _draw_partial(rng: np.random.Generator) -> tuple:
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4))))
    spread = float(rng.choice([0.3, 3.0, 300.0, 1e5]))
    seed, d_v = int(rng.integers(10**6)), int(rng.integers(1, 5))
    return _partial(seed, shape, d_v, spread, rng.choice([0.0, 0.4]), rng.choice([0.0, 0.4]))


_FIRST = (np.array([3.0]), np.array([1.5]), np.array([[20.0, 1.0]]))
_SECOND = (np.array([5.0]), np.array([1.25]), np.array([[40.0, -2.0]]))
_NONE = (np.array([-np.inf]), np.array([0.0]), np.array([[0.0, 0.0]]))
_HIGH = (np.array([1e6 + 0.3, 0.0]), np.array([1.5, 90.0]), np.array([[20.0, 1], [3, 50]]))
_NEAR = (np.array([1e6, -0.7]), np.array([1.25, 2.0]), np.array([[40.0, -2], [-1, 9]]))

_BELOW = (np.array([-1e6 - 0.3, -1e6 - 7]), np.array([1.5, 3]), np.array([[20.0, 1], [3, 50]]))
_BELOW_TOO = (np.array([-1e6 - 1, -1e6 - 2]), np.array([1.25, 2]), np.array([[40.0, -2], [-1, 9]]))

check_merge = Check(
    "merge",
    my_merge,
    asks="f(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc)",
    cases=[
        Case("one query, the second has the larger m", (*_FIRST, *_SECOND)),
        Case("one query, the first has the larger m", (*_SECOND, *_FIRST)),
        Case("three queries, d_v = 2", _partial(0, (3,), 2, 2.0)),
        Case("as many queries as d_v", _partial(1, (3,), 3, 2.0)),
        Case("2 heads of 3 queries", _partial(2, (2, 3), 4, 2.0)),
        Case("maxima far apart", _partial(3, (4,), 2, 1e5)),
        Case("equal maxima in some rows", _partial(6, (9,), 2, 3.0, tied=0.5)),
        Case("the first has seen no key", (*_NONE, *_SECOND)),
        Case("the second has seen no key", (*_FIRST, *_NONE)),
        Case("neither has seen a key", (*_NONE, *_NONE)),
        Case("some rows have seen no key", _partial(4, (9,), 2, 3.0, 0.5)),
        Case("d_v = 1", _partial(5, (1, 4), 1, 3.0)),
        Case("maxima near 1,000,000 and near 0", (*_HIGH, *_NEAR)),
        Case("three axes in front", _partial(7, (2, 1, 3, 2), 2, 3.0)),
        Case("forty queries, d_v = 40", _partial(9, (40,), 40, 2.0)),
        Case("maxima below -1,000,000", (*_BELOW, *_BELOW_TOO)),
        Case("to twelve digits", _partial(8, (3,), 2, 1.0), rtol=1e-12),
    ],
    draw=_draw_partial,
    mistakes="""
not rescaled: You added the sums as they are, but each is measured against its own maximum. \
Multiply the one by exp(m_a − m), the other by exp(m_b − m).
    a, b = np.ones_like(m), np.ones_like(m)
only one is rescaled: You rescale the first alone. The second may have the smaller maximum: it \
needs exp(m_b − m).
    a, b = np.exp(m_a - m), np.ones_like(m)
rescaled the wrong way: You multiply by exp(m − m_a). It is the other way round: e^(s − m_a) \
becomes e^(s − m) by exp(m_a − m), which is at most 1.
    a, b = np.exp(m - m_a), np.exp(m - m_b)
factors swapped: You gave each part the other's factor.
    a, b = np.exp(m_b - m), np.exp(m_a - m)
acc not rescaled: l is right, but acc was added as it is. It rides along with the same two factors.
    acc = acc_a + acc_b
l not rescaled: acc is right, but l was added as it is. It needs the same two factors.
    l = l_a + l_b
ties: Where the two maxima are equal you return the first part alone. Equal maxima are no sign of \
empty parts: both factors are then 1.
    return m, np.where(m_a == m_b, l_a, l), np.where((m_a == m_b)[..., None], acc_a, acc)
divided: You divided acc by l. A partial result stays undivided: more may be merged into it.
    return m, l, acc / np.where(l == 0, 1, l)[..., None]
smaller maximum: Your m is the smaller of the two. Take the larger, or exponentials overflow.
    m = np.minimum(m_a, m_b)
    safe = m
no guard for −∞: Where neither has seen a key, −inf − (−inf) is not a number. Subtract 0 instead \
of −inf there; both exponentials are then 0.
    safe = m
""",
    hints=[
        "What turns e^(s − m_a) into e^(s − m)? The same factor serves l_a and acc_a.",
        "acc has one axis more than the factors: factor[..., None] * acc.",
        "safe = np.where(m == -np.inf, 0, m), and np.exp(m_a - safe).",
    ],
    returns=("m", "l", "acc"),
)

# --- A few keys at a time ---------------------------------------------------------------------


def my_tiled_attention(q, k, v, block):
    m, l = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1))
    acc = np.zeros((len(q), v.shape[1]))
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T * q.shape[1] ** -0.5  # (n_q, block)
        m_new = np.maximum(m, s.max(axis=1, keepdims=True))
        p, rescale = np.exp(s - m_new), np.exp(m - m_new)
        l = rescale * l + p.sum(axis=1, keepdims=True)
        acc = rescale * acc + p @ v[j : j + block]
        m = m_new
    return acc / l, (m + np.log(l))[:, 0]


def _numbers(seed, n_q, n_k, d_k, d_v, loud=1.0) -> tuple:
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
    return loud * q, k, v


def _falling(sign: float) -> tuple:
    """Scores of one row that fall, or rise, by hundreds from key to key."""
    return np.ones((2, 1)), sign * 400 * np.arange(7.0)[:, None] - 1500, _numbers(9, 1, 7, 1, 2)[2]


def _near_ties(sign: float, size: float = 1.0) -> tuple:
    """Seven scores within 5 of a million, or of minus a million, or of `size` millions."""
    steps = np.array([3.1, 1.2, 2.3, 0.0, 4.7, 0.9, 3.6])[:, None]
    return np.full((2, 1), 1e6), sign * (size - 1e-6 * steps), _numbers(10, 1, 7, 1, 2)[2]


def _draw_numbers(rng: np.random.Generator) -> tuple:
    n_q, n_k, d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 5, 8], 4))
    loud = float(rng.choice([0.3, 1.0, 30.0, 3e4]))
    seed = int(rng.integers(10**6))
    return *_numbers(seed, n_q, n_k, d_k, d_v, loud), int(rng.integers(1, 7))


_MANY = (*_numbers(5, 40, 20_000, 8, 4), 100)
_FEW = (*_numbers(5, 2000, 400, 8, 4), 4)

check_tiled_attention = Check(
    "tiled_attention",
    my_tiled_attention,
    asks="f(q [n_q, d_k], k [n_k, d_k], v [n_k, d_v], block) -> (o [n_q, d_v], lse [n_q])",
    cases=[
        Case("2 queries, 4 keys, 2 at a time", (*_numbers(0, 2, 4, 3, 2), 2)),
        Case("5 keys, 2 at a time", (*_numbers(1, 3, 5, 2, 4), 2)),
        Case("1 key at a time", (*_numbers(2, 3, 4, 2, 1), 1)),
        Case("3 keys, 8 at a time", (*_numbers(3, 4, 3, 2, 2), 8)),
        Case("scores that rise by hundreds", (*_falling(1.0), 2)),
        Case("scores that fall by hundreds", (*_falling(-1.0), 2)),
        Case("large scores", (*_numbers(4, 3, 6, 2, 2, loud=1e4), 2)),
        Case("all scores near 1,000,000", (*_near_ties(1.0), 2)),
        Case("all scores near −1,000,000", (*_near_ties(-1.0), 3)),
        Case("40 queries, 20,000 keys, 100 at a time", _MANY, 2 * 10**6),
        Case("2,000 queries, 400 keys, 4 at a time", _FEW, 2 * 10**6),
        Case("all scores 0", (*_numbers(6, 3, 5, 2, 2, loud=0.0), 2)),
        Case("all scores near 1,001,000", (*_near_ties(1.0, 1.001), 2)),
        Case("all scores near −1,001,000", (*_near_ties(-1.0, 1.001), 3)),
        Case("d_k = 65, d_v = 40", (*_numbers(8, 2, 5, 65, 40), 2)),
        Case("d_k = 1, to twelve digits", (*_numbers(7, 2, 5, 1, 2), 2), rtol=1e-12),
    ],
    draw=_draw_numbers,
    mistakes="""
acc not rescaled: lse is right, the output is not: when the maximum rises, acc needs the factor \
exp(m − m_new) as well.
    acc = acc + p @ v[j : j + block]
l not rescaled: You rescale acc and leave l. Both were measured against the old maximum.
    l = l + p.sum(axis=1, keepdims=True)
nothing rescaled: When the maximum rises, what l and acc hold was measured against the old one. \
Multiply both by exp(m − m_new).
    p, rescale = np.exp(s - m_new), 1
each block for itself: You average the blocks' outputs. A block with larger scores must count more.
    acc = acc + np.exp(s - np.logaddexp.reduce(s, axis=1)[:, None]) @ v[j : j + block]
    return acc / -(-len(k) // block), (m + np.log(l))[:, 0]
blocks added up: You divide each block by its own sum. Divide once, at the end, by the sum over all.
    acc = acc + np.exp(s - np.logaddexp.reduce(s, axis=1)[:, None]) @ v[j : j + block]
    return acc, (m + np.log(l))[:, 0]
last keys lost: The last block is shorter when `block` does not divide the number of keys. Slices \
may reach past the end; range(0, n_k, block) gives every start.
    for j in range(0, len(k) // block * block, block):
not scaled: The scores lack the factor d_k^(−1/2).
    s = q @ k[j : j + block].T
not divided: The output is acc / l; you returned acc.
    return acc, (m + np.log(l))[:, 0]
log of l: Your lse is log l alone. It is m + log l.
    return acc / l, np.log(l)[:, 0]
base 2: Your lse is in base 2. Multiply it by ln 2.
    return acc / l, (m + np.log(l))[:, 0] / np.log(2)
maximum starts at 0: Your maximum starts at 0. A row whose scores are far below 0 then underflows: \
start from −inf.
    m, l = np.zeros((len(q), 1)), np.zeros((len(q), 1))
no maximum: You do not subtract a maximum: exponentials of large scores overflow.
    m, l = np.zeros((len(q), 1)), np.zeros((len(q), 1))
    m_new = m
""",
    hints=[
        "Keep m, l and acc for all queries at once: (n_q, 1), (n_q, 1) and (n_q, d_v).",
        "For each block: scores, the new maximum, p, and the factor exp(m − m_new).",
        "After the last block: acc / l, and m + np.log(l), which must become [n_q].",
    ],
    returns=("o", "lse"),
)

# --- What must pass ---------------------------------------------------------------------------

N, D, KB = 8192, 64, 128
NUMBERS = KB * 1024 // 2  # of 2 bytes, on the chip
ROWS = NUMBERS // (4 * D)
BLOCKS = N // ROWS
MOVED, TABLE = BLOCKS * 3 * N * D, 4 * N**2

check_traffic = Ladder("traffic", [
    Rung("a", "how many numbers fit on the chip", NUMBERS, {
        KB * 1024: "These are bytes; a number takes 2.",
        KB * 1000 // 2: "1 KB is 1,024 bytes here.",
    }, hint="128 KB are 128 · 1,024 bytes.", rtol=1e-9),
    Rung("b", "the rows of a block of keys", ROWS, {
        NUMBERS // D: "This is the whole chip. Keys get a quarter of it.",
        NUMBERS // 4: "This is a quarter, in numbers. A row holds 64.",
    }, hint="A quarter of the chip, in rows of d numbers.", rtol=1e-9),
    Rung("c", "how many blocks of keys there are", BLOCKS, {
        BLOCKS**2: "These would be tiles, if blocks of queries were as long.",
    }, hint="n keys, cut into blocks of the size that you found in (b).", rtol=1e-9),
    Rung("d", "the numbers that move while all blocks of keys meet all queries", MOVED, {
        MOVED // 3: "q alone. The accumulator comes in and goes out, too.",
        MOVED // 3 * 2: "Count three: q in, accumulator in, accumulator out.",
        3 * N * D: "This is for one block of keys.",
        2 * MOVED: "These are bytes. Count numbers.",
    }, hint="For each block of keys: q comes in, the accumulator comes in and goes out."),
    Rung("e", "how many times less than the table's 4 n²", TABLE / MOVED, {
        MOVED / TABLE: "The other way round.",
        TABLE / 4 / MOVED: "The table is moved four times: s written and read, p written and read.",
    }, hint="It is M / 3d² as well."),
    Rung("f", "the width at which tiles and table move the same", (NUMBERS / 3) ** 0.5, {
        NUMBERS / 3: "This is d². Take the root.",
        NUMBERS**0.5: "Where M / d² is 1. The ratio is M / 3d².",
    }, hint="Set M / 3d² to 1."),
], asks="the rungs of the exercise \"What must pass\"")  # fmt: skip

# --- Catch the wrong tile ---------------------------------------------------------------------


def tiled(q, k, v, block_q, block_k, causal=False):
    n_q, n_k = len(q), len(k)
    o = np.zeros((n_q, v.shape[1]))
    for i in range(0, n_q, block_q):
        q_i = q[i : i + block_q] * q.shape[1] ** -0.5
        sees = np.arange(i, i + len(q_i))[:, None] + n_k - n_q  # the last key that a query sees
        n_seen = min(n_k, int(sees[-1, 0]) + 1) if causal else n_k
        m, l = np.full((len(q_i), 1), -np.inf), np.zeros((len(q_i), 1))
        acc = np.zeros((len(q_i), v.shape[1]))
        for j in range(0, n_seen, block_k):
            k_j, v_j = k[j : j + block_k], v[j : j + block_k]
            s = q_i @ k_j.T
            if causal:
                s[np.arange(j, j + len(k_j)) > sees] = -np.inf
            m_new = np.maximum(m, s.max(axis=1, keepdims=True))
            safe = np.where(m_new == -np.inf, 0, m_new)
            p, rescale = np.exp(s - safe), np.exp(m - safe)
            l = rescale * l + p.sum(axis=1, keepdims=True)
            acc = rescale * acc + p @ v_j
            m = m_new
        o[i : i + block_q] = acc / np.where(l == 0, 1, l)
    return o


def halves(q, k, v, causal):
    """Two halves of the keys, merged by their log-sum-exp, in base 2."""
    half = len(k) // 2
    hidden = causal & (np.arange(len(k)) > np.arange(len(q))[:, None] + len(k) - len(q))
    s = np.where(hidden, -np.inf, q @ k.T * q.shape[1] ** -0.5 / np.log(2))
    o, lse = [], []
    for j in (slice(half), slice(half, None)):
        lse.append(np.logaddexp2.reduce(s[:, j], axis=1, keepdims=True, initial=-np.inf))
        o.append(np.exp2(s[:, j] - np.maximum(lse[-1], -1e300)) @ v[j])
    total = np.maximum(np.logaddexp2(*lse), -1e300)
    return np.exp2(lse[0] - total) * o[0] + np.exp2(lse[1] - total) * o[1]


check_tiled_test = TestCheck(
    "my_tiled_test",
    asks="test(tiled), which raises AssertionError if a tiled attention is wrong",
    of=tiled,
    right="""
package: it is the course's own
    return flash_attention(q, k, v, causal=causal, block_q=block_q, block_k=block_k)[0]
dense: it takes no tiles, and nobody can tell from outside
    return attention(q, k, v, causal=causal)
plain loops: it is this chapter's, with a mask
last key first: the order of the keys is free
    for j in reversed(range(0, n_seen, block_k)):
halves: it merges two halves by their log-sum-exp, base 2
    return halves(q, k, v, causal)
float32: it rounds to float32 and returns that: allow 1e-4 on normal numbers, and 0.02 where q \
is 1,000 times larger
    - n_q, n_k
    + q, k, v = (x.astype(np.float32) for x in (q, k, v))
    + return flash_attention(q, k, v, causal=causal, block_q=block_q, block_k=block_k)[0]
blocks swapped: any tiles give the same output
    return flash_attention(q, k, v, causal=causal, block_q=block_k, block_k=block_q)[0]
""",
    wrong="""
l not rescaled: it does not rescale l when the maximum rises
    l = l + p.sum(axis=1, keepdims=True)
acc not rescaled: it does not rescale acc. Several tiles?
    acc = acc + p @ v_j
signs: the middle number of each output has its sign turned. Do you compare all numbers, and their \
signs?
    - return o
    + o[:, o.shape[1] // 2] *= -1
    + return o
rows exchanged: the first and the last query of a block get each other's output. Do you compare \
each output with its query's?
    o[i : i + block_q] = acc / np.where(l == 0, 1, l)
    + o[[i, i + len(q_i) - 1]] = o[[i + len(q_i) - 1, i]]
last keys lost: it loses the last keys where block_k does not divide n_k
    for j in range(0, min(n_seen, n_k // block_k * block_k), block_k):
last queries lost: it loses the last queries where block_q does not divide n_q
    for i in range(0, n_q // block_q * block_q, block_q):
zeros as keys: it fills the last block of keys with zeros, whose score is 0 and not −∞
    - k_j, v_j
    + more = (0, max(0, j + block_k - n_k)), (0, 0)
    + k_j, v_j = np.pad(k[j : j + block_k], more), np.pad(v[j : j + block_k], more)
keys twice: it moves the last block of keys back until it is full, and counts some keys twice. It \
shows where block_k does not divide n_k and is smaller
    - k_j, v_j
    + j = n_k - block_k if j + block_k > n_k >= block_k else j
    + k_j, v_j = k[j : j + block_k], v[j : j + block_k]
maximum starts at 0: its maximum starts at 0. Is there a row all of whose scores lie far below?
    m, l = np.zeros((len(q_i), 1)), np.zeros((len(q_i), 1))
newest maximum: it takes the newest tile's maximum. It overflows where scores fall by a thousand \
from tile to tile
    m_new = s.max(axis=1, keepdims=True)
not scaled: its scores are not scaled
    q_i = q[i : i + block_q]
scaled by d_v: it divides by the root of d_v, not d_k
    q_i = q[i : i + block_q] * v.shape[1] ** -0.5
float16 sums: it keeps l and acc in float16: about three digits are right. How close do you look?
    l = (rescale * l + p.sum(axis=1, keepdims=True)).astype(np.float16)
    acc = (rescale * acc + p @ v_j).astype(np.float16)
mask ignored: it ignores causal
    + causal = False
diagonal skipped: it skips the tiles that the diagonal cuts, except for the first keys
    s = q_i @ k_j.T
    + if causal and j > 0 and j + len(k_j) > sees[0, 0] + 1: continue
top-left: its causal rule counts from the first query. It shows where n_q and n_k differ
    sees = np.arange(i, i + len(q_i))[:, None]
cut tiles not masked: it masks a tile only where it begins at the diagonal. Do you try causal \
with tiles that are not square?
    if causal and j == sees[0, 0]:
NaN for a blind row: a query that sees nothing gets NaN. Causal, with more queries than keys; and \
is your comparison false for NaN?
    safe = m_new
    o[i : i + block_q] = acc / l
changes q: it is right once, and leaves q scaled behind
    - return o
    + q *= q.shape[1] ** -0.5
    + return o
""",
    hints=[
        "Compare with attention(q, k, v, causal=causal). np.allclose is False where there is NaN.",
        "n_q, n_k = (7, 11) and (11, 7), d_k = 4, d_v = 3, tiles (2, 3), (3, 2), (4, 4), (16, 16).",
        "Rows far below 0, and scores that fall: q all 1, k = [[0], [-1000], [-2000], ...].",
    ],
)
