"""The check of an analogy's rank, with or without its inputs."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _scores(e: Any, a: int, b: int, c: int, unit: bool = True, sign: int = 1) -> np.ndarray:
    rows = np.asarray(e, dtype=np.float64)
    u = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    parts = u if unit else rows
    return np.asarray((u if unit else rows) @ (parts[c] + sign * (parts[b] - parts[a])))


def _place(s: np.ndarray, d: int, out: Any = ()) -> int:
    higher = s > s[d]
    higher[list(out)] = False
    return 1 + int(higher.sum())


def _rank(e: np.ndarray, a: int, b: int, c: int, d: int, inputs: bool) -> int:
    """1 plus the number of rows that score higher."""
    return _place(_scores(e, a, b, c), d, () if inputs else (a, b, c))


def _unit(e: Any) -> np.ndarray:
    rows = np.asarray(e, dtype=np.float64)
    return np.asarray(rows / np.sqrt((rows**2).sum(axis=1, keepdims=True)))


def _goal_of_raw(e: Any, a: int, b: int, c: int, d: int, inputs: bool) -> int:
    rows = np.asarray(e, dtype=np.float64)
    s = _unit(e) @ (rows[b] - rows[a] + rows[c])
    return _place(s, d, () if inputs else (a, b, c))


def _draw(rng: np.random.Generator) -> tuple:
    """Rows of unequal length; the answer is good, middling or bad; no two scores alike."""
    while True:
        n, width = int(rng.choice([4, 5, 9, 30, 150])), int(rng.choice([2, 3, 8]))
        e = rng.normal(size=(n, width)) * 10 ** rng.uniform(-2, 2, (n, 1))
        a, b, c, d = (int(i) for i in rng.permutation(n)[:4])
        if rng.random() < 0.5:
            e[d] = (_unit(e)[b] - _unit(e)[a] + _unit(e)[c] + rng.normal(0, 0.3, width)) * 2
        s = np.sort(_scores(e, a, b, c))
        if np.diff(s).min() > 1e-6:
            return e, a, b, c, d, bool(rng.random() < 0.5)


_STREETS = np.array(
    [[4.0, 0.0], [4.0, 3.0], [1.0, 0.2], [0.8, 0.9], [-1.0, 1.0], [0.1, 2.0], [3.0, 3.5]]
)

_RING = np.stack([np.cos(np.arange(150.0) / 24), np.sin(np.arange(150.0) / 24)], axis=1)
_FAR = np.array([[1.0], [3.0], [0.5], [2.0], [1e-3], [2e-3], [5e-3], [9.0]])
_TURNS = np.array([0.1, 0.7, 1.5, 1.9, 2.4, 3.1, 2.05, 1.3])
_LENGTHS = _FAR * np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=1)

RANK = Check(
    "rank",
    reference=_rank,
    cases=[
        Case("seven rows, inputs left out", (_STREETS, 0, 1, 2, 3, False)),
        Case("seven rows, inputs kept", (_STREETS, 0, 1, 2, 3, True)),
        Case("another order of rows", (_STREETS[::-1].copy(), 6, 5, 4, 0, True)),
        Case("the worst answer", (_STREETS, 0, 1, 2, 4, False)),
        Case("very short rows", (_LENGTHS, 0, 1, 2, 3, True)),
        Case("very long rows", (_LENGTHS * 1e6, 0, 1, 2, 3, True)),
        Case("the worst of many", (_RING, 0, 3, 10, 90, True)),
        Case("four rows, inputs left out", (_STREETS[[0, 4, 2, 5]], 2, 0, 3, 1, False)),
        Case("four rows, inputs kept", (_STREETS[[0, 4, 2, 5]], 2, 0, 3, 1, True)),
    ],
    mistakes=[
        Mistake(
            "from 0",
            lambda *args: _rank(*args) - 1,
            "You count from 0. The best has rank 1.",
        ),
        Mistake(
            "inputs always out",
            lambda e, a, b, c, d, inputs: _rank(e, a, b, c, d, False),
            "You leave the inputs out whatever `inputs` says.",
        ),
        Mistake(
            "inputs always kept",
            lambda e, a, b, c, d, inputs: _rank(e, a, b, c, d, True),
            "With inputs=False the rows a, b and c must not count.",
        ),
        Mistake(
            "inputs the other way round",
            lambda e, a, b, c, d, inputs: _rank(e, a, b, c, d, not inputs),
            "inputs=True keeps them, inputs=False leaves them out. Yours does the opposite.",
        ),
        Mistake(
            "only c left out",
            lambda e, a, b, c, d, inputs: _place(_scores(e, a, b, c), d, () if inputs else (c,)),
            "All three inputs are left out, not c alone.",
        ),
        Mistake(
            "a - b + c",
            lambda e, a, b, c, d, inputs: _place(
                _scores(e, a, b, c, sign=-1), d, () if inputs else (a, b, c)
            ),
            "You went the other way: from a to b is b - a.",
        ),
        Mistake(
            "lengths kept",
            lambda e, a, b, c, d, inputs: _place(
                _scores(e, a, b, c, unit=False), d, () if inputs else (a, b, c)
            ),
            "You used the rows as they are. Bring them to length 1 first.",
        ),
        Mistake(
            "goal of raw rows",
            _goal_of_raw,
            "You ranked by cosine, but computed b - a + c from rows of unequal length.",
        ),
        Mistake(
            "no arithmetic",
            lambda e, a, b, c, d, inputs: _place(
                _unit(e) @ _unit(e)[c], d, () if inputs else (a, b, c)
            ),
            "You ranked by the nearness to c alone. That is the control, not the analogy.",
        ),
        Mistake(
            "from the bottom",
            lambda e, a, b, c, d, inputs: _place(
                -_scores(e, a, b, c), d, () if inputs else (a, b, c)
            ),
            "You rank from the smallest score. The best answer has the largest.",
        ),
    ],
    hints=[
        "Make all rows unit rows once, then build the goal from three of them.",
        "s = unit @ goal scores every row; which rows have s > s[d]?",
        "higher = s > s[d]; if not inputs: higher[[a, b, c]] = False; 1 + higher.sum()",
    ],
    draw=_draw,
)


def check_rank(f: Any) -> Result:
    """Check f(e [n, d_e], a, b, c, d, inputs) -> the rank of row d, 1 = best.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return RANK.run(f)
