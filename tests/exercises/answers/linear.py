"""Answers to the exercises on linear attention: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises.linear import (
    check_chunk_test,
    check_delta,
    check_linear_attention,
)
from attention_src.linear import layer


def elu1(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


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


def in_torch(q, k, v):
    return layer.linear_attention(*(torch.from_numpy(x)[None, None] for x in (q, k, v)))[0, 0]


def table_in_rows(q, k, v):
    rows = []
    for i in range(len(q)):
        w = elu1(k[: i + 1]) @ elu1(q[i])
        rows.append(w @ v[: i + 1] / w.sum())
    return np.array(rows)


def by_matrices(q, k, v, beta, state):
    outputs = []
    for t in range(len(q)):
        kk = np.outer(k[t], k[t])
        state = (np.eye(len(kk)) - beta[t] * kk) @ state + beta[t] * np.outer(k[t], v[t])
        outputs.append(q[t] @ state)
    return np.array(outputs), state


def by_gradient(q, k, v, beta, state):
    o, state = [], state.copy()
    for t in range(len(q)):
        state -= beta[t] * np.outer(k[t], state.T @ k[t] - v[t])
        o.append(state.T @ q[t])
    return np.stack(o), state


def delta_in_torch(*given):
    q, k, v, beta, state = (torch.from_numpy(x)[None, None] for x in given)
    o, state = layer.delta_rule(q, k, v, beta, initial_state=state, return_state=True)
    return o[0, 0], state[0, 0]


def with_loops(q, k, v, beta, state):
    state, o = state.tolist(), []
    for t in range(len(q)):
        held = [sum(k[t, i] * state[i][j] for i in range(k.shape[1])) for j in range(v.shape[1])]
        for i in range(k.shape[1]):
            for j in range(v.shape[1]):
                state[i][j] += beta[t] * k[t, i] * (v[t, j] - held[j])
        o.append([sum(q[t, i] * state[i][j] for i in range(k.shape[1])) for j in range(v.shape[1])])
    return o, state


def as_one_system(q, k, v, beta, state):
    """What each token adds, from one triangular system."""
    overlap = np.tril(beta[:, None] * (k @ k.T), -1)
    added = np.linalg.solve(np.eye(len(k)) + overlap, beta[:, None] * (v - k @ state))
    return q @ state + np.tril(q @ k.T) @ added, state + k.T @ added


SIZES = ((19, 4), (8, 3), (5, 16))


def draw(n, d_k=6, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)]


def wanted(q, k, v):
    return np.tril(q @ k.T) @ v


def a_test(
    sizes=SIZES, atol=1e-4, oracle=wanted, look=lambda o: o, unchanged="qkv", draw=draw, **shape
):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_chunk_test(form):
        for n, C in sizes:
            q, k, v = draw(n, **shape)
            before = [x.copy() for x in (q, k, v)]
            o = form(q, k, v, C)
            assert np.allclose(look(o), look(oracle(*before)), rtol=0, atol=atol)
            for name, x, y in zip("qkv", (q, k, v), before, strict=True):
                assert name not in unchanged or np.array_equal(x, y)

    return my_chunk_test


def token_by_token(form):
    given, (q, k, v), state = draw(23), draw(23), 0
    o = form(*given, 5)
    for t in range(23):
        state = state + np.outer(k[t], v[t])
        assert abs(o[t] - q[t] @ state).max() < 1e-4
    assert all(map(np.array_equal, given, (q, k, v)))


def by_prefixes(form):
    """The output of a prefix is a prefix of the output, and the last row is a plain sum."""
    given, (q, k, v) = draw(17), draw(17)
    whole = form(*given, 3)
    assert all(map(np.array_equal, given, (q, k, v)))
    for n in range(1, 18):
        part = form(q[:n].copy(), k[:n].copy(), v[:n].copy(), 3)
        assert np.allclose(part, whole[:n], atol=1e-4)
        assert np.allclose(part[-1], q[n - 1] @ (k[:n].T @ v[:n]), atol=1e-4)


RIGHT = {
    check_linear_attention: [with_a_one, in_chunks, by_running_sums, in_torch, table_in_rows],
    check_delta: [by_matrices, by_gradient, delta_in_torch, with_loops, as_one_system],
    check_chunk_test: {
        "by arguments": a_test(),
        "one size": a_test(((19, 4),)),
        "another draw": a_test(seed=5),
        "chunks of 1 too": a_test(((9, 1), (19, 4))),
        "loose": a_test(atol=1e-3),
        "token by token": token_by_token,
        "prefixes": by_prefixes,
    },
}

LINEAR = """
queries without features:
    phi_q = q
1e-6 below:
    o[t] = phi_q[t] @ state / (phi_q[t] @ z + 1e-6)
float32:
    phi_q = np.where(q > 0, q + 1, np.exp(np.minimum(q.astype(np.float32), 0)))
    phi_k = np.where(k > 0, k + 1, np.exp(np.minimum(k.astype(np.float32), 0)))
sums in float32:
    state = (state + np.outer(phi_k[t], v[t])).astype(np.float32)
    z = (z + phi_k[t]).astype(np.float32)
clipped at -50: all entries near -100
    phi_q = np.where(q > 0, q + 1, np.exp(np.clip(q, -50, 0)))
    phi_k = np.where(k > 0, k + 1, np.exp(np.clip(k, -50, 0)))
digits cancelled otherwise: lost the digits
    phi_q = np.where(q > 0, q + 1, np.exp(np.minimum(q, 0)) - 1 + 1)
    phi_k = np.where(k > 0, k + 1, np.exp(np.minimum(k, 0)) - 1 + 1)
small weights to 0: all entries near -100
    o[t] = phi_q[t] @ state / (phi_q[t] @ z) if phi_q[t] @ z > 1e-60 else 0
no feature of 0: some entries exactly 0
    phi_q = np.where(q == 0, 0, np.where(q > 0, q + 1, np.exp(np.minimum(q, 0))))
    phi_k = np.where(k == 0, 0, np.where(k > 0, k + 1, np.exp(np.minimum(k, 0))))
no feature of a key's 0: some entries exactly 0
    phi_k = np.where(k == 0, 0, np.where(k > 0, k + 1, np.exp(np.minimum(k, 0))))
no feature of a query's 0: some entries exactly 0
    phi_q = np.where(q == 0, 0, np.where(q > 0, q + 1, np.exp(np.minimum(q, 0))))
mean:
    o[t] = v[: t + 1].mean(axis=0)
shifted:
    return np.concatenate([0 * o[:1], o[:-1]])
sum of queries:
    o[t] = phi_q[t] @ state / (phi_q[t] @ phi_q[: t + 1].sum(axis=0))
last divisor:
    o[t] = phi_q[t] @ state / (phi_q[t] @ phi_k.sum(axis=0))
"""

DELTA = """
fades:
    state = (1 - beta[t]) * state + beta[t] * np.outer(k[t], v[t])
skips repeats:
    state = state + np.outer(k[t], added) * all((k[t] != k[s]).any() for s in range(t))
zero beta skipped: β of 0
    o[t] = q[t] @ state if beta[t] else 0
small beta dropped: β of 0
    added = (beta[t] >= 0.01) * beta[t] * (v[t] - k[t] @ state)
beta kept inside:
    added = np.clip(beta[t], 1e-2, 1 - 1e-2) * (v[t] - k[t] @ state)
all at once:
    state = state + k.T @ (beta[:, None] * (v - k @ state)) * (t == 0)
on the given state: in place
    - state = state +
    + state += np.outer(k[t], added)
    return o, state.copy()
last state:
    return q @ state, state
first beta:
    added = beta[0] * (v[t] - k[t] @ state)
transposed:
    return o, state.T
output alone:
    return o
swapped:
    return state, o
"""


def only_what_is_new(q, k, v, beta, state):
    o, new = as_one_system(q, k, v, beta, state)
    return o, new - state


def refuses_all(form):
    form(*draw(19), 4)
    raise AssertionError


def against_itself(form):
    """Two sizes of chunk agree, right or wrong."""
    assert np.allclose(form(*draw(19), 4), form(*draw(19), 5), atol=1e-4)


def all_ones(n):
    """Keys that cannot be told from queries."""
    return [np.ones((n, d)) for d in (3, 3, 2)]


def no_queries(n):
    q, k, v = draw(n)
    return [0 * q, k, v]


SLY = {
    check_linear_attention: LINEAR,
    check_delta: [DELTA, {"only what is new": only_what_is_new}],
    check_chunk_test: {
        "calls only": (lambda form: form(*draw(19), 4), "caught 0"),
        "refuses all": (refuses_all, "refuses a right implementation"),
        "against itself": (against_itself, "caught"),
        "one chunk": (a_test(((5, 16),)), "caught"),
        "two chunks": (a_test(((8, 4),)), "caught"),
        "three chunks": (a_test(((12, 4),)), "caught"),
        "divides": (a_test(((20, 4),)), "caught"),
        "chunks of 1": (a_test(((9, 1),)), "caught"),
        "exact": (a_test(atol=0), "refuses a right implementation"),
        "1e-9": (a_test(atol=1e-9), "float32"),
        "far too loose": (a_test(atol=1e3), "caught"),
        "shape only": (a_test(look=np.shape), "caught"),
        "first row": (a_test(look=lambda o: o[0]), "caught"),
        "last row": (a_test(look=lambda o: o[-1]), "caught"),
        "mean of all": (a_test(look=np.mean), "caught 18"),
        "sums over rows": (a_test(look=lambda o: o.sum(axis=0)), "caught 18"),
        "inputs may change": (a_test(unchanged=""), "caught 17"),
        "keys may change": (a_test(unchanged="qv"), "caught 18"),
        "values may change": (a_test(unchanged="qk"), "caught 18"),
        "all ones": (a_test(draw=all_ones), "caught 18"),
        "no queries": (a_test(draw=no_queries), "caught"),
        "not causal": (a_test(oracle=lambda q, k, v: q @ k.T @ v), "refuses a right"),
        "divided": (a_test(oracle=lambda q, k, v: wanted(q, k, v) / len(q)), "refuses a right"),
    },
}
