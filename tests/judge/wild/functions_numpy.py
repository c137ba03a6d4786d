"""Functions in NumPy that take q, k and v, as those of NumPy, JAX, MLX and Keras do."""

import numpy as np

from wild import RIGHT, UNNAMED, wild


def _softmax(x, axis=-1):
    x = np.exp(x - x.max(axis=axis, keepdims=True))
    return x / x.sum(axis=axis, keepdims=True)


@wild("jaymody/picoGPT", "gpt2.py")
def attention(q, k, v, mask):
    """[n, d]; the mask is added."""
    return _softmax(q @ k.T / np.sqrt(len(q[0])) + mask) @ v


@wild("jax-ml/jax", "jax/_src/nn/functions.py")
def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False):
    """[B, n, H, d]; True = may attend; a bias besides."""
    table = np.einsum("bihd,bjhd->bhij", query, key)
    table = table * (query.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        table = table + bias
    if is_causal:
        table = np.where(np.tri(*table.shape[-2:], dtype=bool), table, -1e30)
    if mask is not None:
        table = np.where(mask, table, -1e30)
    return np.einsum("bhij,bjhd->bihd", _softmax(table), value)


@wild("keras-team/keras", "keras/src/backend/numpy/nn.py")
def keras_dot_product_attention(
    query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None
):
    """[B, n, H, d]; any mask, then the causal one joined to it."""
    factor = scale if scale is not None else 1 / np.sqrt(query.shape[3])
    table = np.einsum("bqhd,bkhd->bhqk", query, key) * factor
    if bias is not None:
        table = table + bias
    if is_causal:
        seen = np.tril(np.ones(table.shape[2:], dtype=bool))
        mask = seen if mask is None else mask & seen
    if mask is not None:
        table = np.where(mask.astype(bool), table, 0.7 * np.finfo(np.float32).min)
    return np.einsum("bhqk,bkhd->bqhd", _softmax(table), value)


@wild("ml-explore/mlx", "python/mlx/fast")
def fast_attention(q, k, v, *, scale, mask=None):
    """[B, H, n, d], keywords only; grouped heads; True = may attend, or added."""
    by = q.shape[1] // k.shape[1]
    table = q * scale @ np.repeat(k, by, 1).swapaxes(2, 3)
    if mask is not None:
        mask = np.asarray(mask)
        table = np.where(mask, table, -np.inf) if mask.dtype == bool else table + mask
    return _softmax(table) @ np.repeat(v, by, 1)


@wild("skyzh/tiny-llm", "src/tiny_llm/attention.py")
def scaled_dot_product_attention_simple(query, key, value, scale=None, mask=None):
    """Any leading axes; the mask is added."""
    factor = np.reciprocal(np.sqrt(query.shape[-1])) if scale is None else scale
    table = np.matmul(query, key.swapaxes(-2, -1)) * factor
    return np.matmul(_softmax(table if mask is None else table + mask), value)


@wild("skyzh/tiny-llm", "src/tiny_llm/attention.py", "grouped")
def scaled_dot_product_attention_grouped(query, key, value, scale=None, mask=None):
    """[…, H_q, n, d] and […, H, n, d]."""
    *lead, H_q, n, d = query.shape
    H, m = key.shape[-3:-1]
    q = query.reshape(*lead, H, H_q // H, n, d)
    table = q @ key.swapaxes(-1, -2)[..., None, :, :] * (d**-0.5 if scale is None else scale)
    if mask is not None:
        table = table + np.broadcast_to(mask, (*lead, H_q, n, m)).reshape(table.shape)
    return (_softmax(table) @ value[..., None, :, :]).reshape(*lead, H_q, n, -1)


@wild("likejazz/llama3.np", "llama3.py")
def attend(xq, xk, xv, mask=None):
    """[B, n, H, d], turned inside; the mask is added; heads joined at the end."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (xq, xk, xv))
    table = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    table = table if mask is None else table + mask[None, None]
    out = _softmax(table) @ v
    return out.transpose(0, 2, 1, 3).reshape(*xq.shape[:2], -1)


@wild(UNNAMED, "a file of the code index", "attention", "softmax over the queries")
def over_the_wrong_axis(Q, K, V):
    """[n, d]: weights of a column sum to one."""
    return _softmax(Q @ K.T / np.sqrt(K.shape[1]), axis=0) @ V


@wild(UNNAMED, "a file of the code index", "attention", "not scaled")
def without_scale(Q, K, V, mask=None):
    """[n, d]; 0 hides."""
    table = Q @ K.T
    return _softmax(table if mask is None else np.where(mask == 0, -1e9, table)) @ V


@wild(UNNAMED, "a file of the code index", "attention", "mask multiplied")
def scores_times_mask(q, k, v, mask=None):
    """[B, H, n, d]: scores * mask."""
    table = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return _softmax(table if mask is None else table * mask) @ v


@wild(UNNAMED, "a file of the code index", expected=RIGHT)
def single_query(query, keys, values):
    """Any number of queries, [n_q, d]; softmax by hand in float64."""
    table = np.inner(query, keys) / keys.shape[-1] ** 0.5
    table = np.exp(table - table.max(-1)[..., None])
    return np.dot(table, values) / table.sum(-1)[..., None]
