"""Three models with one mistake each, to be diagnosed; the check of the diagnosis.

Whoever reads on knows the answers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.rope.reference import rotate
from attention_src.shapes import check_impl

Array = np.ndarray


def neighbours(x: Array, positions: Array, base: float) -> Array:
    """Rotate with interleaved pairs where half-split ones are meant.

    Args:
        x: [..., n, d]
        positions: [n]
        base: of the frequencies
    Returns: [..., n, d]
    """
    halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    pair = np.split(rotate(halves, positions, base=base), 2, axis=-1)
    return np.stack(pair, axis=-1).reshape(x.shape)


def other_base(x: Array, positions: Array, base: float) -> Array:
    """Rotate with base 10,000, whatever is asked for.

    Args:
        x, positions, base: as for `neighbours`
    Returns: as `neighbours`
    """
    return rotate(x, positions, base=10_000.0)


def blind_to_itself(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Grouped attention in which a token does not see itself, but for the first.

    Args:
        q: [..., H, n_q, d_k]
        k, v: [..., H_kv, n_k, d]
        mask: bool, broadcasts to [..., H, n_q, n_k]
    Returns: [..., H, n_q, d_v]
    """
    n_q, n_k = q.shape[-2], k.shape[-2]
    itself = np.eye(n_q, n_k, n_k - n_q, dtype=bool)
    itself[:, 0] = False
    copies = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    return attention(q, *copies, mask=mask & ~itself)


_PATIENTS: dict[str, tuple[int, dict[str, Callable]]] = {
    "a": (2, {"rotate": neighbours}),
    "b": (1, {"grouped_attention": blind_to_itself}),
    "c": (3, {"rotate": other_base}),
}


def patient(name: str) -> dict[str, Callable]:
    """The parts of a model that is ill.

    Args:
        name: "a", "b" or "c"
    Returns: name -> function, for `SmolLM2`
    Raises:
        ValueError: another name
    """
    check_impl(name, tuple(_PATIENTS), "name")
    return dict(_PATIENTS[name][1])


_TOO_LOUD = "With that one the perplexity would be above a thousand, and the text no English."


def _rung(name: str) -> Rung:
    replies = [
        Reply(lambda: 4, "That one would give a perplexity that is far too good, below 5."),
        Reply(lambda: 5, _TOO_LOUD),
        Reply(lambda: 6, _TOO_LOUD),
    ]
    hint = "Write the mistake that you suspect and compare logits: below 0.001, it is the one."
    return Rung(
        name, f"the mistake of patient {name}", lambda: _PATIENTS[name][0], replies, hint, 0
    )


PATIENTS = Ladder("patients", [_rung(name) for name in _PATIENTS])


def check_patients(a: Any = ..., b: Any = ..., c: Any = ...) -> Result:
    """Check which mistake each patient has.

    Args:
        a, b, c: numbers from the list in the text; `...` = not answered yet
    Returns: status and message, as printed
    """
    return PATIENTS.run(a=a, b=b, c=c)
