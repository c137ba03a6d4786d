"""The check of attention a few keys at a time: right answers pass, wrong ones are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.flash import check_tiled_attention
from attention_src.flash.reference import flash_attention


# The worked solution, in the words of the chapter.
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


def test_worked_solution_and_stub():
    assert_worked("flash", check_tiled_attention, my_tiled_attention)


# --- right -------------------------------------------------------------------------------------


def two_passes(q, k, v, block):
    """First the maxima of all blocks, then the sums."""
    scores = lambda j: q @ k[j : j + block].T * q.shape[1] ** -0.5  # noqa: E731
    starts = range(0, len(k), block)
    m = np.max([scores(j).max(axis=1) for j in starts], axis=0)[:, None]
    l, acc = 0, 0
    for j in starts:
        p = np.exp(scores(j) - m)
        l, acc = l + p.sum(axis=1, keepdims=True), acc + p @ v[j : j + block]
    return acc / l, (m + np.log(l))[:, 0]


def by_lse(q, k, v, block):
    """Finished blocks, mixed by their log-sum-exps."""
    o, lse = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T / np.sqrt(q.shape[1])
        new = np.logaddexp.reduce(s, axis=1)
        total = np.logaddexp(lse, new)
        p = np.exp(s - total[:, None])
        o = np.exp(lse - total)[:, None] * o + p @ v[j : j + block]
        lse = total
    return o, lse


def last_block_first(q, k, v, block):
    order = [slice(j, j + block) for j in range(0, len(k), block)][::-1]
    q = q / q.shape[1] ** 0.5
    m, l, acc = np.full(len(q), -np.inf), np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for j in order:
        s = np.einsum("id,jd->ij", q, k[j])
        top = np.maximum(m, s.max(axis=1))
        p = np.exp(s - top[:, None])
        l = l * np.exp(m - top) + p.sum(axis=1)
        acc = acc * np.exp(m - top)[:, None] + np.einsum("ij,jd->id", p, v[j])
        m = top
    return acc / l[:, None], m + np.log(l)


def in_torch(q, k, v, block):
    torch = pytest.importorskip("torch")
    q, k, v = map(torch.from_numpy, (q, k, v))
    o, lse = torch.zeros(len(q), v.shape[1]), torch.full((len(q),), -torch.inf)
    o, lse = o.double(), lse.double()
    for a, b in zip(k.split(block), v.split(block), strict=True):
        s = q @ a.T / q.shape[1] ** 0.5
        total = torch.logaddexp(lse, s.logsumexp(1))
        o = (lse - total).exp()[:, None] * o + (s - total[:, None]).exp() @ b
        lse = total
    return o, lse


def in_base_2(q, k, v, block):
    scale = q.shape[1] ** -0.5 / np.log(2)
    m, l, acc = -np.inf, 0, 0
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T * scale
        top = np.maximum(m, s.max(axis=1, keepdims=True))
        p, a = np.exp2(s - top), np.exp2(m - top)
        m, l, acc = top, a * l + p.sum(axis=1, keepdims=True), a * acc + p @ v[j : j + block]
    return acc / l, ((m + np.log2(l)) * np.log(2)).ravel()


RIGHT = {
    "worked solution": my_tiled_attention,
    "package": lambda q, k, v, block: flash_attention(q, k, v, block_k=block),
    "two passes": two_passes,
    "by lse": by_lse,
    "last block first": last_block_first,
    "torch": in_torch,
    "base 2": in_base_2,
    "lists": lambda *a: [x.tolist() for x in my_tiled_attention(*a)],
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_tiled_attention(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def dense(q, k, v, block):
    s = q @ k.T * q.shape[1] ** -0.5
    m = s.max(axis=1, keepdims=True)
    p = np.exp(s - m)
    l = p.sum(axis=1, keepdims=True)
    return p @ v / l, (m + np.log(l))[:, 0]


def loop(
    start=-np.inf,
    factor=lambda m, new: np.exp(m - new),
    top=np.maximum,
    stop=lambda n, block: n,
    finish=lambda m, l, acc: (acc / l, (m + np.log(l))[:, 0]),
    keep=(True, True),
    scale=lambda q, v, block: q.shape[1] ** -0.5,
):
    def f(q, k, v, block):
        m, l = np.full((len(q), 1), start), np.zeros((len(q), 1))
        acc = np.zeros((len(q), v.shape[1]))
        for j in range(0, stop(len(k), block), block):
            s = q @ k[j : j + block].T * scale(q, v, block)
            new = top(m, s.max(axis=1, keepdims=True))
            p, a = np.exp(s - new), factor(m, new)
            l = (a if keep[0] else 1) * l + p.sum(axis=1, keepdims=True)
            acc = (a if keep[1] else 1) * acc + p @ v[j : j + block]
            m = new
        return finish(m, l, acc)

    return f


def no_maximum(q, k, v, block):
    l, acc = 0, 0
    for j in range(0, len(k), block):
        p = np.exp(q @ k[j : j + block].T * q.shape[1] ** -0.5)
        l, acc = l + p.sum(axis=1, keepdims=True), acc + p @ v[j : j + block]
    return acc / l, np.log(l)[:, 0]


def means(q, k, v, block):
    each = [dense(q, k[j : j + block], v[j : j + block], 1) for j in range(0, len(k), block)]
    return np.mean([o for o, _ in each], axis=0), dense(q, k, v, block)[1]


def shifted_back(q, k, v, block):
    starts = [max(0, min(j, len(k) - block)) for j in range(0, len(k), block)]
    k = np.concatenate([k[j : j + block] for j in starts])
    v = np.concatenate([v[j : j + block] for j in starts])
    return dense(q, k, v, block)


def padded(q, k, v, block):
    missing = -len(k) % block
    k, v = (np.pad(x, ((0, missing), (0, 0))) for x in (k, v))
    return my_tiled_attention(q, k, v, block)


def float32_inside(q, k, v, block):
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    return tuple(x.astype(np.float64) for x in my_tiled_attention(q, k, v, block))


def scales_in_place(q, k, v, block):
    answer = my_tiled_attention(q, k, v, block)
    q *= 2
    return answer


def one_maximum(q, k, v, block):
    top = max((q @ k[j : j + block].T).max() for j in range(0, len(k), block))
    top *= q.shape[1] ** -0.5
    l, acc = 0, 0
    for j in range(0, len(k), block):
        p = np.exp(q @ k[j : j + block].T * q.shape[1] ** -0.5 - top)
        l, acc = l + p.sum(axis=1, keepdims=True), acc + p @ v[j : j + block]
    return acc / l, (top + np.log(l))[:, 0]


def clipped(bound):
    """Scores beyond ±bound are taken for it."""

    def f(q, k, v, block):
        s = np.clip(q @ k.T * q.shape[1] ** -0.5, -bound, bound)
        m = s.max(axis=1, keepdims=True)
        p = np.exp(s - m)
        l = p.sum(axis=1, keepdims=True)
        return p @ v / l, (m + np.log(l))[:, 0]

    return lambda *a: f(*a) if len(a[1]) < 100 else my_tiled_attention(*a)


def float32_throughout(q, k, v, block):
    o, lse = my_tiled_attention(*(x.astype(np.float32) for x in (q, k, v)), block)
    return o.astype(np.float32), lse.astype(np.float32)


finished = lambda c: lambda m, l, acc: (acc / l, c(m, l)[:, 0])  # noqa: E731
WRONG = {
    "acc not rescaled": (loop(keep=(True, False)), "acc not rescaled"),
    "l not rescaled": (loop(keep=(False, True)), "l not rescaled"),
    "nothing rescaled": (loop(keep=(False, False)), "nothing rescaled"),
    "rescaled the wrong way": (loop(factor=lambda m, new: np.exp(new - m)), ""),
    "means of blocks": (means, "each block for itself"),
    "last keys lost": (loop(stop=lambda n, b: n // b * b), "last keys lost"),
    "not scaled": (loop(scale=lambda q, v, b: 1), "not scaled"),
    "scaled by d_v": (loop(scale=lambda q, v, b: v.shape[1] ** -0.5), ""),
    "scaled by the block": (loop(scale=lambda q, v, b: b**-0.5), ""),
    "undivided": (loop(finish=lambda m, l, acc: (acc, (m + np.log(l))[:, 0])), "not divided"),
    "lse without m": (loop(finish=finished(lambda m, l: np.log(l))), "log of l"),
    "lse in base 2": (loop(finish=finished(lambda m, l: (m + np.log(l)) / np.log(2))), "base 2"),
    "lse with an axis": (loop(finish=lambda m, l, acc: (acc / l, m + np.log(l))), "shape"),
    "maximum starts at 0": (loop(start=0.0), "starts at 0"),
    "maximum starts at −10⁵": (loop(start=-1e5), ""),
    "scores clipped at 10⁵": (clipped(1e5), ""),
    "scores clipped at 5·10⁵": (clipped(5e5), ""),
    "float32 throughout": (float32_throughout, ""),
    "no maximum": (no_maximum, "no maximum"),
    "newest maximum": (loop(top=lambda m, new: new), ""),
    "one maximum": (one_maximum, ""),
    "padded with zeros": (padded, ""),
    "keys twice": (shifted_back, ""),
    "the whole table": (dense, "MB of memory"),
    "float32 inside": (float32_inside, ""),
    "changes q": (scales_in_place, "in place"),
    "the output alone": (lambda *a: my_tiled_attention(*a)[0], "should return (o, lse)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    with np.errstate(all="ignore"):
        assert_rejected(check_tiled_attention, *WRONG[name])
