"""Numbers that are added to scores by distance: ALiBi. NumPy.

A mask hides a key, a bias only makes it more or less attractive. Query i is at position
t = i + n_k - n_q among the keys, as for causal masks.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import check_dense, check_size, is_float, shape


@own_errstate()
def alibi_slopes(n_heads: int) -> Float[np.ndarray, " H"]:
    """The slopes of ALiBi: a geometric row from one head to the next.

        slopes[h] = 2 ** (-8 (h + 1) / H)  if H is a power of 2

    For other H, the slopes of the next lower power of 2 are followed by every other one of the next
    higher power.

    Args:
        n_heads: H
    Returns: float64 [H], all in (0, 1)
    Raises:
        ValueError: n_heads is not a whole number of at least 1
    Source: Press et al. 2021, arXiv:2108.12409, section 3; other H as in the authors' code.
    """
    H = check_size(n_heads, "n_heads", at_least=1)
    lower = 2 ** math.floor(math.log2(H))
    slopes = 2 ** (-8 * np.arange(1, lower + 1) / lower)
    between = 2 ** (-8 * np.arange(1, 2 * lower + 1, 2) / (2 * lower))
    return np.concatenate([slopes, between[: H - lower]])


@dataclass(frozen=True, eq=False)
class Alibi:
    """ALiBi as a rule of positions, so that no matrix of biases is stored.

        bias[h, i, j] = -slopes[h] * |t - j|,  t = i + n_k - n_q

    Args:
        slopes: [H]  array, tensor or list of real numbers, as `alibi_slopes(H)` gives; they are
            not trained
    Raises:
        ValueError: slopes are not a row of real numbers, or require a gradient
    Source: Press et al. 2021, arXiv:2108.12409, section 3, where only keys j <= t are visible. For
        later keys the distance counts as well, as in FlashAttention's alibi_slopes.
    """

    slopes: Any

    def __post_init__(self) -> None:
        if getattr(self.slopes, "requires_grad", False):
            raise ValueError(
                "slopes require a gradient, but none is computed here; they should not. To train "
                "them pass bias=-slopes[:, None, None] * distances"
            )
        check_dense(self.slopes, "slopes")
        slopes = self.slopes if hasattr(self.slopes, "dtype") else np.asarray(self.slopes)
        whole = re.match(r"(torch\.)?int|[<>]i", str(slopes.dtype))
        if len(slopes.shape) != 1 or not (whole or is_float(slopes.dtype)):
            raise ValueError(
                f"slopes have shape {shape(slopes)} and dtype {slopes.dtype}; they should be a row "
                "of real numbers, [H]"
            )
        object.__setattr__(self, "slopes", slopes)

    def tile(self, t: Any, j: Any) -> Any:
        """The biases between some positions and some keys.

        Args:
            t: [..., rows]  positions of queries among the keys, array or tensor as the slopes
            j: [columns]  indices of keys
        Returns: [..., H, rows, columns]
        """
        distance = abs(t[..., None, :, None] - j)
        return -self.slopes[:, None, None] * distance

    def array(self, n_q: int, n_k: int | None = None) -> Float[np.ndarray, "H n_q n_k"]:
        """All biases as one matrix for each head.

        Args:
            n_q, n_k: number of queries and keys; n_k None = n_q
        Returns: float64 [H, n_q, n_k]
        Raises:
            ValueError: a negative or fractional size
        """
        n_q = check_size(n_q, "n_q")
        n_k = n_q if n_k is None else check_size(n_k, "n_k")
        slopes = np.asarray(self.slopes, dtype=np.float64)
        return Alibi(slopes).tile(np.arange(n_q) + n_k - n_q, np.arange(n_k))
