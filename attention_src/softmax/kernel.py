"""Softmax over the last axis in one kernel: each row is read once and written once."""

import torch
from torch import Tensor

from attention_src.kernels import Launch, check_kernel_tensors, tl, triton


@triton.jit
def softmax_forward_kernel(x_ptr, p_ptr, stride_x, stride_p, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    # [BLOCK]  reads n numbers
    x = tl.load(x_ptr + row * stride_x + offs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, 0)
    e = tl.exp(x - tl.where(m == -float("inf"), 0.0, m))
    l = tl.sum(e, 0)
    p = e / tl.where(l == 0.0, 1.0, l)
    tl.store(p_ptr + row * stride_p + offs, p.to(p_ptr.dtype.element_ty), mask=mask)


def forward_launch(x: Tensor, p: Tensor) -> Launch:
    rows, n = x.shape
    return Launch(
        softmax_forward_kernel,
        (rows,),
        dict(
            x_ptr=x,
            p_ptr=p,
            stride_x=x.stride(0),
            stride_p=p.stride(0),
            n=n,
            BLOCK=triton.next_power_of_2(n),
        ),
    )


@torch.library.custom_op("attention_src::softmax_forward", mutates_args=())
def softmax_forward(x: Tensor) -> Tensor:
    check_kernel_tensors(x=x)
    p = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    forward_launch(x, p).run()
    return p


@softmax_forward.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _setup(ctx, inputs, output):
    ctx.save_for_backward(output)


def _backward(ctx, dp):
    (p,) = ctx.saved_tensors
    return p * (dp - (p * dp).sum(-1, keepdim=True))


softmax_forward.register_autograd(_backward, setup_context=_setup)
