"""The check of the delta rule with a state that goes on."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.linear.reference import delta_rule

Array = np.ndarray


def _reference(q: Array, k: Array, v: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    o, state = delta_rule(q, k, v, beta, initial_state=state, return_state=True)
    return o, state


def stepped(change: Any, *, early: bool = False, start: Any = None) -> Any:
    """The rule token by token, with one thing changed.

    Args:
        change: what is added, a function of k_t, v_t, β_t and the state
        early: whether to read before writing
        start: a function of the first state; None = as it is
    Returns: f(q, k, v, beta, state)
    """

    def f(q: Array, k: Array, v: Array, beta: Array, state: Array) -> tuple[Array, Array]:
        state = np.array(state) if start is None else start(state)
        o = np.empty(v.shape)
        for t in range(len(q)):
            before = state
            state = state + change(k[t], v[t], beta[t], state)
            o[t] = q[t] @ (before if early else state)
        return o, state

    return f


def right(k: Array, v: Array, b: float, state: Array) -> Array:
    """What the delta rule adds.

    Args:
        k, v: [d_k], [d_v]
        b: β
        state: [d_k, d_v]
    Returns: [d_k, d_v]
    """
    return np.asarray(b * np.outer(k, v - k @ state))


def _case(name: str, seed: int, n: int, d_k: int, d_v: int, *, unit: bool = True, twice=False):
    rng = np.random.default_rng(seed)
    return Case(name, _inputs(rng, n, d_k, d_v, unit, twice))


def _inputs(rng: np.random.Generator, n: int, d_k: int, d_v: int, unit: bool, twice: bool) -> tuple:
    q, k, v = (rng.normal(size=(n, d)) for d in (d_k, d_k, d_v))
    if twice:
        k[-1] = k[0]
    k /= np.linalg.norm(k, axis=1, keepdims=True) if unit else 1.2 * np.abs(k).sum(1).max()
    return q, k, v, rng.random(n), rng.normal(size=(d_k, d_v))


def _draw(rng: np.random.Generator) -> tuple:
    n, d_k, d_v = (int(size) for size in rng.integers(1, (9, 6, 6)))
    args = _inputs(rng, n, d_k, d_v, bool(rng.random() < 0.6), bool(rng.random() < 0.4))
    args[3][rng.random(n) < 0.2] = rng.choice([0.0, 1.0])  # β
    return args


def _borders() -> tuple:
    q, k, v, _, state = _inputs(np.random.default_rng(7), 5, 3, 2, True, True)
    return q, k, v, np.array([0.5, 0.0, 1.0, 0.001, 0.0]), state


_ALONE = (np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 5.0), np.ones(1), np.full((1, 1), 2.0))

DELTA = Check(
    "my_delta",
    reference=_reference,
    cases=[
        _case("three tokens", 0, 3, 2, 3),
        _case("a key that comes twice", 1, 4, 3, 2, twice=True),
        _case("keys shorter than 1", 2, 5, 3, 2, unit=False),
        _case("width 1 for values", 3, 6, 4, 1),
        Case("one token, width 1: replace 2 by 5", _ALONE),
        Case("β of 0, 1 and 0.001", _borders()),
    ],
    draw=_draw,
    drawn=30,
    returns=("o", "state"),
    mistakes=[
        Mistake(
            "sum",
            stepped(lambda k, v, b, s: np.outer(k, v)),
            "You added k v^T. Subtract from v first what the state says for k, and take β of it.",
        ),
        Mistake(
            "sum with β",
            stepped(lambda k, v, b, s: b * np.outer(k, v)),
            "You added β k v^T. Subtract from v first what the state says for k.",
        ),
        Mistake(
            "no β", stepped(lambda k, v, b, s: right(k, v, 1.0, s)), "You left out β: yours is 1."
        ),
        Mistake(
            "β of the old value alone",
            stepped(lambda k, v, b, s: np.outer(k, v - b * (k @ s))),
            "β multiplies the new value as well as the old one.",
        ),
        Mistake(
            "β of the new value alone",
            stepped(lambda k, v, b, s: np.outer(k, b * v - k @ s)),
            "β multiplies the old value as well as the new one.",
        ),
        Mistake(
            "wrong sign",
            stepped(lambda k, v, b, s: -right(k, v, b, s)),
            "Your step goes up the gradient: write v minus what is held, not the reverse.",
        ),
        Mistake(
            "held value added",
            stepped(lambda k, v, b, s: b * np.outer(k, v + k @ s)),
            "You add what the state holds for k. Subtract it.",
        ),
        Mistake(
            "read first",
            stepped(right, early=True),
            "Your query reads the state before its own token was written.",
        ),
        Mistake(
            "from zero",
            stepped(right, start=np.zeros_like),
            "You begin with a state of zeros, not with the one that was given.",
        ),
        Mistake(
            "keys normalised",
            stepped(lambda k, v, b, s: right(k / np.linalg.norm(k), v, b, s)),
            "You brought keys to length 1. Take them as they come.",
        ),
    ],
    hints=[
        "What does the state say for k_t? k[t] @ state, of shape [d_v].",
        "added = beta[t] * (v[t] - k[t] @ state); state = state + np.outer(k[t], added).",
        "Copy the state first: inputs should stay as they were.",
    ],
)


def check_delta(f: Any) -> Result:
    """Check f(q [n, d_k], k [n, d_k], v [n, d_v], beta [n], state [d_k, d_v]) -> (o, state).

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return DELTA.run(f)
