"""The checks of the chapter on linear attention."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention  # noqa: F401  a mistake takes it
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck

# --- A state, and its sum ---------------------------------------------------------------------


def my_linear_attention(q, k, v):
    phi_q = np.where(q > 0, q + 1, np.exp(np.minimum(q, 0)))  # elu(q) + 1
    phi_k = np.where(k > 0, k + 1, np.exp(np.minimum(k, 0)))
    state, z = np.zeros((k.shape[1], v.shape[1])), np.zeros(k.shape[1])
    o = np.empty(v.shape)
    for t in range(len(q)):
        state = state + np.outer(phi_k[t], v[t])
        z = z + phi_k[t]
        o[t] = phi_q[t] @ state / (phi_q[t] @ z)
    return o


def _inputs(seed: Any, n: int, d_k: int, d_v: int, spread: float = 1.0) -> tuple:
    rng = np.random.default_rng(seed)  # a generator goes on
    q, k, v = (rng.normal(size=(n, d)) for d in (d_k, d_k, d_v))
    return spread * q, spread * k, v


def _draw(rng: np.random.Generator) -> tuple:
    n, d_k, d_v = (int(size) for size in rng.integers(1, (9, 6, 6)))
    q, k, v = _inputs(rng, n, d_k, d_v, float(rng.choice([0.1, 1.0, 30.0])))
    return q, k, v + rng.choice([0.0, 5.0])


# All weights are near e^-190, which a small number below them would drown.
_RNG = np.random.default_rng(6)
_SMALL = (*-_RNG.uniform(90, 100, (2, 5, 2)), _RNG.normal(size=(5, 3)))

_LARGE = tuple(size * x for size, x in zip((-95, -95, 1), _inputs(10, 4, 2, 2), strict=True))

check_linear_attention = Check(
    "my_linear_attention",
    my_linear_attention,
    asks="f(q [n, d_k], k [n, d_k], v [n, d_v]), causal, with elu + 1, divided",
    cases=[
        Case("three tokens", _inputs(0, 3, 2, 2)),
        Case("d_v above d_k", _inputs(1, 5, 2, 4)),
        Case("one token", _inputs(2, 1, 3, 2)),
        Case("width 1", _inputs(3, 6, 1, 1)),
        Case("entries up to 100", _inputs(4, 7, 3, 2, 40.0)),
        Case("all entries near -100", _SMALL),
        Case("1,024 tokens: no room for a table", _inputs(5, 1024, 8, 4), max_bytes=2 << 20),
        Case("widths of 20 and 30", _inputs(11, 9, 20, 30)),
        Case("to twelve digits", _inputs(9, 5, 2, 3), rtol=1e-12),
        Case("entries just beyond 100", _LARGE),
        Case("some entries exactly 0", tuple(np.maximum(x, 0) for x in _inputs(8, 6, 2, 3))),
    ],
    draw=_draw,
    drawn=30,
    mistakes="""
not causal: Each of your queries sees all keys.
    o[t] = phi_q[t] @ (phi_k.T @ v) / (phi_q[t] @ phi_k.sum(axis=0))
not its own key: Query i sees its own key too: add k_i v_i to the state before you read it.
    - state =
    - z =
    o[t] = phi_q[t] @ state / (phi_q[t] @ z or 1)
    + state = state + np.outer(phi_k[t], v[t])
    + z = z + phi_k[t]
not divided: You did not divide by the weights' sum.
    o[t] = phi_q[t] @ state
multiplied: You multiplied by the sum of the weights. Divide by it.
    o[t] = phi_q[t] @ state * (phi_q[t] @ z)
a small number added: You added a small number to the divisor. It is never 0, since features are \
positive, and it may be far smaller than the number you added.
    o[t] = phi_q[t] @ state / (phi_q[t] @ z + 1e-6)
divided by i + 1: You divided by the number of keys. Divide by the sum of the weights.
    o[t] = phi_q[t] @ state / (t + 1)
no features: You left out the feature map elu + 1.
    phi_k, phi_q = k, q
elu without 1: The features are elu(x) + 1; the 1 is missing.
    phi_k, phi_q = (np.where(x > 0, x, np.expm1(np.minimum(x, 0))) for x in (k, q))
relu: Below 0 the feature is e^x, not 0.
    phi_k, phi_q = np.maximum(k, 0), np.maximum(q, 0)
    o[t] = phi_q[t] @ state / (phi_q[t] @ z or 1)
exp: Above 0 the feature is x + 1, not e^x.
    phi_k, phi_q = np.exp(k), np.exp(q)
softmax: That is softmax attention. Here weights are φ(q)·φ(k).
    return attention(q, k, v, causal=True, scale=1.0)
table: You made a table of all pairs, and the memory does not suffice. Walk along the tokens, and \
keep a state.
    return np.tril(phi_q @ phi_k.T) @ v / np.tril(phi_q @ phi_k.T).sum(axis=1, keepdims=True)
digits cancelled: (e^x - 1) + 1 has lost the digits of e^x, far below 0 all of them. Write e^x.
    phi_k, phi_q = (np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1 for x in (k, q))
""",
    hints=[
        "Which two sums must a query know of the keys so far?",
        "state [d_k, d_v] += outer(φ(k_t), v_t), and z [d_k] += φ(k_t).",
        "o_t = φ(q_t) @ state / (φ(q_t) @ z), after both have been updated.",
    ],
)

# --- The delta rule, from any state -----------------------------------------------------------


def my_delta(q, k, v, beta, state):
    o = np.empty(v.shape)
    for t in range(len(q)):
        added = beta[t] * (v[t] - k[t] @ state)  # [d_v]
        state = state + np.outer(k[t], added)  # a new array
        o[t] = q[t] @ state
    return o, state


def _tokens(seed: Any, n: int, d_k: int, d_v: int, unit: bool = True, twice: bool = False) -> tuple:
    """Inputs with keys of length 1, or all shorter; if twice, the last key is the first again."""
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(n, d)) for d in (d_k, d_k, d_v))
    if twice:
        k[-1] = k[0]
    k /= np.linalg.norm(k, axis=1, keepdims=True) if unit else 1.2 * np.abs(k).sum(1).max()
    return q, k, v, rng.random(n), rng.normal(size=(d_k, d_v))


def _draw_tokens(rng: np.random.Generator) -> tuple:
    n, d_k, d_v = (int(size) for size in rng.integers(1, (9, 6, 6)))
    args = _tokens(rng, n, d_k, d_v, bool(rng.random() < 0.6), bool(rng.random() < 0.4))
    args[3][rng.random(n) < 0.2] = rng.choice([0.0, 1.0])  # β
    return args


_ALONE = (np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 5.0), np.ones(1), np.full((1, 1), 2.0))
_Q, _K, _V, _, _STATE = _tokens(7, 5, 3, 2, twice=True)
_GAP = np.where(np.arange(5)[:, None] == 2, 0, 0.8 * _K)
_LONG = _tokens(9, 24, 3, 2)[:3]

check_delta = Check(
    "my_delta",
    my_delta,
    asks="f(q [n, d_k], k [n, d_k], v [n, d_v], beta [n], state [d_k, d_v]) -> (o, state)",
    cases=[
        Case("three tokens", _tokens(0, 3, 2, 3)),
        Case("a key that comes twice", _tokens(1, 4, 3, 2, twice=True)),
        Case("keys shorter than 1", _tokens(2, 5, 3, 2, unit=False)),
        Case("width 1 for values", _tokens(3, 6, 4, 1)),
        Case("one token, width 1: replace 2 by 5", _ALONE),
        Case("β of 0, 1 and 0.001", (_Q, _K, _V, np.array([0.5, 0, 1, 0.001, 0]), _STATE)),
        Case("from a state of zeros", (*_tokens(8, 4, 3, 2)[:4], np.zeros((3, 2)))),
        Case("a key of zeros", (_Q, _GAP, _V, np.full(5, 0.5), _STATE)),
        Case("24 tokens, a state in the hundreds", (*_LONG, np.ones(24), 300 * _STATE)),
        Case("widths of 20 and 30", _tokens(11, 9, 20, 30)),
        Case("to twelve digits", _tokens(10, 4, 2, 3), rtol=1e-12),
        Case("β of 0 for all", (_Q, _K, _V, np.zeros(5), _STATE)),
    ],
    draw=_draw_tokens,
    drawn=30,
    returns=("o", "state"),
    mistakes="""
sum: You added k v^T. Subtract from v first what the state says for k, and take β of it.
    added = v[t]
sum with β: You added β k v^T. Subtract from v first what the state says for k.
    added = beta[t] * v[t]
no β: You left out β: yours is 1.
    added = v[t] - k[t] @ state
β of the old value alone: β multiplies the new value as well as the old one.
    added = v[t] - beta[t] * (k[t] @ state)
β of the new value alone: β multiplies the old value as well as the new one.
    added = beta[t] * v[t] - k[t] @ state
wrong sign: Your step goes up the gradient: write v minus what is held, not the reverse.
    added = beta[t] * (k[t] @ state - v[t])
held value added: You add what the state holds for k. Subtract it.
    added = beta[t] * (v[t] + k[t] @ state)
read first: Your query reads the state before its own token was written.
    added = beta[t] * (v[t] - k[t] @ state)
    + o[t] = q[t] @ state
    - o[t]
from zero: You begin with a state of zeros, not with the one that was given.
    + state = np.zeros_like(state)
keys normalised: You brought keys to length 1. Take them as they come.
    + k = k / np.linalg.norm(k, axis=1, keepdims=True)
""",
    hints=[
        "What does the state say for k_t? k[t] @ state, of shape [d_v].",
        "added = beta[t] * (v[t] - k[t] @ state); state = state + np.outer(k[t], added).",
        "Copy the state first: inputs should stay as they were.",
    ],
)

# --- Room: one head of width 128 --------------------------------------------------------------

D, N, PAIRS = 128, 8192, 2049

# fmt: off
check_room_ladder = Ladder("room", [
    Rung("a", "numbers in the state", D * D, {
        2 * D: "That is a key and a value. The state has a row for each channel.",
    }, hint="d_k rows of d_v numbers.", rtol=0),
    Rung("b", "tokens whose keys and values take as much", D / 2, {
        D: "A token leaves a key and a value, 128 numbers each.",
        D * D: "That is the number of numbers. A token leaves 256 of them.",
    }, hint="(a) over 2 · 128.", rtol=0),
    Rung("c", "pairs that can be read back without any crosstalk", D, {
        D * D: "There are as many numbers. How many orthogonal keys are there?",
        D / 2: "That is your (b). Count directions, not bytes.",
    }, hint="Keys must be orthogonal, in 128 dimensions.", rtol=0),
    Rung("d", "standard deviation of the crosstalk, 2,049 random keys", ((PAIRS - 1) / D) ** 0.5, {
        (PAIRS - 1) / D: "That is the variance. Take its root.",
        (PAIRS / D) ** 0.5: "The pair itself is no crosstalk: 2,048 others.",
        (D / (PAIRS - 1)) ** 0.5: "Turn it over: more pairs, more crosstalk.",
    }, hint="sqrt((n − 1) / d_k).", rtol=1e-4),
    Rung("e", "FLOP of softmax's two products over those of the state, 8,192 tokens", N / D, {
        D / N: "How many times more: turn it over.",
        N: "The state's products are not of width 1: 4 n d² against 4 n² d.",
    }, hint="4 n² d over 4 n d².", rtol=0),
    Rung("f", "FLOP for one more token: softmax over the state, after 8,192 tokens", N / D, {
        N: "The state takes 4 d², not 4 d.",
        2 * N / D: "Both take two products: 4 n d against 4 d².",
        1: "Softmax looks at 8,192 keys for that token; the state at 128 rows.",
    }, hint="One query against n keys and values: 4 n d. One write and one read: 4 d².", rtol=0),
], asks="the rungs of \"Room\"")
# fmt: on

# --- Catch the wrong chunk --------------------------------------------------------------------


def chunkwise(q, k, v, C):
    state, o = np.zeros((k.shape[1], v.shape[1])), np.zeros(v.shape)
    for t in range(0, len(q), C):
        q_i, k_i, v_i = q[t : t + C], k[t : t + C], v[t : t + C]
        w = np.tril(q_i @ k_i.T)
        o[t : t + C] = q_i @ state + w @ v_i
        state = state + k_i.T @ v_i
    return o


check_chunk_test = TestCheck(
    "my_chunk_test",
    asks="test(form), which raises AssertionError if form(q, k, v, C) is wrong",
    of=chunkwise,
    right="""
parallel: a masked table gives the same numbers
    return np.tril(q @ k.T) @ v
recurrent: it goes token by token, whatever C is
    + C = 1
chunks: it is the chapter's
backwards: it begins at the end and takes keys away
    state, o = k.T @ v, np.zeros(v.shape)
    for t in reversed(range(0, len(q), C)):
    w = np.tril(q_i @ k_i.T)
    + state = state - k_i.T @ v_i
    - state =
float32: it computes in float32: allow 1e-4
    return np.tril(q.astype("f4") @ k.astype("f4").T) @ v.astype("f4")
""",
    wrong="""
not causal: its queries see all keys
    return q @ (k.T @ v)
leak in the chunk: its queries see later keys of their own chunk
    w = q_i @ k_i.T
one ahead: its queries see one key too many
    w = np.tril(q_i @ k_i.T, 1)
own key hidden: a query does not see its own key
    w = np.tril(q_i @ k_i.T, -1)
chunks alone: its chunks know nothing of one another
    o[t : t + C] = w @ v_i
state first: it adds a chunk to the state before reading it
    o[t : t + C] = q_i @ (state + k_i.T @ v_i) + w @ v_i
last chunk only: its state is the last chunk's. Three chunks?
    state = k_i.T @ v_i
first chunk lost: the first chunk never gets in
    state = state + (t > 0) * k_i.T @ v_i
a key lost: the last key of each chunk is not in the state
    state = state + k_i[:-1].T @ v_i[:-1]
the rest dropped: it stops where C does not divide n any more
    for t in range(0, len(q) // C * C, C):
three chunks: it stops after the third chunk
    for t in range(0, min(len(q), 3 * C), C):
fades: its state fades a little from chunk to chunk. Is your tolerance small enough?
    state = 0.9995 * state + k_i.T @ v_i
columns reversed: what the state says has its numbers in reverse. Do you compare each number?
    o[t : t + C] = (q_i @ state)[:, ::-1] + w @ v_i
divided: it divides by the sum of the weights
    return np.tril(q @ k.T) @ v / np.tril(q @ k.T).sum(axis=1, keepdims=True)
queries and keys swapped: its keys ask, and its queries answer
    q_i, k_i, v_i = k[t : t + C], q[t : t + C], v[t : t + C]
signs: the last number of each output has its sign turned. Do you compare all numbers, signs \
included?
    return o * np.where(np.arange(o.shape[1]) == o.shape[1] - 1, -1, 1)
changes v: it overwrites the values that it was given
    - return
    + v[-1] = 0
    + return o
changes k: it overwrites the keys that it was given
    - return
    + k *= 2
    + return o
rows reversed: each chunk's rows come out in reverse, sums unchanged
    return np.concatenate([o[t : t + C][::-1] for t in range(0, len(q), C)])
""",
    hints=[
        "What should come out, computed the slow way? np.tril(q @ k.T) @ v.",
        "Sizes: at least four chunks, and an n that C does not divide.",
        "np.allclose(form(q, k, v, C), np.tril(q @ k.T) @ v, atol=1e-4), and the inputs unchanged.",
    ],
)
