"""Our own parts in NumPy, with the signatures of the exercises."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attention_src.multihead.reference import merge_heads, split_heads
from attention_src.rope import reference as rope
from attention_src.softmax.reference import softmax


def project(
    x: Float[np.ndarray, "*batch n d_model"],
    w_q: Float[np.ndarray, "d_model d_q"],
    w_k: Float[np.ndarray, "d_model d_kv"],
    w_v: Float[np.ndarray, "d_model d_kv"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values of every token.

        q, k, v = x w_q, x w_k, x w_v

    Args:
        x: [..., n, d_model]
        w_q, w_k, w_v: [d_model, H d] and twice [d_model, H_kv d]
    Returns: [..., n, H d] and twice [..., n, H_kv d]
    """
    rows = x.reshape(-1, x.shape[-1])  # one large product, even for several texts
    q, k, v = ((rows @ w).reshape(*x.shape[:-1], -1) for w in (w_q, w_k, w_v))
    return q, k, v


def rotate(x: Any, positions: Any, base: float) -> Float[np.ndarray, "*batch n d"]:
    """As `rope.reference.rotate`, in half-split pairs.

    Args:
        x: [..., n, d]
        positions: [n]
        base: of the frequencies
    Returns: [..., n, d]
    """
    return rope.rotate(x, positions, base=base)


def append_and_read(
    keys: Float[np.ndarray, "*batch capacity d_k"],
    values: Float[np.ndarray, "*batch capacity d_v"],
    length: int,
    k_new: Float[np.ndarray, "*batch n_new d_k"],
    v_new: Float[np.ndarray, "*batch n_new d_v"],
) -> tuple[np.ndarray, np.ndarray]:
    """Write new keys and values after the first `length`.

    Args:
        keys, values: [..., capacity, d_k] and [..., capacity, d_v]  changed in place
        length: how many tokens they hold
        k_new, v_new: [..., n_new, d_k] and [..., n_new, d_v]
    Returns: [..., length + n_new, d_k] and [..., length + n_new, d_v]  views
    Raises:
        ValueError: they do not fit
    """
    end = length + k_new.shape[-2]
    if end > keys.shape[-2]:
        raise ValueError(
            f"k_new has {k_new.shape[-2]} tokens, but keys has room for {keys.shape[-2]} and "
            f"holds {length}"
        )
    keys[..., length:end, :], values[..., length:end, :] = k_new, v_new
    return keys[..., :end, :], values[..., :end, :]


def dot_scores(
    q: Float[np.ndarray, "*batch n_q d_k"], k: Float[np.ndarray, "*batch n_k d_k"]
) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The scaled dot product of each query with each key.

        s = q k^T / sqrt(d_k)

    Args:
        q: [..., n_q, d_k]
        k: [..., n_k, d_k]
    Returns: [..., n_q, n_k]
    """
    return q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5


def masked_softmax(
    s: Float[np.ndarray, "*batch n_q n_k"], mask: Bool[np.ndarray, "*batch_or_none n_q n_k"]
) -> Float[np.ndarray, "*batch n_q n_k"]:
    """Softmax over the keys that a query may see; a row that sees nothing is 0.

    Args:
        s: [..., n_q, n_k]
        mask: bool, broadcasts to s; True = may attend
    Returns: [..., n_q, n_k]
    """
    return softmax(np.where(mask, s, -np.inf))


OURS: dict[str, Callable[..., Any]] = {
    "project": project,
    "split_heads": split_heads,
    "rotate": rotate,
    "append_and_read": append_and_read,
    "dot_scores": dot_scores,
    "softmax": softmax,
    "masked_softmax": masked_softmax,
    "merge_heads": merge_heads,
}
