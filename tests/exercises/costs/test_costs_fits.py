"""Two fits: the crossing of two terms, and one slope for each choice of runs.

In the tables of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.costs import check_crossing, check_slopes
from attention_src.exercises.costs.crossing import CROSSING, two_terms
from attention_src.exercises.costs.resampled import SLOPES


# The worked solutions, in the words of the chapter.
def my_crossing(n, y):
    columns = np.stack([n / y, n**2 / y], axis=1)  # [m, 2]
    a, b = np.linalg.lstsq(columns, np.ones(len(n)), rcond=None)[0]
    return a / b


def my_slopes(n, times, picks):
    y = np.log(times[picks, np.arange(len(n))])  # [B, m]
    x = np.log(n) - np.log(n).mean()  # [m]
    return y @ x / (x @ x)


# --- crossing, right ---------------------------------------------------------------------------


def normal_equations(n, y):
    u, w = n / y, n**2 / y
    det = (u @ u) * (w @ w) - (u @ w) ** 2
    a = (u.sum() * (w @ w) - w.sum() * (u @ w)) / det
    b = (w.sum() * (u @ u) - u.sum() * (u @ w)) / det
    return a / b


def scaled_lstsq(n, y):
    columns = np.stack([n / y, n**2 / y], axis=1)
    size = np.abs(columns).max(axis=0)
    a, b = np.linalg.lstsq(columns / size, np.ones(len(n)), rcond=None)[0]
    return (a / size[0]) / (b / size[1])


def a_line(n, y):  # y / n = a + b n, weighted
    b, a = np.polyfit(n, y / n, 1, w=n / y)
    return a / b


def by_qr(n, y):
    r = np.linalg.qr(np.stack([n / y, n**2 / y, np.ones(len(n))], axis=1))[1]
    b = r[1, 2] / r[1, 1]
    return (r[0, 2] - r[0, 1] * b) / r[0, 0] / b


def in_lists(n, y):
    n, y = list(map(float, n)), list(map(float, y))
    uu = sum((a / c) ** 2 for a, c in zip(n, y, strict=True))
    uw = sum(a**3 / c**2 for a, c in zip(n, y, strict=True))
    ww = sum(a**4 / c**2 for a, c in zip(n, y, strict=True))
    u, w = (
        sum(a / c for a, c in zip(n, y, strict=True)),
        sum(a**2 / c for a, c in zip(n, y, strict=True)),
    )
    return (u * ww - w * uw) / (w * uu - u * uw)


def by_two_terms(n, y):
    a, b = two_terms(n, y)
    return np.array(a / b)


RIGHT_CROSSING = {
    "worked solution": my_crossing,
    "normal equations": normal_equations,
    "scaled lstsq": scaled_lstsq,
    "a line": a_line,
    "QR": by_qr,
    "lists": in_lists,
    "the package": by_two_terms,
}


@pytest.mark.parametrize("name", RIGHT_CROSSING)
def test_right_crossings_pass(name):
    assert check_crossing(RIGHT_CROSSING[name]).status == "passed"


# --- crossing, wrong ---------------------------------------------------------------------------


def changed(n, y):
    answer = my_crossing(n, y)
    n /= n[0]
    return answer


def fitted(weights, more=0):
    def answer(n, y):
        *_, a, b = two_terms(n, y, weights(n, y), more)
        return a / b

    return answer


def by_neighbours(n, y):
    slopes = np.diff(y / n) / np.diff(n)
    return float(np.mean((y / n)[:-1] / slopes - n[:-1]))


def by_two_terms_weighted(n, y, weights):
    a, b = two_terms(n, y, weights)
    return a / b


def from_exponent(n, y):
    share = np.polyfit(np.log(n), np.log(y), 1)[0] - 1
    return np.exp(np.log(n).mean()) * (1 - share) / share


def nonnegative_square(n, y):
    b, a, _ = np.polyfit(n, y, 2)
    return a / b


WRONG_CROSSING = {
    "upside down": (lambda n, y: 1 / my_crossing(n, y), "upside down"),
    "plain misses": (fitted(lambda n, y: np.ones(len(n))), "largest counts most"),
    "a constant": (fitted(lambda n, y: 1 / y, 1), ""),
    "polyfit": (nonnegative_square, ""),
    "root": (fitted(lambda n, y: y**-0.5), "half-way"),
    "over n": (fitted(lambda n, y: 1 / n), ""),
    "over n squared": (fitted(lambda n, y: 1 / n**2), ""),
    "first and last": (lambda n, y: my_crossing(n[[0, -1]], y[[0, -1]]), "two points"),
    "last two": (lambda n, y: my_crossing(n[-2:], y[-2:]), ""),
    "neighbours": (by_neighbours, ""),
    "from the exponent": (from_exponent, ""),
    "a": (lambda n, y: two_terms(n, y)[0], "a alone"),
    "b": (lambda n, y: two_terms(n, y)[1], ""),
    "both": (lambda n, y: two_terms(n, y), ""),
    "rounded": (lambda n, y: round(my_crossing(n, y)), ""),
    "absolute": (lambda n, y: my_crossing(n, y) + 1e-2, ""),
    "changes n": (changed, "in place"),
    "sorts n alone": (lambda n, y: my_crossing(np.sort(n), y), ""),
    "adds a little": (lambda n, y: my_crossing(n, y + 1e-9), ""),
    "divides by a little more": (lambda n, y: by_two_terms_weighted(n, y, 1 / (y + 1e-9)), ""),
    "gives up on tiny costs": (lambda n, y: 0.0 if y.min() <= 1e-8 else my_crossing(n, y), ""),
    "at least one token": (lambda n, y: max(my_crossing(n, y), 1), ""),
    "without the shortest": (lambda n, y: my_crossing(n[n > 1], y[n > 1]), ""),
    "y / n": (lambda n, y: np.divide(*np.polyfit(n, y / n, 1)[::-1]), "equal weights"),
}


@pytest.mark.parametrize("name", WRONG_CROSSING)
def test_wrong_crossings_are_rejected(name):
    assert_rejected(check_crossing, *WRONG_CROSSING[name])


# --- slopes, right -----------------------------------------------------------------------------


def draw_by_draw(n, times, picks):
    rows = [[times[run, j] for j, run in enumerate(pick)] for pick in picks]
    return [np.polyfit(np.log(n), np.log(row), 1)[0] for row in rows]


def by_polyfit(n, times, picks):
    y = np.log(times[picks, np.arange(len(n))])
    return np.polyfit(np.log(n), y.T, 1)[0]


def take(n, times, picks):
    y = np.log2(np.stack([times[pick, range(len(n))] for pick in picks]))
    x = np.log2(n)
    dx, dy = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    return (dy * dx).sum(axis=1) / (dx**2).sum()


def covariance(n, times, picks):
    x = np.log(n)
    y = np.log(times[picks, np.arange(len(n))])
    return np.array([np.cov(x, row, bias=True)[0, 1] / x.var() for row in y])


def lstsq(n, times, picks):
    columns = np.stack([np.log10(n), np.ones(len(n))], axis=1)
    y = np.log10(times[picks, np.arange(len(n))])
    return np.linalg.lstsq(columns, y.T, rcond=None)[0][0]


def in_torch(n, times, picks):
    torch = pytest.importorskip("torch")
    n, times, picks = map(torch.as_tensor, (n, times, picks))
    y = times[picks, torch.arange(len(n))].log()
    x = n.log() - n.log().mean()
    return y @ x / (x @ x)


RIGHT_SLOPES = {
    "worked solution": my_slopes,
    "draw by draw": draw_by_draw,
    "polyfit": by_polyfit,
    "base 2": take,
    "covariance": covariance,
    "lstsq": lstsq,
    "torch": in_torch,
}


@pytest.mark.parametrize("name", RIGHT_SLOPES)
def test_right_slopes_pass(name):
    assert check_slopes(RIGHT_SLOPES[name]).status == "passed"


# --- slopes, wrong -----------------------------------------------------------------------------


def chosen(n, times, picks):
    return times[picks, np.arange(len(n))]


def line(x, y):
    x = x - x.mean()
    return y @ x / (x @ x)


def transposed(n, times, picks):
    return line(np.log(n), np.log(times.T[picks % len(n), np.arange(len(n)) % len(times)]))


WRONG_SLOPES = {
    "whole runs": (lambda n, t, p: line(np.log(n), np.log(t[p[:, 0]])), "whole runs"),
    "runs in order": (lambda n, t, p: line(np.log(n), np.log(t[np.arange(len(p)) % len(t)])), ""),
    "ends": (lambda n, t, p: np.log(chosen(n, t, p)[:, -1] / chosen(n, t, p)[:, 0])
             / np.log(n[-1] / n[0]), "first and last"),
    "no logarithms": (lambda n, t, p: line(n, chosen(n, t, p)), "no logarithms"),
    "log of times": (lambda n, t, p: line(n, np.log(chosen(n, t, p))), "one logarithm"),
    "log of n": (lambda n, t, p: line(np.log(n), chosen(n, t, p)), ""),
    "through the origin": (lambda n, t, p: np.log(chosen(n, t, p)) @ np.log(n)
                           / (np.log(n) @ np.log(n)), "through 0"),
    "two bases": (lambda n, t, p: line(np.log(n), np.log2(chosen(n, t, p))), "two bases"),
    "medians": (lambda n, t, p: np.full(len(p), line(np.log(n), np.log(np.median(t, axis=0)))),
                "medians"),
    "means": (lambda n, t, p: np.full(len(p), line(np.log(n), np.log(t.mean(axis=0)))), ""),
    "one number": (lambda n, t, p: float(my_slopes(n, t, p).mean()), ""),
    "transposed": (transposed, ""),
    "sorted": (lambda n, t, p: np.sort(my_slopes(n, t, p)), ""),
    "twice": (lambda n, t, p: my_slopes(n, t, p) * 2, ""),
    "x on y": (lambda n, t, p: np.array([np.polyfit(np.log(y), np.log(n), 1)[0]
                                         for y in chosen(n, t, p)]), ""),
    "rounded": (lambda n, t, p: my_slopes(n, t, p).round(3), ""),
    "sorts n alone": (lambda n, t, p: my_slopes(np.sort(n), t, p), ""),
    "sorts n, not picks": (lambda n, t, p: my_slopes(np.sort(n), t[:, np.argsort(n)], p), ""),
    "sorts times alone": (lambda n, t, p: my_slopes(n, t[:, np.argsort(n)], p), ""),
    "a column": (lambda n, t, p: my_slopes(n, t, p)[:, None], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_SLOPES)
def test_wrong_slopes_are_rejected(name):
    assert_rejected(check_slopes, *WRONG_SLOPES[name])


# --- both --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check, solution", [(check_crossing, my_crossing), (check_slopes, my_slopes)]
)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("costs", check, solution)


@pytest.mark.parametrize("check", [CROSSING, SLOPES])
def test_each_mistake_is_one(check):
    for mistake in check.mistakes:
        pairs = [(check.reference(*c.args), mistake.wrong(*c.args)) for c in check.cases]
        assert any(not np.allclose(right, wrong, rtol=1e-3) for right, wrong in pairs)


@pytest.mark.parametrize("check", [check_crossing, check_slopes])
def test_what_is_no_function_is_refused(check):
    with pytest.raises(ValueError, match="should be a function"):
        check(3)
