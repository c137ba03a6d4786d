"""What `flash.layer` makes of two of its arguments: a bias, and the lengths of sequences."""

from typing import Any

import torch
from torch import Tensor

from attention_src.attention.bias import Alibi
from attention_src.attention.score_modifiers import check_bias
from attention_src.shapes import check_shape
from attention_src.tensors import as_tensor, compute_dtype, whole_numbers


def bias_and_slopes(bias: Any, q: Tensor, k: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """A bias in one of the two forms that tiles can use: numbers, or slopes.

    Args:
        bias: as for `flash_attention`
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
    Returns: a tensor [1 or B, 1 or H, 1 or n_q, 1 or n_k] and the slopes [H] of an `Alibi`, in
        float32 at least; one of them, or both, None
    Raises:
        ValueError: as `score_modifiers.check_bias`
    """
    if bias is None:
        return None, None
    target = (*q.shape[:3], k.shape[-2])
    check_bias(bias, target)
    dtype = compute_dtype(q)
    if isinstance(bias, Alibi):
        what = "a row of numbers"
        return None, as_tensor(bias.slopes, "slopes", what, dtype=dtype, device=q.device)
    bias = as_tensor(bias, "bias", "an array of numbers", dtype=dtype, device=q.device)
    return bias.reshape((1,) * (4 - bias.ndim) + tuple(bias.shape)), None


def check_lengths(key_lengths: Any, q: Tensor, k: Tensor) -> Tensor:
    """Return key_lengths as an int32 tensor [B] on q's device.

    Args:
        key_lengths: as for `flash_attention`
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
    Returns: int32 [B]
    Raises:
        ValueError: not whole numbers between 0 and n_k, or not one for each sequence
    """
    lengths = as_tensor(key_lengths, "key_lengths", "a list of whole numbers, [B]")
    check_shape(lengths, "key_lengths", "[B]", q.shape[:1])
    return _in_range(whole_numbers(lengths, "key_lengths"), k.shape[-2]).to(q.device)


def clear_padding(x: Tensor, lengths: Tensor) -> Tensor:
    """Keys or values with zeros behind each sequence's end.

    A weight of 0 hides a finite number, but 0 times NaN or inf is NaN, forward and backward.

    Args:
        x: [B, H_kv, n_k, d]  keys or values
        lengths: int [B]  how many of them are not padding
    Returns: [B, H_kv, n_k, d]  a copy; the gradient of the padding is 0
    """
    padding = torch.arange(x.shape[-2], device=x.device) >= lengths[:, None]  # [B, n_k]
    return x.masked_fill(padding[:, None, :, None], 0)


@torch.library.custom_op("attention_src::flash_lengths", mutates_args=())
def _in_range(lengths: Tensor, n_k: int) -> Tensor:
    """An operator of its own: torch.compile cannot branch on a tensor's values while it traces."""
    if ((lengths < 0) | (lengths > n_k)).any():
        raise ValueError(
            f"key_lengths is {lengths.tolist()}; each should be between 0 and n_k={n_k}"
        )
    return lengths.to(torch.int32, copy=True)


@_in_range.register_fake
def _(lengths: Tensor, n_k: int) -> Tensor:
    return torch.empty_like(lengths, dtype=torch.int32)


@_in_range.register_vmap
def _(info: Any, in_dims: tuple, lengths: Tensor, n_k: int) -> tuple[Tensor, int | None]:
    return _in_range(lengths, n_k), in_dims[0]
