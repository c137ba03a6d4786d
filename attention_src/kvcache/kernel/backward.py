"""Gradients of decoding, in plain PyTorch and float32: for tests and small models, not for speed.

Training through a long cache is rare, so nothing here is tiled.
"""

import torch
from torch import Tensor


def _zero_past_end(x: Tensor, lengths: Tensor) -> Tensor:
    """x [B, H_kv, N, d] in float32, with 0 after the end of each sequence."""
    past_end = torch.arange(x.shape[2], device=x.device) >= lengths[:, None]  # [B, N]
    return x.float().masked_fill(past_end[:, None, :, None], 0)


def pages_in_order(pages: Tensor, block_table: Tensor, lengths: Tensor) -> Tensor:
    """The keys or values of each sequence, in order.

    Args:
        pages: [n_pages, H_kv, page_size, d]
        block_table: int32 [B, max_pages]
        lengths: int32 [B]
    Returns: [B, H_kv, max_pages * page_size, d]. Page 0 stands in for pages after the end of a
        sequence; `decode_gradients` replaces their contents with 0.
    """
    batch, max_pages = block_table.shape
    _, n_kv_heads, page_size, d = pages.shape
    used = torch.arange(max_pages, device=lengths.device) * page_size < lengths[:, None]
    gathered = pages[block_table.masked_fill(~used, 0).long()]  # [B, max_pages, H_kv, page_size, d]
    return gathered.transpose(1, 2).reshape(batch, n_kv_heads, max_pages * page_size, d)


def decode_gradients(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, scale: float, do: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of o = softmax(scale * q k^T) v over the first lengths[b] keys.

        dv = p^T do        dp = do v^T        ds = p * (dp - rowsum(p * dp))
        dq = scale * ds k  dk = scale * ds^T q

    Args:
        q: [B, H, 1, d_k]
        k, v: [B, H_kv, N, d_k] and [B, H_kv, N, d_v]
        lengths: int32 [B]
        scale: as in the forward
        do: [B, H, 1, d_v]  gradient of the loss by o
    Returns: dq, dk, dv in float32, with the shapes of q, k and v
    Cost: O(B H N + B H_kv N (d_k + d_v)) memory.
    Source: Dao et al. 2022, arXiv:2205.14135, appendix B.2.
    """
    batch, n_heads, _, d_k = q.shape
    n_kv_heads, n = k.shape[1:3]
    k, v = _zero_past_end(k, lengths), _zero_past_end(v, lengths)
    q_grouped = q.float().reshape(batch, n_kv_heads, n_heads // n_kv_heads, d_k)
    do = do.float().reshape(batch, n_kv_heads, n_heads // n_kv_heads, v.shape[3])
    hidden = torch.arange(n, device=q.device) >= lengths[:, None, None, None]  # [B, 1, 1, N]
    s = (scale * q_grouped @ k.mT).masked_fill(hidden, -torch.inf)  # [B, H_kv, group, N]
    p = s.softmax(dim=-1).masked_fill(hidden, 0)  # fully masked: 0, not NaN
    dp = do @ v.mT
    ds = p * (dp - (p * dp).sum(dim=-1, keepdim=True))
    dq = scale * ds @ k
    return dq.reshape(q.shape), scale * ds.mT @ q_grouped, p.mT @ do
