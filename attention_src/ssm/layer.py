"""State space models on torch tensors, with gradients: as `reference`.

Computed in float32 at least, since a state that is rounded to float16 after each step forgets small
inputs, also under torch.autocast; outputs have x's dtype, states float32 at least. Call backward
outside of the autocast region, as PyTorch advises: inside, autocast rounds the products in it.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.layer_parts import finish, start_state, uses_kernel
from attention_src.shapes import check_flags, check_impl, check_shape
from attention_src.ssm.checks import check_scan, check_steps
from attention_src.ssm.layer_ssd import ssd
from attention_src.tensors import call_kernel, check_tensors, compute_dtype, without_autocast
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

__all__ = ["selective_scan", "ssd"]

SCAN_FORMS = ("recurrent", "associative")


@without_autocast
def selective_scan(
    x: Float[Tensor, "*batch n d"],
    dt: Float[Tensor, "*batch n d"],
    A: Float[Tensor, "d N"],
    B: Float[Tensor, "*batch n N"],
    C: Float[Tensor, "*batch n N"],
    D: Float[Tensor, " d"] | None = None,
    *,
    form: str = "associative",
    initial_state: Float[Tensor, "*batch d N"] | None = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "*batch n d"] | tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*batch d N"]]:
    """As `reference.selective_scan`, on tensors, with gradients.

    Args:
        x, dt, A, B, C, D: as for the reference; dtypes may differ: float32 parameters with float16
            inputs. dt is not validated under torch.compile
        form, return_state: as for the reference, but "associative" unless told otherwise
        initial_state: [..., d, N], as return_state=True gives it, or in half precision, which
            is computed with in float32
        impl: "torch", "triton" (the associative form, on a GPU or interpreted) or "auto": "triton"
            for CUDA tensors of float16, bfloat16 or float32 in the associative form, else "torch"
    Returns: [..., n, d]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float32 at
        least
    Raises:
        ValueError: as the reference; devices that differ; an unknown impl, or "triton" where it
            does not apply
    Cost: as for the reference; gradients keep O(n d N) numbers in both forms.
    """
    check_flags(return_state=return_state)
    check_impl(form, SCAN_FORMS, "form")
    check_tensors(one_dtype=False, optional=("D",), x=x, dt=dt, A=A, B=B, C=C, D=D)
    check_scan(x, dt, A, B, C)
    if not torch.compiler.is_compiling():
        check_steps(dt)
    if D is not None:
        check_shape(D, "D", "[d]", x.shape[-1:])
    wide = x.to(compute_dtype(x))
    h = start_state(initial_state, "[..., d, N]", (*x.shape[:-2], *A.shape), x=wide)
    if uses_kernel(impl, form, x, kernel_form="associative"):
        return finish(*_kernel(x, dt, A, B, C, D, h), x.dtype, return_state)
    dt, A, B, C = (a.to(wide.dtype) for a in (dt, A, B, C))
    y, h = (_recur if form == "recurrent" else _associate)(wide, dt, A, B, C, h)
    y = y if D is None else y + D.to(wide.dtype) * wide
    return finish(y, h, x.dtype, return_state)


def _kernel(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None, h: Tensor
) -> tuple[Tensor, Tensor]:
    """The kernel takes [B, n, d]: merge all leading axes into one."""
    from attention_src.ssm.kernel import selective_scan_forward

    n, d = x.shape[-2:]
    D = A.new_zeros(d) if D is None else D
    batch = math.prod(x.shape[:-2])
    y, last = call_kernel(
        selective_scan_forward,
        "torch",
        x.reshape(batch, n, d),
        dt.reshape(batch, n, d),
        A,
        B.reshape(batch, n, A.shape[1]),
        C.reshape(batch, n, A.shape[1]),
        D,
        h.reshape(batch, *A.shape),
    )
    return y.reshape(x.shape), last.reshape(h.shape)


def _recur(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """Step by step."""
    rows = []
    for x_t, dt_t, B_t, C_t in zip(*(a.unbind(dim=-2) for a in (x, dt, B, C)), strict=True):
        h = torch.exp(dt_t[..., None] * A) * h + (dt_t * x_t)[..., None] * B_t[..., None, :]
        rows.append((h * C_t[..., None, :]).sum(dim=-1))  # [..., d]
    return torch.stack(rows, dim=-2) if rows else x, h


def _associate(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """All steps at once, as `reference.associative_scan`."""
    a = torch.exp(dt[..., None] * A)  # [..., n, d, N]  what each step keeps
    b = (dt * x)[..., None] * B[..., :, None, :]  # [..., n, d, N]  what each step writes
    n, reach = x.shape[-2], 1
    while reach < n:  # entry t covers the last `reach` steps: prepend the `reach` before those
        joined = a[..., reach:, :, :] * b[..., :-reach, :, :] + b[..., reach:, :, :]
        b = torch.cat([b[..., :reach, :, :], joined], dim=-3)
        joined = a[..., reach:, :, :] * a[..., :-reach, :, :]
        a = torch.cat([a[..., :reach, :, :], joined], dim=-3)
        reach *= 2
    states = a * h[..., None, :, :] + b  # [..., n, d, N]
    return (states * C[..., :, None, :]).sum(dim=-1), states[..., -1, :, :] if n else h
