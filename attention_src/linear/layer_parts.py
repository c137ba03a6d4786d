"""Three forms out of two functions, on tensors: `forms` with gradients.

    token(q_t, k_t, v_t, ..., state) -> o_t, state       each of the first [..., d]
    block(q,   k,   v,   ..., state) -> o,   state       each of the first [..., n, d]

A sequence is cut by split and unbind. Cut by slices, each piece would get a gradient as long as the
whole sequence, mostly zeros, and the backward pass would cost O(n²).
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_feature_map, check_log_gates
from attention_src.shapes import check_heads, check_shape
from attention_src.tensors import check_tensors, compute_dtype, kernel_takes

IMPLS = ("auto", "torch", "triton")
Step = Callable[..., tuple[Tensor, Tensor]]


def run(
    form: str, chunk: int, token: Step, block: Step, sequences: list[Tensor], state: Tensor
) -> tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_s d_r"]]:
    """The outputs of a causal mechanism, and its state after the last position.

    Args:
        form: "parallel": one block; "chunkwise": blocks of `chunk`; "recurrent": token by token
        chunk: positions in a block; the last block may be shorter
        token, block: the mechanism
        sequences: q, k, v and whatever else has a row for each position, all [B, H, n, *]
        state: [B, H, d_k, d_v]  the state before the first position
    Returns: o [B, H, n, d_v], state [B, H, d_k, d_v]
    """
    if form == "parallel" or sequences[0].shape[-2] == 0:  # without positions nothing is to loop
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


def uses_kernel(impl: str, form: str, q: Tensor, fits: bool = True) -> bool:
    """Whether the Triton kernels compute this, by the rule that each function documents for "auto".

    Args:
        impl, form, q: as the function was given
        fits: whether "auto" may choose the kernels for the other arguments
    Raises:
        ValueError: "triton" in another form than theirs
    """
    if impl == "triton" and form != "chunkwise":
        raise ValueError(f'form is {form!r}; impl="triton" has the "chunkwise" form only')
    automatic = kernel_takes(q) and form == "chunkwise" and fits
    return impl == "triton" or (impl == "auto" and automatic)


def tensors(q: Any, k: Any, v: Any) -> tuple[list[Tensor], torch.dtype]:
    """q, k and v checked, and in float32 at least; and the dtype of the answer.

    Raises:
        ValueError: not floating-point tensors of one dtype on one device, or shapes that do not
            belong together; grouped heads are to be repeated first
    """
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    if k.shape[1] != q.shape[1]:
        raise ValueError(
            f"k has {k.shape[1]} heads but q has H={q.shape[1]}; they should be equal. Repeat "
            "those of k and v first: k.repeat_interleave(H // H_kv, dim=1)"
        )
    return [x.to(compute_dtype(q)) for x in (q, k, v)], q.dtype


def beside(x: Any, name: str, axes: str, k: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """A further argument in the dtype of computation, after the shape it should have beside k.

    Raises:
        ValueError: not a floating-point tensor, on another device, or of another shape
    """
    check_tensors(one_dtype=False, k=k, **{name: x})
    check_shape(x, name, axes, tuple(wanted))
    return x.to(k.dtype)


def gates(log_gates: Any, axes: str, k: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """Log gates, checked. Under torch.compile their values are not looked at.

    Raises:
        ValueError: as `beside`; an entry above 0
    """
    log_gates = beside(log_gates, "log_gates", axes, k, wanted)
    if log_gates.numel() and not torch.compiler.is_compiling():
        check_log_gates(float(log_gates.detach().max()))
    return log_gates


def initial(state: Any, k: Tensor, v: Tensor) -> Tensor:
    """The state to start from: zeros if none is given. k and v are in the dtype of computation.

    Raises:
        ValueError: not [B, H, d_k, d_v], or not what return_state gives
    """
    wanted = (*k.shape[:2], k.shape[-1], v.shape[-1])
    if state is None:
        return k.new_zeros(wanted)
    check_tensors(one_dtype=False, k=k, initial_state=state)
    check_shape(state, "initial_state", "[B, H, d_k, d_v]", wanted)
    if state.dtype != k.dtype:
        raise ValueError(
            f"initial_state is {state.dtype}; it should be {k.dtype}, as return_state=True gives it"
        )
    return state


def answer(o: Tensor, state: Tensor, dtype: torch.dtype, return_state: bool) -> Any:
    """o in its dtype, and the state if it was asked for."""
    return (o.to(dtype), state) if return_state else o.to(dtype)


def features(
    x: Float[Tensor, "*batch n d"], feature_map: str | None
) -> Float[Tensor, "*batch n d_phi"]:
    """The features of queries or keys, as `feature_maps.features` defines them.

    Args:
        x: [..., n, d]  queries or keys
        feature_map: "elu", "relu", "taylor" or None
    Returns: [..., n, d_phi]  with d_phi = d, or 1 + d + d² for "taylor"
    Raises:
        ValueError: there is no such feature map
    Cost: O(n d_phi).
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


def from_start(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """What position i still sees of the state before the first: Π_{t=0..i} g_t."""
    return log_gates.cumsum(dim=-2).exp()


def to_end(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """What the state after the last position still holds of position j: Π_{t=j+1..n−1} g_t."""
    later = torch.cat([log_gates[..., 1:, :], torch.zeros_like(log_gates[..., :1, :])], dim=-2)
    return later.flip(-2).cumsum(dim=-2).flip(-2).exp()


def between(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n n c"]:
    """What position i still sees of position j: Π_{t=j+1..i} g_t for j <= i, and 0 for j > i."""
    i = torch.arange(log_gates.shape[-2], device=log_gates.device)[:, None, None]
    j = i.transpose(0, 1)
    gate_i = torch.where(j < i, log_gates[..., :, None, :], 0)  # [..., n, n, c]
    return gate_i.cumsum(dim=-3).exp().masked_fill(j > i, 0)


def of_all(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch c"]:
    """What the state after the last position holds of the state before the first: Π_t g_t."""
    return log_gates.sum(dim=-2).exp()
