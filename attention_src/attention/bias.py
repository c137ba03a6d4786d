"""Numbers that are added to scores: by distance (ALiBi), or learned for each distance (T5). NumPy.

A mask hides a key, a bias only makes it more or less attractive. Query i is at position
t = i + n_k - n_q among the keys, as for causal masks.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_src.kinds import check_dense, is_float
from attention_src.shapes import check_flags, check_size, shape

T5_BUCKETS = 32


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
        slopes = self.slopes if hasattr(self.slopes, "dtype") else np.asarray(self.slopes)
        whole = str(slopes.dtype).removeprefix("torch.").startswith("int")
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


def t5_bias(
    table: Any,
    n_q: int,
    n_k: int | None = None,
    *,
    n_buckets: int | None = None,
    bidirectional: bool = True,
    max_distance: int = 128,
) -> Any:
    """T5's learned bias: one number for each head and bucket of distances.

        bias[h, i, j] = table[h, t5_buckets(n_q, n_k)[i, j]]

    Args:
        table: [H, n_buckets]  array or tensor; a tensor gets a gradient. T5's checkpoints hold it
            as an embedding, [n_buckets, H]: pass table.T
        n_q, n_k, bidirectional, max_distance: as for `t5_buckets`
        n_buckets: None = as many as the table has columns. Given, it is compared with them
    Returns: [H, n_q, n_k]  of table's kind and dtype
    Raises:
        ValueError: as `t5_buckets`; a table that is not [H, n_buckets]; without n_buckets, a table
            with 32 rows and another number of columns, which may be T5's 32 buckets by heads.
            Whether a square table is transposed cannot be seen
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1. Their scores have no scale.
    """
    if not hasattr(table, "shape"):
        table = np.asarray(table, dtype=np.float64)
    _check_table(table, n_buckets)
    sizes: dict[str, Any] = dict(n_buckets=table.shape[1], max_distance=max_distance)
    return table[:, t5_buckets(n_q, n_k, bidirectional=bidirectional, **sizes)]


def _check_table(table: Any, n_buckets: int | None) -> None:
    """Refuse a table that is not [H, n_buckets], or looks transposed."""
    check_dense(table, "table")
    if "float" in str(table.dtype) and not is_float(table.dtype):
        raise ValueError(f"table has dtype {table.dtype}; it should have 16 bits at least")
    if len(table.shape) != 2:
        raise ValueError(f"table has shape {shape(table)}; it should be [H, n_buckets]")
    rows, columns = table.shape
    if n_buckets is not None and check_size(n_buckets, "n_buckets") != columns:
        hint = ". Transposed? Pass table.T" if rows == n_buckets else ""
        raise ValueError(
            f"table has shape {shape(table)}; it should be [H, n_buckets={n_buckets}]{hint}"
        )
    if n_buckets is None and rows == T5_BUCKETS != columns:
        raise ValueError(
            f"table has shape {shape(table)}, and {T5_BUCKETS} is T5's number of buckets; it "
            f"should be [H, n_buckets]. Transposed, as in T5's checkpoints? Pass table.T. Really "
            f"{rows} heads? Pass n_buckets={columns}"
        )


def t5_buckets(
    n_q: int,
    n_k: int | None = None,
    *,
    n_buckets: int = T5_BUCKETS,
    bidirectional: bool = True,
    max_distance: int = 128,
) -> Int[np.ndarray, "n_q n_k"]:
    """Which bucket a distance falls into: short ones have their own, long ones share.

    The first half of the buckets holds one distance each; the second half grows logarithmically up
    to max_distance, and its last bucket holds everything beyond. With bidirectional, later keys
    have buckets of their own; without, they share bucket 0.

    Args:
        n_q, n_k: number of queries and keys; n_k None = n_q
        n_buckets: in all; with bidirectional half of them for each direction
        bidirectional: True in T5's encoder, False in its decoder
        max_distance: from here on all distances share the last bucket
    Returns: int [n_q, n_k], from 0 to n_buckets - 1
    Raises:
        ValueError: n_buckets that cannot be divided so; max_distance not above the exact buckets;
            bidirectional is neither True nor False
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1, and the authors' code.
    """
    n_q = check_size(n_q, "n_q")
    n_k = n_q if n_k is None else check_size(n_k, "n_k")
    check_flags(bidirectional=bidirectional)
    parts = 4 if bidirectional else 2
    if check_size(n_buckets, "n_buckets", at_least=parts) % parts:
        raise ValueError(f"n_buckets is {n_buckets}; it should be a multiple of {parts}")
    exact = n_buckets // parts
    check_size(max_distance, "max_distance", at_least=exact + 1)
    behind = (np.arange(n_q) + n_k - n_q)[:, None] - np.arange(n_k)  # [n_q, n_k]  t - j
    distance = abs(behind) if bidirectional else behind.clip(min=0)
    # float32, as in the authors' code: on the border of two buckets, rounding decides.
    ratio = np.log(distance.clip(min=1).astype(np.float32) / np.float32(exact))
    steps = (ratio / np.float32(math.log(max_distance / exact)) * np.float32(exact)).astype(int)
    bucket = np.where(distance < exact, distance, np.minimum(exact + steps, 2 * exact - 1))
    return bucket + 2 * exact * (behind < 0) if bidirectional else bucket
