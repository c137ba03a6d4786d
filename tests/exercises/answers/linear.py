"""Answers to the exercises on linear attention: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises import linear as ex

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
    ex.check_linear_attention: """
a column of ones:
    state, z = 0, 0
    o = np.empty((len(v), v.shape[1] + 1))
    + v = np.hstack([v, np.ones((len(v), 1))])
    o[t] = phi_q[t] @ state
    return o[:, :-1] / o[:, -1:]
in chunks:
    for t in range(0, len(q), 100):
    - state =
    - z =
    - o[t]
    + i = slice(t, t + 100)
    + w = np.tril(phi_q[i] @ phi_k[i].T)
    + o[i] = (phi_q[i] @ state + w @ v[i]) / (phi_q[i] @ z + w.sum(axis=1))[:, None]
    + state, z = state + phi_k[i].T @ v[i], z + phi_k[i].sum(axis=0)
running sums:
    o = np.einsum("nk,nkv->nv", phi_q, np.cumsum(phi_k[:, :, None] * v[:, None], axis=0))
    + return o / (phi_q * np.cumsum(phi_k, axis=0)).sum(axis=1, keepdims=True)
a table's rows, one at a time:
    o[t] = (phi_k[: t + 1] @ phi_q[t]) @ v[: t + 1] / (phi_k[: t + 1] @ phi_q[t]).sum()
torch:
    + import torch
    + from attention_src.linear.layer import linear_attention
    + return linear_attention(*(torch.from_numpy(x)[None, None] for x in (q, k, v)))[0, 0]
""",
    ex.check_delta: """
by matrices: state = state - beta[t] * np.outer(k[t], k[t]) @ state + beta[t] * np.outer(k[t], v[t])
by the gradient: state = state - beta[t] * np.outer(k[t], state.T @ k[t] - v[t])
one triangular system for all that is added:
    o = np.eye(len(k)) + np.tril(beta[:, None] * (k @ k.T), -1)
    + added = np.linalg.solve(o, beta[:, None] * (v - k @ state))
    + return q @ state + np.tril(q @ k.T) @ added, state + k.T @ added
""",
    ex.check_chunk_test: {
        "by arguments": a_test(seed=5),
        "chunks of 1 too": a_test(((9, 1), (19, 4))),
        "one size, loose": a_test(((19, 4),), atol=1e-3),
        "token by token": token_by_token,
        "prefixes": by_prefixes,
    },
}


def against_itself(form):
    """Two sizes of chunk agree, right or wrong."""
    assert np.allclose(form(*draw(19), 4), form(*draw(19), 5), atol=1e-4)


SLY = {
    ex.check_linear_attention: """
16 numbers of a query: widths of 20
    o[t] = phi_q[t][:16] @ state[:16] / (phi_q[t][:16] @ z[:16])
queries without features: phi_q = q
float32 features:
    phi_k, phi_q = (np.where(x > 0, x + 1, np.exp(np.minimum(x.astype("f4"), 0))) for x in (k, q))
sums in float32:
    state = (state + np.outer(phi_k[t], v[t])).astype(np.float32)
    z = (z + phi_k[t]).astype(np.float32)
a little in the divisor:
    o[t] = phi_q[t] @ state / (phi_q[t] @ z + 1e-9)
clipped at 100:
    - phi_q
    + q, k = np.clip(q, -100, 100), np.clip(k, -100, 100)
    + phi_q = np.where(q > 0, q + 1, np.exp(np.minimum(q, 0)))
clipped at -50: all entries near -100
    phi_k, phi_q = (np.where(x > 0, x + 1, np.exp(np.clip(x, -50, 0))) for x in (k, q))
small weights to 0: all entries near -100
    o[t] = phi_q[t] @ state / (phi_q[t] @ z) if phi_q[t] @ z > 1e-60 else 0
no feature of a key's 0: some entries exactly 0
    phi_k = np.where(k == 0, 0, np.where(k > 0, k + 1, np.exp(np.minimum(k, 0))))
no feature of a query's 0: some entries exactly 0
    phi_q = np.where(q == 0, 0, np.where(q > 0, q + 1, np.exp(np.minimum(q, 0))))
mean: o[t] = v[: t + 1].mean(axis=0)
shifted: return np.concatenate([0 * o[:1], o[:-1]])
sum of queries: o[t] = phi_q[t] @ state / (phi_q[t] @ phi_q[: t + 1].sum(axis=0))
last divisor: o[t] = phi_q[t] @ state / (phi_q[t] @ phi_k.sum(axis=0))
""",
    ex.check_delta: """
16 numbers of a query: widths of 20
    o[t] = q[t][:16] @ state[:16]
fades: state = (1 - beta[t]) * state + beta[t] * np.outer(k[t], v[t])
skips repeats: state = state + np.outer(k[t], added) * all((k[t] != k[s]).any() for s in range(t))
zero beta skipped: β of 0
    o[t] = q[t] @ state if beta[t] else 0
small beta dropped: β of 0
    added = (beta[t] >= 0.01) * beta[t] * (v[t] - k[t] @ state)
beta kept inside: added = np.clip(beta[t], 1e-2, 1 - 1e-2) * (v[t] - k[t] @ state)
divided by the key's length: a key of zeros
    added = beta[t] * (v[t] - k[t] @ state) * ((k[t] @ k[t]) / (k[t] @ k[t]))
a state of zeros taken for none: from a state of zeros
    + state = state if state.any() else np.eye(*state.shape)
the last twenty tokens: 24 tokens
    + beta = beta * (np.arange(len(q)) >= len(q) - 20)
rounded: digits are judged
    state = (state + np.outer(k[t], added)).round(10)
float32 values: digits are judged
    + v = v.astype(np.float32).astype(float)
clipped state: 24 tokens
    state = np.clip(state + np.outer(k[t], added), -100, 100)
all at once: state = state + k.T @ (beta[:, None] * (v - k @ state)) * (t == 0)
last state: return q @ state, state
first beta: added = beta[0] * (v[t] - k[t] @ state)
transposed: return o, state.T
output alone: return o
swapped: return state, o
only what is new:
    + before = state
    return o, state - before
""",
    ex.check_chunk_test: {
        "against itself": (against_itself, "caught"),
        "one chunk": (a_test(((5, 16),)), "caught"),
        "two chunks": (a_test(((8, 4),)), "caught"),
        "three chunks": (a_test(((12, 4),)), "caught"),
        "divides": (a_test(((20, 4),)), "caught"),
        "chunks of 1": (a_test(((9, 1),)), "caught"),
        "1e-9": (a_test(atol=1e-9), "float32"),
        "far too loose": (a_test(atol=1e3), "caught"),
        "a tolerance of 0.1": (a_test(atol=0.1), "caught"),
        "sizes": (a_test(look=abs), "caught 18"),
        "sums of rows": (a_test(look=lambda o: o.sum(axis=1)), "caught 18"),
        "first numbers": (a_test(look=lambda o: o[:, 0]), "caught 18"),
        "values of width 1": (a_test(d_v=1), "caught 18"),
        "shape only": (a_test(look=np.shape), "caught"),
        "first row": (a_test(look=lambda o: o[0]), "caught"),
        "last row": (a_test(look=lambda o: o[-1]), "caught"),
        "mean of all": (a_test(look=np.mean), "caught 17"),
        "sums over rows": (a_test(look=lambda o: o.sum(axis=0)), "caught 18"),
        "inputs may change": (a_test(unchanged=""), "caught 17"),
        "keys may change": (a_test(unchanged="qv"), "caught 18"),
        "values may change": (a_test(unchanged="qk"), "caught 18"),
        "all ones": (a_test(draw=lambda n: [np.ones((n, d)) for d in (3, 3, 2)]), "caught"),
        "no queries": (a_test(draw=lambda n: [0 * draw(n)[0], *draw(n)[1:]]), "caught"),
        "not causal": (a_test(oracle=lambda q, k, v: q @ k.T @ v), "refuses a right"),
        "divided": (a_test(oracle=lambda q, k, v: wanted(q, k, v) / len(q)), "refuses a right"),
    },
}
