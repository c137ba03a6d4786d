"""Which part of a forward pass is whose, and which does the work of which."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_src.calls import positional
from attention_src.models.smollm2.learner.checks import PartError, checked, kind, name_of
from attention_src.models.smollm2.learner.defaults import OURS

Array = np.ndarray
Shape = tuple[int, ...]

# Each part, and the coarser ones that do its work when they are there.
COARSER: dict[str, tuple[str, ...]] = {
    "project": (),
    "split_heads": (),
    "rotate": (),
    "append_and_read": (),
    "softmax": ("grouped_attention", "attention", "masked_softmax"),
    "masked_softmax": ("grouped_attention", "attention"),
    "dot_scores": ("grouped_attention", "attention"),
    "attention": ("grouped_attention",),
    "grouped_attention": (),
    "merge_heads": (),
    "sample": (),
}
# Parts that a forward pass cannot use.
UNUSED = {
    "multihead_attention": "it projects and attends in one, and rotary models rotate in between",
    "attention_backward": "a forward pass has no gradients",
}


class Parts:
    """The functions that a forward pass is made of: yours where there are some, ours elsewhere.

    A coarse part does the work of finer ones: with grouped_attention, attention is not used; with
    attention, masked_softmax and dot_scores are not; with masked_softmax, softmax is not.

    Args:
        own: name -> function, as `exercises.keep.parts()` returns them. multihead_attention and
            attention_backward are accepted and not used, see `UNUSED`.
    Raises:
        ValueError: a name that is no part's, or what is not a function
    """

    def __init__(self, own: Mapping[str, Any]) -> None:
        for name, f in own.items():
            if name not in COARSER and name not in UNUSED:
                names = ", ".join([*COARSER, *UNUSED])
                raise ValueError(f"parts holds {name!r}; it should hold some of {names}")
            if not callable(f):
                raise ValueError(f"parts[{name!r}] is {type(f).__name__}; it should be a function")
        self.own = {name: positional(f, _names(name)) for name, f in own.items()}

    def whose(self) -> dict[str, str]:
        """Say whose each part is.

        Returns: for each name "yours, f" with your function's name, or "ours"; and why a function
            of yours is not used
        """
        said = {name: "ours" for name in COARSER}
        for name in self.own:
            said[name] = f"yours, {name_of(self.own[name])}"
        for name in self.own:
            covering = [part for part in COARSER.get(name, ()) if part in self.own]
            why = f"{covering[0]} does its work" if covering else UNUSED.get(name)
            said[name] += f", not used: {why}" if why else ""
        for name, coarser in COARSER.items():
            covering = [part for part in coarser if part in self.own]
            if covering and name not in self.own:
                said[name] = f"not used: {covering[0]} does its work"
        for name in ("attention", "grouped_attention"):
            if said[name] == "ours":
                said[name] = "ours, made of finer parts"
        return said

    def project(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Any:
        """Queries, keys and values of every token.

        Args:
            x: [..., n, d_model]
            w_q, w_k, w_v: [d_model, d_q] and twice [d_model, d_kv]
        Returns: [..., n, d_q] and twice [..., n, d_kv]
        """
        shapes = [(*x.shape[:-1], w.shape[1]) for w in (w_q, w_k, w_v)]
        return self._several("project", (x, w_q, w_k, w_v), shapes)

    def split_heads(self, x: Array, n_heads: int) -> Array:
        """Cut the last axis into heads.

        Args:
            x: [..., n, H d]
            n_heads: H
        Returns: [..., H, n, d]
        """
        shape = (*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)
        return self._one("split_heads", (x, n_heads), shape)

    def rotate(self, x: Array, positions: Array, base: float) -> Array:
        """Turn each half-split pair by its angle.

        Args:
            x: [..., n, d]
            positions: [n]
            base: of the frequencies
        Returns: [..., n, d]
        """
        return self._one("rotate", (x, positions, base), x.shape)

    def append_and_read(self, keys: Array, values: Array, length: int, k: Array, v: Array) -> Any:
        """Write new keys and values into storage; read all.

        Args:
            keys, values: [..., capacity, d]  changed in place
            length: how many tokens they hold
            k, v: [..., n, d]
        Returns: twice [..., length + n, d]
        """
        shape = (*k.shape[:-2], length + k.shape[-2], k.shape[-1])
        return self._several("append_and_read", (keys, values, length, k, v), [shape, shape])

    def grouped_attention(self, q: Array, k: Array, v: Array, mask: Array) -> Array:
        """Attention whose query heads share key/value heads, neighbours the same.

        Args:
            q: [..., H, n_q, d]
            k, v: [..., H_kv, n_k, d]
            mask: bool, broadcasts to [..., H, n_q, n_k]; True = may attend
        Returns: [..., H, n_q, d]
        """
        if "grouped_attention" in self.own:
            return self._one("grouped_attention", (q, k, v, mask), q.shape)
        r = q.shape[-3] // k.shape[-3]
        k, v = (np.repeat(x, r, axis=-3) for x in (k, v))  # [..., H, n_k, d]
        return self.attention(q, k, v, mask)

    def attention(self, q: Array, k: Array, v: Array, mask: Array) -> Array:
        """Attention, head by head.

        Args:
            q: [..., H, n_q, d]
            k, v: [..., H, n_k, d]
            mask: bool, broadcasts to [..., H, n_q, n_k]
        Returns: [..., H, n_q, d]
        """
        if "attention" in self.own:
            return self._one("attention", (q, k, v, mask), q.shape)
        p = self.masked_softmax(self.dot_scores(q, k), mask)  # [..., H, n_q, n_k]
        return np.asarray(p @ v)

    def dot_scores(self, q: Array, k: Array) -> Array:
        """Each query with each key, scaled.

        Args:
            q: [..., n_q, d]
            k: [..., n_k, d]
        Returns: [..., n_q, n_k]
        """
        return self._one("dot_scores", (q, k), (*q.shape[:-1], k.shape[-2]))

    def masked_softmax(self, s: Array, mask: Array) -> Array:
        """Weights of the visible keys.

        Args:
            s: [..., n_q, n_k]
            mask: bool, broadcasts to s
        Returns: [..., n_q, n_k]
        """
        if "masked_softmax" in self.own or "softmax" not in self.own:
            return self._one("masked_softmax", (s, mask), s.shape)
        some = mask.any(axis=-1, keepdims=True)  # softmax does not know rows without a visible key
        seen = np.where(mask, s, np.where(some, -np.inf, 0).astype(s.dtype))
        return np.where(some, self._one("softmax", (seen,), s.shape), 0)

    def merge_heads(self, x: Array) -> Array:
        """Put the heads of each token side by side.

        Args:
            x: [..., H, n, d]
        Returns: [..., n, H d]
        """
        *batch, H, n, d = x.shape
        return self._one("merge_heads", (x,), (*batch, n, H * d))

    def sample(self, logits: Array, temperature: float, top_p: float, u: float) -> int:
        """Choose a token. There is none of ours here: `smollm2.sampling` does it then.

        Args:
            logits: [n_vocabulary]
            temperature: 0 = the most probable token
            top_p: draw among the fewest tokens that hold this probability
            u: the random number, from 0 to below 1
        Returns: a token id
        Raises:
            PartError: it is none
        """
        answer = self._call("sample", (logits, temperature, top_p, u))
        if not isinstance(answer, int | np.integer) or not 0 <= answer < len(logits):
            raise PartError(
                f"{self._who('sample')} returned {kind(answer)}; it should return a token id, "
                f"from 0 to {len(logits) - 1}"
            )
        return int(answer)

    def _one(self, name: str, arguments: tuple, shape: Shape) -> Array:
        return checked(self._who(name), self._call(name, arguments), shape)

    def _several(self, name: str, arguments: tuple, shapes: list[Shape]) -> list[Array]:
        answer = self._call(name, arguments)
        if not isinstance(answer, tuple | list) or len(answer) != len(shapes):
            raise PartError(
                f"{self._who(name)} returned {kind(answer)}; it should return {len(shapes)} arrays"
            )
        return [checked(self._who(name), a, shape) for a, shape in zip(answer, shapes, strict=True)]

    def _call(self, name: str, arguments: tuple) -> Any:
        f = self.own.get(name) or OURS[name]
        try:
            with np.errstate(all="ignore"):  # numbers that are not finite are reported below
                return f(*arguments)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise PartError(f"{self._who(name)} raised {said}") from error

    def _who(self, name: str) -> str:
        """What an error calls a part."""
        return f"parts[{name!r}] ({name_of(self.own[name])})" if name in self.own else f"our {name}"


def _names(part: str) -> list[str]:
    """The arguments of a part, as its method here calls them."""
    method = getattr(Parts, part, None)  # softmax has none, and one argument
    return list(inspect.signature(method).parameters)[1:] if method else []
