"""Scores against loops over single numbers, cases worked out by hand, and their identities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_src.attention.reference import attention_weights
from attention_src.scores.reference import additive, bilinear, cosine, dot, scaled_dot
from attention_src.softmax.reference import softmax

SIZES = st.integers(1, 6)
NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)


@st.composite
def queries_and_keys(draw, numbers=NUMBERS, same_width=True):
    """q [n_q, d_q] and k [n_k, d_k]; no query or no key at all is a case too."""
    n_q, n_k = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    d_q = draw(SIZES)
    d_k = d_q if same_width else draw(SIZES)
    return (
        draw(hnp.arrays(np.float64, (n_q, d_q), elements=numbers)),
        draw(hnp.arrays(np.float64, (n_k, d_k), elements=numbers)),
    )


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def table(q, k, score):
    """The scores that a rule score(q_i, k_j) gives, one after the other."""
    rows = [[score(list(map(float, q_i)), list(map(float, k_j))) for k_j in k] for q_i in q]
    return np.array(rows).reshape(len(q), len(k))


def product(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def assert_scores(actual, expected):
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-9)


# By hand: q = (3, 4) and (0, 1); k = (1, 0), (3, 4), (-4, 3).
Q, K = [[3, 4], [0, 1]], [[1, 0], [3, 4], [-4, 3]]


def test_by_hand():
    assert dot(Q, K).tolist() == [[3, 25, 0], [0, 4, 3]]
    root = math.sqrt(2)
    np.testing.assert_allclose(
        scaled_dot(Q, K), [[3 / root, 25 / root, 0], [0, 4 / root, 3 / root]], rtol=1e-15
    )
    np.testing.assert_allclose(cosine(Q, K), [[0.6, 1, 0], [0, 0.8, 0.6]], atol=1e-15)
    # W^T q is (3 + 8, 12) = (11, 12) and (2, 3): q may not be exchanged for k.
    W = [[1, 0], [2, 3]]
    assert bilinear(Q, K, W).tolist() == [[11, 81, -8], [2, 18, 1]]
    # One hidden unit looks at q_1 - k_1, the other at q_2: 2 tanh(q_1 - k_1) - tanh(q_2).
    s = additive(Q, K, [[1, 0], [0, 1]], [[-1, 0], [0, 0]], [2, -1])
    expected = [[2 * math.tanh(q[0] - k[0]) - math.tanh(q[1]) for k in K] for q in Q]
    np.testing.assert_allclose(s, expected, rtol=1e-15)


@given(queries_and_keys())
def test_dot_is_the_sum_of_products(qk):
    q, k = qk
    d = q.shape[1]
    assert_scores(dot(q, k), table(q, k, product))
    assert_scores(scaled_dot(q, k), table(q, k, lambda a, b: product(a, b) / math.sqrt(d)))


@given(queries_and_keys())
def test_cosine_is_the_cosine(qk):
    def score(a, b):
        lengths = math.hypot(*a), math.hypot(*b)
        if 0 in lengths:
            return 0.0
        return product([x / lengths[0] for x in a], [y / lengths[1] for y in b])

    s = cosine(*qk)
    assert_scores(s, table(*qk, score))
    assert (np.abs(s) <= 1).all()


@given(queries_and_keys(same_width=False), st.integers(0, 2**32 - 1))
def test_bilinear_sums_over_both_widths(qk, seed):
    q, k = qk
    W = random(q.shape[1], k.shape[1], seed=seed)

    def score(a, b):
        return math.fsum(a[x] * W[x, y] * b[y] for x in range(len(a)) for y in range(len(b)))

    assert_scores(bilinear(q, k, W), table(q, k, score))


@given(queries_and_keys(st.floats(-2, 2), same_width=False), SIZES, st.integers(0, 2**32 - 1))
def test_additive_is_a_network_on_both(qk, d_a, seed):
    q, k = qk
    W_q, W_k = random(d_a, q.shape[1], seed=seed), random(d_a, k.shape[1], seed=seed + 1)
    w = random(d_a, seed=seed + 2)

    def score(a, b):
        hidden = [math.tanh(product(W_q[u], a) + product(W_k[u], b)) for u in range(d_a)]
        return product(w, hidden)

    s = additive(q, k, W_q, W_k, w)
    assert_scores(s, table(q, k, score))
    assert (np.abs(s) <= np.abs(w).sum() * (1 + 1e-12)).all()


@given(queries_and_keys())
def test_how_they_are_related(qk):
    q, k = qk
    d = q.shape[1]
    assert_scores(bilinear(q, k, np.eye(d)), dot(q, k))
    assert_scores(scaled_dot(q, k) * math.sqrt(d), dot(q, k))
    assert_scores(dot(k, q), dot(q, k).T)
    assert_scores(cosine(k, q), cosine(q, k).T)
    # A bilinear score of rank r is a dot product of projections to width r: an attention head.
    W_Q, W_K = random(d, 2), random(d, 2, seed=1)
    assert_scores(bilinear(q, k, W_Q @ W_K.T) / 1e3, dot(q @ W_Q, k @ W_K) / 1e3)


@given(queries_and_keys(), st.integers(-300, 300), st.integers(-300, 300))
def test_only_the_angle_counts_for_cosine(qk, a, b):
    q, k = qk
    q, k = np.where(np.abs(q) < 1e-3, 0, q), np.where(np.abs(k) < 1e-3, 0, k)
    # Powers of two lose no digit, and 2^±300 squared is outside float64.
    np.testing.assert_allclose(cosine(q * 2.0**a, k * 2.0**b), cosine(q, k), atol=1e-15)
    np.testing.assert_allclose(cosine(-q, k), -cosine(q, k), atol=1e-15)
    np.testing.assert_allclose(cosine(q, q).diagonal(), q.any(axis=1), atol=1e-15)


def test_cosine_of_zeros():
    assert cosine([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]).tolist() == [[0, 0], [0, 1]]
    assert cosine([[5e-324, 0.0]], [[1e-320, 0.0], [1e308, 1e308]])[0, 0] == 1
    assert cosine([[5e-324, 0.0]], [[1e308, 1e308]])[0, 0] == pytest.approx(math.sqrt(0.5))


def test_size_of_scores():
    # 2,000 x 50 scores of independent normal components: the variance is d, or 1. Its own
    # statistical error is a few per cent, as seeds 0 to 9 show.
    for d in (16, 64, 256):
        q, k = random(2000, d), random(50, d, seed=1)
        assert dot(q, k).var() == pytest.approx(d, rel=0.1)
        assert scaled_dot(q, k).var() == pytest.approx(1, rel=0.1)
        assert cosine(q, k).var() == pytest.approx(1 / d, rel=0.1)


def test_scaled_dot_is_what_attention_uses():
    q, k = random(2, 5, 3, 8), random(2, 5, 7, 8, seed=1)
    np.testing.assert_allclose(softmax(scaled_dot(q, k)), attention_weights(q, k), rtol=1e-13)


def arguments(score, d_q=4, d_k=4, d_a=3):
    """Learned parameters that fit."""
    if score is bilinear:
        return (random(d_q, d_k, seed=2),)
    if score is additive:
        return random(d_a, d_q, seed=2), random(d_a, d_k, seed=3), random(d_a, seed=4)
    return ()


ALL = (dot, scaled_dot, cosine, bilinear, additive)


@pytest.mark.parametrize("score", ALL)
def test_leading_axes_broadcast(score):
    q, k = random(2, 1, 3, 4), random(5, 7, 4, seed=1)
    s = score(q, k, *arguments(score))
    assert s.shape == (2, 5, 3, 7)
    for b in range(2):
        for h in range(5):
            one = score(q[b, 0], k[h], *arguments(score))
            np.testing.assert_allclose(s[b, h], one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_dtypes(score, dtype):
    q, k = (3 * random(3, 4)).astype(dtype), random(5, 4, seed=1)
    s = score(q, k, *arguments(score))
    assert s.dtype == (np.float64 if dtype == np.int64 else dtype)
    # One rounding, at the end: everything before is float64.
    exact = score(q.astype(np.float64), k, *arguments(score))
    np.testing.assert_array_equal(s, exact.astype(s.dtype))


def test_what_does_not_fit_the_dtype_is_infinite():
    q = np.full((1, 4), 200, np.float16)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert dot(q, q)[0, 0] == np.inf  # 160,000; the largest float16 is 65,504
    assert cosine(q, q)[0, 0] == 1


@pytest.mark.parametrize("score", ALL)
def test_what_is_not_finite_stays_in_its_place(score):
    q, k = random(3, 4), random(5, 4, seed=1)
    q[1, 2], k[3, 0] = np.nan, np.inf
    clean = np.zeros((3, 5), bool)
    clean[[0, 0, 0, 0, 2, 2, 2, 2], [0, 1, 2, 4] * 2] = True
    s = score(q, k, *arguments(score))
    assert np.isfinite(s[clean]).all()
    assert np.isnan(s[1]).all()


@pytest.mark.parametrize("score", ALL)
def test_any_strides(score):
    q, k = random(4, 3).T, random(10, 8, seed=1)[::2, ::2]
    copies = score(q.copy(), k.copy(), *arguments(score))
    np.testing.assert_allclose(score(q, k, *arguments(score)), copies, rtol=1e-14)


ONES = np.ones
BAD = [
    (lambda: dot(ONES((2, 3)), ONES((2, 4))), "k has d_k=4 but q has d_k=3"),
    (lambda: dot(ONES(3), ONES((2, 3))), r"q has shape \[3\]; it should be \[..., n_q, d_k\]"),
    (lambda: scaled_dot(ONES((2, 0)), ONES((2, 0))), "q has d_k=0"),
    (lambda: cosine(ONES((2, 2, 3)), ONES((3, 2, 3))), "leading axes"),
    (lambda: cosine([["a"]], [["b"]]), "q has dtype <U1"),
    (
        lambda: bilinear(ONES((2, 3)), ONES((2, 4)), ONES((4, 3))),
        r"W has shape \[4, 3\]; it should be \[d_q=3, d_k=4\]",
    ),
    (
        lambda: bilinear(ONES((2, 3)), ONES((2, 3)), ONES(3)),
        r"W has shape \[3\]; it should be \[d_q=3, d_k=3\]",
    ),
    (
        lambda: bilinear(ONES((2, 3)), ONES(4), ONES((3, 4))),
        r"k has shape \[4\]; it should be \[..., n_k, d_k\]",
    ),
    (
        lambda: bilinear(ONES(3), ONES((2, 4)), ONES((3, 4))),
        r"q has shape \[3\]; it should be \[..., n_q, d_q\]",
    ),
    (lambda: bilinear(ONES((2, 2, 3)), ONES((3, 2, 3)), ONES((3, 3))), "leading axes"),
    (
        lambda: additive(ONES((2, 3)), ONES((2, 4)), ONES((5, 4)), ONES((5, 4)), ONES(5)),
        r"W_q has shape \[5, 4\]; it should be \[d_a=5, d_q=3\]",
    ),
    (
        lambda: additive(ONES((2, 3)), ONES((2, 4)), ONES((5, 3)), ONES((6, 4)), ONES(5)),
        r"W_k has shape \[6, 4\]; it should be \[d_a=5, d_k=4\]",
    ),
    (
        lambda: additive(ONES((2, 3)), ONES((2, 4)), ONES((5, 3)), ONES((5, 4)), ONES((5, 1))),
        r"w has shape \[5, 1\]; it should be \[d_a\]",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
