"""Answers to the exercises on the cache: right ones written otherwise, and sly ones."""

import functools

import numpy as np
import torch

from attention_src.attention.reference import attention
from attention_src.exercises.kvcache import (
    append_and_read,
    check_append_and_read,
    check_cache_test,
    check_paged_attention,
)
from attention_src.kvcache.reference import merge_partials
from attention_src.rope.reference import rotate

GIVEN = {"attention": attention}


def checked(f):
    """f, but for a full cache."""

    @functools.wraps(f)
    def answer(keys, values, length, k_new, v_new):
        if length + k_new.shape[-2] > keys.shape[-2]:
            raise ValueError("full")
        return f(keys, values, length, k_new, v_new)

    return answer


@checked
def token_by_token(keys, values, length, k_new, v_new):
    for i in range(k_new.shape[-2]):
        keys[..., length + i, :] = k_new[..., i, :]
        values[..., length + i, :] = v_new[..., i, :]
    n = length + k_new.shape[-2]
    return keys[..., :n, :], values[..., :n, :]


@checked
def by_axes(keys, values, length, k_new, v_new):
    """Tokens in front, by swapped axes, which are views."""
    n = k_new.shape[-2]
    for room, new in ((keys, k_new), (values, v_new)):
        room.swapaxes(0, -2)[length : length + n] = new.swapaxes(0, -2)
    return [x.swapaxes(0, -2)[: length + n].swapaxes(0, -2) for x in (keys, values)]


@checked
def by_copyto(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    views = keys[..., :end, :], values[..., :end, :]
    for view, new in zip(views, (k_new, v_new), strict=True):
        np.copyto(view[..., length:, :], new)
    return views


@checked
def by_put(keys, values, length, k_new, v_new):
    at = np.arange(length, length + k_new.shape[-2])
    keys[..., at, :], values[..., at, :] = k_new, v_new
    return keys[..., : at[-1] + 1, :], values[..., : at[-1] + 1, :]


@checked
def in_torch(keys, values, length, k_new, v_new):
    end, views = length + k_new.shape[-2], []
    for room, new in ((keys, k_new), (values, v_new)):
        x = torch.from_numpy(room)
        x.narrow(-2, length, end - length).copy_(torch.from_numpy(new))
        views.append(x.narrow(-2, 0, end).numpy())
    return tuple(views)


def spans(table, length, size):
    """Page and number of tokens, page by page."""
    return [(table[i // size], min(size, length - i)) for i in range(0, length, size)]


def in_two_passes(q, k_pages, v_pages, table, length):
    """All scores first, which are few; then the values page by page."""
    pages = spans(table, length, k_pages.shape[1])
    if not length:
        return np.zeros(v_pages.shape[2])
    s = np.concatenate([k_pages[page, :n] @ q for page, n in pages]) / np.sqrt(len(q))
    e = np.exp(s - s.max())
    parts = np.split(e, np.cumsum([n for _, n in pages])[:-1])
    return sum(p @ v_pages[page, :n] for p, (page, n) in zip(parts, pages, strict=True)) / e.sum()


def by_tokens(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    for j in range(length):
        at = table[j // size], j % size
        s = k_pages[at] @ q / len(q) ** 0.5
        m, before = max(m, s), m
        l = l * np.exp(before - m) + np.exp(s - m)
        acc = acc * np.exp(before - m) + np.exp(s - m) * v_pages[at]
    return acc / max(l, 1e-300)


def by_merging(q, k_pages, v_pages, table, length):
    parts, lses = [np.zeros(v_pages.shape[2])], [-np.inf]
    for page, n in spans(table, length, k_pages.shape[1]):
        s = k_pages[page, :n] @ q / np.sqrt(len(q))
        parts.append(attention(q[None], k_pages[page, :n], v_pages[page, :n])[0])
        lses.append(s.max() + np.log(np.exp(s - s.max()).sum()))
    return merge_partials(np.array(parts), np.array(lses))[0]


def backwards(q, k_pages, v_pages, table, length):
    """The last page first: the order does not matter."""
    m, l, acc = -1e300, 0.0, np.zeros(v_pages.shape[2])
    for page, n in reversed(spans(table, length, k_pages.shape[1])):
        s = np.einsum("kd,d->k", k_pages[page, :n], q) * len(q) ** -0.5
        new = np.maximum(m, s.max())
        l, acc = l * np.exp(m - new), acc * np.exp(m - new)
        e = np.exp(s - new)
        l, acc, m = l + e.sum(), acc + e @ v_pages[page, :n], new
    return np.divide(acc, l, out=np.zeros_like(acc), where=l > 0)


def paged_in_torch(q, k_pages, v_pages, table, length):
    acc, lse = torch.zeros(v_pages.shape[2]).double(), torch.tensor(-torch.inf).double()
    for page, n in spans(table, length, k_pages.shape[1]):
        k, v = (torch.as_tensor(x[page, :n]) for x in (k_pages, v_pages))
        s = k @ torch.as_tensor(q) / len(q) ** 0.5
        both = torch.logaddexp(lse, torch.logsumexp(s, 0))
        acc = acc * torch.exp(lse - both) + torch.exp(s - both) @ v
        lse = both
    return acc


PORTIONS = (5, 1, 1, 4, 1, 8, 1, 11)


def whole(text):
    q, k = (rotate(x, np.arange(text.shape[1])) for x in text[:2])
    return attention(q, k, text[2], causal=True)


def feed(start, texts, portions, reuse=True):
    """What a cache returns for texts that go on in turn, one [n, d_v] each."""
    under_way = [start() for _ in texts]
    found = [[] for _ in texts]
    n = 0
    for n_new in portions:
        for text, go_on, rows in zip(texts, under_way, found, strict=True):
            new = text[:, n : n + n_new].copy()
            rows.append(np.array(go_on(*new)))
            if reuse:
                new[:] = 7
        n += n_new
    return [np.concatenate(rows) for rows in found]


def draw(n_texts=2, n=32, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n_texts, 3, n, d))


def a_test(portions=PORTIONS, n_texts=2, reuse=True, atol=1e-5, look=lambda o: o, **sizes):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_cache_test(start):
        texts = draw(n_texts, n=sum(portions), **sizes)
        found = feed(start, texts, portions, reuse)
        for rows, text in zip(found, texts, strict=True):
            assert np.allclose(look(rows), look(whole(text)), rtol=0, atol=atol)

    return my_cache_test


def by_two_ways(start):
    """At once and in portions must agree, and at once must be causal attention."""
    texts = draw()
    together = feed(start, texts, (32,))
    for portions in (PORTIONS, (1,) * 32):
        for a, b in zip(feed(start, texts, portions), together, strict=True):
            assert abs(a - b).max() < 1e-5
    for rows, text in zip(together, texts, strict=True):
        assert abs(rows - whole(text)).max() < 1e-5


def by_rows(start):
    """Each new row by itself, with the formula written out."""
    a_test((2,) * 16)(start)
    text, other = draw()
    go_on, next_door = start(), start()
    for n in range(32):
        next_door(*other[:, n : n + 1])
        new = text[:, n : n + 1].copy()
        row = go_on(*new)[0]
        new += 1
        q, k = (rotate(x[: n + 1], np.arange(n + 1)) for x in text[:2])
        s = k @ q[-1] / np.sqrt(8)
        p = np.exp(s - s.max())
        np.testing.assert_allclose(row, p / p.sum() @ text[2, : n + 1], atol=1e-5)


RIGHT = {
    check_append_and_read: [token_by_token, by_axes, by_copyto, by_put, in_torch],
    check_paged_attention: [in_two_passes, by_tokens, by_merging, backwards, paged_in_torch],
    check_cache_test: {
        "by arguments": a_test(),
        "three texts": a_test((4, 1, 3, 1, 7, 16), n_texts=3),
        "narrow": a_test(d=4, seed=3),
        "loose": a_test(atol=1e-4),
        "two ways": by_two_ways,
        "row by row": by_rows,
    },
}


APPENDED = """
one short:
    return keys[..., : end - 1, :], values[..., : end - 1, :]
one more:
    return keys[..., : end + 1, :], values[..., : end + 1, :]
the last one alone:
    end = length + 1
    keys[..., length:end, :] = k_new[..., -1:, :]
    values[..., length:end, :] = v_new[..., -1:, :]
copied: of the keys is a copy
    return keys[..., :end, :].copy(), values[..., :end, :].copy()
values copied: values is a copy
    return keys[..., :end, :], values[..., :end, :].copy()
returns nothing: two views
    - return
one array: two views
    return keys[..., :end, :]
lists: NumPy array
    return keys[..., :end, :].tolist(), values[..., :end, :].tolist()
not written:
    - keys[
    - values[
keys into values:
    values[..., length:end, :] = np.resize(k_new, v_new.shape)
second axis:
    end = length + k_new.shape[1]
    - keys[
    + keys[:, length:end] = k_new
    - values[
    + values[:, length:end] = v_new
    return keys[:, :end], values[:, :end]
four axes at most: three axes in front
    - keys[
    + if keys.ndim < 5: keys[..., length:end, :] = k_new
backwards:
    keys[..., length:end, :] = k_new[..., ::-1, :]
    values[..., length:end, :] = v_new[..., ::-1, :]
clears the rest: keys afterwards
    keys[..., length:end, :] = k_new
    + keys[..., end:, :] = 0
a reshape copies: farthest apart in memory
    - keys[
    + keys.reshape(-1, *keys.shape[-2:])[:, length:end] = k_new.reshape(-1, *k_new.shape[-2:])
    - values[
    + values.reshape(-1, *values.shape[-2:])[:, length:end] = v_new.reshape(-1, *v_new.shape[-2:])
float16 on the way:
    keys[..., length:end, :] = k_new.astype(np.float16)
changes its input: in place
    keys[..., length:end, :] = k_new
    + k_new *= 0
in a ring: should raise ValueError
    - raise
    - keys[
    + keys[..., np.arange(length, end) % keys.shape[-2], :] = k_new
    - values[
    + values[..., np.arange(length, end) % keys.shape[-2], :] = v_new
unchecked: 0 free and 1 new
    - raise
cut off: should raise ValueError
    end = min(length + k_new.shape[-2], keys.shape[-2])
    keys[..., length:end, :] = k_new[..., : end - length, :]
    values[..., length:end, :] = v_new[..., : end - length, :]
refuses an exact fit: room for
    - if
    + if end >= keys.shape[-2]:
another error: IndexError
    - raise
    + raise IndexError("full")
writes before it raises: has written before
    end = length + k_new.shape[-2]
    + keys[..., length:end, :] = k_new[..., : keys.shape[-2] - length, :]
"""


def one_store_for_all(keys, values, length, k_new, v_new, kept={}):  # noqa: B006
    rooms = kept.setdefault(keys.shape + values.shape, (keys, values))
    return append_and_read(*rooms, length, k_new, v_new)


PAGED = """
reversed table:
    size = k_pages.shape[1]
    + table = table[: -(-length // size)][::-1]
sorted table:
    size = k_pages.shape[1]
    + table = np.sort(table[: -(-length // size)])
the whole table: 1,000,000 in the table
    size = k_pages.shape[1]
    + every = [k_pages[page] for page in table]
a full page forgotten: one full page
    size = k_pages.shape[1]
    + length = 0 if length == size else length
page and slot swapped:
    size = k_pages.shape[1]
    + used, j = max(-(-length // size), 1), np.arange(length)
    + k, v = (x[table[j % used], j // used] for x in (k_pages, v_pages))
    return attention(q[None], k, v)[0]
unused slots as zeros:
    size = k_pages.shape[1]
    + k_pages, v_pages = np.nan_to_num(k_pages), np.nan_to_num(v_pages)
    page, filled = table[start // size], size
not shifted:
    m_new = 0.0
maximum from 0: all scores far below 0
    m, l, acc = 0.0, 0.0, np.zeros(v_pages.shape[2])
maximum from -10,000: all scores far below 0
    m, l, acc = -1e4, 0.0, np.zeros(v_pages.shape[2])
not scaled:
    s = k_pages[page, :filled] @ q
scaled by d_v:
    s = k_pages[page, :filled] @ q / np.sqrt(v_pages.shape[2])
scaled twice:
    s = k_pages[page, :filled] @ q / len(q)
float32 inside: pass through float32
    s = k_pages[page, :filled].astype(np.float32) @ q.astype(np.float32) / np.sqrt(len(q))
NaN for no token: no token yet
    return acc / l
values of keys:
    acc = old * acc + e @ k_pages[page, :filled]
with an axis: shape
    return (acc / l if l else acc)[None]
"""


def refuses_all(start):
    start()(*draw()[0])
    raise AssertionError


def unrotated(start):
    text = draw()[0]
    assert np.allclose(start()(*text), attention(*text, causal=True), atol=1e-5)


def not_causal(start):
    text = draw()[0]
    q, k = (rotate(x, np.arange(32)) for x in text[:2])
    assert np.allclose(start()(*text), attention(q, k, text[2]), atol=1e-5)


def text_by_text(start):
    """The second text begins when the first has ended: nothing is left of a shared position."""
    for text in draw():
        rows = feed(start, text[None], PORTIONS)[0]
        assert np.allclose(rows[:5], whole(text)[:5], atol=1e-5)


SLY = {
    check_append_and_read: [APPENDED, {"one store for all": one_store_for_all}],
    check_paged_attention: PAGED,
    check_cache_test: {
        "looks at nothing": (lambda start: start()(*draw()[0]), "caught 0"),
        "returns False": (lambda start: bool(start()(*draw()[0]).sum() > 1e9), "assert"),
        "refuses all": (refuses_all, "refuses a right"),
        "forgets rotation": (unrotated, "refuses a right"),
        "forgets the mask": (not_causal, "refuses a right"),
        "first rows of each": (text_by_text, "caught"),
        "all at once": (a_test((32,)), "caught"),
        "single tokens only": (a_test((1,) * 32), "caught"),
        "one text": (a_test(n_texts=1), "caught 14 of 16"),
        "arrays not used again": (a_test(reuse=False), "caught 15 of 16"),
        "short": (a_test((5, 1, 1, 3)), "caught"),
        "twelve tokens": (a_test((5, 1, 1, 4, 1)), "caught"),
        "shape only": (a_test(look=np.shape), "caught 0"),
        "far too loose": (a_test(atol=10), "caught 0"),
        "exact": (a_test(atol=0), "refuses a right"),
        "the mean": (a_test(look=lambda o: o.mean(), atol=2e-2), "caught"),
    },
}
