"""What the modules of this topic check: their sizes, and the tokens they are given."""

from typing import Any

import torch
from torch import Tensor

from attention_src.kinds import check_dense
from attention_src.shapes import check_size, shape
from attention_src.tensors import KERNEL_DTYPES


def check_head_sizes(
    d_model: int, n_heads: int, d_k: int | None, d_v: int | None
) -> tuple[int, int, int, int]:
    """Check the sizes of a module, and fill in those that are None.

    Args:
        d_model: width of a token
        n_heads: H
        d_k: width of a key; None = d_model / H
        d_v: width of a value; None = d_k
    Returns: d_model, H, d_k, d_v
    Raises:
        ValueError: a size that is not a whole number of at least 1; n_heads does not divide d_model
            and d_k is None
    """
    d_model = check_size(d_model, "d_model", at_least=1)
    n_heads = check_size(n_heads, "n_heads", at_least=1)
    if d_k is None and d_model % n_heads:
        raise ValueError(
            f"n_heads is {n_heads}, which does not divide d_model={d_model}; "
            "choose another, or give d_k"
        )
    d_k = d_model // n_heads if d_k is None else check_size(d_k, "d_k", at_least=1)
    d_v = d_k if d_v is None else check_size(d_v, "d_v", at_least=1)
    return d_model, n_heads, d_k, d_v


def check_tokens(x: Any, name: str, dtype: torch.dtype, d_model: int) -> None:
    """Check that tokens are a tensor of a module's dtype and width.

    Under torch.autocast a layer before may have given another dtype, and the projections convert.

    Args:
        x: [B, n, d_model]
        name: of the argument
        dtype, d_model: of the module
    Raises:
        ValueError: names the argument, what it is and what it should be
    """
    if not isinstance(x, Tensor) or not (x.dtype == dtype or _is_cast(x, dtype)):
        what = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"{name} is {what}; it should be a tensor of this module's {dtype}")
    check_dense(x, name)
    if x.ndim != 3 or x.shape[-1] != d_model:
        raise ValueError(f"{name} has shape {shape(x)}; it should be [B, n, d_model={d_model}]")


def _is_cast(x: Tensor, dtype: torch.dtype) -> bool:
    """Whether autocast converts x and parameters of this dtype; it leaves float64 as it is."""
    device = x.device.type
    active = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return active and x.dtype in KERNEL_DTYPES and dtype in KERNEL_DTYPES
