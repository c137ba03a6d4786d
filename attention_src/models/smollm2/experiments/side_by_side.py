"""Several wrong models in one batch: text b runs on parts b, and weights are read once for all."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_src.models.smollm2.learner.checks import PartError
from attention_src.models.smollm2.learner.dispatch import COARSER, Parts

Array = np.ndarray
RIGHT = Parts({})
DRAWN = 0.8, 0.9  # temperature and top_p for the part sample; other texts take the likeliest token


class SideBySide(Parts):
    """Parts of which text b of the batch runs on variants[b].

    What fails is set aside: `failed[b]` says why, and text b goes on with zeros.

    Args:
        variants: one for each text
    """

    def __init__(self, variants: Sequence[Parts]) -> None:
        super().__init__({})
        self.variants = list(variants)
        self.failed: dict[int, str] = {}

    def project(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Any:
        """As `Parts.project`."""
        return self._each("project", x, w_q, w_k, w_v)

    def split_heads(self, x: Array, n_heads: int) -> Array:
        """As `Parts.split_heads`."""
        return np.asarray(self._each("split_heads", x, n_heads))

    def rotate(self, x: Array, positions: Array, base: float) -> Array:
        """As `Parts.rotate`."""
        return np.asarray(self._each("rotate", x, positions, base))

    def append_and_read(self, keys: Array, values: Array, length: int, k: Array, v: Array) -> Any:
        """As `Parts.append_and_read`."""
        return self._each("append_and_read", keys, values, length, k, v)

    def grouped_attention(self, q: Array, k: Array, v: Array, mask: Array) -> Array:
        """As `Parts.grouped_attention`."""
        return np.asarray(self._each("grouped_attention", q, k, v, mask))

    def merge_heads(self, x: Array) -> Array:
        """As `Parts.merge_heads`."""
        return np.asarray(self._each("merge_heads", x))

    def choose(self, b: int, logits: Array, u: float) -> int:
        """The next token of text b: the likeliest, or by its part sample.

        Args:
            b: which text
            logits: [n_vocabulary]
            u: for sample
        Returns: a token id
        """
        if "sample" in self.variants[b].own and b not in self.failed:
            try:
                return self.variants[b].sample(logits, *DRAWN, u)
            except PartError as error:
                self.failed[b] = str(error)
        return int(logits.argmax())

    def _each(self, part: str, *arguments: Any) -> Any:
        """A part's answers for every text; what has three axes or more holds a row for each.

        Texts on our part are computed together, which is most of the speed.
        """
        B, work = len(self.variants), {part} | {n for n in COARSER if part in COARSER[n]}
        apart = [b for b in range(B) if b in self.failed or work & self.variants[b].own.keys()]
        if apart and part == "append_and_read":
            apart = list(range(B))  # it writes in place, and an index would give it a copy
        together = [b for b in range(B) if b not in apart]
        answers = [self._try(b, part, _rows(arguments, slice(b, b + 1))) for b in apart]
        if together:
            picked = arguments if not apart else _rows(arguments, together)
            try:
                answers.append(getattr(RIGHT, part)(*picked))
            except PartError:  # one of them raised it; find out which
                answers += [self._try(b, part, _rows(arguments, slice(b, b + 1))) for b in together]
        order = np.argsort(apart + together)
        if isinstance(answers[0], list):
            return [np.concatenate(column)[order] for column in zip(*answers, strict=True)]
        return np.concatenate(answers)[order]

    def _try(self, b: int, part: str, rows: list) -> Any:
        if b not in self.failed:
            try:
                return getattr(self.variants[b], part)(*rows)
            except PartError as error:
                self.failed[b] = str(error)
        return getattr(RIGHT, part)(*[np.zeros_like(a) if np.ndim(a) >= 3 else a for a in rows])


def _rows(arguments: tuple, which: Any) -> list:
    """The same texts of each argument that holds a row for each."""
    return [a[which] if np.ndim(a) >= 3 else a for a in arguments]
