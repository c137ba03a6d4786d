"""The check of a learner's own test: is a chunkwise form the causal sum that it should be?"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck

Array = np.ndarray


def parallel(q: Array, k: Array, v: Array, C: int) -> Array:
    """All pairs at once; C does not matter.

    Args:
        q, k, v: [n, d_k], [n, d_k], [n, d_v]
        C: tokens in a chunk
    Returns: [n, d_v]
    """
    return np.asarray(np.tril(q @ k.T) @ v)


def recurrent(q: Array, k: Array, v: Array, C: int) -> Array:
    """Token by token.

    Args:
        q, k, v, C: as for `parallel`
    Returns: as `parallel`
    """
    return chunks()(q, k, v, 1)


def chunks(**bug: Any) -> Any:
    """The chunkwise form, with one bug or none.

    Args:
        bug: its name
    Returns: f(q, k, v, C)
    """

    def f(q: Array, k: Array, v: Array, C: int) -> Array:
        state, o = np.zeros((k.shape[1], v.shape[1])), np.zeros(v.shape)
        last = len(q) // C * C if "drops the rest" in bug else len(q)
        for number, t in enumerate(range(0, last, C)):
            i = slice(t, t + C)
            q_i, k_i, v_i = q[i], k[i], v[i]
            w = np.tril(q_i @ k_i.T, bug.get("diagonal", 0))
            added = k_i.T @ v_i
            if "forgets" in bug:
                o[i], state = q_i @ state + w @ v_i, added
                continue
            if "early" in bug:
                state = state + added
            kept = 0 * state if "alone" in bug else state
            o[i] = (q_i @ kept) * bug.get("factor", 1) + w @ v_i
            if "early" not in bug and not (number == 0 and "skips first" in bug):
                state = bug.get("gamma", 1) * state + added
            if "one key lost" in bug:
                state = state - np.outer(k_i[-1], v_i[-1])
            if "two chunks" in bug and number >= 2:
                break
        return o

    return f


def _in_float32(q: Array, k: Array, v: Array, C: int) -> Array:
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    return np.asarray(np.tril(q @ k.T) @ v)


def _backwards(q: Array, k: Array, v: Array, C: int) -> Array:
    """From the whole sum down: each chunk takes away its own keys first."""
    state, o = k.T @ v, np.empty(v.shape)
    for t in reversed(range(0, len(q), C)):
        i = slice(t, t + C)
        state = state - k[i].T @ v[i]
        o[i] = q[i] @ state + np.tril(q[i] @ k[i].T) @ v[i]
    return o


def _divided(q: Array, k: Array, v: Array, C: int) -> Array:
    w = np.tril(q @ k.T)
    return np.asarray(w @ v / w.sum(axis=1, keepdims=True))


def _changes_v(q: Array, k: Array, v: Array, C: int) -> Array:
    o = parallel(q, k, v, C)
    v[-1] = 0
    return o


def _changes_k(q: Array, k: Array, v: Array, C: int) -> Array:
    o = parallel(q, k, v, C)
    k *= 2
    return o


def _reversed_rows(q: Array, k: Array, v: Array, C: int) -> Array:
    o = parallel(q, k, v, C)
    return np.concatenate([o[t : t + C][::-1] for t in range(0, len(q), C)])


def _not_causal(q: Array, k: Array, v: Array, C: int) -> Array:
    return np.asarray(q @ (k.T @ v))


def _swapped(q: Array, k: Array, v: Array, C: int) -> Array:
    return parallel(k, q, v, C)


def _scaled(q: Array, k: Array, v: Array, C: int) -> Array:
    return parallel(q, k, v, C) * q.shape[1] ** -0.5


CHUNK_TEST = TestCheck(
    "my_chunk_test",
    right=[
        Implementation("parallel", parallel, "a masked table gives the same numbers"),
        Implementation("recurrent", recurrent, "it goes token by token, whatever C is"),
        Implementation("chunks", chunks(), "it is the chapter's"),
        Implementation("backwards", _backwards, "it begins at the end and takes keys away"),
        Implementation("float32", _in_float32, "it computes in float32: allow 1e-4"),
    ],
    wrong=[
        Implementation("not causal", _not_causal, "its queries see all keys"),
        Implementation(
            "leak in the chunk",
            chunks(diagonal=10**6),
            "its queries see later keys of their own chunk",
        ),
        Implementation("one ahead", chunks(diagonal=1), "its queries see one key too many"),
        Implementation("own key hidden", chunks(diagonal=-1), "a query does not see its own key"),
        Implementation(
            "chunks alone", chunks(alone=True), "its chunks know nothing of one another"
        ),
        Implementation(
            "state first", chunks(early=True), "it adds a chunk to the state before reading it"
        ),
        Implementation(
            "last chunk only", chunks(forgets=True), "its state is the last chunk's. Three chunks?"
        ),
        Implementation(
            "first chunk lost", chunks(**{"skips first": True}), "the first chunk never gets in"
        ),
        Implementation(
            "a key lost",
            chunks(**{"one key lost": True}),
            "the last key of each chunk is not in the state",
        ),
        Implementation(
            "the rest dropped",
            chunks(**{"drops the rest": True}),
            "it stops where C does not divide n any more",
        ),
        Implementation(
            "three chunks", chunks(**{"two chunks": True}), "it stops after the third chunk"
        ),
        Implementation("fades", chunks(gamma=0.9), "its state fades from chunk to chunk"),
        Implementation("state twice", chunks(factor=2), "what the state says counts twice"),
        Implementation("divided", _divided, "it divides by the sum of the weights"),
        Implementation(
            "queries and keys swapped", _swapped, "its keys ask, and its queries answer"
        ),
        Implementation("scaled", _scaled, "it divides by the root of d_k"),
        Implementation("changes v", _changes_v, "it overwrites the values that it was given"),
        Implementation("changes k", _changes_k, "it overwrites the keys that it was given"),
        Implementation(
            "rows reversed", _reversed_rows, "each chunk's rows come out in reverse, sums unchanged"
        ),
    ],
    hints=[
        "What should come out, computed the slow way? np.tril(q @ k.T) @ v.",
        "Sizes: at least four chunks, and an n that C does not divide.",
        "np.allclose(form(q, k, v, C), np.tril(q @ k.T) @ v, atol=1e-4), and the inputs unchanged.",
    ],
)


def check_chunk_test(test: Any) -> Result:
    """Check test(form), which raises AssertionError if form(q, k, v, C) is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return CHUNK_TEST.run(test)
