"""The selective scan as torch operators with gradients, and how its kernels are launched."""

from typing import Any

import torch
from torch import Tensor

from attention_src.ssm.kernel_scan import (
    selective_scan_backward_kernel,
    selective_scan_forward_kernel,
)
from attention_src.tensors import refuse_derivatives
from attention_src.triton_support.launch import Launch, capability, check_kernel_tensors, triton

LARGEST_N = 64
Grads = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def tile_sizes(d: int, N: int, capability: int) -> dict[str, int]:
    """How many tokens, channels and numbers of state a program holds at once.

    The scan keeps several [BLOCK_T, BLOCK_D, BLOCK_N] tiles of float32 in registers.

    Args:
        d, N: number of channels, and of state numbers for each
        capability: of the chip; 0 in the interpreter
    Returns: BLOCK_T, BLOCK_D and BLOCK_N, by name
    """
    BLOCK_N = triton.next_power_of_2(N)
    if capability == 0:  # the interpreter scans number by number
        return dict(BLOCK_T=4, BLOCK_D=2, BLOCK_N=BLOCK_N)
    BLOCK_D = min(16, triton.next_power_of_2(d))
    return dict(BLOCK_T=max(4, 4096 // (BLOCK_D * BLOCK_N)), BLOCK_D=BLOCK_D, BLOCK_N=BLOCK_N)


def forward_launch(
    tensors: dict[str, Tensor], outputs: dict[str, Tensor], *, capability: int, states: bool
) -> Launch:
    """Describe the forward: y and last, or with `states` the state before each tile.

    Args:
        tensors: x, dt [B, n, d], A [d, N], B, C [B, n, N], D [d] and start fp32 [B, d, N]
        outputs: y [B, n, d], last fp32 [B, d, N], states fp32 [B, tiles, d, N]; any tensor of the
            same dtype in place of one that is not written
        capability: of the chip
        states: whether to write the states instead of y and last
    Returns: the launch, not yet run
    """
    d, N = tensors["A"].shape
    sizes = tile_sizes(d, N, capability)
    return _launch(
        selective_scan_forward_kernel,
        tensors,
        {f"{name}_ptr": x for name, x in (tensors | outputs).items()},
        sizes | dict(STATES=states),
    )


def backward_launch(
    tensors: dict[str, Tensor], gradients: dict[str, Tensor], *, capability: int
) -> Launch:
    """Describe the backward.

    Args:
        tensors: x, dt, A, B, C, D as in the forward, states fp32 [B, tiles, d, N], dy [B, n, d],
            dlast fp32 [B, d, N]
        gradients: dx, ddt [B, n, d], and in fp32 dA [B, d, N], dB, dC [blocks, B, n, N],
            dD [B, d], dstart [B, d, N]
        capability: of the chip
    Returns: the launch, not yet run
    """
    d, N = tensors["A"].shape
    return _launch(
        selective_scan_backward_kernel,
        tensors,
        {f"{name}_ptr": x for name, x in (tensors | gradients).items()},
        tile_sizes(d, N, capability),
    )


def _launch(kernel, tensors: dict[str, Tensor], pointers: dict, constants: dict) -> Launch:
    """What both launches share: strides, sizes and the grid."""
    batch, n, d = tensors["x"].shape
    letters = dict(x="btd", dt="btd", A="dN", B="btN", C="btN")
    strides = {
        f"stride_{'t' if name == 'dt' else name}{letter}": stride
        for name, axes in letters.items()
        for letter, stride in zip(axes, tensors[name].stride(), strict=True)
    }
    n_blocks = triton.cdiv(d, constants["BLOCK_D"])
    sizes = dict(n=n, d=d, N=tensors["A"].shape[1], n_blocks=n_blocks)
    return Launch(
        kernel,
        (batch * n_blocks,),
        pointers | strides | sizes | constants,
        num_warps=8 if constants["BLOCK_T"] > 8 else 4,
        num_stages=2,
    )


@torch.library.custom_op("attention_src::selective_scan_forward", mutates_args=())
def selective_scan_forward(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """Mamba's recurrence.

        h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t,  y_t = C_t·h_t + D x_t

    Args:
        x, dt: [B, n, d];  A: [d, N];  B, C: [B, n, N];  D: [d], each fp16, bf16 or fp32, any
            strides
        start: fp32 [B, d, N]  h_{-1}
    Returns: y [B, n, d] in x's dtype, h_{n-1} fp32 [B, d, N]
    Raises:
        ValueError: a dtype or device that kernels do not take; N above 64
    Cost: reads x and dt once, B and C once for every 16 channels, writes y once.
    Source: Gu & Dao 2023, arXiv:2312.00752, section 3.3; the scan Blelloch 1990.
    """
    tensors = _checked(x=x, dt=dt, A=A, B=B, C=C, D=D, start=start)
    y, last = torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty_like(start)
    outputs = dict(y=y, last=last, states=last)
    forward_launch(tensors, outputs, capability=capability(x), states=False).run()
    return y, last


@selective_scan_forward.register_fake
def _(x, dt, A, B, C, D, start):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty_like(start)


@torch.library.custom_op("attention_src::selective_scan_backward", mutates_args=())
def selective_scan_backward(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, start: Tensor,
    dy: Tensor, dlast: Tensor,
) -> Grads:  # fmt: skip
    """The gradients of `selective_scan_forward` for all its arguments.

    Args:
        x, dt, A, B, C, D, start: as for the forward
        dy: [B, n, d]  gradient of y, in x's dtype
        dlast: fp32 [B, d, N]  gradient of the last state
    Returns: dx, ddt, dA, dB, dC, dD, dstart with the shapes and dtypes of their arguments
    Raises:
        ValueError: as the forward
    Cost: reads x and dt twice and dy once, writes dx and ddt once, and dB, dC in fp32 once for
        every 16 channels. The forward runs again for the state before each tile: storing every
        state would take N times the memory of x.
    Source: as the forward.
    """
    tensors = _checked(x=x, dt=dt, A=A, B=B, C=C, D=D, start=start)
    (batch, n, d), N = x.shape, A.shape[1]
    sizes = tile_sizes(d, N, capability(x))
    tiles, blocks = triton.cdiv(n, sizes["BLOCK_T"]), triton.cdiv(d, sizes["BLOCK_D"])
    wide: dict[str, Any] = dict(dtype=torch.float32, device=x.device)
    states = torch.empty(batch, tiles, d, N, **wide)
    outputs = dict(y=states, last=states, states=states)
    forward_launch(tensors, outputs, capability=capability(x), states=True).run()
    gradients = dict(
        dx=torch.empty(x.shape, dtype=x.dtype, device=x.device),
        ddt=torch.empty(dt.shape, dtype=dt.dtype, device=x.device),
        dA=torch.empty(batch, d, N, **wide),
        dB=torch.empty(blocks, batch, n, N, **wide),
        dC=torch.empty(blocks, batch, n, N, **wide),
        dD=torch.empty(batch, d, **wide),
        dstart=torch.empty(start.shape, **wide),
    )
    del tensors["start"]
    tensors |= dict(states=states, dy=dy.contiguous(), dlast=dlast.contiguous())
    backward_launch(tensors, gradients, capability=capability(x)).run()
    for name, parameter in dict(dA=A, dB=B, dC=C, dD=D).items():
        gradients[name] = gradients[name].sum(dim=0).to(parameter.dtype)
    dx, ddt, dA, dB, dC, dD, dstart = gradients.values()
    return dx, ddt, dA, dB, dC, dD, dstart


@selective_scan_backward.register_fake
def _(x, dt, A, B, C, D, start, dy, dlast):
    return tuple(
        torch.empty(a.shape, dtype=a.dtype, device=a.device) for a in (x, dt, A, B, C, D, start)
    )


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, dy, dlast):
    return selective_scan_backward(*ctx.saved_tensors, dy, dlast)


selective_scan_forward.register_autograd(_backward, setup_context=_save)
refuse_derivatives(selective_scan_backward, "torch")


def _checked(**tensors: Tensor) -> dict[str, Tensor]:
    """Check dtypes, devices and N; return the tensors, D and start contiguous."""
    check_kernel_tensors(one_dtype=False, **tensors)
    N = tensors["A"].shape[1]
    if N > LARGEST_N:
        raise ValueError(f"A has N={N}; the kernel holds states of up to {LARGEST_N} numbers")
    return tensors | dict(D=tensors["D"].contiguous(), start=tensors["start"].contiguous())
