"""Multi-head latent attention in NumPy, in two equal forms: expanded and absorbed."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.attention.reference import attention
from attention_src.errstate import own_errstate
from attention_src.multihead.reference import merge_heads, split_heads
from attention_src.rope.reference import rotate
from attention_src.rope.scaling import Scaling
from attention_src.rope.scaling_by_parts import latent_scaling
from attention_src.shapes import as_float64, check_flags, check_shape, check_size


@own_errstate()
def latent_attention(
    x: Any,
    w_q: Any,
    w_dkv: Any,
    w_kr: Any,
    w_uk: Any,
    w_uv: Any,
    w_o: Any,
    *,
    n_heads: int,
    mask: Any = None,
    causal: bool = False,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    norm: Any = None,
    absorb: bool = False,
) -> Float[np.ndarray, "*batch n d_model"]:
    """Multi-head latent attention: one latent vector c per token gives all keys and values.

        c = norm(x w_dkv),  k_rope = rotate(x w_kr),  q, q_rope = split(x w_q)
        k = [c w_uk, k_rope],  v = c w_uv,  y = merge(attention([q, rotate(q_rope)], k, v)) w_o

    Absorbed: q (c w_uk)^T = (q w_uk^T) c^T and p (c w_uv) = (p c) w_uv, so the heads can attend to
    c itself.

    Args:
        x: [..., n, d_model]
        w_q: [d_model, H * (d_k + d_rope)]; each head has d_k columns, then d_rope rotated ones
        w_dkv: [d_model, d_latent]
        w_kr: [d_model, d_rope]; d_rope even, or 0
        w_uk: [d_latent, H * d_k]
        w_uv: [d_latent, H * d_v]
        w_o: [H * d_v, d_model]
        n_heads: H
        mask: bool, broadcast to [..., H, n, n]; True = may attend
        causal: no looking ahead
        base: of the rotation
        scaling: of the rotation: None, or one of `rope.scaling`. YaRN's factor applies to all
            scores, see `rope.scaling_by_parts.latent_scaling`.
        norm: [d_latent]  the weights of an RMSNorm of c, norm c / sqrt(mean(c²) + 1e-6); None = no
            norm
        absorb: compute the absorbed form; False = form the keys and values of every head
    Returns: [..., n, d_model]  y, in x's dtype
    Raises:
        ValueError: names the matrix that does not fit; a mask, causal or absorb of another kind
    Cost: a cache would hold d_latent + d_rope numbers per token.
    Source: DeepSeek-AI 2024, arXiv:2405.04434, Eq. 9 to 19, with a full-rank w_q.
    """
    check_flags(absorb=absorb)
    H = check_size(n_heads, "n_heads", at_least=1)
    x, dtype = as_float64(x, "x")
    names = ("w_q", "w_dkv", "w_kr", "w_uk", "w_uv", "w_o")
    matrices = zip(names, (w_q, w_dkv, w_kr, w_uk, w_uv, w_o), strict=True)
    w = {name: as_float64(matrix, name)[0] for name, matrix in matrices}
    d_k, d_rope = _check(x, w, H)
    positions = np.arange(x.shape[-2])
    q = split_heads(x @ w["w_q"], H)  # [..., H, n, d_k + d_rope]
    q, q_rope = q[..., :d_k], q[..., d_k:]
    c = (x @ w["w_dkv"])[..., None, :, :]  # [..., 1, n, d_latent]
    if norm is not None:
        norm = as_float64(norm, "norm")[0]
        check_shape(norm, "norm", "[d_latent]", c.shape[-1:])
        c = norm * c / np.sqrt(np.mean(c**2, axis=-1, keepdims=True) + 1e-6)
    k_rope = (x @ w["w_kr"])[..., None, :, :]  # [..., 1, n, d_rope]
    scale = (d_k + d_rope) ** -0.5
    if d_rope:
        rotation, score_factor = latent_scaling(scaling)
        how: dict[str, Any] = dict(base=base, scaling=rotation)
        q_rope, k_rope = (rotate(part, positions, **how) for part in (q_rope, k_rope))
        scale *= score_factor
    options: dict[str, Any] = dict(mask=mask, causal=causal, scale=scale)
    up_k = split_heads(w["w_uk"], H)  # [H, d_latent, d_k]
    up_v = split_heads(w["w_uv"], H)  # [H, d_latent, d_v]
    if absorb:
        k = np.concatenate([c, k_rope], axis=-1)  # [..., 1, n, d_latent + d_rope]
        q = np.concatenate([q @ up_k.swapaxes(-1, -2), q_rope], axis=-1)
        o = attention(q, k, c, **options) @ up_v  # [..., H, n, d_v]
    else:
        k_rope = np.broadcast_to(k_rope, q_rope.shape)
        k = np.concatenate([c @ up_k, k_rope], axis=-1)  # [..., H, n, d_k + d_rope]
        q = np.concatenate([q, q_rope], axis=-1)
        o = attention(q, k, c @ up_v, **options)  # [..., H, n, d_v]
    return (merge_heads(o) @ w["w_o"]).astype(dtype)


def _check(x: np.ndarray, w: dict[str, np.ndarray], H: int) -> tuple[int, int]:
    """Check that the matrices fit, and return d_k and d_rope.

    Raises:
        ValueError: names the matrix, its shape and the shape that it should have
    """
    for name, matrix in w.items():
        if matrix.ndim != 2:
            raise ValueError(f"{name} has shape {list(matrix.shape)}; it should have two axes")
    if x.ndim < 2:
        raise ValueError(f"x has shape {list(x.shape)}; it should be [..., n, d_model]")
    d_model, d_latent, d_rope = x.shape[-1], w["w_dkv"].shape[1], w["w_kr"].shape[1]
    if d_rope % 2:
        raise ValueError(f"w_kr has {d_rope} columns, but rope turns pairs; it should be even")
    for name in ("w_uk", "w_uv"):
        if w[name].shape[1] % H:
            raise ValueError(
                f"{name} has {w[name].shape[1]} columns, which do not divide into {H} heads"
            )
    d_k, d_v = w["w_uk"].shape[1] // H, w["w_uv"].shape[1] // H
    expected = dict(
        w_q=(d_model, H * (d_k + d_rope)),
        w_dkv=(d_model, d_latent),
        w_kr=(d_model, d_rope),
        w_uk=(d_latent, H * d_k),
        w_uv=(d_latent, H * d_v),
        w_o=(H * d_v, w["w_o"].shape[1]),
    )
    for name, shape in expected.items():
        if w[name].shape != shape:
            raise ValueError(
                f"{name} has shape {list(w[name].shape)}; it should be {list(shape)}, for "
                f"d_model={d_model}, H={H}, d_k={d_k}, d_rope={d_rope}, d_v={d_v}"
            )
    return d_k, d_rope
