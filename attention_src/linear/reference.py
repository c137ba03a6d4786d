"""Linear attention in NumPy: one meaning, three forms.

    parallel     all weights at once, as a matrix: O(n²)
    recurrent    one position after another, with a state in place of keys and values: O(n)
    chunkwise    parallel inside a chunk, recurrent from chunk to chunk: O(n), in matrix products

Everything is computed in float64; outputs have q's dtype (float64 for integers). Leading axes of q,
k and v broadcast. In every function of this topic the state is float64 [..., d_k, d_v] and sums up
the past: a later call that gets it as initial_state continues the sequence. Import the other
functions from here too; `reference_gated` and `reference_delta` hold them.
"""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.linear.checks import (
    check_decay,
    check_decay_values,
    check_form,
    check_same_length,
)
from attention_src.linear.reference_delta import delta_rule, gated_delta_rule
from attention_src.linear.reference_gated import gated_linear_attention
from attention_src.linear.reference_parts import (
    check_qkv_arrays,
    features,
    finish,
    run,
    start_state,
)
from attention_src.shapes import as_float64

__all__ = ["delta_rule", "gated_delta_rule", "gated_linear_attention", "linear_attention"]


@own_errstate()
def linear_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    feature_map: str | None = "elu",
    causal: bool = True,
    decay: Any = None,
    normalize: bool = True,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
) -> (
    Float[np.ndarray, "*batch n_q d_v"]
    | tuple[Float[np.ndarray, "*batch n_q d_v"], Float[np.ndarray, "*batch d_phi d_s"]]
):
    """Attention whose weights are dot products of features, plain or with a decay for each head.

        w_ij = φ(scale q_i)·φ(k_j) γ^(i−j)   for j <= i  (not causal: for all j, without γ)
        o_i  = Σ_j w_ij v_j / Σ_j w_ij             (normalize=False: without the division)

        S_t  = γ S_{t−1} + φ(k_t) v_t^T,   o_t = S_t^T φ(scale q_t)     the same, as a recurrence

    Args:
        q: [..., n_q, d_k]  queries
        k: [..., n_k, d_k]  keys; n_k = n_q if causal
        v: [..., n_k, d_v]  values
        feature_map: φ: "elu" (elu + 1), "relu", "taylor" (1, x, x⊗x / sqrt(2)), None = identity
        causal: position i sees the keys up to its own
        decay: γ in (0, 1], one number or one for each head [H]; None = 1. Causal only
        normalize: divide by the sum of the weights. Where that sum is exactly 0, o = 0; with
            feature_map=None weights may be negative and their sum arbitrarily close to 0
        scale: factor on q, before φ; None = 1, as in the papers below (not d_k ** -0.5, as in
            softmax attention and in the library fla)
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [..., d_phi, d_v]  the state after earlier positions; None = 0. With
            normalize it is [..., d_phi, d_v + 1]: its last column is the sum of φ(k)
        return_state: whether to return the state after the last position too
    Returns: [..., n_q, d_v]  o, in q's dtype; with return_state (o, state), the state in float64
    Raises:
        ValueError: shapes that do not fit; an unknown form or feature map; a chunk below 1; γ out
            of range, or without causal; a scale that is not a finite number; causal, normalize or
            return_state is neither True nor False
    Cost: parallel 2 n² (d_phi + d_v) FLOP and O(n²) memory; recurrent 4 n d_phi d_v FLOP and
        O(d_phi d_v) memory; chunkwise 2 n (chunk (d_phi + d_v) + 2 d_phi d_v) FLOP.
    Source: Katharopoulos et al. 2020, arXiv:2006.16236, Eqs. 8-12 (their S_i, Z_i are our state and
        its last column). Decay: Sun et al. 2023, arXiv:2307.08621, Eqs. 5-7 (their D is γ^(i−j)).
    """
    chunk = check_form(form, chunk, causal=causal, normalize=normalize, return_state=return_state)
    (q, k, v), dtype = check_qkv_arrays(q, k, v, scale)
    gamma = _gamma(decay, q.shape[:-2], causal)
    phi_q, phi_k = features(q, feature_map), features(k, feature_map)
    if normalize:  # values end with a 1, so their weighted sum ends with the sum of the weights
        v = np.concatenate([v, np.ones((*v.shape[:-1], 1))], axis=-1)
    size = (*q.shape[:-2], phi_k.shape[-1], v.shape[-1])
    state = start_state(initial_state, "[..., d_k, d_v]", size)
    if causal:
        check_same_length(q, k)
        token, block = partial(_token, gamma), partial(_block, gamma)
        o, state = run(form, chunk, token, block, [phi_q, phi_k, v], state)
    else:
        o, state = _bidirectional(phi_q, phi_k, v, state, form, chunk)
    if normalize:
        l = o[..., -1:]  # [..., n_q, 1]  the sum of the weights
        o = np.divide(o[..., :-1], l, out=np.zeros(o[..., :-1].shape), where=l != 0)
    return finish(o, state, dtype, return_state)


def _token(gamma: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, state: np.ndarray):
    """One position: q, k [..., d_phi], v [..., d_v]."""
    state = gamma * state + k[..., :, None] * v[..., None, :]  # [..., d_phi, d_v]
    return np.einsum("...k,...kv->...v", q, state), state


def _block(gamma: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, state: np.ndarray):
    """n positions at once: q, k [..., n, d_phi], v [..., n, d_v]."""
    n = q.shape[-2]
    i = np.arange(n)[:, None]
    lag = i - i.T  # [n, n]
    w = np.where(lag >= 0, (q @ k.swapaxes(-1, -2)) * gamma ** np.maximum(lag, 0), 0)  # [..., n, n]
    o = w @ v + gamma ** (i + 1) * (q @ state)
    state = gamma**n * state + (gamma ** (n - 1 - i) * k).swapaxes(-1, -2) @ v
    return o, state


def _bidirectional(q, k, v, state: np.ndarray, form: str, chunk: int):
    """Every query sees all keys: the state is summed up first, and n_q and n_k may differ."""
    o = (q @ k.swapaxes(-1, -2)) @ v + q @ state if form == "parallel" else None
    step = {"parallel": max(k.shape[-2], 1), "recurrent": 1, "chunkwise": chunk}[form]
    for start in range(0, k.shape[-2], step):
        here = slice(start, start + step)
        state = state + k[..., here, :].swapaxes(-1, -2) @ v[..., here, :]
    return (q @ state if o is None else o), state


def _gamma(decay: Any, leading: tuple[int, ...], causal: bool) -> Float[np.ndarray, "*heads 1 1"]:
    """γ as [1, 1] or [H, 1, 1], which broadcasts against states and weights."""
    if decay is None:
        return np.ones((1, 1))
    if not causal:
        raise ValueError(
            "decay is given but causal is False: γ^(i−j) grows without bound for later keys. "
            "decay should be None, or causal True"
        )
    gamma, _ = as_float64(decay, "decay")
    check_decay(gamma, leading)
    if gamma.size:
        check_decay_values(float(gamma.min()), float(gamma.max()))
    return gamma[..., None, None]
