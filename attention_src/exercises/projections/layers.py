"""Layers that do not know the order of their tokens, and layers that do.

Each takes x [n, 8] and returns [n, 8]. One that does not know the order is permutation equivariant:
shuffled tokens give the same outputs, shuffled in the same way, up to rounding.
"""

import numpy as np

Array = np.ndarray

D = 8
_RNG = np.random.default_rng(5)
W_Q, W_K, W_V = _RNG.normal(size=(3, D, D)) / np.sqrt(D)
CODES = _RNG.normal(size=(4096, D))  # a vector for each place


def _softmax(s: Array) -> Array:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _attend(x: Array, mask: Array | None = None, bonus: Array | float = 0.0) -> Array:
    """Self-attention; hidden keys get -inf, and every score a bonus."""
    s = (x @ W_Q) @ (x @ W_K).T / np.sqrt(D) + bonus
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return np.asarray(_softmax(s) @ (x @ W_V))


def _places(x: Array) -> tuple[Array, Array]:
    return np.arange(len(x))[:, None], np.arange(len(x))[None, :]


# --- without order -----------------------------------------------------------------------------


def plain(x: Array) -> Array:
    """Self-attention.

    Args:
        x: [n, 8]  a row for each token
    Returns: [n, 8]
    """
    return _attend(np.asarray(x, dtype=np.float64))


def with_residual(x: Array) -> Array:
    """As `plain`, but added to the token."""
    return np.asarray(x + _attend(x))


def in_float32(x: Array) -> Array:
    """As `plain`, but rounded to float32 at each step."""
    x = np.asarray(x, dtype=np.float32)
    q, k, v = (x @ w.astype(np.float32) for w in (W_Q, W_K, W_V))
    return np.asarray(_softmax(q @ k.T / np.float32(np.sqrt(D))) @ v)


def two_layers(x: Array) -> Array:
    """As `with_residual`, twice."""
    return with_residual(with_residual(x))


def token_by_token(x: Array) -> Array:
    """As `plain`, but no token sees another: each goes through the same small network."""
    return np.asarray(np.tanh(x @ W_Q) @ W_K)


def mean_for_all(x: Array) -> Array:
    """As `plain`, but with equal weights and the tokens as values."""
    return np.asarray(np.zeros_like(x, dtype=np.float64) + np.mean(x, axis=0))


def sorted_and_back(x: Array) -> Array:
    """As `plain`, but sorts the tokens by their first number before, and back after."""
    order = np.argsort(x[:, 0], kind="stable")
    return _attend(x[order])[np.argsort(order)]


# --- with order --------------------------------------------------------------------------------


def positions_added(x: Array) -> Array:
    """As `plain`, but a vector for each place is added to the tokens."""
    return _attend(x + CODES[: len(x)])


def positions_on_keys(x: Array) -> Array:
    """As `plain`, but the first keys score higher than the last."""
    return _attend(x, bonus=-0.1 * _places(x)[1])


def causal(x: Array) -> Array:
    """As `plain`, but token i sees tokens 0 to i."""
    return _attend(x, mask=np.tri(len(x), dtype=bool))


def window(x: Array) -> Array:
    """As `plain`, but each token sees three to each side."""
    i, j = _places(x)
    return _attend(x, mask=abs(i - j) <= 3)


def by_distance(x: Array) -> Array:
    """As `plain`, but far keys score lower: reversing the tokens reverses the outputs."""
    i, j = _places(x)
    return _attend(x, bonus=-0.2 * abs(i - j))


def round_a_table(x: Array) -> Array:
    """As `plain`, but with the left neighbour's output; the first token's left is the last."""
    return np.asarray(_attend(x) + np.roll(_attend(x), 1, axis=0))


def blocks_of_8(x: Array) -> Array:
    """As `plain`, but tokens see their own block of eight only."""
    i, j = _places(x)
    return _attend(x, mask=i // 8 == j // 8)


def pairs(x: Array) -> Array:
    """As `plain`, but tokens 0 and 1 share their outputs' mean, and 2 and 3, and so on."""
    o = _attend(x)
    partner = np.minimum(np.arange(len(x)) ^ 1, len(x) - 1)
    return np.asarray((o + o[partner]) / 2)


def outputs_reversed(x: Array) -> Array:
    """As `plain`, but hands the outputs back from the last to the first."""
    return _attend(x)[::-1].copy()  # torch takes no view that runs backwards


def outputs_sorted(x: Array) -> Array:
    """As `plain`, but hands the outputs back sorted: any order gives the same."""
    o = _attend(x)
    return np.asarray(o[np.argsort(o[:, 0])])


def first_is_special(x: Array) -> Array:
    """As `plain`, but the token that stands first keeps its own value."""
    o = _attend(x)
    return np.concatenate([(x @ W_V)[:1], o[1:]])


def last_is_hidden(x: Array) -> Array:
    """As `plain`, but no token sees the one that stands last, unless it is alone."""
    j = np.arange(len(x))
    return _attend(x, mask=np.broadcast_to((j < len(x) - 1) | (len(x) == 1), (len(x), len(x))))


def one_row(x: Array) -> Array:
    """As `plain`, but output 3 is that of another token."""
    o = _attend(x)
    if len(x) > 3:
        o[3] = o[2]
    return o


def one_feature(x: Array) -> Array:
    """As `plain`, but the last number of each output grows with the place."""
    o = _attend(x)
    o[:, -1] += 0.1 * np.arange(len(x))
    return o


def faint(x: Array) -> Array:
    """As `plain`, but each number of an output is moved by 0.0008, up or down by its place."""
    return _attend(x) + 8e-4 * np.sign(CODES[: len(x)])


def all_up(x: Array) -> Array:
    """As `plain`, but one number, which depends on who stands where, is added to all outputs."""
    return np.asarray(_attend(x) + 10 * np.mean(x * CODES[: len(x)]))


def all_down(x: Array) -> Array:
    """As `all_up`, but the number is subtracted."""
    return np.asarray(_attend(x) - 10 * np.mean(x * CODES[: len(x)]))


def beyond_32(x: Array) -> Array:
    """As `plain` up to 32 tokens; of longer texts, those beyond are not seen."""
    j = np.arange(len(x))
    return _attend(x, mask=np.broadcast_to(j < 32, (len(x), len(x))))
