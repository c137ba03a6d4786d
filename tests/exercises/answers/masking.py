"""Answers to the exercises on masking: right ones written otherwise, and sly ones."""

import math

import numpy as np
import torch

from attention_src.attention import masks
from attention_src.exercises.masking import (
    check_few_keys,
    check_leak_test,
    check_masked_softmax,
    check_packed_causal_mask,
    check_window_mask,
    my_window_mask,
)

INF = np.inf

# --- Your own masked softmax ------------------------------------------------------------------


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def row_by_row(scores, mask):
    mask, out = np.broadcast_to(mask, scores.shape), np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        keys = [j for j in range(scores.shape[-1]) if mask[row][j] and scores[row][j] > -INF]
        top = max((scores[row][j] for j in keys), default=0)
        e = {j: math.exp(scores[row][j] - top) for j in keys}
        for j in keys:
            out[row][j] = e[j] / math.fsum(e.values())
    return out


def only_where_visible(s, m):
    seen = np.broadcast_to(m, s.shape) & (s > -INF)
    top = np.max(s, axis=-1, keepdims=True, where=seen, initial=-INF)
    e = np.exp(np.where(seen, s, 0) - np.where(seen, top, 0)) * seen
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def by_log_sum_exp(s, m):
    s = np.where(m, s, -INF)
    top = np.maximum(s.max(axis=-1, keepdims=True), -1e30)
    lse = top + np.log(np.exp(s - top).sum(axis=-1, keepdims=True))
    return np.where(lse > -INF, np.exp(s - np.where(lse > -INF, lse, 0)), 0)


def streaming(s, m):
    s = np.where(m, s, -INF)
    top, l = np.full(s.shape[:-1], -INF), np.zeros(s.shape[:-1])
    for j in range(s.shape[-1]):
        new = np.maximum(top, s[..., j])
        safe = np.where(new > -INF, new, 0)
        l, top = l * np.exp(top - safe) + np.exp(s[..., j] - safe), new
    safe = np.where(top > -INF, top, 0)[..., None]
    return np.exp(s - safe) / np.where(l > 0, l, 1)[..., None]


def in_torch(s, m):
    s = torch.as_tensor(s).masked_fill(~torch.as_tensor(m), -torch.inf)
    return torch.nan_to_num(torch.softmax(s, dim=-1))


def nan_to_zero(s, m):
    return np.nan_to_num(softmax(np.where(m, s, -INF)))


def low_then_zeroed(s, m):
    seen = m & (s > -INF)
    return softmax(np.where(seen, s, -1e30)) * seen


SOFTMAXES = """
lowest float: uniform fully masked row
    s = np.where(mask, scores, np.finfo(float).min)
    e = np.exp(s - m)
-1e9 times the mask: You added a large finite number
    s = scores + ~mask * -1e9
    e = np.exp(s - m)
four axes at most: six axes
    return e / np.where(l == 0, 1, l) if scores.ndim < 5 else scores
mask changed: changed its input mask in place
    s = np.where(mask, scores, -np.inf)
    + mask[...] = False
axis 1:
    m = s.max(axis=1, keepdims=True)
    l = e.sum(axis=1, keepdims=True)
whole table normalised:
    m = s.max(axis=(-1, -2), keepdims=True)
    l = e.sum(axis=(-1, -2), keepdims=True)
one maximum for all rows: rows far apart
    m = s.max(axis=(-1, -2), keepdims=True)
all visible keys share 1:
    m = s.max()
    l = e.sum()
visible rows of -inf alone: visible scores of -inf
    e = np.exp(s - np.where(mask.any(axis=-1, keepdims=True), m, 0))
empty rows uniform: second may see nothing
    return np.where(l == 0, 1 / s.shape[-1], e / np.where(l == 0, 1, l))
mask padded on the right:
    s = np.where(mask.reshape(*mask.shape, *[1] * (scores.ndim - mask.ndim)), scores, -np.inf)
mask of a full table: [n_k]
    s = np.where(mask.reshape(scores.shape), scores, -np.inf)
mask transposed:
    s = np.where(mask.T, scores, -np.inf)
float32 inside:
    s = np.where(mask, scores.astype(np.float32), -np.inf)
    return (e / np.where(l == 0, 1, l)).astype(float)
whole numbers:
    s = np.where(mask, np.round(scores), -np.inf)
small weights dropped: small weights count
    return np.where(e < 1e-4 * l, 0, e / np.where(l == 0, 1, l))
scores clipped: large scores
    s = np.where(mask, scores.clip(-700, 700), -np.inf)
first 64 keys:
    return e / np.where(l == 0, 1, l) * (np.arange(s.shape[-1]) < 64)
a little more in the sum:
    return e / (l + 1e-6)
"""

# --- Masks ------------------------------------------------------------------------------------


def one_hot(ids):
    codes = np.eye(len(ids), dtype=bool)[np.unique(ids, return_inverse=True)[1]]
    return np.tril(codes @ codes.T)


def document_by_document(ids):
    mask = np.zeros((len(ids), len(ids)), dtype=bool)
    for name in set(ids.tolist()):
        mask[np.ix_(ids == name, ids == name)] = True
    return np.tril(mask)


def token_by_token(ids):
    mask = np.zeros((len(ids), len(ids)), dtype=bool)
    for i in range(len(ids)):
        mask[i, : i + 1] = ids[: i + 1] == ids[i]
    return mask


def pair_by_pair(ids):
    return [[i >= j and a == b for j, b in enumerate(ids)] for i, a in enumerate(ids)]


def first_to_last(ids):
    mask = np.zeros((len(ids), len(ids)), dtype=bool)
    for name in set(ids.tolist()):
        first, last = np.flatnonzero(ids == name)[[0, -1]]
        mask[first : last + 1, first : last + 1] = np.tri(last + 1 - first)
    return mask


PACKED = """
one too many:
    return same_document & np.tri(len(ids), k=1, dtype=bool)
numbers: dtype bool
    return same_document & np.tri(len(ids), dtype=int)
modulo: 2^31 - 1 apart
    ids = np.asarray(document_ids) % (2**31 - 1)
ids up to 1,000:
    return same_document & np.tri(len(ids), dtype=bool) & (ids < 1000)
negative is padding:
    return same_document & np.tri(len(ids), dtype=bool) & (ids >= 0)
one-hot of the id:
    ids = np.eye(5)[document_ids].argmax(1)
floats: float64 cannot tell apart
    ids = np.asarray(document_ids).astype(float)
nearly equal: float64
    same_document = np.isclose(ids, ids[:, None])
without signs:
    ids = abs(document_ids)
sorted:
    ids = np.sort(document_ids)
64 tokens back:
    return same_document & np.tri(len(ids), dtype=bool) & ~np.tri(len(ids), k=-64, dtype=bool)
four axes: shape
    return (same_document & np.tri(len(ids), dtype=bool))[None, None]
"""


def by_slices(n_q, n_k, window, sinks):
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i, position in enumerate(range(n_k - n_q, n_k)):
        mask[i, max(0, position - window + 1) : position + 1] = True
        mask[i, : min(sinks, position + 1)] = True
    return mask


def by_triangles(n_q, n_k, window, sinks):
    causal = np.tri(n_q, n_k, n_k - n_q, dtype=bool)
    old = np.tri(n_q, n_k, n_k - n_q - window, dtype=bool)
    return causal & (~old | (np.arange(n_k) < sinks))


def by_loops(n_q, n_k, window, sinks):
    return [
        [j <= t and (t - j < window or j < sinks) for j in range(n_k)]
        for t in range(n_k - n_q, n_k)
    ]


def last_rows(n_q, n_k, window, sinks):
    return my_window_mask(n_k, n_k, window, sinks)[n_k - n_q :]


def negative_slices(n_q, n_k, window, sinks):
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i, t in enumerate(range(n_k - n_q, n_k)):
        mask[i, t - window + 1 : t + 1] = True
        mask[i, : min(sinks, t + 1)] = True
    return mask


WINDOWS = """
sinks at the end:
    return ((key <= position) & (in_window | (key < sinks)))[:, ::-1]
window counts after the sinks:
    in_window = key > position - window - sinks
window and sinks swapped:
    in_window = key > position - sinks
    return (key <= position) & (in_window | (key < window))
square: shape
    position = np.arange(n_k)[:, None]
own key hidden:
    in_window = key >= position - window
    return (key < position) & (in_window | (key < sinks))
numbers: dtype bool
    return ((key <= position) & (in_window | (key < sinks))).astype(float)
window at most n_q:
    in_window = key > position - min(window, n_q)
at most 4 sinks:
    return (key <= position) & (in_window | (key < min(sinks, 4)))
64 keys back:
    return (key <= position) & (in_window | (key < sinks)) & (key > position - 64)
"""

# --- Catch the leak ---------------------------------------------------------------------------

N = 40


def tokens(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(3, n, 4))


def changed_after(i, x, parts=(0, 1, 2)):
    """The same tokens up to i, and others after it; only some of q, k and v if `parts` says so."""
    x = x.copy()
    for part in parts:
        x[part, i + 1 :] = 2 * np.random.default_rng([1, part]).normal(size=x[part, i + 1 :].shape)
    return x


def prefix_test(parts=(0, 1, 2), n=N, at=None, rows="upto", tolerance=1e-5):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_leak_test(attention):
        x = tokens(n)
        before = attention(*x)
        for i in range(n - 1) if at is None else at:
            after = attention(*changed_after(i, x, parts))
            kept = {"upto": slice(i + 1), "i": slice(i, i + 1), "after": slice(i + 1, None)}[rows]
            assert abs(after - before)[kept].max(initial=0) <= tolerance, f"output {i}"

    return my_leak_test


def by_cutting(attention, atol=1e-5):
    x = tokens()
    for n in range(1, N):
        np.testing.assert_allclose(attention(*x[:, :n]), attention(*x)[:n], atol=atol)


def one_token_at_a_time(attention):
    x = tokens()
    before = attention(*x)
    for j in range(1, N):
        for part in range(3):
            other = x.copy()
            other[part, j] = 5 - 3 * other[part, j]
            assert np.allclose(attention(*other)[:j], before[:j], atol=1e-5)


def against_a_loop(attention):
    q, k, v = tokens(37)
    o = attention(q, k, v)
    for i in range(37):
        e = np.exp(q[i] @ k[: i + 1].T / 2)
        assert np.allclose(o[i], e @ v[: i + 1] / e.sum(), atol=1e-5)


def unseeded(attention):
    x = np.random.normal(size=(3, 38, 5))
    before = attention(*x)
    for i in range(37):
        other = np.concatenate([x[:, : i + 1], np.random.normal(size=(3, 37 - i, 5))], axis=1)
        assert np.allclose(before[: i + 1], attention(*other)[: i + 1], atol=1e-5)


def whole_numbers(attention):
    x = np.random.default_rng(2).integers(-3, 4, size=(3, N, 4))
    for i in range(N - 1):
        other = x.copy()
        other[:, i + 1 :] = np.random.default_rng(i).integers(-3, 4, size=(3, N - 1 - i, 4))
        assert np.allclose(attention(*x)[: i + 1], attention(*other)[: i + 1], atol=1e-5)


def and_cut(test, atol=1e-5):
    """The same test, which then cuts texts too."""

    def my_leak_test(attention):
        test(attention)
        by_cutting(attention, atol)

    return my_leak_test


def looks_at_weights(attention):
    q, k, _ = tokens()
    assert not np.triu(attention(q, k, np.eye(N)), 1).any()


# --- Few keys, whole past ---------------------------------------------------------------------


def rows(text):
    keys = [[int(key, 16) for key in row] for row in text.split("|")]
    return np.array([[j in seen for j in range(len(keys))] for seen in keys])


FIVE = "0|01|012|0123|234|02345|13456|34567|01578|26789|6789A|789AB|126BC|45BCD|03ADE|BCDEF"
TRI, FIVE_KEYS, TOKEN = np.tri(16, dtype=bool), rows(FIVE), np.arange(16)
BLOCKS = TRI & ((TOKEN[:, None] // 4 == TOKEN // 4) | (TOKEN % 4 == 3))
STEPS = TRI & ((TOKEN[:, None] - TOKEN < 4) | ((TOKEN[:, None] - TOKEN) % 4 == 0))

OF_17, REFUSES = "of 17", "refuses a right implementation"
RIGHT = {
    check_masked_softmax: [
        row_by_row,
        only_where_visible,
        by_log_sum_exp,
        streaming,
        in_torch,
        nan_to_zero,
        low_then_zeroed,
    ],
    check_packed_causal_mask: {
        "package": lambda ids: masks.document_mask(ids) & masks.causal_mask(len(ids)),
        "one-hot": one_hot,
        "document by document": document_by_document,
        "token by token": token_by_token,
        "pair by pair": pair_by_pair,
        "differences": lambda ids: np.tril(np.subtract.outer(ids, ids) == 0),
    },
    check_window_mask: [masks.window_mask, by_slices, by_triangles, by_loops, last_rows],
    check_leak_test: {
        "by cutting": by_cutting,
        "against a loop": against_a_loop,
        "changed and cut": and_cut(prefix_test()),
        "one output after another": and_cut(prefix_test(rows="i")),
        "one token at a time": and_cut(one_token_at_a_time),
        "unseeded": and_cut(unseeded),
        "whole numbers": and_cut(whole_numbers),
    },
    check_few_keys: {
        "blocks of four": lambda: BLOCKS,
        "four back, and every fourth": lambda: STEPS,
        "a list": lambda: FIVE_KEYS.tolist(),
    },
}
SLY = {
    check_masked_softmax: SOFTMAXES,
    check_packed_causal_mask: [PACKED, {"first to last": (first_to_last, "take turns")}],
    check_window_mask: [WINDOWS, [negative_slices]],
    check_leak_test: {
        "changes only": (prefix_test(), "caught 16 of 17"),
        "one token at a time": (one_token_at_a_time, "caught 16 of 17"),
        "values only": (prefix_test(parts=(2,)), "caught 13 of 17"),
        "keys only": (prefix_test(parts=(1,)), "caught 12 of 17"),
        "three of them": (prefix_test(at=[10, 20, 30], rows="i"), OF_17),
        "eight tokens": (prefix_test(n=8), "caught 14 of 17"),
        "32 tokens": (prefix_test(n=32), "caught 15 of 17"),
        "half a unit": (and_cut(prefix_test(tolerance=0.5), 0.5), OF_17),
        "to the last bit": (prefix_test(tolerance=0), f"{REFUSES} (centred"),
        "the last token alone": (prefix_test(at=[N - 2]), "caught 15 of 17"),
        "later outputs": (prefix_test(rows="after"), f"{REFUSES} (table)"),
        "weights above the diagonal": (looks_at_weights, OF_17),
        "exact after cutting": (lambda attention: by_cutting(attention, 0), REFUSES),
    },
    check_few_keys: {
        "all of the past": (lambda: TRI, "query 15 sees 16 keys; 7 are allowed"),
        "everything": (lambda: TRI | True, "key 1, which lies ahead"),
        "itself alone": (lambda: np.eye(16) > 0, "token 1 to token 0: query 1 sees 1,"),
        "nothing": (lambda: TRI & False, "Query 0 sees no key at all"),
        "a window": (lambda: TRI & ~np.tri(16, k=-7, dtype=bool), "token 13 to token 0"),
        "one link lost": (lambda: rows(FIVE.replace("|BCDEF", "|CDEF")), "not connect token 15"),
        "nine keys": (lambda: BLOCKS | (TRI & (TOKEN < 2)), "sees 9 keys"),
        "numbers": (lambda: FIVE_KEYS * 1, "expected dtype bool"),
        "15 tokens": (lambda: FIVE_KEYS[:15, :15], "shape (15, 15)"),
        "a table of text": (lambda: FIVE.split("|"), "it returned"),
    },
}
