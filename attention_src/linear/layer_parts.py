"""What the layers of this topic share: as `reference_parts`, on tensors, with gradients.

Sequences are cut with split and unbind, not with slices: the gradient of a slice is as long as the
whole sequence, so a backward pass through n slices would cost O(n²).
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_feature_map, check_log_gates, check_query_scale
from attention_src.shapes import check_heads, check_impl, check_shape
from attention_src.tensors import (
    check_tensors,
    compute_dtype,
    kernel_takes,
)

IMPLS = ("auto", "torch", "triton")
Step = Callable[..., tuple[Tensor, Tensor]]


def run(
    form: str, chunk: int, token: Step, block: Step, sequences: list[Tensor], state: Tensor
) -> tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_s d_r"]]:
    """As `reference_parts.run`, with sequences [B, H, n, *] and states [B, H, d_k, d_v]."""
    if form == "parallel" or sequences[0].shape[-2] == 0:  # n = 0: there is nothing to stack
        return block(*sequences, state)
    outputs = []
    if form == "recurrent":
        for position in zip(*(x.unbind(dim=-2) for x in sequences), strict=True):
            o, state = token(*position, state)
            outputs.append(o)
        return torch.stack(outputs, dim=-2), state
    for piece in zip(*(x.split(chunk, dim=-2) for x in sequences), strict=True):
        o, state = block(*piece, state)
        outputs.append(o)
    return torch.cat(outputs, dim=-2), state


def uses_kernel(
    impl: str, form: str, x: Tensor, *, fits: bool = True, kernel_form: str = "chunkwise"
) -> bool:
    """Whether the Triton kernels compute this; each function documents its rule for "auto".

    Args:
        impl, form: as the function was given
        x: an input
        fits: whether "auto" may choose the kernels for the other arguments
        kernel_form: the one form that the kernels have
    Returns: True for the kernels
    Raises:
        ValueError: an unknown impl; "triton" in another form
    """
    check_impl(impl, IMPLS)
    if impl == "triton" and form != kernel_form:
        raise ValueError(f'form is {form!r}; impl="triton" has the "{kernel_form}" form only')
    if impl == "auto":
        return kernel_takes(x) and form == kernel_form and fits
    return impl == "triton"


def check_qkv_tensors(q: Any, k: Any, v: Any, scale: Any) -> tuple[list[Tensor], torch.dtype]:
    """Validate q, k, v and scale.

    Args:
        q: [B, H, n_q, d_k]
        k, v: [B, H, n_k, d_k], [B, H, n_k, d_v]
        scale: a number, or None for 1
    Returns: scale * q, k and v in float32 at least; the output's dtype, which is q's
    Raises:
        ValueError: not floating-point tensors of one dtype on one device; shapes that do not fit;
            grouped heads; a scale that is not a finite number
    """
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    if k.shape[1] != q.shape[1]:
        raise ValueError(
            f"k has {k.shape[1]} heads but q has H={q.shape[1]}; they should be equal. Repeat "
            "those of k and v first: k.repeat_interleave(H // H_kv, dim=1)"
        )
    factor, dtype = check_query_scale(scale), q.dtype
    q, k, v = (x.to(compute_dtype(q)) for x in (q, k, v))
    return [q if factor == 1 else factor * q, k, v], dtype


def check_argument(x: Any, name: str, axes: str, k: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """Validate an argument other than q, k and v.

    Args:
        x, name, axes, wanted: as for `shapes.check_shape`
        k: the keys, in the dtype of computation
    Returns: x in k's dtype
    Raises:
        ValueError: not a floating-point tensor, on another device, or of another shape
    """
    check_tensors(one_dtype=False, k=k, **{name: x})
    check_shape(x, name, axes, tuple(wanted))
    return x.to(k.dtype)


def check_gates(log_gates: Any, axes: str, k: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """Validate log gates as `check_argument` does, and their values except under torch.compile.

    Args:
        log_gates: the tensor to check
        axes, k, wanted: as for `check_argument`
    Returns: log_gates in k's dtype
    Raises:
        ValueError: as `check_argument`; an entry above 0
    """
    log_gates = check_argument(log_gates, "log_gates", axes, k, wanted)
    if log_gates.numel() and not torch.compiler.is_compiling():
        check_log_gates(float(log_gates.detach().max()))
    return log_gates


def start_state(initial_state: Any, axes: str, wanted: tuple[int, ...], **like: Tensor) -> Tensor:
    """The state before the first position: zeros if initial_state is None.

    Args:
        initial_state, axes, wanted: as for `reference_parts.start_state`
        like: one tensor of the dtype of computation, by its name: k=k
    Returns: the state, in that dtype: a narrower one is converted, which changes no number
    Raises:
        ValueError: another shape or device than return_state=True gives, or a wider dtype
    """
    (x,) = like.values()
    if initial_state is None:
        return x.new_zeros(wanted)
    check_tensors(one_dtype=False, **like, initial_state=initial_state)
    check_shape(initial_state, "initial_state", axes, wanted)
    if torch.promote_types(initial_state.dtype, x.dtype) != x.dtype:
        raise ValueError(
            f"initial_state is {initial_state.dtype}; it should be {x.dtype}, as "
            "return_state=True gives it, or narrower: numbers would be rounded"
        )
    return initial_state.to(x.dtype)


def finish(o: Tensor, state: Tensor, dtype: torch.dtype, return_state: bool) -> Any:
    """As `reference_parts.finish`, on tensors."""
    return (o.to(dtype), state) if return_state else o.to(dtype)


def features(
    x: Float[Tensor, "*batch n d"], feature_map: str | None
) -> Float[Tensor, "*batch n d_phi"]:
    """As `reference_parts.features`.

    Raises:
        ValueError: there is no such feature map
    """
    check_feature_map(feature_map)
    if feature_map == "elu":  # torch's elu(x) + 1 loses all digits of a small exp(x)
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())
    if feature_map == "relu":
        return x.relu()
    if feature_map == "taylor":
        pairs = x[..., :, None] * x[..., None, :] * 0.5**0.5  # [..., n, d, d]
        return torch.cat([torch.ones_like(x[..., :1]), x, pairs.flatten(-2)], dim=-1)
    return x


# The decays of a chunk, as in reference_parts. Cumulative sums are never subtracted: near a zero
# gate that loses all digits.


def decay_from_start(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """As `reference_parts.decay_from_start`: Π_{t=0..i} g_t."""
    return log_gates.cumsum(dim=-2).exp()


def decay_to_end(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """As `reference_parts.decay_to_end`: Π_{t=j+1..n−1} g_t."""
    later = torch.cat([log_gates[..., 1:, :], torch.zeros_like(log_gates[..., :1, :])], dim=-2)
    return later.flip(-2).cumsum(dim=-2).flip(-2).exp()


def decay_between(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n n c"]:
    """As `reference_parts.decay_between`: Π_{t=j+1..i} g_t for j <= i, and 0 for j > i."""
    i = torch.arange(log_gates.shape[-2], device=log_gates.device)[:, None, None]
    j = i.transpose(0, 1)
    gate_i = torch.where(j < i, log_gates[..., :, None, :], 0)  # [..., n, n, c]
    return gate_i.cumsum(dim=-3).exp().masked_fill(j > i, 0)


def decay_whole(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch c"]:
    """As `reference_parts.decay_whole`: Π_t g_t."""
    return log_gates.sum(dim=-2).exp()
