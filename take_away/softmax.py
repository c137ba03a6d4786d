import math

import numpy as np


def log_softmax(scores, temperature=1.0):
    """Logarithms of weights, over the last axis. 16 bits in, 32 out."""
    s = np.asarray(scores)
    s = s.astype(np.promote_types(s.dtype, np.float32)) / temperature
    s = s - s.max(axis=-1, keepdims=True)  # each row's own maximum
    return s - np.log(np.exp(s).sum(axis=-1, keepdims=True))


def softmax(scores, temperature=1.0):
    scores = np.asarray(scores)
    # of int32 and int64: float64
    dtype = np.promote_types(scores.dtype, np.float16)
    return np.exp(log_softmax(scores, temperature)).astype(dtype)


def effective_keys(scores, temperature=1.0):
    """Keys a row is worth: e to its entropy in nats, 2 to that in bits."""
    log_p = log_softmax(scores, temperature)
    p = np.exp(log_p)
    return np.exp(-(p * np.where(p > 0, log_p, 0)).sum(axis=-1))


def lead_for(weight, n_keys):
    """The lead over n_keys - 1 equal rivals that earns this weight."""
    return math.log(weight / (1 - weight) * (n_keys - 1))


def length_factor(position, attn_scale=0.1, floor_scale=8192):
    """What Llama 4's layers without rotation multiply queries by."""
    return 1 + attn_scale * math.log(1 + (position + 1) // floor_scale)


def test():
    row = np.log([1.0, 2.0, 5.0])  # weights that can be worked out by hand
    far = np.stack([row + 1000, row[::-1], row - 1000])
    expected = np.array([[1, 2, 5], [5, 2, 1], [1, 2, 5]]) / 8
    np.testing.assert_allclose(softmax(far), expected, rtol=1e-6)
    for dtype in (np.float16, np.float32, np.float64):
        s = np.array([0.5, -1.25, 0.25], dtype)  # s + 128 is exact
        assert softmax(s).dtype == dtype
        np.testing.assert_array_equal(softmax(s), softmax(s + dtype(128)))
    many = softmax(np.zeros(70_000, np.float16))  # a sum beyond float16
    assert abs(float(many[0]) * 70_000 - 1) < 0.01
    assert softmax([0.0, -np.inf])[1] == 0
    assert abs(softmax([8, 7, 3, 1], temperature=8)[0] - 0.3528) < 1e-4
    assert log_softmax([0, -800])[1] == -800  # the weight itself is 0
    assert math.isclose(effective_keys(np.zeros(7)), 7)
    one = softmax(np.r_[lead_for(0.9, 2048), np.zeros(2047)])
    assert math.isclose(one[0], 0.9)
    print(f"half among 2,048: a lead of {lead_for(0.5, 2048):.2f}")
    factor = length_factor(131_071)
    print(f"Llama 4 at 131,072 tokens: scores × {factor:.2f}")


test()
