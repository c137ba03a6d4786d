"""The learner's test of order is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.projections import check_order_test, layers
from attention_src.exercises.projections.order import ORDER_TEST

N = 40


def tokens(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 8))


def difference(layer, x, order):
    return np.abs(layer(x[order]) - layer(x)[order]).max()


@pytest.mark.parametrize("layer", [one.function for one in ORDER_TEST.wrong])
@pytest.mark.parametrize("seed", range(5))
def test_each_layer_that_knows_the_order_shows_it(layer, seed):
    assert difference(layer, tokens(seed=seed), drawn(N, seed)[0]) > 1e-3


@pytest.mark.parametrize("layer", [one.function for one in ORDER_TEST.right])
@pytest.mark.parametrize("n", [1, 2, 13, 40, 100])
def test_layers_that_do_not_know_it_move_by_rounding_at_most(layer, n):
    x = tokens(n)
    assert layer(x).shape == x.shape
    assert difference(layer, x, np.random.default_rng(n).permutation(n)) < 2e-6


@pytest.mark.parametrize("layer", [one.function for one in ORDER_TEST.wrong])
@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_all_layers_take_texts_of_any_length(layer, n):
    assert np.isfinite(layer(tokens(n))).all() and layer(tokens(n)).shape == (n, 8)


def by(orders, n=N, tolerance=1e-5, look=lambda o: o, error=AssertionError):
    """A learner's test that tries these shuffles."""

    def my_order_test(layer):
        x = tokens(n)
        for order in orders(n):
            if np.abs(look(layer(x[order])) - look(layer(x)[order])).max() > tolerance:
                raise error("it knows")

    return my_order_test


def drawn(n, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(3)]


def back(n):
    return [np.arange(n)[::-1]]


def round_and_round(n):
    return [np.roll(np.arange(n), shift) for shift in range(1, n)]


def neighbours(n):
    return [np.arange(n) ^ 1]


def one_exchange(n):
    order = np.arange(n)
    order[[0, 1]] = 1, 0
    return [order]


def by_matrix(layer):
    x = tokens()
    for order in drawn(N, 5):
        move = np.eye(N)[order]
        np.testing.assert_allclose(layer(move @ x), move @ layer(x), atol=1e-5)


def undone(layer):
    x = tokens()
    for order in drawn(N, 6):
        assert np.allclose(layer(x[order])[np.argsort(order)], layer(x), atol=1e-5)


def token_for_token(layer):
    x = tokens(50)
    order = drawn(50, 7)[0]
    before, after = layer(x), layer(x[order])
    for place, token in enumerate(order):
        assert abs(after[place] - before[token]).max() < 1e-5


def from_both_ends(layer):
    x = tokens()
    before = layer(x)
    for i in range(N):
        order = np.arange(N)
        order[[i, 39 - i]] = 39 - i, i
        assert np.allclose(layer(x[order]), before[order], atol=1e-5)


def unseeded(layer):
    x = np.random.normal(size=(45, 8))
    for _ in range(4):
        order = np.random.permutation(45)
        assert np.allclose(layer(x[order]), layer(x)[order], atol=1e-5)


def against_lists(layer):
    x = tokens()
    order = sorted(range(N), key=lambda i: x[i, 0])
    shuffled = [layer(x)[i] for i in order]
    assert np.abs(layer(np.array([x[i] for i in order])) - shuffled).max() < 1e-4


def with_torch(layer):
    torch = pytest.importorskip("torch")
    x = tokens()
    for order in drawn(N, 8):
        before, after = (torch.as_tensor(layer(y)) for y in (x, x[order]))
        assert (after.double() - before.double()[torch.as_tensor(order)]).abs().max() < 1e-5


RIGHT = [
    with_torch,
    by(drawn, tolerance=1e-3),
    by(drawn),
    by_matrix,
    undone,
    token_for_token,
    unseeded,
    against_lists,
]


@pytest.mark.parametrize("test", RIGHT)
def test_right_tests_pass(test):
    assert check_order_test(test).status == "passed"


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("projections", "ex:projections-order")["my_order_test"]
    assert check_order_test(solution).status == "passed"

    def stub(layer):
        raise NotImplementedError

    assert check_order_test(stub).status == "not started"


def invariant(layer):
    x = tokens()
    assert np.allclose(layer(x[::-1]), layer(x), atol=1e-5)


def the_wrong_way_back(layer):
    x, order = tokens(), drawn(N)[0]
    assert np.allclose(layer(x[order])[order], layer(x), atol=1e-5)


def sorted_rows(layer):
    x, order = tokens(), drawn(N)[0]
    assert np.allclose(np.sort(layer(x[order]), axis=0), np.sort(layer(x), axis=0), atol=1e-5)


def without_abs(layer):
    x, order = tokens(), drawn(N)[0]
    assert (layer(x[order]) - layer(x)[order]).max() < 1e-5


def equal_tokens(layer):
    x = np.ones((N, 8))
    assert np.allclose(layer(x[drawn(N)[0]]), layer(x)[drawn(N)[0]], atol=1e-5)


def returns_a_verdict(layer):
    x, order = tokens(), drawn(N)[0]
    return bool(np.allclose(layer(x[order]), layer(x)[order], atol=1e-5))


def asserts_a_tuple(layer):
    x = tokens()
    assert [np.allclose(layer(x[::-1]), layer(x)[::-1]), "it knows the order"]


def columns(layer):
    x, order = tokens(), np.random.default_rng(0).permutation(8)
    assert np.allclose(layer(x[:, order]), layer(x)[:, order], atol=1e-5)


def same_for_same(layer):
    x = tokens()
    x[7] = x[3]
    assert np.allclose(layer(x)[7], layer(x)[3], atol=1e-5)


WRONG = {
    "reversed": (by(back), "caught 13 of 18"),
    "round in a circle": (by(round_and_round), "caught 17 of 18"),
    "neighbours": (by(neighbours), "caught 14 of 18"),
    "one exchange": (by(one_exchange), "of 18"),
    "from both ends": (from_both_ends, "caught 17 of 18"),
    "no shuffle": (by(lambda n: [np.arange(n)]), "caught 0 of 18"),
    "short": (by(drawn, n=8), "of 18"),
    "32 tokens": (by(drawn, n=32), "caught 17 of 18"),
    "two tokens": (by(back, n=2), "of 18"),
    "loose": (by(drawn, tolerance=0.5), "of 18"),
    "a tenth": (by(drawn, tolerance=0.1), "of 18"),
    "2e-3": (by(drawn, tolerance=2e-3), "caught 17 of 18"),
    "5e-3": (by(drawn, tolerance=5e-3), "of 18"),
    "1e-2": (by(drawn, tolerance=1e-2), "of 18"),
    "without abs": (without_abs, "caught 17 of 18"),
    "to the last bit": (by(drawn, tolerance=0), "refuses a right layer"),
    "sums": (by(drawn, look=lambda o: o.sum(axis=0)), "of 18"),
    "first number": (by(drawn, look=lambda o: o[:, :1]), "caught 17 of 18"),
    "first output": (by(drawn, look=lambda o: o[:1]), "of 18"),
    "lengths": (by(one_exchange, look=lambda o: np.linalg.norm(o, axis=1)), "of 18"),
    "another exception": (by(drawn, error=ValueError), "does not count"),
    "invariant": (invariant, "refuses a right"),
    "the wrong way back": (the_wrong_way_back, "refuses a right"),
    "sorted rows": (sorted_rows, "of 18"),
    "equal tokens": (equal_tokens, "of 18"),
    "a verdict": (returns_a_verdict, "returned False"),
    "a tuple": (asserts_a_tuple, "caught 0 of 18"),
    "columns": (columns, "refuses a right"),
    "the same token twice": (same_for_same, "of 18"),
    "refuses all": (by(drawn, tolerance=-1), "refuses a right"),
    "calls it and forgets": (lambda layer: layer(tokens()) is None, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_fail(name):
    test, words = WRONG[name]
    assert_rejected(check_order_test, test, words.replace("right layer", "right implementation"))


def test_sorting_does_not_make_a_layer_know_the_order():
    x = tokens()
    assert np.allclose(layers.sorted_and_back(x), layers.plain(x))
