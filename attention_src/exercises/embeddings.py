"""The checks of the chapter on embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import kind, to_array
from attention_src.exercises.engine.comparing import close

# --- Cosines, all at once ---------------------------------------------------------------------


def my_cosines(x, y):
    x_norm = np.sqrt((x * 1.0 * x).sum(axis=1, keepdims=True))
    y_norm = np.sqrt((y * 1.0 * y).sum(axis=1, keepdims=True))
    unit_x = x / np.where(x_norm == 0, 1, x_norm)
    unit_y = y / np.where(y_norm == 0, 1, y_norm)
    return unit_x @ unit_y.T


def _draw_rows(rng: np.random.Generator) -> tuple:
    n, m, d = (int(i) for i in rng.choice([1, 2, 3, 5, 7], 3))
    rows = []
    for count in (n, m):
        x = rng.normal(size=(count, d))
        x *= 10 ** rng.uniform(-2, 4, (count, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
        x[rng.random(count) < 0.1] = 0
        rows.append(x)
    kind = rng.choice(["float64", "float64", "float32", "integers"])
    if kind == "integers":
        return tuple(rng.integers(-90, 91, x.shape, dtype=np.int64) for x in rows)
    return tuple(x.astype(kind) for x in rows)


_PLANE = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[6.0, 8.0], [0.0, 2.0], [-4.0, 3.0]])
_ROWS = np.arange(-6.0, 9).reshape(3, 5)
_SHORTEST, _TURN = 1e-3 * np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.8, -0.6], [0.6, 0.8]])
_HUGE = np.array([[4_000_000_000, -3_000_000_000], [100, 7_000_000_000]])
_LARGEST = np.array([[5_000_000_000, 6_000_000_000], [-8_000_000_000, 3]])
_GRID = np.cos(np.arange(1.0, 60 * 59 + 1)).reshape(60, 59)

check_cosines = Check(
    "cosines",
    my_cosines,
    asks="f(x [n, d], y [m, d]) -> [n, m], the cosines of all rows with all rows",
    cases=[
        Case("two rows and three", _PLANE),
        Case("three rows and two, of five numbers", (_ROWS, np.cos(_ROWS[:2] + 6))),
        Case("whole numbers", (np.array([[3, 4], [50, 90]]), np.array([[8, 6]]))),
        Case("many rows of many numbers", (_GRID, _GRID[:50])),
        Case("a row of zeros", (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 0.0]]))),
        Case("short rows", (np.array([[3e-3, 4e-3]]), np.array([[1e-3, 0.0], [6e3, 8e3]]))),
        Case("the shortest rows", (_SHORTEST, _SHORTEST[::-1] @ _TURN), rtol=1e-12),
        Case("one number each", (np.array([[-2.0]]), np.array([[5.0], [-0.5]]))),
        Case("float32", (np.array([[3, 4]], np.float32), np.array([[4, 3]], np.float32))),
        Case("large whole numbers", (np.array([[300, -400, 70]]), np.array([[9000, 3000, -6]]))),
        Case("whole numbers whose squares are huge", (_HUGE, _HUGE[::-1] // 7)),
        Case("whole numbers and fractions", (np.array([[3, 4]]), np.array([[0.6, -0.3]]))),
        Case("fractions and whole numbers", (np.array([[0.25, -1.5]]), np.array([[7, 2]]))),
        Case("whole numbers, a row of zeros", (np.array([[3, 4]]), np.array([[0, 0], [1, 2]]))),
        Case("whole numbers whose products are huge", (_LARGEST, _LARGEST[:, ::-1].copy())),
        Case("two rows, met before, and three others", (_PLANE[0], _PLANE[1][:, ::-1].copy())),
    ],
    draw=_draw_rows,
    mistakes="""
dot products: These are dot products: longer rows get more. Divide by both norms.
    return x @ y.T
one norm: You divided by the norms of x. Those of y are still in there.
    unit_y = y
the other norm: You divided by the norms of y. Those of x are still in there.
    unit_x = x
squared norms: You divided by the squares of the norms. The root is missing.
    x_norm = (x * 1.0 * x).sum(axis=1, keepdims=True)
    y_norm = (y * 1.0 * y).sum(axis=1, keepdims=True)
one norm for all rows: You divided by one norm for the whole matrix. Each row has its own: axis=1.
    x_norm = np.sqrt((x * 1.0 * x).sum())
    y_norm = np.sqrt((y * 1.0 * y).sum())
columns: You took the norms of columns. A vector is a row: axis=1.
    x_norm = np.sqrt((x * 1.0 * x).sum(axis=0))
    y_norm = np.sqrt((y * 1.0 * y).sum(axis=0))
sum of absolute values: You divided by sums of absolute values. A norm is the root of the sum of \
squares.
    x_norm = np.abs(x).sum(axis=1, keepdims=True)
    y_norm = np.abs(y).sum(axis=1, keepdims=True)
absolute value: Cosines may be negative: vectors can point in opposite ways.
    return np.abs(unit_x @ unit_y.T)
transposed: Rows belong to x and columns to y. Yours is transposed.
    return unit_y @ unit_x.T
distances: This is 1 minus the cosine, a distance. Vectors that point the same way have 1.
    return 1 - unit_x @ unit_y.T
distances: These are distances between unit rows. Vectors that point the same way have 1, not 0.
    return np.sqrt(((unit_x[:, None] - unit_y) ** 2).sum(axis=-1))
distances: These are distances between the rows as they are. Those of one direction have 1.
    return np.sqrt(((x[:, None] - y) ** 2).sum(axis=-1))
columns with columns: x.T @ y multiplies columns with columns. Rows with rows is x @ y.T.
    return unit_x.T @ unit_y
norms without their axis: Your norms have the shape [n], and NumPy lines them up with columns. \
Keep the axis: keepdims=True.
    x_norm = np.sqrt((x * 1.0 * x).sum(axis=1))
    y_norm = np.sqrt((y * 1.0 * y).sum(axis=1))
something added to the norms: You added a little to the norms, which short rows feel. Replace a \
norm of 0 instead.
    unit_x = x / (x_norm + 1e-8)
    unit_y = y / (y_norm + 1e-8)
something added to the norms: You added a little to the norms, which short rows feel. Replace a \
norm of 0 instead.
    return x @ y.T / (x_norm * y_norm.T + 1e-8)
squares of whole numbers: The squares of these whole numbers do not fit into 64 bits, and NumPy \
says nothing. Make floats of them first: x * 1.0.
    x_norm = np.sqrt((x * x).sum(axis=1, keepdims=True))
    y_norm = np.sqrt((y * y).sum(axis=1, keepdims=True))
products of whole numbers: The products of these whole numbers do not fit into 64 bits, and NumPy \
says nothing. Make floats of them first: x * 1.0.
    return x @ y.T / (np.where(x_norm == 0, 1, x_norm) * np.where(y_norm == 0, 1, y_norm).T)
zeros divided: A row of zeros was divided by its norm, 0. Divide by 1 there.
    unit_x = x / x_norm
    unit_y = y / y_norm
""",
)

# --- Same products, other cosines -------------------------------------------------------------


def my_twin(w, k):
    u = w[0] / np.linalg.norm(w[0]) - w[1] / np.linalg.norm(w[1])
    u = u / np.linalg.norm(u)  # row 0 on its one side, row 1 on the other
    w2 = w + (1e4 - 1) * np.outer(w @ u, u)  # along u: 10,000 times
    k2 = k + (1e-4 - 1) * np.outer(k @ u, u)  # along u: a 10,000th
    return w2, k2


OPPOSITE = -0.99


def _products(f: Callable) -> Callable:
    """What is judged in place of f: the products of its tables, if rows 0 and 1 are opposite."""

    def judged(w: np.ndarray, k: np.ndarray) -> Any:
        kept = w.copy(), k.copy()  # f may change its inputs
        answer = f(w, k)
        if answer is None or answer is ...:
            return answer
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            return ValueError(f"Your function should return (w2, k2); it returned {kind(answer)}.")
        try:
            w2, k2 = (to_array(part).astype(float) for part in answer)
        except ValueError as error:
            return error
        for name, made, given in (("w2", w2, kept[0]), ("k2", k2, kept[1])):
            if made.shape != given.shape:
                return ValueError(f"{name} has shape {made.shape}; it should be {given.shape}.")
            if not np.isfinite(made).all():
                return ValueError(f"{name} contains {made[~np.isfinite(made)][0]}.")
        return _moved(*kept, w2, k2) or _not_opposite(w2) or w2 @ k2.T

    return judged


def _moved(w: np.ndarray, k: np.ndarray, w2: np.ndarray, k2: np.ndarray) -> ValueError | None:
    """What made the products move, where that can be told."""
    if close(w2 @ k2.T, w @ k.T).all():
        return None
    if np.array_equal(k2, k):
        return ValueError("You changed w and left k as it was, so products moved. k must undo it.")
    if np.array_equal(w2, w):
        return ValueError("You changed k and left w as it was. Rows 0 and 1 of w must move.")
    two_kept = close(w2[:2] @ k2.T, w[:2] @ k.T).all()
    if len(w) > 2 and two_kept and np.array_equal(w2[2:], w[2:]):
        return ValueError(
            "You moved rows 0 and 1 of w alone. What you undo in k is undone for all rows of w, so "
            "all of them have to be stretched."
        )
    return _along_one_direction(w, k, w2, k2) or _by_a_matrix(w, k, w2, k2)


def _by_a_matrix(w: np.ndarray, k: np.ndarray, w2: np.ndarray, k2: np.ndarray) -> ValueError | None:
    """What was done to k, if w2 = w A for one A alone."""
    if np.linalg.matrix_rank(w) < w.shape[1]:
        return None  # more than one A makes w2 of w
    a = np.linalg.lstsq(w, w2, rcond=None)[0]
    if not np.allclose(w @ a, w2, rtol=1e-4) or np.linalg.matrix_rank(a) < len(a):
        return None
    for undone, said in (
        (np.linalg.inv(a).T, "undid it in k, but digits were lost: stretch less, in float64"),
        (a, f"did to k what you did to w. {_UNDO}"),
        (np.linalg.inv(a), f"multiplied k by the inverse, but forgot to transpose it. {_UNDO}"),
    ):
        if np.allclose(k @ undone, k2, rtol=1e-3, atol=1e-3 * np.abs(k2).max()):
            return ValueError(f"You {said}")
    return None


_UNDO = "With w A, the table k has to become k (A^-1)^T."


def _along_one_direction(
    w: np.ndarray, k: np.ndarray, w2: np.ndarray, k2: np.ndarray
) -> ValueError | None:
    """What went wrong with the factors, if w and k were stretched along one direction."""
    directions, added = [], []
    for before, after in ((w, w2), (k, k2)):
        _, s, vt = np.linalg.svd(after - before)
        along = before @ vt[0]
        if s[1:].max(initial=0) > 1e-9 * s[0] or not along.any():
            return None  # not along one direction
        directions.append(vt[0])
        added.append((after - before) @ vt[0] @ along / (along @ along))
        if not np.allclose((after - before) @ vt[0], added[-1] * along, rtol=1e-6):
            return None
    a, b = added  # along u, w is stretched 1 + a times, k 1 + b times
    if abs(directions[0] @ directions[1]) < 1 - 1e-9 or np.isclose(a, b):
        return None
    if abs((1 + a) * (1 + b) - 1) < 1e-14 * abs(a):
        return None  # undone, but for digits that were lost
    if any(np.isclose(product, 1, rtol=1e-6) for product in (a * b, a * (1 + b), (1 + a) * b)):
        return ValueError(
            "You added s times the part along u. The part is in there once already: to have it s "
            "times, add s - 1 times, in w and in k."
        )
    parting = w[0] / np.linalg.norm(w[0]) - w[1] / np.linalg.norm(w[1])
    squared = -a * b / (a + b) if a + b else 0  # the squared length that u had, if u is to blame
    if any(np.isclose(squared, u @ u, rtol=1e-6) for u in (parting, w[0] - w[1])):
        return ValueError(
            f"Your direction u has the length {squared**0.5:.3g}. Divide it by that: `w @ u` and "
            "`np.outer` both count it."
        )
    return ValueError(
        f"Along your direction w is stretched {1 + a:.4g} times and k {1 + b:.4g} times. The two "
        "should multiply to 1."
    )


def _not_opposite(w2: np.ndarray) -> ValueError | None:
    """What to say of rows 0 and 1 that are not opposite."""
    norms = np.linalg.norm(w2[:2], axis=1)
    if not norms.all():
        return ValueError("Rows 0 and 1 of w2 should not be 0: they need a cosine.")
    cosine = float(w2[0] @ w2[1] / norms.prod())
    if cosine < OPPOSITE:
        return None
    return ValueError(
        f"All products are kept, but rows 0 and 1 of w2 have the cosine {cosine:.3f}; it should "
        f"be below {OPPOSITE}. Is the direction that you stretch one to which they have dot "
        "products of opposite signs, and do you stretch enough?"
    )


def _two_tables(name: str, seed: int, n: int, m: int, d: int, alike: float | None = None) -> Case:
    """Normal tables; `alike` is the cosine of rows 0 and 1 of w."""
    rng = np.random.default_rng(seed)
    w, k = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if alike is not None:
        one = w[0] / np.linalg.norm(w[0])
        other = w[1] - (w[1] @ one) * one
        other /= np.linalg.norm(other)
        w[1] = 2 * (alike * one + (1 - alike**2) ** 0.5 * other)
    return Case(name, (w.clip(-10, 10), k.clip(-10, 10)))


def _draw_tables(rng: np.random.Generator) -> Case:
    n, m, d = (int(i) for i in (rng.integers(2, 9), rng.integers(1, 9), rng.integers(2, 21)))
    seed, alike = int(rng.integers(10**6)), float(rng.uniform(-0.9, 0.9))
    return _two_tables(f"drawn: {n=}, {m=}, {d=}", seed, n, m, d, alike)


_POSITIVE = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 4.0], [2.0, 2.0, 1.0]])
_UNEQUAL = np.array([[0.06, 0.08], [10.0, 1.0]])
_HAIR = np.array([[3.0, 1.0, 1e-6], [1.0, 3.0, -1e-6], [0.0, 0.0, 0.0]])

check_twin = Check(
    "twin",
    my_twin,
    asks="f(w [n, d], k [m, d]) -> (w2, k2), with the same products, rows 0 and 1 of w2 opposite",
    cases=[
        Case(
            "three words, two in company",
            (np.array([[1.0, 2.0], [-1.0, 3.0], [2.0, 1.0]]), np.array([[1.0, 1.0], [0.5, -2.0]])),
        ),
        Case("all numbers positive", (_POSITIVE, np.array([[1.0, 5.0, 2.0], [3.0, 1.0, 1.0]]))),
        _two_tables("a cosine of 0.9", 0, 6, 4, 5, 0.9),
        _two_tables("rows at a right angle", 1, 4, 3, 3, 0.0),
        _two_tables("rows that are opposite already", 2, 4, 3, 3, -1.0),
        Case("a short row and a long one", (_UNEQUAL, _POSITIVE[:, 1:])),
        Case("a long row and a short one", (2 * _UNEQUAL[::-1] / [[2], [1]], _POSITIVE[:, 1:])),
        Case("opposite by a hair, and rows of zeros", (_HAIR, _POSITIVE * [[1], [0], [-1]])),
        _two_tables("41 words, 16 numbers", 3, 41, 41, 16),
        _two_tables("more numbers than words", 4, 2, 1, 20, 0.8),
    ],
    draw=_draw_tables,
    watch=_products,
    mistakes=[],
    note=lambda w, k, products: "These are the products w2 @ k2.T.",
)

# --- Positive PMI -----------------------------------------------------------------------------


def my_ppmi(counts):
    p = counts / counts.sum()
    by_chance = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    seen = p > 0
    ratio = np.where(seen, p, 1) / np.where(seen, by_chance, 1)
    return np.maximum(np.log(ratio), 0)


def _draw_counts(rng: np.random.Generator) -> tuple:
    n, m = (int(i) for i in rng.choice([1, 2, 3, 5, 8], 2))
    counts = rng.poisson(rng.choice([0.7, 3.0, 40.0]), (n, m)) * int(rng.choice([1, 1, 900]))
    counts[rng.random(n) < 0.15] = 0
    counts[:, rng.random(m) < 0.15] = 0
    counts[rng.integers(n), rng.integers(m)] += 1
    return (counts.astype(rng.choice(["int64", "float64"])),)


_RARE = np.full((50, 50), 100_000.0)  # but for two rare words that meet once
_RARE[0], _RARE[:, 0], _RARE[0, 0] = 0, 0, 1

check_ppmi = Check(
    "ppmi",
    my_ppmi,
    asks="f(counts [n, m]) -> positive pointwise mutual information [n, m]",
    cases=[
        Case("two words, three contexts", (np.array([[6.0, 1.0, 1.0], [2.0, 1.0, 9.0]]),)),
        Case("whole numbers", (np.array([[10, 1], [2, 7], [3, 3]]),)),
        Case("pairs that were never seen", (np.array([[4.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),)),
        Case("a word that was never seen", (np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 0.0]]),)),
        Case("a context without words", (np.array([[4.0, 0.0], [3.0, 0.0]]),)),
        Case("large counts", (np.array([[100_000, 2], [3, 90_000], [70_000, 1]]),)),
        Case("one meeting among millions", (_RARE[:13, :13].astype(np.int64),)),
        Case("one meeting among more millions", (_RARE,)),
        Case("one count", (np.array([[5]]),)),
    ],
    draw=_draw_counts,
    mistakes="""
not cut off: This is PMI with its negative entries. The positive kind has 0 there.
    return np.log(ratio)
0 / 0: An empty row or column has P = 0, and 0 / 0 is not a number. Treat pairs that were never \
seen apart.
    ratio = p / by_chance
base 2: You took the logarithm to base 2; here it is the natural one.
    return np.maximum(np.log2(ratio), 0)
row shares only: You divided by P(w) alone. A frequent context meets everybody: divide by P(c) too.
    by_chance = p.sum(axis=1, keepdims=True)
ratio without logarithm: This is the ratio itself. Take its logarithm.
    return np.where(seen, ratio, 0)
plus one before the logarithm: You took ln(1 + ratio). That avoids -inf, but a ratio of 1 \
(chance) must give 0.
    return np.log1p(np.where(seen, ratio, 0))
add-one counts: You added 1 to all counts. That is a smoothing that nobody asked for here.
    p = (counts + 1.0) / (counts + 1.0).sum()
rows for columns: You used P(w) twice. The columns have shares of their own: axis=0.
    by_chance = p.sum(axis=1, keepdims=True) ** 2
""",
)

# --- The rank that a paper should print -------------------------------------------------------


def my_rank(e, a, b, c, d, inputs):
    unit = e / np.sqrt((e**2).sum(axis=1, keepdims=True))
    s = unit @ (unit[b] - unit[a] + unit[c])
    higher = s > s[d]
    if not inputs:
        higher[[a, b, c]] = False
    return 1 + int(higher.sum())


def _draw_rank(rng: np.random.Generator) -> tuple:
    while True:
        n, width = int(rng.choice([4, 5, 9, 30, 150])), int(rng.choice([2, 3, 8]))
        e = rng.normal(size=(n, width)) * 10 ** rng.uniform(-2, 2, (n, 1))
        a, b, c, d = (int(i) for i in rng.permutation(n)[:4])
        unit = e / np.linalg.norm(e, axis=1, keepdims=True)
        if rng.random() < 0.5:
            e[d] = (unit[b] - unit[a] + unit[c] + rng.normal(0, 0.3, width)) * 2
            unit[d] = e[d] / np.linalg.norm(e[d])
        s = np.sort(unit @ (unit[b] - unit[a] + unit[c]))
        if np.diff(s).min() > 1e-6:
            return e, a, b, c, d, bool(rng.random() < 0.5)


def _polar(lengths, angles) -> np.ndarray:
    return np.asarray(lengths * np.stack([np.cos(angles), np.sin(angles)])).T


_STREETS = np.array([[4, 0], [4, 3], [1, 0.2], [0.8, 0.9], [-1, 1], [0.1, 2], [3, 3.5]])
_LENGTHS = _polar([1, 3, 0.5, 2, 1e-3, 2e-3, 5e-3, 9], [0.1, 0.7, 1.5, 1.9, 2.4, 3.1, 2.05, 1.3])
_WIDE = np.cos(np.arange(1.0, 1201) ** 2).reshape(30, 40)
# Row 3 is as short as a row may be, and ahead of row 4 by a hair.
_SHORT = _polar([1, 3, 0.5, 1e-3, 2, 9, 9, 9], [0.1, 0.7, 1.5, 1.0, 0.99999, 1.6, 4.05, 5.3])


def _hair(ahead: float) -> np.ndarray:
    """Rows of which two point nearly the goal's way: row 3, of length 1e-3, is ahead by so much."""
    e = np.array([[1.0, 0], [3, 4], [0, 2], [0, 0], [7, 0], [-1, 2], [1, -9]])
    goal = np.array([0.6, 0.8]) - [1, 0] + [0, 1]
    goal /= np.linalg.norm(goal)
    aside = goal[::-1] * [-1, 1]
    near, far = 0.3, 0.3 + ahead  # the sine of the angle to the goal
    e[3] = 1e-3 * (near * aside + (1 - near**2) ** 0.5 * goal)
    e[4] = 7 * (-far * aside + (1 - far**2) ** 0.5 * goal)
    return e


check_rank = Check(
    "rank",
    my_rank,
    asks="f(e [n, d_e], a, b, c, d, inputs) -> the rank of row d, 1 = best",
    cases=[
        Case("seven rows, inputs left out", (_STREETS, 0, 1, 2, 3, False)),
        Case("seven rows, inputs kept", (_STREETS, 0, 1, 2, 3, True)),
        Case("another order of rows", (_STREETS[::-1].copy(), 6, 5, 4, 0, True)),
        Case("the worst answer", (_STREETS, 0, 1, 2, 4, False)),
        Case("very short rows", (_LENGTHS, 0, 1, 2, 3, True)),
        Case("very long rows", (_LENGTHS * 1e6, 0, 1, 2, 3, True)),
        Case("the worst of many", (_polar(1, np.arange(150.0) / 24), 0, 3, 10, 90, True)),
        Case("four rows, inputs left out", (_STREETS[[0, 4, 2, 5]], 2, 0, 3, 1, False)),
        Case("four rows, inputs kept", (_STREETS[[0, 4, 2, 5]], 2, 0, 3, 1, True)),
        Case("a short row that is ahead by a hair", (_SHORT, 0, 1, 2, 3, True)),
        Case("rows of forty numbers", (_WIDE, 3, 7, 11, 29, True)),
        Case("ahead by the eleventh digit", (_hair(1e-11), 0, 1, 2, 3, True)),
        Case("behind by the eleventh digit", (_hair(-1e-11), 0, 1, 2, 3, True)),
    ],
    draw=_draw_rank,
    mistakes="""
from 0: You count from 0. The best has rank 1.
    return int(higher.sum())
inputs always out: You leave the inputs out whatever `inputs` says.
    if True:
inputs always kept: With inputs=False the rows a, b and c must not count.
    if False:
inputs the other way round: inputs=True keeps them, inputs=False leaves them out. Yours does the \
opposite.
    if inputs:
only c left out: All three inputs are left out, not c alone.
    higher[c] = False
a - b + c: You went the other way: from a to b is b - a.
    s = unit @ (unit[a] - unit[b] + unit[c])
lengths kept: You used the rows as they are. Bring them to length 1 first.
    unit = e
goal of raw rows: You ranked by cosine, but computed b - a + c from rows of unequal length.
    s = unit @ (e[b] - e[a] + e[c])
no arithmetic: You ranked by the nearness to c alone. That is the control, not the analogy.
    s = unit @ unit[c]
from the bottom: You rank from the smallest score. The best answer has the largest.
    higher = s < s[d]
""",
)

# --- What a dot product learns ----------------------------------------------------------------

P, R, NEGATIVES = 1 / 50, 1 / 10 * 1 / 20, 5
SETTLED = float(np.log(P / R))

check_dot = Ladder("dot", [
    Rung("a", "the share of the made-up pairs", R, {
        1 / 10 + 1 / 20: "Both must be drawn: multiply, don't add.",
        P: "That is the share of the real pairs.",
        R / 2: "Of the made-up pairs, not of all: don't halve it.",
    }, hint="Two words, each drawn on its own."),
    Rung("b", "where the dot product settles, with as many made-up pairs as real ones", SETTLED, {
        P / R: "This is the ratio. The dot product learns its logarithm.",
        np.log2(P / R): "This is in bits; here ln is natural.",
        -SETTLED: "Turn the ratio round: real over made-up.",
        P / (P + R): "This is the probability that the pair is real. The dot product is what sigma "
            "makes it from.",
        np.log(P): "The share alone says nothing. What would chance give?",
        1.4: "Rounded too far: give three digits.",
    }, hint="e^x = P / R"),
    Rung("c", "where it settles with five made-up pairs for each real one",
         np.log(P / (NEGATIVES * R)), {
        SETTLED / NEGATIVES: "The five stand inside the logarithm: P / (5 R).",
        SETTLED + np.log(NEGATIVES): "More made-up pairs push down, not up.",
        SETTLED: "This is (b). Now R is five times as large.",
        0.0: "Only the positive kind is cut off at 0. The dot product itself goes below.",
        np.log(NEGATIVES * R / P): "Turn the ratio round: real over made-up.",
        -0.22: "Rounded too far: give three digits.",
    }, hint="ln(P / (5 R)); it need not be positive."),
    Rung("d", "the slope of the loss by the dot product at 0", (R - P) / 2, {
        (P - R) / 2: "Its sign: a larger dot product lowers this loss.",
        R - P: "sigma(0) is a half.",
        (R - P) / 4: "P and R are shares of the real and of the made-up pairs, and each kind sums "
            "to 1. No further half.",
        (P + R) * np.log(2): "This is the loss itself. Its slope is asked.",
        -0.008: "Rounded too far: give three digits.",
    }, hint="R sigma(0) - P (1 - sigma(0))"),
    Rung("e", "the cosine", SETTLED / 4, {
        SETTLED: "This is the dot product. Divide by both norms.",
        SETTLED / 2: "Divide by both norms, not by one.",
        P / R / 4: "The dot product is ln 4, not 4.",
        0.35: "Rounded too far: give three digits.",
    }, hint="The dot product over the product of the norms, 2 times 2."),
], asks="the rungs of the exercise \"What a dot product learns\"")  # fmt: skip

# --- A test for cosines -----------------------------------------------------------------------

unit_rows = my_cosines  # by this name a variant of it can call it


check_cosine_test = TestCheck(
    "my_cosine_test",
    asks="test(cosines), which raises AssertionError if cosines(x, y) is wrong",
    of=my_cosines,
    right="""
unit rows: it divides each row by its norm
divided after: it divides the dot products
    return x @ y.T / x_norm / y_norm.T
loops: it takes one pair after another
    return np.array([[a @ b / np.sqrt(a @ a) / np.sqrt(b @ b) for b in y] for a in x])
by distance: unit vectors have the squared distance 2 - 2 cos, so it rounds a little differently
    return 1 - ((unit_x[:, None] - unit_y) ** 2).sum(axis=-1) / 2
float32: it computes in float32, so allow for an error of 1e-5
    return unit_rows(x.astype(np.float32), y.astype(np.float32))
float32, clipped: it computes in float32 and clips to the range from -1 to 1, so allow for 1e-5
    unit_x = (x / x_norm).astype(np.float32)
    unit_y = (y / y_norm).astype(np.float32)
    return np.clip((unit_x[:, None] * unit_y).sum(axis=-1), -1, 1)
""",
    wrong="""
dot products: it forgets the norms
    return x @ y.T
root of 2: a vector has the cosine 0.5 with itself
    return unit_x @ unit_y.T / 2
norms of x alone: it forgets the norms of y. Are yours all 1?
    unit_y = y
norms of y alone: it forgets the norms of x. Are yours all 1?
    unit_x = x
squared norms: the root is missing
    x_norm = (x**2).sum(axis=1, keepdims=True)
    y_norm = (y**2).sum(axis=1, keepdims=True)
one norm: it divides all rows by one norm. Do your rows differ in length?
    x_norm = np.sqrt((x**2).sum() / len(x))
    y_norm = np.sqrt((y**2).sum() / len(y))
absolute: it loses the sign
    return np.abs(unit_x @ unit_y.T)
clipped: negative cosines become 0. Are any of yours negative?
    return np.maximum(unit_x @ unit_y.T, 0)
epsilon: it adds 0.01 to each norm. Do you try short vectors?
    unit_x = x / (x_norm + 0.01)
    unit_y = y / (y_norm + 0.01)
centred: it subtracts each row's mean, which makes a correlation of it
    return unit_rows(*(z - z.mean(axis=1, keepdims=True) + 1e-12 for z in (x, y)))
angle: it is right at 1, 0 and -1, and off by some hundredths between, where a part is linear \
in the angle. Do you try an angle between, and is your tolerance small enough?
    + s = np.clip(unit_rows(x, y), -1, 1)
    return 0.85 * s + 0.15 * (1 - 2 * np.arccos(s) / np.pi)
transposed: rows and columns have changed places. Do x and y differ, in number too?
    return unit_y @ unit_x.T
reshaped: it is right where x and y have equally many rows. Do yours differ in number?
    return (unit_x @ unit_y.T).reshape(len(y), len(x))
x in place: its answer is right, but your x is not what it was. Do you look?
    unit_x = np.divide(x, x_norm, out=x)
y in place: its answer is right, but your y is not what it was. Do you look?
    unit_y = np.divide(y, y_norm, out=y)
the first 32: it reads the first 32 numbers of each vector. How long are yours?
    return unit_rows(x[:, :32], y[:, :32])
""",
)
