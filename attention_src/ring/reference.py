"""Ring attention in NumPy on simulated ranks: what each one holds, sends and computes."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_src.attention.reference import attention, attention_lse
from attention_src.errstate import own_errstate
from attention_src.ring.placement import check_placement, order
from attention_src.shapes import as_float64, check_flags, check_leading, check_qkv


@own_errstate()
def ring_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    n_ranks: int,
    causal: bool = False,
    scale: float | None = None,
    placement: str = "zigzag",
) -> tuple[Float[np.ndarray, "*batch n d_v"], Float[np.ndarray, "*batch n"]]:
    """Attention of one sequence that is spread over a ring of ranks.

    At step s, rank r attends to the keys of rank (r - s) mod R and passes them on. It joins its
    partial outputs by their lse, as online softmax joins blocks.

        lse' = log(exp(lse) + exp(lse_s)),  o' = exp(lse - lse') o + exp(lse_s - lse') o_s

    Args:
        q, k: [..., n, d_k]
        v: [..., n, d_v]
        n_ranks: R
        causal: key j is visible to query i iff j <= i
        scale: None = d_k ** -0.5
        placement: which tokens a rank holds; it changes when each rank works, not the output
    Returns: o [..., n, d_v] and lse [..., n], in the order of the sequence
    Raises:
        ValueError: shapes that do not fit; n_q != n_k; n cannot be cut into equal pieces
    Cost: as `attention`; each rank sends its keys and values R - 1 times.
    Source: Liu et al. 2023, arXiv:2310.01889, Algorithm 1.
    """
    check_flags(causal=causal)
    q, dtype = as_float64(q, "q")
    k, v = as_float64(k, "k")[0], as_float64(v, "v")[0]
    check_qkv(q, k, v)
    check_leading(q, k, v)
    n = q.shape[-2]
    if k.shape[-2] != n:
        raise ValueError(f"k has n_k={k.shape[-2]} but q has n_q={n}; a ring holds one sequence")
    n_local = check_placement(n, n_ranks, placement)
    positions = np.array(order(n, n_ranks, placement), dtype=int).reshape(n_ranks, n_local)
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    o, lse = np.zeros((*leading, n, v.shape[-1])), np.full((*leading, n), -np.inf)
    for step in range(n_ranks):
        for rank in range(n_ranks):
            mine, theirs = positions[rank], positions[(rank - step) % n_ranks]
            options: dict[str, Any] = dict(scale=scale)
            if causal:
                visible = theirs <= mine[:, None]
                options["mask"] = visible.reshape(*[1] * len(leading), *visible.shape)
            shards = q[..., mine, :], k[..., theirs, :]
            part = (
                attention(*shards, v[..., theirs, :], **options),
                attention_lse(*shards, **options),
            )
            o[..., mine, :], lse[..., mine] = join(o[..., mine, :], lse[..., mine], *part)
    return o.astype(dtype), lse.astype(dtype)


@own_errstate()
def join(
    o: Float[np.ndarray, "*batch n d_v"],
    lse: Float[np.ndarray, "*batch n"],
    o_part: Float[np.ndarray, "*batch n d_v"],
    lse_part: Float[np.ndarray, "*batch n"],
) -> tuple[Float[np.ndarray, "*batch n d_v"], Float[np.ndarray, "*batch n"]]:
    """Join two partial outputs, each with the log of its denominator.

        lse' = log(exp(lse) + exp(lse_part)),  o' = exp(lse - lse') o + exp(lse_part - lse') o_part

    Args:
        o, lse: [..., n, d_v], [..., n]; lse = −inf where no key was visible
        o_part, lse_part: the same for other keys
    Returns: o, lse for both sets of keys
    """
    with np.errstate(invalid="ignore"):
        joined = np.logaddexp(lse, lse_part)
    lse_safe = np.where(joined == -np.inf, 0, joined)  # so that −inf − lse is not NaN
    share, share_part = np.exp(lse - lse_safe)[..., None], np.exp(lse_part - lse_safe)[..., None]
    return share * o + share_part * o_part, joined


def work(
    n: int, n_ranks: int, *, causal: bool = True, placement: str = "zigzag"
) -> Int[np.ndarray, "R R"]:
    """How many pairs of query and key each rank computes at each step.

    Args:
        n, n_ranks, causal, placement: as for `ring_attention`
    Returns: int [steps, ranks]; a step takes as long as its busiest rank
    Raises:
        ValueError: as `placement.check_placement`
    """
    n_local = check_placement(n, n_ranks, placement)
    positions = np.array(order(n, n_ranks, placement), dtype=int).reshape(n_ranks, n_local)
    pairs = np.zeros((n_ranks, n_ranks), dtype=int)
    for step in range(n_ranks):
        for rank in range(n_ranks):
            mine, theirs = positions[rank], positions[(rank - step) % n_ranks]
            pairs[step, rank] = (theirs <= mine[:, None]).sum() if causal else n_local**2
    return pairs


def bytes_sent(
    n: int,
    n_ranks: int,
    d_k: int,
    d_v: int,
    *,
    n_kv_heads: int = 1,
    batch: int = 1,
    dtype_bytes: int = 2,
    backward: bool = False,
) -> int:
    """Bytes that each rank sends.

        forward   (R - 1) S,  S = dtype_bytes batch n_kv_heads (n / R) (d_k + d_v)
        backward  (R - 1) S + R S_grad: keys and values again, and their gradients, in float32 at
                  least, which return to their rank

    Args:
        n: tokens of the whole sequence
        n_ranks: R
        d_k, d_v: width of a key and a value
        n_kv_heads, batch: H_kv and B
        dtype_bytes: bytes of one number
        backward: count the backward pass instead of the forward
    Returns: bytes, for any mask: hidden parts are sent too
    Raises:
        ValueError: n cannot be cut into equal pieces
    Source: Liu et al. 2023, arXiv:2310.01889, section 3.
    """
    n_local = check_placement(n, n_ranks, "contiguous")
    numbers = batch * n_kv_heads * n_local * (d_k + d_v)
    forward = (n_ranks - 1) * numbers * dtype_bytes
    gradients = (n_ranks if n_ranks > 1 else 0) * numbers * max(4, dtype_bytes)
    return forward + (gradients if backward else 0)
