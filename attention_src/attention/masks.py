"""Which query may attend to which key: boolean masks that broadcast to [B, H, n_q, n_k]. NumPy.

True = may attend. Compose masks with `&`, or with `combine`, which also checks that they fit.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool

from attention_src.shapes import as_array, check_boolean, check_size


def causal_mask(n_q: int, n_k: int | None = None) -> Bool[np.ndarray, "n_q n_k"]:
    """No looking ahead: the last query sees the last key (bottom-right alignment).

        visible[i, j] = j <= i + n_k - n_q

    Args:
        n_q: number of queries
        n_k: number of keys; None = n_q
    Returns: bool [n_q, n_k]; with n_q > n_k the first n_q - n_k queries see nothing
    Raises:
        ValueError: a negative or fractional size
    """
    i, j, offset = _positions(n_q, n_k)
    return j <= i + offset


def window_mask(
    n_q: int, n_k: int | None, window: int, sinks: int = 0, lookahead: int = 0
) -> Bool[np.ndarray, "n_q n_k"]:
    """Only the last `window` keys, including the query's own, and the first `sinks`.

        visible[i, j] = j <= t + lookahead and (t - j < window or j < sinks),  t = i + n_k - n_q

    Causal unless lookahead says otherwise.

    Args:
        n_q: number of queries
        n_k: number of keys; None = n_q
        window: at least 1; 1 = the query's own key only
        sinks: how many of the first keys stay visible
        lookahead: how many later keys are visible too: a two-sided window
    Returns: bool [n_q, n_k]
    Raises:
        ValueError: a window below 1, or negative or fractional sizes
    Source: sinks: Xiao et al. 2023, arXiv:2309.17453.
    """
    window, sinks = check_size(window, "window", at_least=1), check_size(sinks, "sinks")
    lookahead = check_size(lookahead, "lookahead")
    i, j, offset = _positions(n_q, n_k)
    t = i + offset
    return (j <= t + lookahead) & ((t - j < window) | (j < sinks))


def prefix_mask(n: int, prefix: int) -> Bool[np.ndarray, "n n"]:
    """Every query sees the whole prefix; after it, no looking ahead (prefix-LM).

        visible[i, j] = j < prefix or j <= i

    Args:
        n: number of tokens
        prefix: how many of the first tokens form the prefix, 0 to n
    Returns: bool [n, n]
    Raises:
        ValueError: the prefix is longer than the sequence
    """
    i, j, _ = _positions(n, n)
    prefix = check_size(prefix, "prefix")
    if prefix > n:
        raise ValueError(f"prefix is {prefix}; it should be at most n={n}")
    return (j < prefix) | (j <= i)


def padding_mask(lengths: Any, n_k: int) -> Bool[np.ndarray, "B 1 1 n_k"]:
    """Hide the padding after each sequence of a batch.

        visible[b, 0, 0, j] = j < lengths[b]

    Args:
        lengths: int [B]  how many keys of each sequence are not padding, 0 to n_k
        n_k: number of keys, padding included
    Returns: bool [B, 1, 1, n_k], the same for every head and query
    Raises:
        ValueError: lengths are not whole numbers between 0 and n_k, or not a row
    """
    n_k = check_size(n_k, "n_k")
    lengths = as_array(lengths, "lengths")
    if lengths.ndim != 1:
        raise ValueError(f"lengths has shape {list(lengths.shape)}; it should be [B]")
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise ValueError(f"lengths has dtype {lengths.dtype}; it should hold whole numbers")
    if ((lengths < 0) | (lengths > n_k)).any():
        raise ValueError(f"lengths is {lengths}; each should be between 0 and n_k={n_k}")
    return (np.arange(n_k) < lengths[:, None])[:, None, None, :]


def document_mask(document_ids: Any) -> Bool[np.ndarray, "*batch n n"]:
    """Tokens see only tokens of their own document (packed documents).

        visible[i, j] = document_ids[i] == document_ids[j]

    Not causal by itself: compose it, document_mask(ids) & causal_mask(n).

    Args:
        document_ids: int [n], or [B, n] for a batch of packed rows
    Returns: bool [n, n], or [B, 1, n, n]
    Raises:
        ValueError: ids that are not whole numbers, or not [n] or [B, n]
    """
    ids = as_array(document_ids, "document_ids")
    if ids.ndim not in (1, 2):
        raise ValueError(f"document_ids has shape {list(ids.shape)}; it should be [n] or [B, n]")
    if ids.dtype.kind not in "iu" and ids.size:
        raise ValueError(f"document_ids has dtype {ids.dtype}; it should hold whole numbers")
    if ids.ndim == 2:
        ids = ids[:, None, :]  # one mask for all heads
    return ids[..., :, None] == ids[..., None, :]


def combine(*masks: Any) -> Any:
    """Visible where every mask is True.

        visible = masks[0] & masks[1] & ...

    Args:
        masks: boolean arrays or tensors that broadcast against each other; None = all visible
    Returns: their conjunction; None when every mask is None
    Raises:
        ValueError: a mask that is not boolean, or shapes that do not broadcast
    """
    combined = None
    for index, mask in enumerate(masks):
        if mask is None:
            continue
        mask = mask if hasattr(mask, "dtype") else as_array(mask, f"masks[{index}]")
        check_boolean(mask, f"masks[{index}]")
        if combined is None:
            combined = mask
            continue
        try:
            np.broadcast_shapes(tuple(combined.shape), tuple(mask.shape))
        except ValueError:
            raise ValueError(
                f"masks[{index}] has shape {list(mask.shape)}, which does not broadcast against "
                f"{list(combined.shape)}"
            ) from None
        combined = combined & mask
    return combined


def to_additive(mask: Any, dtype: Any) -> Any:
    """The same mask as numbers to add to the scores, for other libraries.

        additive = 0 where mask else −inf

    Args:
        mask: bool  NumPy array or torch tensor, True = may attend
        dtype: the scores' floating dtype, of NumPy for an array and of torch for a tensor
    Returns: same shape, 0 and −inf. A fully masked row is all −inf; what softmax makes of it
        depends on the library.
    Raises:
        ValueError: mask is not boolean, or dtype is not floating point
    """
    mask = mask if hasattr(mask, "dtype") else as_array(mask, "mask")
    check_boolean(mask)
    if hasattr(mask, "masked_fill"):
        if not getattr(dtype, "is_floating_point", False):
            raise ValueError(f"dtype is {dtype}; it should be a floating dtype of torch")
        return mask.new_zeros(mask.shape, dtype=dtype).masked_fill(~mask, -np.inf)
    if str(dtype).startswith("torch."):
        raise ValueError(f"dtype is {dtype} but mask is NumPy: pass torch.from_numpy(mask)")
    try:
        wanted = None if dtype is None else np.dtype(dtype)  # which makes float64 of None
    except (TypeError, ValueError):
        wanted = None
    if wanted is None or wanted.kind != "f":
        raise ValueError(f"dtype is {wanted or dtype}; it should be a floating dtype")
    return np.where(mask, 0.0, -np.inf).astype(dtype)


def _positions(n_q: int, n_k: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Query indices as a column, key indices as a row, and the offset n_k - n_q of the queries."""
    n_q = check_size(n_q, "n_q")
    n_k = n_q if n_k is None else check_size(n_k, "n_k")
    return np.arange(n_q)[:, None], np.arange(n_k)[None, :], n_k - n_q
