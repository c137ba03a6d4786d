"""The check of contexts: scores to weights, weights to an average of the states."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

STATES = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 5.0]])
SCORES = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.0], [0.5, 0.5, 0.5], [-2.0, 2.0, 1.0]])


def _weights(s: np.ndarray, axis: int | None = 1) -> np.ndarray:
    e = np.exp(s)
    return e / e.sum(axis=axis, keepdims=True)


def _draw(rng: np.random.Generator) -> tuple:
    """Any sizes from 1 to 6, scores up to ±20."""
    m, n, d = rng.integers(1, 7, 3)
    spread = rng.choice([0.5, 3.0, 20.0])
    return rng.uniform(-spread, spread, (m, n)), rng.normal(size=(n, d))


CONTEXTS = Check(
    "contexts",
    reference=lambda s, h: _weights(s) @ h,
    cases=[
        Case("one step", (SCORES[:1], STATES)),
        Case("four steps", (SCORES, STATES)),
        Case("equal scores", (np.zeros((2, 3)), STATES)),
        Case("scores of 20 and -20", (np.array([[20.0, -20.0, 19.0]]), STATES)),
        Case("one state", (np.array([[3.0], [-1.0]]), STATES[2:])),
        Case("states of one number", (SCORES, STATES[:, :1])),
        Case("as many steps as states", (SCORES[:3], STATES)),
        Case("large states that cancel", (np.zeros((2, 2)), np.array([[10000.1], [-10000.2]]))),
    ],
    mistakes=[
        Mistake(
            "wrong axis",
            lambda s, h: _weights(s, 0) @ h,
            "Your weights sum to 1 over the steps. Each step shares out one unit over the states: "
            "sum over axis 1.",
        ),
        Mistake(
            "one sum",
            lambda s, h: _weights(s, None) @ h,
            "All your weights together sum to 1. Those of each step should: sum over axis 1.",
        ),
        Mistake(
            "no normalisation",
            lambda s, h: np.exp(s) @ h,
            "The weights of a step must sum to 1. Divide by the row's sum.",
        ),
        Mistake("scores as weights", lambda s, h: s @ h, "These are scores. Make weights of them."),
        Mistake(
            "no exponential",
            lambda s, h: s / s.sum(axis=1, keepdims=True) @ h,
            "You divided the scores themselves by their sum. Take np.exp of them first.",
        ),
        Mistake(
            "the best state alone",
            lambda s, h: h[s.argmax(axis=1)],
            "You take the state with the largest score. Average all states, by their weights.",
        ),
        Mistake(
            "plain mean",
            lambda s, h: np.tile(h.mean(axis=0), (len(s), 1)),
            "This is the plain mean of the states: the scores play no part.",
        ),
        Mistake(
            "the last state",
            lambda s, h: np.tile(h[-1], (len(s), 1)),
            "This is the copyist with one vector: the last state, at each step.",
        ),
        Mistake(
            "weights only",
            lambda s, h: _weights(s),
            "These are the weights. Average the states with them: p @ h.",
        ),
    ],
    hints=[
        "Three steps: exponentials, division by each row's sum, a matrix product.",
        "e = np.exp(s), then e.sum(axis=1, keepdims=True)",
        "e / e.sum(axis=1, keepdims=True) @ h",
    ],
    draw=_draw,
)


def check_contexts(f: Any) -> Result:
    """Check f(s, h) -> contexts [m, d].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return CONTEXTS.run(f)
