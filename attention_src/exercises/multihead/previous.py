"""The check of a head whose weights the learner writes by hand; it is judged by what it does."""

import itertools
from typing import Any

import numpy as np

from attention_src.attention.reference import attention, attention_weights
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck

N_LETTERS, N_PLACES = 4, 8
LETTER = slice(0, N_LETTERS)
FREE = slice(N_LETTERS + N_PLACES, 2 * N_LETTERS + N_PLACES)
D_MODEL = FREE.stop
NEAR = 0.01
NAMES = ("w_q", "w_k", "w_v", "w_o")


def tokens_of(letters: Any) -> np.ndarray:
    """A text as the learner's head sees it.

    Args:
        letters: n numbers from 0 to 3, n from 1 to 8
    Returns: [n, 16]  a 1 for the letter, a 1 for the place, four free components
    """
    letters = np.asarray(letters, dtype=int)
    x = np.zeros((len(letters), D_MODEL))
    x[np.arange(len(letters)), letters] = 1
    x[np.arange(len(letters)), N_LETTERS + np.arange(len(letters))] = 1
    return x


def _texts() -> list[np.ndarray]:
    """Two named texts, all of up to three letters, and drawn ones of up to eight."""
    rng = np.random.default_rng(0)
    short = [np.array(t) for n in (2, 3) for t in itertools.product(range(N_LETTERS), repeat=n)]
    drawn = [rng.integers(0, N_LETTERS, n) for n in (4, 5, 6, 7, 8, 8) for _ in range(8)]
    return [np.array([2, 0, 1, 1, 3, 0]), np.array([0, 1, 2, 3, 3, 2, 1, 0]), *short, *drawn]


def check_previous_head(f: Any) -> Result:
    """Check f() -> (w_q, w_k, w_v, w_o): a head that writes the letter before into the free part.

    Args:
        f: the learner's function, without arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _PREVIOUS_HEAD.run(f)


def _matrices(answer: Any) -> list[np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != len(NAMES):
        raise ValueError("Your function should return four matrices: w_q, w_k, w_v, w_o.")
    parts = zip(answer, NAMES, strict=True)
    return [to_array(w, f"{name}, a matrix").astype(np.float64) for w, name in parts]


def _problem(*matrices: np.ndarray) -> str:
    """The first thing that is wrong with the four matrices; "" if nothing is."""
    return _bad_shapes(matrices) or _misbehaviour(matrices)


def _praise(*matrices: np.ndarray) -> str:
    return f". It writes the letter before in all {len(_texts())} texts, and nothing else."


def _bad_shapes(matrices: tuple[np.ndarray, ...]) -> str:
    """The first shape that does not fit; "" if all do."""
    for name, w in zip(NAMES, matrices, strict=True):
        if w.ndim != 2 or 0 in w.shape:
            return f"  {name} has shape {w.shape}; it should be a matrix."
        if not np.isfinite(w).all():
            return f"  {name} holds a number that is not finite."
    w_q, w_k, w_v, w_o = matrices
    for name, w in zip(NAMES[:3], matrices, strict=False):
        if w.shape[0] != D_MODEL:
            return f"  {name} has shape {w.shape}; tokens are {D_MODEL} wide: it needs 16 rows."
    if w_q.shape != w_k.shape:
        return (
            f"  w_q is {w_q.shape} and w_k is {w_k.shape}: queries and keys must be equally wide."
        )
    if w_o.shape != (w_v.shape[1], D_MODEL):
        return f"  w_o has shape {w_o.shape}; it should be ({w_v.shape[1]}, {D_MODEL})."
    return ""


def _misbehaviour(matrices: tuple[np.ndarray, ...]) -> str:
    """What the head does wrong in the first text where it does; "" if nowhere."""
    w_q, w_k, w_v, w_o = matrices
    for letters in _texts():
        x = tokens_of(letters)
        p = attention_weights(x @ w_q, x @ w_k)  # [n, n]
        written = attention(x @ w_q, x @ w_k, x @ w_v) @ w_o  # [n, 16]
        wanted = x[:-1, LETTER]
        near = np.abs(written[1:, FREE] - wanted).max(axis=1) <= NEAR
        elsewhere = np.abs(np.delete(written, np.arange(FREE.start, FREE.stop), axis=1)).max()
        text = "".join("abcd"[i] for i in letters)
        if not near.all():
            wrong = np.flatnonzero(~near) + 1
            i = int(wrong[len(wrong) // 2])  # places at the ends have a neighbour on one side only
            return _wrong_letter(text, i, p[i], written[i, FREE], wanted[i - 1])
        if not elsewhere <= NEAR:
            return (
                f"  In {text} the right letters are written, but the head also writes "
                f"{elsewhere:.3g} outside the free components 12 to 15. Others read those."
            )
    return ""


def _wrong_letter(text: str, i: int, p: np.ndarray, got: np.ndarray, wanted: np.ndarray) -> str:
    """What is wrong at one place: where the head looks, or what it writes."""
    numbers = ", ".join(f"{x:.3g}" for x in got + 0.0)
    lines = [
        f"  Text {text}, place {i} ({text[i]}): the letter before is {text[i - 1]}.",
        f"  expected in components 12 to 15: {', '.join(f'{x:.0f}' for x in wanted)}",
        f"  yours:                           {numbers}",
    ]
    j = int(np.argmax(p))
    if p[i - 1] > 1 - NEAR:
        lines.append("  It looks at the right place. What does it take from there, and where does")
        lines.append("  it write that?")
    elif np.ptp(p) < 1e-9:
        lines.append("  It looks at all places alike: all scores of this row are equal.")
    elif j == i - 1:
        lines.append(
            f"  It looks at the right place with weight {p[j]:.3f}, and elsewhere with the"
        )
        lines.append("  rest. Sharper: multiply w_q by a number.")
    elif p[j] < 0.5:
        lines.append(
            f"  It looks at several places, and gives place {i - 1} the weight {p[i - 1]:.3f}."
        )
    elif j == i:
        lines.append(f"  It looks at itself, with weight {p[j]:.3f}.")
    elif j == i + 1:
        lines.append(
            f"  It looks one place ahead, with weight {p[j]:.3f}. Which way is your shift?"
        )
    else:
        lines.append(f"  It looks most at place {j} ({text[j]}), with weight {p[j]:.3f}.")
    return "\n".join(lines)


_PREVIOUS_HEAD = DesignCheck("previous_head", _matrices, _problem, _praise)
