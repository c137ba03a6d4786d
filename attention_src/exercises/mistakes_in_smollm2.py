"""Every mistake that a check of the course declares, and where a language model can make it.

>>> from attention_src.exercises.mistakes_in_smollm2 import declared
>>> wrong = [m for m in declared() if m.part]  # those that a forward pass can make
>>> wrong[0].function is None
False
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src import exercises
from attention_src.exercises.engine import Check, TestCheck
from attention_src.exercises.keep import PARTS

Array = np.ndarray


@dataclass(frozen=True)
class Declared:
    """A mistake that a check knows.

    chapter, exercise, name: the chapter's file, the check's name and the mistake's
    part: which of `keep.PARTS` makes it in a model; "" if none can
    function: of that part, with the mistake; None if there is no part
    why: why no part can make it, or ""
    for_a_test: True = wrong code that a learner's test is tried on
    """

    chapter: str
    exercise: str
    name: str
    part: str
    function: Callable | None
    why: str
    for_a_test: bool


NOWHERE = {
    "attention_backward": "is about gradients",
    "multihead_attention": "projects and attends in one; a rotary model rotates in between",
    "my_sharing_test": "takes no mask",
    "my_attention_test": "takes no mask",
    "attention_by_rows": "takes no mask",
    "tiled_attention": "takes no mask",
    "my_rotation_test": "rotates with base 10,000, the model was trained with 100,000",
    "window_mask": "this model has no window",
    "qk_norm_scores": "this model has no norm on queries and keys",
    "absorbed_attention": "this model has no latent",
}


# A learner's first attempts at a mask, which masked_softmax has, too: that is their part.
MASKS = (
    *("score set to 0", "mask added", "-1e9 added", "zeroed after softmax"),
    *("hidden by -1e4", "maximum from 0"),
)


def declared() -> list[Declared]:
    """Collect the mistakes of all checks, and the wrong code that learners' tests are tried on.

    Returns: chapter by chapter, in the order of the alphabet
    """
    return [mistake for chapter, check in _checks() for mistake in _of(chapter, check)]


def _checks() -> Iterator[tuple[str, Check | TestCheck]]:
    """Each chapter's checks, in the order of its file."""
    for found in pkgutil.iter_modules(exercises.__path__):
        module = importlib.import_module(f"{exercises.__name__}.{found.name}")
        for name, value in vars(module).items():
            if name.startswith("check_") and isinstance(value, Check | TestCheck):
                yield found.name, value


def _of(chapter: str, check: Check | TestCheck) -> Iterator[Declared]:
    test = isinstance(check, TestCheck)
    if isinstance(check, TestCheck):
        functions = [(wrong.name, wrong.function) for wrong in check.wrong]
    else:
        functions = [(mistake.name, mistake.wrong) for mistake in check.mistakes]
    part, put_in = AS_PART.get(check.name, (check.name, lambda f: f))
    for name, f in functions:
        if check.name == "grouped_attention" and name in MASKS:
            yield Declared(chapter, check.name, name, "", None, "is masked_softmax's", test)
        elif part in PARTS and check.name not in NOWHERE:
            yield Declared(chapter, check.name, name, part, put_in(f), "", test)
        else:
            why = NOWHERE.get(check.name, "is no part of a forward pass")
            yield Declared(chapter, check.name, name, "", None, why, test)


def _rows(f: Callable) -> Callable:
    """A softmax of a table, for scores with any number of axes."""
    return lambda x: np.asarray(f(x.reshape(-1, x.shape[-1]))).reshape(x.shape)


def _heads(f: Callable) -> Callable:
    """A function of [n, d] arrays, for arrays with axes in front: one head after the other."""

    def by_head(*arrays: Array) -> Array:
        front = arrays[0].shape[:-2]
        heads = [np.asarray(f(*(x[index] for x in arrays))) for index in np.ndindex(front)]
        return np.stack(heads).reshape(*front, *heads[0].shape)

    return by_head


def _causal(f: Callable) -> Callable:
    """A causal attention f(q, k, v) of whole texts, as attention of the last queries.

    Earlier queries are 0 then. It has a mask of its own and does not look at the given one.
    """

    def attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
        n_q, n_k = q.shape[-2], k.shape[-2]
        earlier = np.zeros_like(q, shape=(*q.shape[:-2], n_k - n_q, q.shape[-1]))
        o = _heads(f)(np.concatenate([earlier, q], axis=-2), k, v)
        return np.asarray(o[..., n_k - n_q :, :])

    return attention


def _tiled(f: Callable) -> Callable:
    return _causal(lambda q, k, v: f(q, k, v, 16, 16, causal=True))


def _softmax(s: Array) -> Array:
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1))


def _with_mask(f: Callable) -> Callable:
    """A masked softmax with the mask of one document instead of its own."""

    def masked_softmax(s: Array, mask: Array) -> Array:
        visible = np.asarray(f(np.zeros(s.shape[-1], dtype=int))).astype(bool)  # [n_k, n_k]
        return _softmax(np.where(visible[-s.shape[-2] :], s, -np.inf))

    return masked_softmax


def _from_lse(f: Callable) -> Callable:
    """The softmax that follows from a row's log-sum-exp."""
    return _rows(lambda s: np.exp(s - np.asarray(f(s))[:, None]))


def _converted(f: Callable, d: int = 64) -> Callable:
    """Projections whose w_q and w_k were stored for interleaved pairs and converted by f."""
    order = np.arange(d).reshape(2, -1).T.ravel()  # 0, d/2, 1, d/2 + 1, …

    def convert(w: Array) -> Any:
        heads = w.reshape(len(w), -1, d)[..., order]
        return f(heads.reshape(w.shape), heads.shape[1])

    return lambda x, w_q, w_k, w_v: (x @ convert(w_q), x @ convert(w_k), x @ w_v)


# What is no part by its name, but can be made one.
AS_PART: dict[str, tuple[str, Callable[[Callable], Callable]]] = {
    "softmax_test": ("softmax", lambda f: f),
    "my_kernel_test": ("softmax", _rows),
    "row_lse": ("softmax", _from_lse),
    "my_score_test": ("dot_scores", _heads),
    "my_scale_test": ("dot_scores", _heads),
    "packed_causal_mask": ("masked_softmax", _with_mask),
    "my_leak_test": ("attention", _causal),
    "my_tiled_test": ("attention", _tiled),
    "to_half_split": ("project", _converted),
}
