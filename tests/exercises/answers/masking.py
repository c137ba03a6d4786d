"""Answers to the exercises on masking: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.attention import masks
from attention_src.exercises import masking as ex

# --- Catch the leak ---------------------------------------------------------------------------

N = 40


def tokens(n=N):
    return np.random.default_rng(0).normal(size=(3, n, 4))


def prefix_test(parts=(0, 1, 2), n=N, at=None, rows="upto", tolerance=1e-5, draw=tokens):
    """A learner's test, right but for what no change shows, or wrong as an argument says.

    It changes the tokens after each i, only some of q, k and v if `parts` says so.
    """

    def my_leak_test(attention):
        x = draw(n)
        before = attention(*x)
        for i in range(n - 1) if at is None else at:
            other = x.copy()
            for part in parts:
                later = other[part, i + 1 :]
                later[:] = 2 * np.random.default_rng([1, part]).normal(size=later.shape)
            after = attention(*other)
            kept = {"upto": slice(i + 1), "i": slice(i, i + 1), "after": slice(i + 1, None)}[rows]
            assert abs(after - before)[kept].max(initial=0) <= tolerance, f"output {i}"

    return my_leak_test


def by_cutting(attention, atol=1e-5):
    x = tokens()
    for n in range(1, N):
        np.testing.assert_allclose(attention(*x[:, :n]), attention(*x)[:n], atol=atol)


def against_a_loop(attention):
    q, k, v = tokens(37)
    o = attention(q, k, v)
    for i in range(37):
        e = np.exp(q[i] @ k[: i + 1].T / 2)
        assert np.allclose(o[i], e @ v[: i + 1] / e.sum(), atol=1e-5)


def and_cut(test, atol=1e-5):
    """The same test, which then cuts texts too."""

    def my_leak_test(attention):
        test(attention)
        by_cutting(attention, atol)

    return my_leak_test


def signed_test(sign):
    """A test that forgets abs, one way or the other."""

    def my_leak_test(attention):
        x = tokens()
        whole = attention(*x)
        for n in range(1, N):
            assert (sign * (whole[:n] - attention(*x[:, :n]))).max() < 1e-5

    return my_leak_test


def whole_numbers(n):
    return np.random.default_rng(2).integers(-3, 4, size=(3, n, 4))


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
    ex.check_masked_softmax: """
by log-sum-exp:
    m = np.maximum(s.max(axis=-1, keepdims=True), -1e30)
    l = m + np.log(e.sum(axis=-1, keepdims=True))
    return np.where(l > -np.inf, np.exp(s - np.where(l > -np.inf, l, 0)), 0)
row by row:
    + mask, out = np.broadcast_to(mask, scores.shape), np.zeros(scores.shape)
    + for row in np.ndindex(scores.shape[:-1]):
    +     keys = np.flatnonzero(mask[row] & (scores[row] > -np.inf))
    +     top = max((scores[row][j] for j in keys), default=0)
    +     e = [math.exp(scores[row][j] - top) for j in keys]
    +     out[row][keys] = [x / math.fsum(e) for x in e]
    + return out
""",
    ex.check_packed_causal_mask: """
pair by pair: return [[i >= j and a == b for j, b in enumerate(ids)] for i, a in enumerate(ids)]
""",
    ex.check_window_mask: [masks.window_mask],
    ex.check_leak_test: {
        "by cutting": by_cutting,
        "against a loop": against_a_loop,
        "changed and cut": and_cut(prefix_test()),
        "one output after another": and_cut(prefix_test(rows="i")),
        "unseeded": and_cut(prefix_test(draw=lambda n: np.random.normal(size=(3, n, 5)))),
        "whole numbers": and_cut(prefix_test(draw=whole_numbers)),
    },
    ex.check_few_keys: {
        "blocks of four": lambda: BLOCKS,
        "four back, and every fourth": lambda: STEPS,
        "a list": lambda: FIVE_KEYS.tolist(),
        "token 0 for all, too": lambda: FIVE_KEYS | (TRI & (TOKEN == 0)),
    },
}
SLY = {
    ex.check_masked_softmax: """
four axes at most: six axes
    return e / np.where(l == 0, 1, l) if scores.ndim < 5 else scores
mask changed: changed its input mask in place
    + mask[...] = False
axis 1:
    m = s.max(axis=1, keepdims=True)
    l = e.sum(axis=1, keepdims=True)
whole table normalised:
    m = s.max(axis=(-1, -2), keepdims=True)
    l = e.sum(axis=(-1, -2), keepdims=True)
one maximum for all rows: rows far apart
    m = s.max(axis=(-1, -2), keepdims=True)
visible rows of -inf alone: visible scores of -inf
    e = np.exp(s - np.where(mask.any(axis=-1, keepdims=True), m, 0))
empty rows uniform: second may see nothing
    return np.where(l == 0, 1 / s.shape[-1], e / np.where(l == 0, 1, l))
mask padded on the right:
    s = np.where(mask.reshape(*mask.shape, *[1] * (scores.ndim - mask.ndim)), scores, -np.inf)
mask of a full table: [n_k]
    s = np.where(mask.reshape(scores.shape), scores, -np.inf)
mask transposed: s = np.where(mask.T, scores, -np.inf)
float32 inside:
    s = np.where(mask, scores.astype(np.float32), -np.inf)
    return (e / np.where(l == 0, 1, l)).astype(float)
small weights dropped: small weights count
    return np.where(e < 1e-4 * l, 0, e / np.where(l == 0, 1, l))
scores clipped: large scores
    s = np.where(mask, scores.clip(-700, 700), -np.inf)
first 64 keys: return e / np.where(l == 0, 1, l) * (np.arange(s.shape[-1]) < 64)
a little more in the sum: return e / (l + 1e-6)
a little more in the sum, of the tenth digit: Twelve digits are judged
    return e / (l + 1e-9)
-20,000, then zeroed:
    s = np.where(mask, scores, -2e4)
    return e / l * mask * (scores > -np.inf)
-20,000 added, then zeroed:
    s = scores + np.where(mask, 0, -2e4)
    e = np.exp(s - np.where(m == -np.inf, 0, m)) * mask
    return e / np.where(l == 0, 1, l)
below -20,000 is hidden: -21,000
    e = np.where(s < -2e4, 0, np.exp(s - np.where(m == -np.inf, 0, m)))
hidden scores times a large number:
    s = np.where(mask, scores, -1e9 * np.abs(np.nan_to_num(scores)))
    return e / l * mask * (scores > -np.inf)
rounded scores:
    s = np.where(mask, scores.round(9), -np.inf)
a row for each sentence: [n_q, n_k] for two sentences
    s = scores.ndim == 4 and mask.ndim == 2 and len(mask) == len(scores)
    + s = np.where(mask[:, None, None] if s else mask, scores, -np.inf)
weights of 1e-9 dropped: small weights count
    return np.where(e < 1e-9 * l, 0, e / np.where(l == 0, 1, l))
""",
    ex.check_packed_causal_mask: """
one too many: return same_document & np.tri(len(ids), k=1, dtype=bool)
modulo: 2^31 - 1 apart
    ids = np.asarray(document_ids) % (2**31 - 1)
ids up to 1,000: return same_document & np.tri(len(ids), dtype=bool) & (ids < 1000)
negative is padding: return same_document & np.tri(len(ids), dtype=bool) & (ids >= 0)
one-hot of the id: ids = np.eye(5)[document_ids].argmax(1)
floats: float64 cannot tell apart
    ids = np.asarray(document_ids).astype(float)
without signs: ids = abs(document_ids)
sorted: ids = np.sort(document_ids)
64 tokens back:
    return same_document & np.tri(len(ids), dtype=bool) & ~np.tri(len(ids), k=-64, dtype=bool)
differences below 1: the smallest id
    same_document = np.abs(ids[:, None] - ids) < 1
first to last: take turns
    same_document = [(ids == a).cumsum() * (ids == a)[::-1].cumsum()[::-1] > 0 for a in ids]
    + same_document = np.any([np.outer(span, span) for span in same_document], axis=0)
""",
    ex.check_window_mask: """
sinks at the end: return ((key <= position) & (in_window | (key < sinks)))[:, ::-1]
window counts after the sinks: in_window = key > position - window - sinks
window and sinks swapped:
    in_window = key > position - sinks
    return (key <= position) & (in_window | (key < window))
own key hidden:
    in_window = key >= position - window
    return (key < position) & (in_window | (key < sinks))
window at most n_q: in_window = key > position - min(window, n_q)
at most 4 sinks: return (key <= position) & (in_window | (key < min(sinks, 4)))
64 keys back: return (key <= position) & (in_window | (key < sinks)) & (key > position - 64)
places below 256: 300 keys
    position = (np.arange(n_q)[:, None] + n_k - n_q).astype(np.uint8)
    key = np.arange(n_k).astype(np.uint8)
    in_window = key > position.astype(int) - window
one sink at least: no sinks
    return (key <= position) & (in_window | (key < max(sinks, 1)))
negative slices:
    in_window = np.zeros((n_q, n_k), dtype=bool)
    + for i, t in enumerate(position[:, 0]): in_window[i, t - window + 1 : t + 1] = True
""",
    ex.check_leak_test: {
        "changes only": (prefix_test(), "caught 16 of 17"),
        "values only": (prefix_test(parts=(2,)), "caught 13 of 17"),
        "keys only": (prefix_test(parts=(1,)), "caught 12 of 17"),
        "three of them": (prefix_test(at=[10, 20, 30], rows="i"), OF_17),
        "32 tokens": (prefix_test(n=32), "caught 15 of 17"),
        "half a unit": (and_cut(prefix_test(tolerance=0.5), 0.5), OF_17),
        "to the last bit": (prefix_test(tolerance=0), f"{REFUSES} (centred"),
        "the last token alone": (prefix_test(at=[N - 2]), "caught 15 of 17"),
        "later outputs": (prefix_test(rows="after"), f"{REFUSES} (table)"),
        "growing alone": (signed_test(1), "caught 16 of 17"),
        "shrinking alone": (signed_test(-1), "caught 16 of 17"),
        "weights above the diagonal": (looks_at_weights, "caught 13 of 17"),
    },
    ex.check_few_keys: {
        "all of the past": (lambda: TRI, "query 15 sees 16 keys; 7 are allowed"),
        "everything": (lambda: TRI | True, "key 1, which lies ahead"),
        "itself alone": (lambda: np.eye(16) > 0, "token 1 to token 0: query 1 sees 1,"),
        "nothing": (lambda: TRI & False, "Query 0 sees no key at all"),
        "a window": (lambda: TRI & ~np.tri(16, k=-7, dtype=bool), "token 13 to token 0"),
        "one link lost": (lambda: rows(FIVE.replace("|BCDEF", "|CDEF")), "not connect token 15"),
        "nine keys": (lambda: BLOCKS | (TRI & (TOKEN < 2)), "sees 9 keys"),
        "numbers": (lambda: FIVE_KEYS * 1, "expected dtype bool"),
        "15 tokens": (lambda: FIVE_KEYS[:15, :15], "shape (15, 15)"),
    },
}
