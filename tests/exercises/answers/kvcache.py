"""Answers to the exercises on the cache: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.attention.reference import attention
from attention_src.exercises import kvcache as ex
from attention_src.rope.reference import rotate

GIVEN = {"attention": attention}

APPENDED_OTHERWISE = """
token by token:
    - keys[
    + for i in range(length, end): keys[..., i, :] = k_new[..., i - length, :]
    - values[
    + for i in range(length, end): values[..., i, :] = v_new[..., i - length, :]
tokens in front, by swapped axes, which are views:
    keys.swapaxes(0, -2)[length:end] = k_new.swapaxes(0, -2)
    values.swapaxes(0, -2)[length:end] = v_new.swapaxes(0, -2)
    return [x.swapaxes(0, -2)[:end].swapaxes(0, -2) for x in (keys, values)]
by copyto:
    - keys[
    + np.copyto(keys[..., length:end, :], k_new)
    - values[
    + np.copyto(values[..., length:end, :], v_new)
by indices:
    keys[..., np.arange(length, end), :] = k_new
    values[..., np.arange(length, end), :] = v_new
"""


def in_torch(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    if end > keys.shape[-2]:
        raise ValueError("full")
    for room, new in ((keys, k_new), (values, v_new)):
        torch.from_numpy(room).narrow(-2, length, end - length).copy_(torch.from_numpy(new))
    return [torch.from_numpy(room).narrow(-2, 0, end).numpy() for room in (keys, values)]


PAGED_OTHERWISE = """
token by token:
    for start in range(length):
    page, filled = table[start // size], [start % size]
    s = k_pages[page, filled] @ q / np.sqrt(len(q))
    acc = old * acc + e @ v_pages[page, filled]
the last page first: for start in reversed(range(0, length, size)):
by logarithms: m_new = np.logaddexp(m, s.max() + np.log(np.exp(s - s.max()).sum()))
the maximum in a pass of its own:
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    + for j in range(length): m = max(m, k_pages[table[j // size], j % size] @ q / len(q) ** 0.5)
    m_new = m
"""


def paged_in_torch(q, k_pages, v_pages, table, length):
    acc, lse = torch.zeros(v_pages.shape[2]).double(), torch.tensor(-torch.inf).double()
    for start in range(0, length, k_pages.shape[1]):
        pages = (x[table[start // x.shape[1]], : length - start] for x in (k_pages, v_pages))
        k, v = map(torch.as_tensor, pages)
        s = k @ torch.as_tensor(q) / len(q) ** 0.5
        both = torch.logaddexp(lse, torch.logsumexp(s, 0))
        acc = acc * torch.exp(lse - both) + torch.exp(s - both) @ v
        lse = both
    return acc


PORTIONS = (5, 1, 1, 4, 1, 8, 1, 11)


def whole(text, causal=True):
    q, k = (rotate(x, np.arange(text.shape[1])) for x in text[:2])
    return attention(q, k, text[2], causal=causal)


def feed(start, texts, portions, reuse=slice(0, 3)):
    """What a cache returns for texts that go on in turn, one [n, d_v] each."""
    under_way = [start() for _ in texts]
    found = [[] for _ in texts]
    n = 0
    for n_new in portions:
        for text, go_on, rows in zip(texts, under_way, found, strict=True):
            new = text[:, n : n + n_new].copy()
            rows.append(np.array(go_on(*new)))
            if reuse:
                new[reuse] = 7
        n += n_new
    return [np.concatenate(rows) for rows in found]


def draw(n_texts=2, n=32, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n_texts, 3, n, d))


def a_test(
    portions=PORTIONS,
    n_texts=2,
    reuse=slice(0, 3),
    atol=1e-5,
    look=lambda o: o,
    oracle=whole,
    **sizes,
):
    def my_cache_test(start):
        texts = draw(n_texts, n=sum(portions), **sizes)
        found = feed(start, texts, portions, reuse)
        for rows, text in zip(found, texts, strict=True):
            assert np.allclose(look(rows), look(oracle(text)), rtol=0, atol=atol)

    return my_cache_test


def lets_nan_through(start):
    texts = draw()
    for rows, text in zip(feed(start, texts, PORTIONS), texts, strict=True):
        assert not abs(rows - whole(text)).max() > 1e-5


def of_two_widths(start):
    """Under way at once: a text of keys of 6 and values of 3, and one of 2 and 5."""
    rng = np.random.default_rng(0)
    texts = [[rng.normal(size=(32, d)) for d in sizes] for sizes in ((6, 6, 3), (2, 2, 5))]
    under_way, n = [start(), start()], 0
    for n_new in PORTIONS:
        for text, go_on in zip(texts, under_way, strict=True):
            q, k = (rotate(x, np.arange(32)) for x in text[:2])
            new = [x[n : n + n_new].copy() for x in text]
            right = attention(q, k, text[2], causal=True)[n : n + n_new]
            assert np.allclose(go_on(*new), right, atol=1e-5)
            for x in new:
                x[:] = 7
        n += n_new


def in_three_ways(start):
    for portions in ((32,), (1,) * 32, PORTIONS):
        a_test(portions)(start)


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
    ex.check_append_and_read: [APPENDED_OTHERWISE, {"torch": in_torch}],
    ex.check_paged_attention: [PAGED_OTHERWISE, {"torch": paged_in_torch}],
    ex.check_cache_test: {
        "by arguments": a_test(),
        "three texts": a_test((4, 1, 3, 1, 7, 16), n_texts=3),
        "narrow, loose": a_test(d=4, seed=3, atol=1e-4),
        "three ways": in_three_ways,
        "row by row": by_rows,
        "of two widths": of_two_widths,
    },
}

APPENDED = """
16 numbers of a value: forty
    values[..., length:end, :16] = v_new[..., :16]
one short: return keys[..., : end - 1, :], values[..., : end - 1, :]
one more: return keys[..., : end + 1, :], values[..., : end + 1, :]
copied: of the keys is a copy
    return keys[..., :end, :].copy(), values[..., :end, :].copy()
values copied: values is a copy
    return keys[..., :end, :], values[..., :end, :].copy()
one array: two views
    return keys[..., :end, :]
lists: NumPy array
    return keys[..., :end, :].tolist(), values[..., :end, :].tolist()
not written:
    - keys[
    - values[
keys into values: values[..., length:end, :] = np.resize(k_new, v_new.shape)
second axis:
    end = length + k_new.shape[1]
    keys[:, length:end] = k_new
    values[:, length:end] = v_new
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
    keys.reshape(-1, *keys.shape[-2:])[:, length:end] = k_new.reshape(-1, *k_new.shape[-2:])
    values.reshape(-1, *values.shape[-2:])[:, length:end] = v_new.reshape(-1, *v_new.shape[-2:])
rounded on the way: All digits are judged
    keys[..., length:end, :] = k_new.round(9)
old ones touched: All digits are judged
    keys[..., length:end, :] = k_new
    + keys[..., :length, :] *= 1 + 1e-15
NaN tidied: keys afterwards
    keys[..., length:end, :] = k_new
    + np.nan_to_num(keys, copy=False)
float16 on the way: keys[..., length:end, :] = k_new.astype(np.float16)
changes its input: in place
    keys[..., length:end, :] = k_new
    + k_new *= 0
in a ring: should raise ValueError
    - raise
    keys[..., np.arange(length, end) % keys.shape[-2], :] = k_new
    values[..., np.arange(length, end) % keys.shape[-2], :] = v_new
unchecked: 0 free and 1 new
    - raise
cut off: should raise ValueError
    end = min(length + k_new.shape[-2], keys.shape[-2])
    keys[..., length:end, :] = k_new[..., : end - length, :]
    values[..., length:end, :] = v_new[..., : end - length, :]
refuses an exact fit: An exact fit is a fit
    if end >= keys.shape[-2]:
another error: IndexError
    raise IndexError("full")
writes before it raises: has written before
    + keys[..., length:end, :] = k_new[..., : keys.shape[-2] - length, :]
"""


def one_store_for_all(keys, values, length, k_new, v_new, kept={}):  # noqa: B006
    rooms = kept.setdefault(keys.shape + values.shape, (keys, values))
    return ex.append_and_read(*rooms, length, k_new, v_new)


def text_by_text(start):
    """The second text begins when the first has ended: nothing is left of a shared position."""
    for text in draw():
        rows = feed(start, text[None], PORTIONS)[0]
        assert np.allclose(rows[:5], whole(text)[:5], atol=1e-5)


SLY = {
    ex.check_append_and_read: [APPENDED, {"one store for all": one_store_for_all}],
    ex.check_paged_attention: """
reversed table: + table = table[: -(-length // size)][::-1]
sorted table: + table = np.sort(table[: -(-length // size)])
the whole table: 1,000,000 in the table
    + every = [k_pages[page] for page in table]
a full page forgotten: one full page
    + length = 0 if length == size else length
unused slots as zeros:
    + k_pages, v_pages = np.nan_to_num(k_pages), np.nan_to_num(v_pages)
    page, filled = table[start // size], size
not shifted: m_new = 0.0
the best key alone beyond 100: two alike
    e, old = np.exp(s - m_new), np.exp(m - m_new)
    + if abs(m_new) > 100: e, old = np.eye(filled)[s.argmax()] * (s.max() > m), m >= m_new
two best keys alike beyond 100: one 1
    e, old = np.exp(s - m_new), np.exp(m - m_new)
    + if abs(m_new) > 100: e, old = 1.0 * (s == m_new), float(m == m_new)
maximum from -10,000: all scores far below 0
    m, l, acc = -1e4, 0.0, np.zeros(v_pages.shape[2])
masked by NaN: another text's
    page, filled = table[start // size], size
    s = k_pages[page, :filled] @ q / np.sqrt(len(q))
    + s[np.isnan(s)] = -np.inf
    acc = old * acc + e @ np.nan_to_num(v_pages[page, :filled])
hidden values multiplied: nan
    page, filled = table[start // size], size
    s = k_pages[page, :filled] @ q / np.sqrt(len(q))
    + s = np.where(np.arange(size) < length - start, s, -np.inf)
a little in the sum: Twelve digits are judged
    return acc / (l + 1e-9)
a little off the width:
    s = k_pages[page, :filled] @ q / np.sqrt(len(q) - 1e-9)
scaled by d_v: s = k_pages[page, :filled] @ q / np.sqrt(v_pages.shape[2])
scaled twice: s = k_pages[page, :filled] @ q / len(q)
float32 inside: pass through float32
    s = k_pages[page, :filled].astype(np.float32) @ q.astype(np.float32) / np.sqrt(len(q))
NaN for no token: no token yet
    return acc / l
values of keys: acc = old * acc + e @ k_pages[page, :filled]
with an axis: shape
    return (acc / l if l else acc)[None]
""",
    ex.check_cache_test: {
        "forgets rotation": (a_test(oracle=lambda text: attention(*text, causal=True)), "refuses"),
        "forgets the mask": (a_test(oracle=lambda text: whole(text, causal=False)), "refuses"),
        "first rows of each": (text_by_text, "caught"),
        "all at once": (a_test((32,)), "caught"),
        "single tokens only": (a_test((1,) * 32), "caught"),
        "one text": (a_test(n_texts=1), "caught 18 of 20"),
        "arrays not used again": (a_test(reuse=False), "caught 18 of 20"),
        "only the values used again": (a_test(reuse=slice(2, 3)), "caught 19 of 20"),
        "only the keys used again": (a_test(reuse=slice(1, 2)), "caught 19 of 20"),
        "31 tokens": (a_test((5, 1, 1, 4, 1, 8, 1, 10)), "caught 19 of 20"),
        "no token alone": (a_test((5, 2, 3, 4, 7, 11)), "caught 19 of 20"),
        "lets NaN through": (lets_nan_through, "caught 19 of 20"),
        "short": (a_test((5, 1, 1, 3)), "caught"),
        "twelve tokens": (a_test((5, 1, 1, 4, 1)), "caught"),
        "shape only": (a_test(look=np.shape), "caught 0"),
        "far too loose": (a_test(atol=10), "caught 1 of 20"),
        "a tolerance of 0.01": (a_test(atol=0.01), "caught 19 of 20"),
        "first numbers": (a_test(look=lambda o: o[:, :1]), "caught 19 of 20"),
        "exact": (a_test(atol=0), "refuses a right"),
        "the mean": (a_test(look=lambda o: o.mean(), atol=2e-2), "caught"),
    },
}
