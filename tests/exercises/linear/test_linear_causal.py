"""Causal linear attention: right answers pass, wrong ones do not and are named."""

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.linear import check_linear_attention
from attention_src.linear.layer import linear_attention as on_tensors
from attention_src.linear.reference import linear_attention


def elu1(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


# The worked solution, in the words of the chapter.
def my_linear_attention(q, k, v):
    def phi(x):  # elu(x) + 1, without overflow
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    state, z = np.zeros((k.shape[1], v.shape[1])), np.zeros(k.shape[1])
    o = np.empty(v.shape)
    for t, (q_t, k_t) in enumerate(zip(phi(q), phi(k), strict=True)):
        state, z = state + np.outer(k_t, v[t]), z + k_t
        o[t] = q_t @ state / (q_t @ z)
    return o


def with_a_one(q, k, v):
    v = np.concatenate([v, np.ones((len(v), 1))], axis=1)
    state, o = 0, np.empty(v.shape)
    for t in range(len(q)):
        state = state + elu1(k[t])[:, None] * v[t]
        o[t] = elu1(q[t]) @ state
    return o[:, :-1] / o[:, -1:]


def in_chunks(q, k, v, C=100):
    v = np.hstack([v, np.ones((len(v), 1))])
    state, parts = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(0, len(q), C):
        q_i, k_i, v_i = elu1(q[t : t + C]), elu1(k[t : t + C]), v[t : t + C]
        parts.append(q_i @ state + np.tril(q_i @ k_i.T) @ v_i)
        state = state + k_i.T @ v_i
    o = np.concatenate(parts)
    return o[:, :-1] / o[:, -1:]


def by_running_sums(q, k, v):
    phi_k = elu1(k)
    states = np.cumsum(phi_k[:, :, None] * v[:, None, :], axis=0)
    o = np.einsum("nk,nkv->nv", elu1(q), states)
    return o / np.einsum("nk,nk->n", elu1(q), np.cumsum(phi_k, axis=0))[:, None]


def by_torch(q, k, v):
    x = (torch.from_numpy(x)[None, None] for x in (q, k, v))
    return on_tensors(*x)[0, 0].numpy()


def as_lists(q, k, v):
    return linear_attention(q, k, v, form="recurrent").tolist()


def table_in_rows(q, k, v):
    rows = []
    for i in range(len(q)):
        w = elu1(k[: i + 1]) @ elu1(q[i])
        rows.append(w @ v[: i + 1] / w.sum())
    return np.array(rows)


RIGHT = [with_a_one, in_chunks, by_running_sums, by_torch, as_lists, table_in_rows]


def test_worked_solution():
    assert_worked("linear", check_linear_attention, my_linear_attention)


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers_pass(answer):
    assert check_linear_attention(answer).status == "passed"


def table(phi=elu1, below=0, divide=lambda o, l: o / l, limit=600):
    """The table of pairs where there is room for it, with one thing changed."""

    def answer(q, k, v):
        w = phi(q) @ phi(k).T
        w = w if below is None else np.tril(w, below)
        return divide(w @ v, w.sum(axis=1, keepdims=True))

    return answer


def state_over_values(q, k, v):
    return np.cumsum(v, axis=0) / np.arange(1, len(v) + 1)[:, None]


def read_first(q, k, v):
    o = my_linear_attention(q, k, v)
    return np.concatenate([0 * o[:1], o[:-1]])


def changes_inputs(q, k, v):
    o = my_linear_attention(q, k, v)
    v *= 0
    return o


def z_of_query(q, k, v):
    o, l = np.empty(v.shape), np.cumsum(elu1(q), axis=0)
    state = np.zeros((k.shape[1], v.shape[1]))
    for t in range(len(q)):
        state = state + np.outer(elu1(k[t]), v[t])
        o[t] = elu1(q[t]) @ state / (elu1(q[t]) @ l[t])
    return o


def last_divisor(q, k, v):
    o, z = my_linear_attention(q, k, v), elu1(k)
    return (
        o
        * (elu1(q) * np.cumsum(z, axis=0)).sum(1, keepdims=True)
        / (elu1(q) @ z.sum(axis=0)[:, None])
    )


def squeezed(q, k, v):
    return np.squeeze(my_linear_attention(q, k, v))


def softmax(q, k, v):
    s = np.where(np.tri(len(q), dtype=bool), q @ k.T, -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v


def only_keys_through_phi(q, k, v):
    w = np.tril(q @ elu1(k).T)
    return w @ v / w.sum(axis=1, keepdims=True)


def small_number_below(q, k, v):
    w = np.tril(elu1(q) @ elu1(k).T)
    return w @ v / (w.sum(axis=1, keepdims=True) + 1e-6)


def in_float32(q, k, v):
    return my_linear_attention(*(x.astype(np.float32) for x in (q, k, v)))


def sums_in_float32(q, k, v):
    """Features in float64, sums in float32: the smallest weights become 0."""
    state, z = np.zeros((k.shape[1], v.shape[1]), np.float32), np.zeros(k.shape[1], np.float32)
    o = np.zeros(v.shape, np.float32)
    for t, (q_t, k_t) in enumerate(zip(elu1(q), elu1(k), strict=True)):
        k_t = k_t.astype(np.float32)
        state, z = state + np.outer(k_t, v[t].astype(np.float32)), z + k_t
        o[t] = q_t.astype(np.float32) @ state / (q_t.astype(np.float32) @ z)
    return o


def clipped(q, k, v):
    return my_linear_attention(np.maximum(q, -50), np.maximum(k, -50), v)


def by_torch_elu(q, k, v):
    """expm1(x) + 1 has no digits left of e^x where x is far below 0."""
    phi_q, phi_k = (torch.nn.functional.elu(torch.from_numpy(x)) + 1 for x in (q, k))
    states = (phi_k[:, :, None] * torch.from_numpy(v)[:, None]).cumsum(0)
    o = torch.einsum("nk,nkv->nv", phi_q, states)
    return (o / (phi_q * phi_k.cumsum(0)).sum(1, keepdim=True)).numpy()


def small_to_zero(q, k, v):
    w = np.array([np.tril(elu1(q) @ elu1(k).T).sum(axis=1)]).T
    return np.where(w > 1e-60, my_linear_attention(q, k, v), 0)


def changes_queries(q, k, v):
    o = my_linear_attention(q, k, v)
    q += 1
    return o


WRONG = {
    "queries without features": (only_keys_through_phi, ""),
    "1e-6 below": (small_number_below, ""),
    "float32": (in_float32, ""),
    "sums in float32": (sums_in_float32, ""),
    "clipped at -50": (clipped, "near -100"),
    "elu + 1, digits cancelled": (by_torch_elu, ""),
    "small weights to 0": (small_to_zero, ""),
    "changes queries": (changes_queries, ""),
    "not causal": (table(below=None), "sees all keys"),
    "own key hidden": (table(below=-1, divide=lambda o, l: o / np.where(l, l, 1)), "own key"),
    "not divided": (table(divide=lambda o, l: o), "did not divide"),
    "multiplied": (table(divide=lambda o, l: o * l), "multiplied"),
    "by the count": (
        table(divide=lambda o, l: o / np.arange(1, len(o) + 1)[:, None]),
        "number of keys",
    ),
    "no features": (table(phi=lambda x: x), "left out the feature map"),
    "elu": (table(phi=lambda x: elu1(x) - 1), "1 is missing"),
    "exp": (table(phi=np.exp), "Above 0"),
    "relu": (table(phi=lambda x: np.maximum(x, 0), divide=lambda o, l: o / np.where(l, l, 1)), ""),
    "softmax": (softmax, "softmax attention"),
    "a table": (table(), "table of all pairs"),
    "mean": (state_over_values, ""),
    "shifted": (read_first, ""),
    "changes inputs": (changes_inputs, ""),
    "sum of queries": (z_of_query, ""),
    "last divisor": (last_divisor, ""),
    "squeezed": (squeezed, ""),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore")
def test_wrong_answers_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_linear_attention, answer, words)
