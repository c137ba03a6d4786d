"""Absorbed attention: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention
from attention_src.exercises.gqa import check_absorbed_attention
from attention_src.multihead.reference_latent import latent_attention


# The worked solution, in the words of the chapter.
def absorbed_attention(q, c, w_uk, w_uv):
    q_c = q @ w_uk.swapaxes(-1, -2)  # [..., H, n_q, d_latent]
    c = c[..., None, :, :]  # [..., 1, n_k, d_latent]
    o = attention(q_c, c, c, scale=q.shape[-1] ** -0.5)
    return o @ w_uv  # [..., H, n_q, d_v]


def test_worked_solution_and_stub():
    assert_worked("gqa", check_absorbed_attention, absorbed_attention)


# --- absorbed: right ---------------------------------------------------------------------------


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_einsum(q, c, w_uk, w_uv):
    q_c = np.einsum("...hqd,hld->...hql", q, w_uk) / np.sqrt(q.shape[-1])
    p = softmax(np.einsum("...hql,...kl->...hqk", q_c, c))
    return np.einsum("...hql,hld->...hqd", np.einsum("...hqk,...kl->...hql", p, c), w_uv)


def head_by_head(q, c, w_uk, w_uv):
    scale = q.shape[-1] ** -0.5
    pairs = [(q[..., h, :, :] @ w_uk[h].T, w_uv[h]) for h in range(len(w_uk))]
    return np.stack([attention(q_c, c, c, scale=scale) @ up for q_c, up in pairs], axis=-3)


def rows(q, c, w_uk, w_uv):
    """All heads' queries below one another: multi-query attention as one head."""
    q_c = q @ w_uk.swapaxes(-1, -2)
    flat = q_c.reshape(*q.shape[:-3], -1, c.shape[-1])
    o = attention(flat, c, c, scale=q.shape[-1] ** -0.5)
    return o.reshape(q_c.shape) @ w_uv


def rescaled(q, c, w_uk, w_uv):
    """With the scale of the latent, and the query made larger to make up for it."""
    q_c = q @ w_uk.swapaxes(-1, -2) * np.sqrt(c.shape[-1] / q.shape[-1])
    c = c[..., None, :, :]
    return attention(q_c, c, c) @ w_uv


def in_torch(q, c, w_uk, w_uv):
    torch = pytest.importorskip("torch")
    q, c, w_uk, w_uv = (torch.as_tensor(x) for x in (q, c, w_uk, w_uv))
    c = c.unsqueeze(-3)
    p = ((q @ w_uk.mT) @ c.mT / q.shape[-1] ** 0.5).softmax(-1)
    return p @ c @ w_uv


RIGHT = {
    "worked solution": absorbed_attention,
    "einsum": by_einsum,
    "head by head": head_by_head,
    "rows": rows,
    "rescaled": rescaled,
    "torch": in_torch,
    "lists": lambda *x: absorbed_attention(*x).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_absorbed_attention(RIGHT[name]).status == "passed"


def test_the_check_agrees_with_the_package():
    rng = np.random.default_rng(0)
    q, c = rng.normal(size=(3, 5, 2)), rng.normal(size=(5, 4))
    w_uk, w_uv = rng.normal(size=(3, 4, 2)), rng.normal(size=(3, 4, 6))
    x = np.concatenate([*q, c], axis=-1)  # the projections pick their columns
    pick = np.eye(10)
    w_q, w_dkv = pick[:, :6], pick[:, 6:]
    side = [np.concatenate(list(w), axis=-1) for w in (w_uk, w_uv)]
    y = latent_attention(x, w_q, w_dkv, np.zeros((10, 0)), *side, np.eye(18), n_heads=3)
    o = absorbed_attention(q, c, w_uk, w_uv)
    np.testing.assert_allclose(np.concatenate(list(o), axis=-1), y, atol=1e-12)


# --- absorbed: wrong ---------------------------------------------------------------------------


def with_scale(scale):
    def answer(q, c, w_uk, w_uv):
        c4 = c[..., None, :, :]
        return attention(q @ w_uk.swapaxes(-1, -2), c4, c4, scale=scale(q, c, w_uv)) @ w_uv

    return answer


def expanded(q, c, w_uk, w_uv):
    c = c[..., None, :, :]
    return attention(q, c @ w_uk, c @ w_uv)


def one_head_at_a_time(up_keys, up_values):
    def answer(q, c, w_uk, w_uv):
        heads = []
        for h in range(len(w_uk)):
            qh = q[..., h, :, :]
            k, asks = (c @ w_uk[h], qh) if up_keys else (c, qh @ w_uk[h].T)
            v = c @ w_uv[h] if up_values else c
            o = attention(asks, k, v, scale=q.shape[-1] ** -0.5)
            heads.append(o if up_values else o @ w_uv[h])
        return np.stack(heads, axis=-3)

    return answer


def unshifted(q, c, w_uk, w_uv):
    c = c[..., None, :, :]
    e = np.exp(q @ w_uk.swapaxes(-1, -2) @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return e / e.sum(axis=-1, keepdims=True) @ c @ w_uv


def not_transposed(q, c, w_uk, w_uv):
    c = c[..., None, :, :]
    return attention(q @ w_uk, c, c, scale=q.shape[-1] ** -0.5) @ w_uv


def plain_latent(q, c, w_uk, w_uv):
    c = c[..., None, :, :]
    return attention(q @ w_uk.swapaxes(-1, -2), c, c, scale=q.shape[-1] ** -0.5)


def no_head_axis(q, c, w_uk, w_uv):
    return attention(q @ w_uk.swapaxes(-1, -2), c, c, scale=q.shape[-1] ** -0.5) @ w_uv


def over_queries(q, c, w_uk, w_uv):
    c = c[..., None, :, :]
    s = q @ w_uk.swapaxes(-1, -2) @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(s.swapaxes(-1, -2)).swapaxes(-1, -2) @ c @ w_uv


def in_place(q, c, w_uk, w_uv):
    o = absorbed_attention(q, c, w_uk, w_uv)
    c *= 0
    return o


WRONG = {
    "scale of the latent": (with_scale(lambda q, c, w: c.shape[-1] ** -0.5), "d_latent"),
    "no scale": (with_scale(lambda q, c, w: 1.0), "not divided"),
    "scaled twice": (with_scale(lambda q, c, w: 1 / q.shape[-1]), ""),
    "scale of d_v": (with_scale(lambda q, c, w: w.shape[-1] ** -0.5), ""),
    "expanded": (expanded, "keys or values of heads"),
    "keys of one head at a time": (one_head_at_a_time(True, False), "memory"),
    "values of one head at a time": (one_head_at_a_time(False, True), "memory"),
    "not transposed": (not_transposed, ""),
    "keys' matrix for values": (lambda q, c, k, v: absorbed_attention(q, c, k, k), ""),
    "values' matrix for keys": (lambda q, c, k, v: absorbed_attention(q, c, v, v), ""),
    "no up-projection": (plain_latent, ""),
    "first head's matrices": (
        lambda q, c, k, v: absorbed_attention(q, c, k[:1], v[:1]),
        "its own W_UK",
    ),
    "mean of the matrices": (
        lambda q, c, k, v: absorbed_attention(q, c, k.mean(0, keepdims=True), v),
        "",
    ),
    "heads reversed": (lambda q, c, k, v: absorbed_attention(q, c, k[::-1], v), ""),
    "no axis for the heads": (no_head_axis, ""),
    "overflow": (unshifted, ""),
    "softmax over queries": (over_queries, ""),
    "summed heads": (lambda *x: absorbed_attention(*x).sum(axis=-3), "shape"),
    "squeezed": (lambda *x: absorbed_attention(*x).squeeze(), "shape"),
    "causal": (
        lambda q, c, k, v: (
            attention(
                q @ k.swapaxes(-1, -2),
                c[..., None, :, :],
                c[..., None, :, :],
                scale=q.shape[-1] ** -0.5,
                causal=True,
            )
            @ v
        ),
        "",
    ),
    "in place": (in_place, "in place"),
    "float32 from end to end": (
        lambda *x: absorbed_attention(*(one.astype(np.float32) for one in x)),
        "near ties",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_absorbed_attention, answer, spoken_of)
