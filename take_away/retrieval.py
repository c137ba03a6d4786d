import math

import numpy as np


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def soft_lookup(query, keys, values, temperature=1.0):
    """query [..., d], keys [n, d], values [n, d_v] -> output, weights."""
    weights = softmax(query @ keys.T / temperature)  # [..., n]
    return weights @ values, weights


def hard_lookup(query, keys, values):
    return values[(query @ keys.T).argmax(axis=-1)]


def slope(query, keys, values, temperature=1.0):
    """d output / d query for one query: [d_v, d]."""
    output, weights = soft_lookup(query, keys, values, temperature)
    return (weights[:, None] * (values - output)).T @ keys / temperature


def test():
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=s) for s in ((5, 4), (7, 4), (7, 3)))
    output, weights = soft_lookup(q, k, v)
    assert np.allclose(weights.sum(axis=-1), 1)
    assert (output >= v.min(axis=0)).all()
    assert (output <= v.max(axis=0)).all()
    cold, hot = (soft_lookup(q, k, v, t)[0] for t in (1e-6, 1e6))
    assert np.allclose(cold, hard_lookup(q, k, v))
    assert np.allclose(hot, v.mean(axis=0), atol=1e-4)
    order = rng.permutation(7)  # the order of the entries is no matter
    assert np.allclose(soft_lookup(q, k[order], v[order])[0], output)
    for d in range(4):  # against finite differences
        step = np.eye(4)[d] * 1e-5
        up, down = (soft_lookup(q[0] + s, k, v)[0] for s in (step, -step))
        assert np.allclose(slope(q[0], k, v)[:, d], (up - down) / 2e-5)
    # A long query is a cold one: its slope is nearly gone.
    assert np.abs(slope(200 * q[0], k, v)).max() < 1e-9


test()
# Random numbers in the shape of a head of SmolLM2-135M, whose keys have
# 64 numbers each. In attention the temperature is the root of that: 8.
q, k, v = np.random.default_rng(1).normal(size=(3, 9, 64))
output, weights = soft_lookup(q, k, v, temperature=math.sqrt(64))
print(output.shape, "largest weights", weights.max(axis=1).round(2))
