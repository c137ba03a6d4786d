"""Rotary positions in one kernel: queries and keys together, each read once and written once.

There is hardly any arithmetic, so only bytes count. A program takes a block of tokens and several
heads: it reads the block's cosines and sines once for all of its heads.
"""

import torch
from torch import Tensor

from attention_src.rope.checks import check_rotation
from attention_src.triton_support.launch import Launch, capability, check_kernel_tensors, tl, triton
from attention_src.triton_support.launch_cache import Prepared, planned


@triton.jit
def _rotate_heads(
    x_ptr, stride_xh, stride_xn, stride_xd,
    y_ptr, stride_yh, stride_yn, stride_yd,
    cos_ptr, sin_ptr, sign, first_head, n_heads, offs_n, mask_n,
    N_PAIRS: tl.constexpr, HEADS: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):  # fmt: skip
    """Rotate heads first_head ... first_head + HEADS - 1 of one sequence: y = R x."""
    offs_h = (first_head + tl.arange(0, HEADS)).to(tl.int64)[:, None, None]
    offs_p = tl.arange(0, BLOCK_P).to(tl.int64)
    rows = offs_n[None, :, None]
    # [HEADS, BLOCK_N, 1]
    x_ptr += offs_h * stride_xh + rows * stride_xn
    y_ptr += offs_h * stride_yh + rows * stride_yn
    mask_x = (offs_h < n_heads) & mask_n[None, :, None]
    # x1 and x2, the two components of each pair, each [HEADS, BLOCK_N, BLOCK_P]: reads
    # HEADS · BLOCK_N · d numbers
    if INTERLEAVED:
        # The components of a pair are adjacent: load whole rows and split them in registers.
        offs_d = tl.arange(0, 2 * BLOCK_P).to(tl.int64)
        mask_x = mask_x & (offs_d < 2 * N_PAIRS)[None, None, :]
        x = tl.load(x_ptr + offs_d * stride_xd, mask=mask_x).to(tl.float32)
        x1, x2 = tl.split(tl.reshape(x, (HEADS, BLOCK_N, BLOCK_P, 2)))
    else:
        mask_x = mask_x & (offs_p < N_PAIRS)[None, None, :]
        x1 = tl.load(x_ptr + offs_p * stride_xd, mask=mask_x).to(tl.float32)
        x2 = tl.load(x_ptr + (offs_p + N_PAIRS) * stride_xd, mask=mask_x).to(tl.float32)

    # [1, BLOCK_N, BLOCK_P]  reads BLOCK_N · d numbers of 4 bytes, once for all HEADS heads. Loaded
    # after x, because x comes from slower memory: its load starts first.
    offs_c = offs_n[:, None] * N_PAIRS + offs_p[None, :]
    mask_c = mask_n[:, None] & (offs_p < N_PAIRS)[None, :]
    cos = tl.load(cos_ptr + offs_c, mask=mask_c)[None, :, :]
    sin = tl.load(sin_ptr + offs_c, mask=mask_c)[None, :, :] * sign

    y1 = (x1 * cos - x2 * sin).to(y_ptr.dtype.element_ty)
    y2 = (x1 * sin + x2 * cos).to(y_ptr.dtype.element_ty)
    # writes HEADS · BLOCK_N · d numbers
    if INTERLEAVED:
        y = tl.reshape(tl.join(y1, y2), (HEADS, BLOCK_N, 2 * BLOCK_P))
        tl.store(y_ptr + offs_d * stride_yd, y, mask=mask_x)
    else:
        tl.store(y_ptr + offs_p * stride_yd, y1, mask=mask_x)
        tl.store(y_ptr + (offs_p + N_PAIRS) * stride_yd, y2, mask=mask_x)


@triton.jit
def rope_kernel(
    q_ptr, stride_qb, stride_qh, stride_qn, stride_qd,
    k_ptr, stride_kb, stride_kh, stride_kn, stride_kd,
    q_out_ptr, stride_qob, stride_qoh, stride_qon, stride_qod,
    k_out_ptr, stride_kob, stride_koh, stride_kon, stride_kod,
    cos_ptr, sin_ptr, stride_cb, n, H, H_kv, sign,
    N_PAIRS: tl.constexpr, HEADS: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):  # fmt: skip
    """Each program rotates HEADS heads of q or of k, for BLOCK_N tokens of one sequence."""
    # Programs that share cosines and sines are adjacent: the head groups of q, then those of k.
    q_groups, k_groups = tl.cdiv(H, HEADS), tl.cdiv(H_kv, HEADS)
    group = tl.program_id(0) % (q_groups + k_groups)
    block = tl.program_id(0) // (q_groups + k_groups)
    batch = (block // tl.cdiv(n, BLOCK_N)).to(tl.int64)
    offs_n = (block % tl.cdiv(n, BLOCK_N)).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n
    cos_ptr += batch * stride_cb
    sin_ptr += batch * stride_cb
    if group < q_groups:
        _rotate_heads(
            q_ptr + batch * stride_qb, stride_qh, stride_qn, stride_qd,
            q_out_ptr + batch * stride_qob, stride_qoh, stride_qon, stride_qod,
            cos_ptr, sin_ptr, sign, group * HEADS, H, offs_n, mask_n,
            N_PAIRS, HEADS, BLOCK_N, BLOCK_P, INTERLEAVED,
        )  # fmt: skip
    else:
        _rotate_heads(
            k_ptr + batch * stride_kb, stride_kh, stride_kn, stride_kd,
            k_out_ptr + batch * stride_kob, stride_koh, stride_kon, stride_kod,
            cos_ptr, sin_ptr, sign, (group - q_groups) * HEADS, H_kv, offs_n, mask_n,
            N_PAIRS, HEADS, BLOCK_N, BLOCK_P, INTERLEAVED,
        )  # fmt: skip


def rope_launch(
    q: Tensor, k: Tensor, q_out: Tensor, k_out: Tensor, cos: Tensor, sin: Tensor,
    *, interleaved: bool, sign: float = 1.0, capability: int,
) -> Launch:  # fmt: skip
    """The rotation of q and of k as one launch; touches no data.

    Args:
        q, k: [B, H, n, d] and [B, H_kv, n, d], any strides
        q_out, k_out: for the results; shapes and dtype of q and k, any strides
        cos, sin: float32 [n, d/2], or [B, n, d/2] if sequences have their own positions; contiguous
        interleaved: True pairs component 2 i with 2 i + 1; False i with i + d/2
        sign: 1.0 rotates by the angle, -1.0 by its negative, which is the gradient
        capability: the chip, 75 to 100; 0 = interpreter
    Returns: the launch, not yet started
    """
    B, H, n, d = q.shape
    H_kv = k.shape[1]
    # 1024 pairs per head are 8 for each of 128 threads: in float16 two loads of 16 bytes, the
    # widest there are. Four heads keep enough bytes in flight. Blocks are small in the interpreter,
    # so that tests cross their borders.
    pairs, heads = (1024, 4) if capability else (256, 2)
    block_p = triton.next_power_of_2(d // 2)
    block_n = max(1, pairs // block_p)
    programs = B * triton.cdiv(n, block_n) * (triton.cdiv(H, heads) + triton.cdiv(H_kv, heads))
    strides = {
        f"stride_{name}{axis}": stride
        for name, x in (("q", q), ("k", k), ("qo", q_out), ("ko", k_out))
        for axis, stride in zip("bhnd", x.stride(), strict=True)
    }
    tensors = dict(q_ptr=q, k_ptr=k, q_out_ptr=q_out, k_out_ptr=k_out, cos_ptr=cos, sin_ptr=sin)
    sizes = dict(stride_cb=cos.stride(0) if cos.ndim == 3 else 0, n=n, H=H, H_kv=H_kv, sign=sign)
    tiles = dict(N_PAIRS=d // 2, HEADS=heads, BLOCK_N=block_n, BLOCK_P=block_p)
    arguments = tensors | strides | sizes | tiles | dict(INTERLEAVED=interleaved)
    return Launch(rope_kernel, (programs,), arguments, num_warps=4)


@torch.library.custom_op("attention_src::rope_forward", mutates_args=())
def rope_forward(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, interleaved: bool
) -> tuple[Tensor, Tensor]:
    """Rotate queries and keys by angles given as cosines and sines.

        y1 = x1 cos - x2 sin,  y2 = x1 sin + x2 cos  for each pair of q and of k

    Args:
        q: [B, H, n, d]  queries in float16, bfloat16 or float32, any strides; d even
        k: [B, H_kv, n, d]  keys
        cos, sin: float32 [n, d/2], or [B, n, d/2] if sequences have their own positions
        interleaved: True pairs component 2 i with 2 i + 1; False i with i + d/2
    Returns: both rotated, contiguous, computed in float32
    Raises:
        ValueError: shapes that do not fit; a dtype or device that kernels do not support
    Cost: reads q and k once and writes them once; reads cos and sin once per four heads.
    """
    q_out, k_out = _rotate(q, k, cos, sin, interleaved, 1.0)
    return q_out, k_out


@torch.library.custom_op("attention_src::rope_backward", mutates_args=())
def rope_backward(
    dq_out: Tensor, dk_out: Tensor, cos: Tensor, sin: Tensor, interleaved: bool
) -> tuple[Tensor, Tensor]:
    """The gradients by q and k, from those by the rotated q and k: the rotation by −angle.

        dx1 = dy1 cos + dy2 sin,  dx2 = dy2 cos - dy1 sin  for each pair of q and of k

    Args:
        dq_out: [B, H, n, d]  gradient of the loss by the rotated q
        dk_out: [B, H_kv, n, d]  gradient of the loss by the rotated k
        cos, sin, interleaved: as given to `rope_forward`
    Returns: dq and dk, contiguous, computed in float32
    Raises:
        ValueError: as `rope_forward`
    Cost: as `rope_forward`.
    """
    dq, dk = _rotate(dq_out, dk_out, cos, sin, interleaved, -1.0)
    return dq, dk


@planned
def _rotate(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, sign: float
) -> Prepared:
    """Either direction, into new contiguous tensors."""
    _check(q, k, cos, sin)
    q_out, k_out = _empty_like(q), _empty_like(k)
    launch = rope_launch(
        q, k, q_out, k_out, cos.contiguous(), sin.contiguous(),
        interleaved=interleaved, sign=sign, capability=capability(q),
    )  # fmt: skip
    return (q_out, k_out), [launch]


def _empty_like(x: Tensor) -> Tensor:
    """A new contiguous tensor; torch.empty_like would copy x's strides."""
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _check(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Check what the kernel relies on; ValueError names the argument."""
    check_kernel_tensors(q=q, k=k)
    check_rotation(q, k, cos, sin)
    for name, x in (("cos", cos), ("sin", sin)):
        if x.dtype != torch.float32 or x.device != q.device:
            raise ValueError(
                f"{name} is {x.dtype} on {x.device}; it should be torch.float32 on q's {q.device}"
            )


@rope_forward.register_fake
@rope_backward.register_fake
def _(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    return _empty_like(q), _empty_like(k)


def _setup_context(ctx, inputs, output):
    *_, cos, sin, ctx.interleaved = inputs
    ctx.save_for_backward(cos, sin)


def _gradient_of_forward(ctx, dq_out, dk_out):
    return *rope_backward(dq_out, dk_out, *ctx.saved_tensors, ctx.interleaved), None, None, None


def _gradient_of_backward(ctx, dq, dk):
    return *rope_forward(dq, dk, *ctx.saved_tensors, ctx.interleaved), None, None, None


# Each is the gradient of the other: the inverse rotation.
rope_forward.register_autograd(_gradient_of_forward, setup_context=_setup_context)
rope_backward.register_autograd(_gradient_of_backward, setup_context=_setup_context)
