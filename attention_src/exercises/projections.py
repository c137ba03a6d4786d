"""The checks of the chapter on projections."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, DesignCheck, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.cases import any_shape
from attention_src.softmax.reference import softmax

Array = np.ndarray

# --- Project ----------------------------------------------------------------------------------


def project(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v


def _inputs(
    rng: np.random.Generator, shape: tuple, d_k: int, d_v: int, digits: int = 3, dtype: Any = float
) -> tuple:
    d = shape[-1]
    shapes = shape, (d, d_k), (d, d_k), (d, d_v)
    return tuple(rng.normal(0, 2, one).round(digits).astype(dtype) for one in shapes)


def _draw(rng: np.random.Generator) -> tuple:
    """Two to five axes; often all three widths are equal, and then so are the shapes."""
    shape = any_shape(rng, fewest=2, most=5)
    d_k, d_v = (int(width) for width in rng.integers(1, 5, 2))
    if rng.random() < 0.3:
        d_k = d_v = shape[-1]
    return _inputs(rng, shape, d_k, d_v, dtype=np.float32 if rng.random() < 0.2 else float)


_RNG = np.random.default_rng(11)

check_project = Check(
    "project",
    project,
    asks="f(x [..., n, d_model], w_q, w_k, w_v) -> q, k [..., n, d_k] and v [..., n, d_v]",
    returns=("q", "k", "v"),
    cases=[
        Case("two tokens, d_k = 2, d_v = 4", _inputs(_RNG, (2, 3), 2, 4)),
        Case("all widths alike", _inputs(_RNG, (4, 3), 3, 3)),
        Case("three tokens, narrow values", _inputs(_RNG, (3, 5), 4, 1)),
        Case("one token", _inputs(_RNG, (1, 4), 2, 3)),
        Case("two sentences of three tokens", _inputs(_RNG, (2, 3, 4), 2, 5)),
        Case("two axes in front", _inputs(_RNG, (2, 1, 3, 4), 3, 2)),
        Case("three axes in front", _inputs(_RNG, (2, 1, 2, 3, 4), 2, 3)),
        Case("float32", _inputs(_RNG, (5, 4), 2, 3, dtype=np.float32)),
        Case("numbers with many digits", _inputs(_RNG, (3, 4), 2, 3, digits=15)),
        Case("to twelve digits", _inputs(_RNG, (2, 3), 2, 3, digits=15), rtol=1e-12),
        Case("four axes in front", _inputs(_RNG, (2, 1, 2, 1, 3, 4), 2, 3)),
        Case("wide tokens", _inputs(_RNG, (20, 72), 18, 17)),
    ],
    draw=_draw,
    mistakes="""
roles exchanged: Your queries are made with w_k and your keys with w_q. Scores would come out \
transposed: token i would get what token j should.
    return x @ w_k, x @ w_q, x @ w_v
one matrix for queries and keys: Queries and keys are made with the same matrix. Scores would be \
symmetric.
    return x @ w_q, x @ w_q, x @ w_v
values made of queries: Your values are the queries again. They have a matrix of their own, w_v.
    return x @ w_q, x @ w_k, x @ w_q
in a chain: You project what was projected before. All three start from x.
    return x @ w_q, x @ w_q @ w_k, x @ w_q @ w_k @ w_v
transposed: You multiply by the transposed matrices, as torch.nn.Linear stores them. Here a \
matrix is [d_model, d], the input on the left.
    return x @ w_q.T, x @ w_k.T, x @ w_v.T
scaled too early: You divided the queries by sqrt(d_k). That is attention's business: it would be \
done twice.
    return x @ w_q / w_q.shape[1] ** 0.5, x @ w_k, x @ w_v
added to the token: You added the token itself. A projection is the product alone.
    return x + x @ w_q, x + x @ w_k, x + x @ w_v
""",
)

# --- Take a fused matrix apart ----------------------------------------------------------------


def my_unpack(w, n_heads):
    parts = w.reshape(len(w), n_heads, 3, -1)  # [d_model, H, 3, d_head]
    q, k, v = (parts[:, :, role] for role in range(3))
    return tuple(part.reshape(len(w), -1) for part in (q, k, v))


def _matrix(d_model: int, n_heads: int, d_head: int) -> tuple:
    """Each entry says its column, and its row behind the point."""
    columns = np.arange(3.0 * n_heads * d_head) + 1
    return columns + np.arange(d_model)[:, None] / 10, n_heads


def _draw_matrix(rng: np.random.Generator) -> tuple:
    d_model, n_heads, d_head = (int(size) for size in rng.integers(1, 7, 3))
    w = np.round(rng.normal(size=(d_model, 3 * n_heads * d_head)), 3)
    return (w.astype(np.float32) if rng.random() < 0.2 else w), n_heads


check_unpack = Check(
    "unpack",
    my_unpack,
    asks="f(w [d_model, n_heads * 3 * d_head], n_heads) -> w_q, w_k, w_v",
    returns=("w_q", "w_k", "w_v"),
    cases=[
        Case("two heads of width 2", _matrix(2, 2, 2)),
        Case("two heads of width 3", _matrix(4, 2, 3)),
        Case("three heads of width 2", _matrix(5, 3, 2)),
        Case("one head", _matrix(3, 1, 4)),
        Case("heads of width 1", _matrix(2, 4, 1)),
        Case("one row", _matrix(1, 2, 5)),
        Case("nine heads of width 17", _matrix(9, 9, 17)),
        Case("numbers with many digits", (np.random.default_rng(1).normal(size=(2, 12)), 2)),
    ],
    draw=_draw_matrix,
    rtol=0,
    mistakes="""
Q, K, V in three blocks: You cut the matrix in three. It is stored head by head: the first third \
holds keys and values as well. With one head nobody notices.
    return tuple(np.split(w, 3, axis=1))
column by column: You took every third column. The columns of one head's queries lie side by side.
    return w[:, 0::3], w[:, 1::3], w[:, 2::3]
heads last: The parts are right, but their columns are shuffled: keep head 0's columns together, \
then head 1's.
    parts = w.reshape(len(w), n_heads, 3, -1).swapaxes(1, 3)
first head only: These are the matrices of head 0 alone. Put the other heads' columns beside them.
    q, k, v = (parts[:, 0, role] for role in range(3))
keys and values exchanged: Your keys are values, and your values are keys. The order is q, k, v.
    q, k, v = (parts[:, :, role] for role in (0, 2, 1))
keys first: Your queries are keys, and your keys are queries. The order is q, k, v.
    q, k, v = (parts[:, :, role] for role in (1, 0, 2))
heads as an axis: Your parts have an axis for the heads. Each should be [d_model, H * d_head], the \
heads' columns side by side.
    return q, k, v
rows cut: You cut w by its rows, and a row belongs to one number of the token. The queries, keys \
and values are columns.
    return tuple(np.array_split(w, 3))
transposed: These are the transposed matrices. A row of w belongs to one number of the token.
    return tuple(part.reshape(len(w), -1).T for part in (q, k, v))
""",
)

# --- A head by hand: any matrices may do, so they are judged by the weights that they make ------

N_NAMES = 6
ENOUGH, FEWEST = 0.99, 2  # the weight asked for; with d_k = 1 a query's best key has an extreme key


def sentence(who: Any, named: Any) -> Array:
    """Tokens as vectors [n, 12]: one-hot who it is, then one-hot whom it names."""
    return np.concatenate([np.eye(N_NAMES)[who], np.eye(N_NAMES)[named]], axis=1)


def sentences() -> list[tuple[Array, Array]]:
    """Draw who and named of 60 sentences, the same at each call; all named are present."""
    rng = np.random.default_rng(2026)
    fixed = [([0, 1, 2], [1, 2, 0]), ([3, 5], [3, 3]), ([4], [4])]
    drawn = []
    for length in rng.integers(1, N_NAMES + 1, 57):
        who = rng.permutation(N_NAMES)[:length]
        drawn.append((who, rng.choice(who, length)))
    return [(np.array(who), np.array(named)) for who, named in [*fixed, *drawn]]


def _read(answer: Any) -> list[Array]:
    both = isinstance(answer, tuple | list) or np.ndim(answer) == 3
    if not both or len(answer) != 2:
        raise ValueError("Your function should return two matrices: return w_q, w_k")
    return [
        to_array(w, name).astype(np.float64) for w, name in zip(answer, ("w_q", "w_k"), strict=True)
    ]


def _problem(w_q: Array, w_k: Array) -> str:
    """The first thing that is wrong with the matrices; "" if nothing is."""
    for name, w in (("w_q", w_q), ("w_k", w_k)):
        if w.ndim != 2 or len(w) != 2 * N_NAMES or w.shape[1] == 0:
            return f"  expected {name} of shape (12, d_k)\n  yours    {name} of shape {w.shape}"
    if w_q.shape != w_k.shape:
        return f"  w_q has d_k = {w_q.shape[1]}, w_k has {w_k.shape[1]}: a dot product needs one."
    for who, named, p in _weights(w_q, w_k):
        if not np.isfinite(p).all():
            return "  A weight is not a number: are your entries finite, and below 1e100 or so?"
        at = who == named[:, None]  # where each token should look: one True in each row
        for i in np.flatnonzero(p[at] < ENOUGH)[:1]:
            j, most = int(at[i].argmax()), int(p[i].argmax())
            there = np.floor(p[i, j] * 1e4) / 1e4  # 0.98999 is not 0.99
            rest = "" if most == j else f" and {p[i, most]:.2f} to token {most}"
            return (
                f"  In the sentence who = {who.tolist()}, named = {named.tolist()}, "
                f"token {i} names\n  {named[i]}, which is token {j}. "
                f"It gives {there:.4f} there{rest}.{_cause(w_q, w_k, p[i], int(i), j)}"
            )
    return ""


def _weights(w_q: Array, w_k: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Who, named and the weights [n, n] of each sentence."""
    for who, named in sentences():
        x = sentence(who, named)
        yield who, named, softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]))


def _cause(w_q: Array, w_k: Array, row: Array, i: int, j: int) -> str:
    """What explains token i's row, if that is certain; each cause is tried before it is named."""
    if np.ptp(row) < 1e-9:
        return "\n  All its weights are equal: does w_q read whom a token names?"
    if row.argmax() == j:
        return "\n  It prefers the right one, but not by enough: larger entries, larger gaps."
    if all((p[named[:, None] == who] >= ENOUGH).all() for who, named, p in _weights(w_k, w_q)):
        return "\n  Exchanged, they would do it: are w_q and w_k exchanged?"
    if row.argmax() == i and not w_q[N_NAMES:].any():
        return "\n  It looks at itself: w_q does not read whom a token names."
    if not w_q[:N_NAMES].any() and not w_k[:N_NAMES].any():
        return (
            "\n  Both matrices read whom a token names, so it finds those who name the same as it "
            "does.\n  By what should a token be found?"
        )
    if np.linalg.matrix_rank(np.stack([w_q.ravel(), w_k.ravel()])) < 2:
        return (
            "\n  Both matrices are the same, but for a factor. Then the score of i with j is that "
            "of j with i,\n  and naming has a direction: what does a token ask with, and what is "
            "it found by?"
        )
    return ""


def _praise(w_q: Array, w_k: Array) -> str:
    d_k = w_q.shape[1]
    smaller = f"A smaller one will do: {FEWEST} is possible."
    return f", with d_k = {d_k}. {smaller if d_k > FEWEST else 'That is the smallest there is.'}"


check_names = DesignCheck(
    "names",
    _read,
    _problem,
    _praise,
    asks="f() -> w_q, w_k [12, d_k]: each token gives 0.99 of its weight to the one it names",
)

# --- Does it know the order? ------------------------------------------------------------------

D = 8
_RNG = np.random.default_rng(5)
WEIGHTS = _RNG.normal(size=(3, D, D)) / np.sqrt(D)
CODES = _RNG.normal(size=(4096, D))  # a vector for each place


def attend(x):
    """Self-attention, [n, 8] to [n, 8]. Shuffled tokens give the same outputs, shuffled so too."""
    x = np.asarray(x, dtype=np.float64)
    w_q, w_k, w_v = WEIGHTS
    i, j = np.arange(len(x))[:, None], np.arange(len(x))
    scores = (x @ w_q) @ (x @ w_k).T / D**0.5
    seen = i - j < len(x)  # every token sees all
    s = np.where(seen, scores, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    o = p @ (x @ w_v)
    return o


one_layer = attend  # in the lines below `attend` is what they make of it

check_order_test = TestCheck(
    "my_order_test",
    asks="test(layer), which raises AssertionError if layer(x) knows the order of its tokens",
    of=attend,
    right="""
self-attention: it has no positions
with a residual: each token is added to its own
    return x + o
float32: it computes in float32, and sums in another order round differently: allow for 1e-5
    x = np.asarray(x, dtype=np.float32)
    w_q, w_k, w_v = WEIGHTS.astype(np.float32)
two layers: two such layers are one
    x = np.asarray(x, dtype=np.float64)
    + x = x + one_layer(x)
    return x + o
token by token: what each token does alone needs no order
    return np.tanh(x @ w_q) @ w_k
a mean for all: shuffled equal rows are equal rows still
    return np.zeros_like(x) + x.mean(axis=0)
sorted and back: it sorts by what the tokens say, not by where they stand, and undoes it
    x = np.asarray(x, dtype=np.float64)
    + order = np.argsort(x[:, 0], kind="stable")
    + x = x[order]
    return o[np.argsort(order)]
""",
    wrong="""
positions: a vector for each place is added to the tokens
    x = np.asarray(x, dtype=np.float64) + CODES[: len(x)]
early keys first: keys that stand early score higher
    s = scores - 0.1 * j
causal: no token sees those after it
    seen = j <= i
window: each token sees its neighbours only
    seen = abs(i - j) <= 3
by distance: far keys score lower. Reversed tokens give reversed outputs there: do you shuffle in \
other ways?
    s = scores - 0.2 * abs(i - j)
round a table: it adds the left neighbour's output, and the first's left neighbour is the last. \
Tokens moved round in a circle give outputs moved round: shuffle otherwise too.
    return o + np.roll(o, 1, axis=0)
blocks of 8: tokens see their own block of eight only. Is your text longer than that, and are \
tokens exchanged between blocks?
    seen = i // 8 == j // 8
pairs: tokens 0 and 1 share an output, and 2 and 3. Do you do more than exchange neighbours?
    return (o + o[np.minimum(j ^ 1, len(x) - 1)]) / 2
reversed outputs: the outputs come back from the last to the first. Does your shuffle look the \
same from both ends?
    return o[::-1].copy()
sorted outputs: the outputs come back in an order of their own. Do you compare them one by one, \
output with its token?
    return o[np.argsort(o[:, 0])]
the first is special: the token that stands first keeps its own value. Do you move the first \
token, and look at all outputs?
    return np.concatenate([(x @ w_v)[:1], o[1:]])
the last is hidden: nobody sees the token that stands last. Do you move the last token?
    seen = (j < len(x) - 1) | (len(x) == 1)
one row: one output is that of another. Do you look at all?
    return o[np.where(j == 3, 2, j)]
one number: the last number of each output grows with the place. Do you look at all numbers?
    return o + 0.1 * i * (np.arange(D) == D - 1)
faint: its positions are small, and move outputs by little more than 0.001. Is your tolerance \
small enough?
    return o + 8e-4 * np.sign(CODES[: len(x)])
all up: one number, which depends on who stands where, is added to all outputs. Do you look at \
differences of both signs?
    return o + 10 * np.mean(x * CODES[: len(x)])
all down: one number, which depends on who stands where, is taken from all outputs. Do you look \
at differences of both signs?
    return o - 10 * np.mean(x * CODES[: len(x)])
beyond 32: tokens beyond the 32nd are not seen. How long is your text?
    seen = j < 32
""",
)

# --- What two matrices hold -------------------------------------------------------------------

D_MODEL, D_K = 512, 64

# fmt: off
check_rank = Ladder("rank", [
    Rung("a", "the numbers in W_Q and W_K", 2 * D_MODEL * D_K, {
        D_MODEL * D_K: "This is one of the two.",
        3 * D_MODEL * D_K: "W_V takes no part in scores.",
        D_MODEL**2: "This is their product's.",
    }, hint="Each is [d_model, d_k].", rtol=0),
    Rung("b", "the numbers in A", D_MODEL**2, {
        D_K**2: "This is W_Q^T W_K. A is W_Q W_K^T.",
        D_MODEL * D_K: "A is as wide as it is high.",
    }, hint="A takes a token on each side.", rtol=0),
    Rung("c", "the largest rank that A can have", D_K, {
        D_MODEL: "That is a full matrix's. A passes through d_k numbers.",
        2 * D_K: "The rank of a product is at most that of either factor.",
    }, hint="x W_Q has d_k numbers. What can x A see beyond them?", rtol=0),
    Rung("d", "the numbers in W_Q and W_K that scores can feel", 2 * D_MODEL * D_K - D_K**2, {
        D_K**2: "This is how many B has: take them away.",
        2 * D_MODEL * D_K: "This is all of them. B changes them, and no score.",
        D_MODEL**2: "A is not free to be any matrix: its rank is small.",
        2 * D_MODEL * D_K - 2 * D_K**2: "W_Q is changed by B and W_K by its inverse: one choice, "
            "taken away once.",
    }, hint="B is any invertible [d_k, d_k]. How many numbers is that?", rtol=0),
    Rung("e", "the d_k at which W_Q and W_K hold as many numbers as A", D_MODEL // 2, {
        D_MODEL: "There they hold twice as many. (And scores feel as many as A has.)",
        D_MODEL // 4: "There they hold half as many.",
    }, hint="2 d_model d_k = d_model^2", rtol=0),
    Rung("f", "the numbers in b_Q and b_K that weights can feel", D_K, {
        2 * D_K: "b_K adds the same to a whole row of scores.",
        0: "b_Q k_j differs from key to key.",
    }, hint="Which of the terms q k, b_Q k, q b_K and b_Q b_K depend on the key?", rtol=0),
], asks="the rungs of the exercise \"What two matrices hold\"")
# fmt: on
