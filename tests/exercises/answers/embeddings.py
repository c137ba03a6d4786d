"""Answers to the exercises on embeddings: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises import embeddings as ex


def unit_of(e):
    return e / np.linalg.norm(e, axis=1)[:, None]


def sample(n=3, m=5, d=40, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return x * rng.choice([0.005, 1, 9], (n, 1)), y * rng.choice([0.005, 1, 9], (m, 1))


def table(x, y):
    return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))


def a_test(atol=1e-5, look=True, change=lambda x: x, **sizes):
    def my_cosine_test(cosines):
        x, y = map(change, sample(**sizes))
        kept = x.copy(), y.copy()
        answer = np.asarray(cosines(x, y))
        assert answer.shape == (len(x), len(y))
        assert np.allclose(answer, table(*(kept if look else (x, y))), atol=atol, rtol=0)
        assert not look or (np.array_equal(x, kept[0]) and np.array_equal(y, kept[1]))

    return my_cosine_test


def by_properties(cosines):
    x, y = sample(n=4, m=6)
    x[0] = np.arange(40.0) + 1
    kept = x.copy(), y.copy()
    s = np.asarray(cosines(x, y))
    assert s.shape == (4, 6)
    assert np.array_equal(x, kept[0]) and np.array_equal(y, kept[1])
    assert np.allclose(np.diag(np.asarray(cosines(kept[0], kept[0].copy()))), 1, atol=1e-5)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(40, 40)))[0]
    assert np.allclose(np.asarray(cosines(kept[0] @ turn, kept[1] @ turn)), s, atol=1e-5)
    assert np.allclose(np.asarray(cosines(-kept[0], kept[1].copy())), -s, atol=1e-5)
    a, b = np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]])
    assert np.allclose(np.asarray(cosines(a, b)), 0.6, atol=1e-5)


def along(u, w, k, s=1e4):
    """Both tables, stretched along u and squeezed."""
    u = u / np.linalg.norm(u)
    return w + (s - 1) * np.outer(w @ u, u), k + (1 / s - 1) * np.outer(k @ u, u)


def parting(w):
    return unit_of(w)[0] - unit_of(w)[1]


def by_a_matrix(invert):
    """w A and k times what `invert` makes of A, a matrix that is no transpose of itself."""

    def my_twin(w, k):
        d = w.shape[1]
        turn = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
        a = along(parting(w), np.eye(d), np.eye(d), 1e3)[0] @ turn
        return w @ a, k @ invert(a)

    return my_twin


def of_one_number(w, k):
    """The number in which the two rows differ in sign, or else the first."""
    i = int(np.argmin(w[0] * w[1]))
    s = np.where(np.arange(w.shape[1]) == i, 1e6, 1)
    return w * s, k / s


def negated(w, k):
    w2 = w.copy()
    w2[1] = -w2[0]
    return w2, k


def another_column(w, k):
    far = np.where(np.arange(len(w)) == 1, -1e6, 1e6)[:, None]
    return np.hstack([w, far]), np.hstack([k, np.zeros((len(k), 1))])


def not_of_length_1(w, k):
    u = parting(w)
    return w + (1e4 - 1) * np.outer(w @ u, u), k + (1e-4 - 1) * np.outer(k @ u, u)


def s_for_s_less_1(in_w, in_k):
    """Both tables, with s in place of s - 1 in w, in k or in both."""

    def my_twin(w, k):
        u = parting(w) / np.linalg.norm(parting(w))
        return (
            w + (1e4 - (not in_w)) * np.outer(w @ u, u),
            k + (1e-4 - (not in_k)) * np.outer(k @ u, u),
        )

    return my_twin


def one_nan(w, k):
    w2, k2 = ex.my_twin(w, k)
    k2[0, 0] = np.nan
    return w2, k2


def in_place(w, k):
    w2, k2 = ex.my_twin(w, k)
    w[:] = w2
    return w, k2


def by_pseudoinverse(w, k):
    w2, _ = negated(w, k)
    return w2, (np.linalg.pinv(w2) @ (w @ k.T)).T


def norm_from_1(w, k):
    ratio = np.linalg.norm(w[0]) / max(np.linalg.norm(w[1]), 1)
    return along(w[0] - ratio * w[1], w, k)


def of_the_most_opposite(w, k):
    return of_one_number(w, k) if (w[0] * w[1]).min() < 0 else ex.my_twin(w, k)


def no_zeros(w, k):
    assert w.any(axis=1).all() and k.any(axis=1).all()
    return ex.my_twin(w, k)


def two_rows(w, k):
    w2, k2 = along(parting(w), w, k)
    return np.vstack([w2[:2], w[2:]]), k2


TWINS = {
    "a thousand times": lambda w, k: along(parting(w), w, k, 1e3),
    "any matrix": by_a_matrix(lambda a: np.linalg.inv(a).T),
    "lists": lambda w, k: [x.tolist() for x in along(parting(w), w, k)],
    "a hundred times": lambda w, k: along(parting(w), w, k, 100),
    "scaled as well": lambda w, k: tuple(
        x * s for x, s in zip(ex.my_twin(w, k), (7, 1 / 7), strict=True)
    ),
}
NO_TWINS = {
    "w alone": (lambda w, k: (along(parting(w), w, k)[0], k), "left k as it was"),
    "k alone": (lambda w, k: (w, along(parting(w), w, k)[1]), "left w as it was"),
    "as they were": (lambda w, k: (w.copy(), k.copy()), "the cosine"),
    "k stretched too": (lambda w, k: 2 * (along(parting(w), w, k)[0],), ""),
    "k A": (by_a_matrix(lambda a: a), "did to k what you did to w"),
    "the inverse as it is": (by_a_matrix(np.linalg.inv), "forgot to transpose"),
    "the transpose": (by_a_matrix(lambda a: a.T), "w2 @ k2.T"),
    "one number": (of_one_number, "positive"),
    "row 1 turned round": (negated, "left k as it was"),
    "everything turned round": (lambda w, k: (-w, -k), "the cosine"),
    "a column more": (another_column, "shape"),
    "along row 0": (lambda w, k: along(w[0], w, k), "the cosine"),
    "along the sum": (lambda w, k: along(unit_of(w)[:2].sum(axis=0), w, k), "the cosine"),
    "along the difference of raw rows": (lambda w, k: along(w[0] - w[1], w, k), "the cosine"),
    "three times": (lambda w, k: along(parting(w), w, k, 3), "the cosine"),
    "a third of it": (lambda w, k: along(parting(w), w, k, 1 / 1e4), "the cosine"),
    "too far": (lambda w, k: along(parting(w), w, k, 1e12), "digits were lost"),
    "float32": (lambda w, k: tuple(x.astype(np.float32) for x in ex.my_twin(w, k)), "digits"),
    "u not of length 1": (not_of_length_1, "u has the length"),
    "s in both": (s_for_s_less_1(True, True), "add s - 1 times"),
    "s in w": (s_for_s_less_1(True, False), "add s - 1 times"),
    "s in k": (s_for_s_less_1(False, True), "add s - 1 times"),
    "half undone": (
        lambda w, k: (along(parting(w), w, k)[0], along(parting(w), w, k, 1e3)[1]),
        "should multiply to 1",
    ),
    "rows 0 and 1 alone": (two_rows, "rows 0 and 1 of w alone"),
    "w2 alone": (lambda w, k: ex.my_twin(w, k)[0], "should return (w2, k2)"),
    "text": (lambda w, k: ("w2", "k2"), "should return"),
    "nan": (lambda w, k: (w * np.nan, k), "w2 contains nan"),
    "one nan in k": (one_nan, "k2 contains nan"),
    "in place": (in_place, "changed its input w in place"),
    "two rows by a pseudoinverse": (by_pseudoinverse, "These are the products"),
    "the norm of row 1 not below 1": (norm_from_1, "the cosine"),
    "the most opposite number, else u": (of_the_most_opposite, "by a hair"),
    "rows of zeros refused": (no_zeros, "rows of zeros"),
    "nothing": (lambda w, k: (w * 0, k * 0), ""),
    "the products": (lambda w, k: w @ k.T, "should return (w2, k2)"),
}

RIGHT = {
    ex.check_twin: TWINS,
    ex.check_cosines: """
pair by pair: return [[sum(a * b) for b in unit_y] for a in unit_x]
divided and mended: return np.nan_to_num(x * 1.0 @ y.T / (x_norm * y_norm.T))
tiny epsilon: return x * 1.0 @ y.T / np.maximum(x_norm * y_norm.T, 1e-30)
""",
    ex.check_ppmi: """
pair by pair: return [[max(float(np.log(r)), 0.0) for r in row] for row in ratio]
by infinity:
    return np.nan_to_num(np.maximum(np.log(p) - np.log(p.sum(1))[:, None] - np.log(p.sum(0)), 0))
of counts:
    p = counts * 1.0
    by_chance = p.sum(axis=1, keepdims=True) * p.sum(axis=0) / p.sum()
""",
    ex.check_rank: """
by sorting: return [i for i in np.argsort(-s) if inputs or i not in (a, b, c)].index(d) + 1
by infinity:
    - higher[[a, b, c]]
    + s[[a, b, c]] = -np.inf
    return np.argsort(np.argsort(-s))[d] + 1
by similarities:
    s = unit @ unit[b] - unit @ unit[a] + unit @ unit[c]
    return sum(s[i] >= s[d] for i in range(len(e)) if inputs or i not in (a, b, c))
""",
    ex.check_cosine_test: {
        "by arguments": a_test(),
        "another seed": a_test(seed=1),
        "nearly as loose as the statement": a_test(atol=9e-3),
        "other sizes": a_test(n=7, m=4, d=50),
        "by properties": by_properties,
    },
}


def once(holds):
    """A test of one property, on one pair of inputs."""

    def my_cosine_test(cosines):
        assert holds(lambda x, y: np.asarray(cosines(x, y.copy())), *sample())

    return my_cosine_test


def looks_at(one):
    """A test that keeps a copy of x alone, or of y."""

    def my_cosine_test(cosines):
        x, y = sample()
        right, kept = table(x, y), (x, y)[one].copy()
        answer = np.asarray(cosines(x, y))
        assert answer.shape == right.shape and np.allclose(answer, right, atol=1e-5, rtol=0)
        assert np.array_equal((x, y)[one], kept)

    return my_cosine_test


OF_16 = "of 16 wrong"
SLY = {
    ex.check_twin: NO_TWINS,
    ex.check_cosines: """
clipped: return np.maximum(unit_x @ unit_y.T, 0)
epsilon: return x @ y.T / (x_norm * y_norm.T + 1e-8)
a smaller epsilon:
    return x @ y.T / ((x_norm + 1e-12) * (y_norm.T + 1e-12) + (x_norm * y_norm.T == 0))
short rows taken for zeros: the shortest rows
    x_norm = np.sqrt((x * 1.0 * x).sum(axis=1, keepdims=True))
    + x = np.where(x_norm < 2e-3, 0, x)
float32 inside:
    + x, y = (z.astype(np.float32).astype(float) for z in (x, y))
rounded: digits are judged
    return (unit_x @ unit_y.T).round(9)
whole numbers: return (unit_x @ unit_y.T).astype(x.dtype)
eight bits: large whole numbers
    x_norm = np.sqrt((x.astype("int8" if x.dtype.kind == "i" else x.dtype) ** 2.0).sum(1))[:, None]
kept by x: and three others
    + if not hasattr(my_cosines, "kept"): my_cosines.kept = {}
    return my_cosines.kept.setdefault((x.tobytes(), y.shape), unit_x @ unit_y.T)
products of whole numbers: Make floats of them
    return np.nan_to_num(x @ y.T / (x_norm * y_norm.T))
zeros among whole numbers divided: a row of zeros
    unit_y = y / (np.where(y_norm == 0, 1, y_norm) if y.dtype.kind == "f" else y_norm)
as x: unit_y = (y := y.astype(x.dtype)) / np.where(y_norm == 0, 1, y_norm)
rows beyond 40 lost: many rows of many numbers
    return unit_x @ unit_y.T * (np.arange(len(x)) < 40)[:, None]
""",
    ex.check_ppmi: """
tiny added: p = (counts + 1e-6) / (counts + 1e-6).sum()
32-bit products:
    by_chance = np.outer(counts.sum(1), counts.sum(0)).astype(np.int32) / counts.sum() ** 2.0
rare is never: seen = p > 1e-7
chance has a floor:
    by_chance = np.maximum(p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True), 1e-8)
columns beyond 40 lost: one meeting among more millions
    return np.maximum(np.log(ratio), 0) * (np.arange(p.shape[1]) < 40)
""",
    ex.check_rank: """
the first 16 numbers of a row: rows of forty
    unit = e[:, :16] / np.sqrt((e[:, :16] ** 2).sum(axis=1, keepdims=True))
raw rows: s = e @ (unit[b] - unit[a] + unit[c])
distance: s = -np.linalg.norm(e - (e[b] - e[a] + e[c]), axis=1)
b + c: s = unit @ (unit[b] + unit[c])
three less: return max(1 + int((s > s[d]).sum()) - 3 * (not inputs), 1)
rows deleted:
    - higher[[a, b, c]]
    + s = np.delete(s, [a, b, c])
    + higher = s > s[min(d, len(s) - 1)]
short rows cut: unit = e / np.maximum(np.linalg.norm(e, axis=1), 0.01)[:, None]
an epsilon of 1e-8: a short row that is ahead by a hair
    unit = e / (np.linalg.norm(e, axis=1) + 1e-8)[:, None]
a smaller epsilon:
    unit = e / (np.linalg.norm(e, axis=1) + 1e-12)[:, None]
float32: eleventh digit
    unit = (e / np.sqrt((e**2).sum(axis=1, keepdims=True))).astype(np.float32)
scores of six digits: eleventh digit
    s = (unit @ (unit[b] - unit[a] + unit[c])).round(6)
scores of nine digits: eleventh digit
    s = (unit @ (unit[b] - unit[a] + unit[c])).round(9)
within a millionth is a tie: eleventh digit
    higher = s > s[d] + 1e-6
within a millionth is ahead:
    higher = (s > s[d] - 1e-6) & (np.arange(len(e)) != d)
close is a tie: eleventh digit
    higher = (s > s[d]) & ~np.isclose(s, s[d], rtol=1e-9)
within a fifth is a tie:
    higher = s > s[d] + 0.2
half precision:
    unit = e.astype(np.float16) / np.sqrt((e.astype(np.float16) ** 2).sum(axis=1, keepdims=True))
at most 100: the worst of many
    return min(1 + int(higher.sum()), 100)
""",
    ex.check_cosine_test: {
        "with itself": (once(lambda f, x, y: np.allclose(np.diag(f(x, x)), 1, atol=1e-5)), OF_16),
        "unit rows": (a_test(change=unit_of), OF_16),
        "x with x": (once(lambda f, x, y: np.allclose(f(x, x), table(x, x), atol=1e-5)), OF_16),
        "range": (once(lambda f, x, y: abs(f(x, y)).max() <= 1 + 1e-5), OF_16),
        "eight numbers": (a_test(d=8), "caught 15 of 16"),
        "as many of each": (a_test(n=5), "caught 15 of 16"),
        "a look at x alone": (looks_at(0), "caught 15 of 16"),
        "a look at y alone": (looks_at(1), "caught 15 of 16"),
        "inputs not looked at": (a_test(look=False), OF_16),
        "loose": (a_test(atol=0.5), OF_16),
        "a tolerance of 0.2": (a_test(atol=0.2, n=20, m=20, d=40), OF_16),
        "a tolerance of 0.05": (a_test(atol=0.05, n=20, m=20, d=40), OF_16),
        "to the last bit": (a_test(atol=0), "refuses a right implementation"),
        "positive numbers": (a_test(change=np.abs), OF_16),
        "long rows": (a_test(change=lambda x: 100 * unit_of(x)), OF_16),
    },
}
