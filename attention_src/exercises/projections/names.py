"""The check of a head whose weights are written by hand: each token looks at the one it names.

Any matrices may do, so they are judged by what they do: the weights on sentences drawn for it.
"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck
from attention_src.softmax.reference import softmax

N_NAMES = 6
ENOUGH, FEWEST = 0.99, 2  # the weight asked for; with d_k = 1 a query's best key has an extreme key


def sentence(who: Any, named: Any) -> np.ndarray:
    """Tokens as vectors: one-hot who it is, then one-hot whom it names.

    Args:
        who: n different names, 0 to 5
        named: n names
    Returns: [n, 12]
    """
    return np.concatenate([np.eye(N_NAMES)[who], np.eye(N_NAMES)[named]], axis=1)


def sentences() -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw 60 sentences, the same at each call; all names are of tokens present.

    Returns: (who, named) of each
    """
    rng = np.random.default_rng(2026)
    fixed = [([0, 1, 2], [1, 2, 0]), ([3, 5], [3, 3]), ([4], [4])]
    drawn = []
    for length in rng.integers(1, N_NAMES + 1, 57):
        who = rng.permutation(N_NAMES)[:length]
        drawn.append((who, rng.choice(who, length)))
    return [(np.array(who), np.array(named)) for who, named in [*fixed, *drawn]]


def check_names(f: Any) -> Result:
    """Check f() -> w_q, w_k [12, d_k]: each token gives 0.99 of its weight to the one it names.

    Args:
        f: the learner's function, without arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _NAMES.run(f)


def _read(answer: Any) -> list[np.ndarray]:
    both = isinstance(answer, tuple | list) or np.ndim(answer) == 3
    if not both or len(answer) != 2:
        raise ValueError("Your function should return two matrices: return w_q, w_k")
    return [
        to_array(w, name).astype(np.float64) for w, name in zip(answer, ("w_q", "w_k"), strict=True)
    ]


def _problem(w_q: np.ndarray, w_k: np.ndarray) -> str:
    """The first thing that is wrong with the matrices; "" if nothing is."""
    width = 2 * N_NAMES
    for name, w in (("w_q", w_q), ("w_k", w_k)):
        if w.ndim != 2 or len(w) != width or w.shape[1] == 0:
            return f"  expected {name} of shape (12, d_k)\n  yours    {name} of shape {w.shape}"
    if w_q.shape != w_k.shape:
        return f"  w_q has d_k = {w_q.shape[1]}, w_k has {w_k.shape[1]}: a dot product needs one."
    for who, named in sentences():
        p = _weights(w_q, w_k, who, named)
        if not np.isfinite(p).all():
            return "  A weight is not a number: are your entries finite, and below 1e100 or so?"
        for i in range(len(who)):
            j = int(np.flatnonzero(who == named[i])[0])
            if p[i, j] < ENOUGH:
                return "\n".join([*_said(p, who, named, i, j), *_cause(w_q, w_k, p, i, j)])
    return ""


def _praise(w_q: np.ndarray, w_k: np.ndarray) -> str:
    d_k = w_q.shape[1]
    if d_k == FEWEST:
        return f", with d_k = {d_k}. That is the smallest there is."
    return f", with d_k = {d_k}. A smaller one will do: {FEWEST} is possible."


def _weights(w_q: np.ndarray, w_k: np.ndarray, who: np.ndarray, named: np.ndarray) -> np.ndarray:
    """The weights of one sentence: [n, n]."""
    x = sentence(who, named)
    return softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]))


def _does_it(w_q: np.ndarray, w_k: np.ndarray) -> bool:
    """True if each token of each sentence looks at the one that it names."""
    return all(
        (_weights(w_q, w_k, who, named)[named[:, None] == who] >= ENOUGH).all()
        for who, named in sentences()
    )


def _said(p: np.ndarray, who: np.ndarray, named: np.ndarray, i: int, j: int) -> list[str]:
    """The row that fails."""
    most = int(p[i].argmax())
    there = np.floor(p[i, j] * 1e4) / 1e4  # 0.98999 is not 0.99
    rest = "" if most == j else f" and {p[i, most]:.2f} to token {most}"
    return [
        f"  In the sentence who = {who.tolist()}, named = {named.tolist()}, token {i} names",
        f"  {named[i]}, which is token {j}. It gives {there:.4f} there{rest}.",
    ]


def _cause(w_q: np.ndarray, w_k: np.ndarray, p: np.ndarray, i: int, j: int) -> list[str]:
    """What explains the row, if that is certain; each cause is tried before it is named."""
    if int(p[i].argmax()) == j and np.ptp(p[i]) > 1e-9:
        return ["  It prefers the right one, but not by enough: larger entries, larger gaps."]
    if np.ptp(p[i]) < 1e-9:
        return ["  All its weights are equal: does w_q read whom a token names?"]
    if _does_it(w_k, w_q):
        return ["  Exchanged, they would do it: are w_q and w_k exchanged?"]
    if int(p[i].argmax()) == i and not w_q[N_NAMES:].any():
        return ["  It looks at itself: w_q does not read whom a token names."]
    return []


_NAMES = DesignCheck("names", _read, _problem, _praise)
