"""State space models on torch tensors, with gradients. Same names and forms as in `reference`.

float16 and bfloat16 are computed in float32 and answered in x's dtype: a state that is rounded
after each step forgets small inputs.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.shapes import check_impl, check_size
from attention_src.ssm.checks import check_scan, check_ssd
from attention_src.tensors import check_tensors, compute_dtype, kernel_takes
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

SCAN_FORMS = ("recurrent", "associative")
SSD_FORMS = ("recurrent", "parallel", "chunkwise")


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
    impl: str = "auto",
) -> Float[Tensor, "*batch n d"]:
    """Mamba's recurrence: what is written, kept and read depends on the token.

        h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t,  y_t = C_t·h_t + D x_t

    Args:
        x: [..., n, d]  inputs
        dt: [..., n, d]  step sizes, already positive (after softplus)
        A: [d, N]  diagonal of the state matrix, negative
        B, C: [..., n, N]  input and output matrices, shared by all channels
        D: [d]  skip connection; None = 0
        form: "recurrent" (one step after the other) or "associative" (log2(n) rounds)
        initial_state: [..., d, N]  h_{-1}; None = 0
        impl: "torch", "triton" (the associative form, on a GPU or interpreted) or "auto": "triton"
            for CUDA tensors of float16, bfloat16 or float32 in the associative form, else "torch"
    Returns: [..., n, d]  y, in x's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; dt not positive; an unknown form or
            impl; "triton" with what its kernel does not take
    Cost: recurrent about 7 n d N FLOP in n steps; associative O(n d N log n) in log2(n) rounds.
        Gradients keep O(n d N) numbers in both.
    Source: Gu & Dao 2023, arXiv:2312.00752, Algorithm 2 (their Δ is our dt).
    """
    options: dict[str, Any] = dict(form=form, initial_state=initial_state, impl=impl)
    y, _ = selective_scan_with_state(x, dt, A, B, C, D, **options)
    return y


def selective_scan_with_state(
    x: Float[Tensor, "*batch n d"],
    dt: Float[Tensor, "*batch n d"],
    A: Float[Tensor, "d N"],
    B: Float[Tensor, "*batch n N"],
    C: Float[Tensor, "*batch n N"],
    D: Float[Tensor, " d"] | None = None,
    *,
    form: str = "associative",
    initial_state: Float[Tensor, "*batch d N"] | None = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*batch d N"]]:
    """`selective_scan`, and the last state, from which the next token goes on.

    Args: as for `selective_scan`
    Returns: y [..., n, d] in x's dtype, h_{n-1} [..., d, N] in float32 at least
    Raises:
        ValueError: as `selective_scan`
    """
    check_impl(form, SCAN_FORMS, "form")
    tensors = _wide(x=x, dt=dt, A=A, B=B, C=C, D=D, initial_state=initial_state)
    check_scan(x, dt, A, B, C)
    given = (dt, A, B, C, D)
    wide, dt, A, B, C, D, h = tensors
    if D is not None and D.shape != (x.shape[-1],):
        raise ValueError(f"D has shape {list(D.shape)}; it should be [d] = [{x.shape[-1]}]")
    h = start_state(h, (*x.shape[:-2], *A.shape), wide)  # [..., d, N]
    if _impl(impl, form, "associative", x) == "triton":
        return _scan_kernel(x, *given, h)
    y, h = (_recur if form == "recurrent" else _associate)(wide, dt, A, B, C, h)
    return (y if D is None else y + D * wide).to(x.dtype), h


def _impl(impl: str, form: str, kernels_form: str, x: Tensor) -> str:
    """ "torch" or "triton", by the rule that each function documents."""
    check_impl(impl, ("auto", "torch", "triton"))
    if impl == "triton" and form != kernels_form:
        raise ValueError(f'form is {form!r}; impl="triton" has the "{kernels_form}" form only')
    if impl != "auto":
        return impl
    fits = kernel_takes(x) and form == kernels_form
    return "triton" if fits else "torch"


def _scan_kernel(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None, h: Tensor
) -> tuple[Tensor, Tensor]:
    """The kernel takes [B, n, d]: put all leading axes into one."""
    from attention_src.ssm.kernel import selective_scan_forward

    n, d = x.shape[-2:]
    D = A.new_zeros(d) if D is None else D
    batch = math.prod(x.shape[:-2])
    y, h_last = selective_scan_forward(
        x.reshape(batch, n, d),
        dt.reshape(batch, n, d),
        A,
        B.reshape(batch, n, A.shape[1]),
        C.reshape(batch, n, A.shape[1]),
        D,
        h.reshape(batch, *A.shape),
    )
    return y.reshape(x.shape), h_last.reshape(h.shape)


def _recur(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    rows = []
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]  # [..., d, 1]
        h = torch.exp(step * A) * h + (step * x[..., t, :, None]) * B[..., t, None, :]
        rows.append((h * C[..., t, None, :]).sum(dim=-1))  # [..., d]
    return torch.stack(rows, dim=-2) if rows else x, h


def _associate(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    a = torch.exp(dt[..., None] * A)  # [..., n, d, N]  what each step keeps
    b = (dt * x)[..., None] * B[..., :, None, :]  # [..., n, d, N]  what each step writes
    n, reach = x.shape[-2], 1
    while reach < n:  # entry t covers the last `reach` steps; put the ones before in front
        joined = a[..., reach:, :, :] * b[..., :-reach, :, :] + b[..., reach:, :, :]
        b = torch.cat([b[..., :reach, :, :], joined], dim=-3)
        joined = a[..., reach:, :, :] * a[..., :-reach, :, :]
        a = torch.cat([a[..., :reach, :, :], joined], dim=-3)
        reach *= 2
    states = a * h[..., None, :, :] + b  # [..., n, d, N]
    return (states * C[..., :, None, :]).sum(dim=-1), states[..., -1, :, :] if n else h


def ssd(
    x: Float[Tensor, "*batch H n P"],
    dt: Float[Tensor, "*batch H n"],
    A: Float[Tensor, " H"],
    B: Float[Tensor, "*batch n N"],
    C: Float[Tensor, "*batch n N"],
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Float[Tensor, "*batch H P N"] | None = None,
    impl: str = "auto",
) -> Float[Tensor, "*batch H n P"]:
    """Mamba-2's state space duality: a recurrence, and a causal attention without softmax.

        h_t = exp(dt_t A) h_{t-1} + dt_t x_t B_t^T,  y_t = h_t C_t
        y = (L * C B^T) (dt x),  L_ts = exp(A sum_{r=s+1..t} dt_r) for s <= t, else 0

    Args:
        x: [..., H, n, P]  inputs, P channels a head
        dt: [..., H, n]  step sizes, already positive
        A: [H]  one decay rate a head, negative
        B, C: [..., n, N]  input and output matrices, shared by all heads: keys and queries
        form: "recurrent", "parallel" (the n x n matrix) or "chunkwise" (the matrix within a chunk,
            the state between chunks)
        chunk: tokens of a chunk
        initial_state: [..., H, P, N]  h_{-1}; None = 0
        impl: "torch", "triton" (linear attention's kernels, with C, B and dt x as its q, k and v;
            chunkwise, in chunks of their own size) or "auto": "triton" for CUDA tensors of float16,
            bfloat16 or float32 in the chunkwise form, else "torch"
    Returns: [..., H, n, P]  y, in x's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; dt not positive; an unknown form or
            impl; "triton" with what its kernels do not take
    Cost, a head: recurrent 5 n P N FLOP in n steps; parallel 2 n² (N + P);
        chunkwise 2 n chunk (N + P) + 4 n P N.
    Source: Dao & Gu 2024, arXiv:2405.21060, Eq. 5 to 7 and section 6 (their X is our dt x).
    """
    options: dict[str, Any] = dict(form=form, chunk=chunk, initial_state=initial_state, impl=impl)
    y, _ = ssd_with_state(x, dt, A, B, C, **options)
    return y


def ssd_with_state(
    x: Float[Tensor, "*batch H n P"],
    dt: Float[Tensor, "*batch H n"],
    A: Float[Tensor, " H"],
    B: Float[Tensor, "*batch n N"],
    C: Float[Tensor, "*batch n N"],
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Float[Tensor, "*batch H P N"] | None = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "*batch H n P"], Float[Tensor, "*batch H P N"]]:
    """`ssd`, and the last state, from which the next token goes on.

    Args: as for `ssd`
    Returns: y [..., H, n, P] in x's dtype, h_{n-1} [..., H, P, N] in float32 at least
    Raises:
        ValueError: as `ssd`
    """
    check_impl(form, SSD_FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    tensors = _wide(x=x, dt=dt, A=A, B=B, C=C, initial_state=initial_state)
    check_ssd(x, dt, A, B, C)
    wide, dt, A, B, C, h = tensors
    n = x.shape[-2]
    h = start_state(h, (*x.shape[:-2], x.shape[-1], B.shape[-1]), wide)  # [..., H, P, N]
    log_decay = dt * A[:, None]  # [..., H, n]
    u = dt[..., None] * wide  # [..., H, n, P]
    if _impl(impl, form, "chunkwise", x) == "triton":
        return _ssd_kernel(x, u, log_decay, B, C, h)
    B, C = B[..., None, :, :], C[..., None, :, :]  # [..., 1, n, N]: one for all heads
    size = {"recurrent": 1, "parallel": max(n, 1), "chunkwise": chunk}[form]
    parts = []
    for start in range(0, n, size):
        part = slice(start, start + size)
        y, h = _ssd_chunk(
            u[..., part, :], log_decay[..., part], B[..., part, :], C[..., part, :], h
        )
        parts.append(y)
    y = torch.cat(parts, dim=-2) if parts else u
    return y.to(x.dtype), h


def _ssd_kernel(
    x: Tensor, u: Tensor, log_decay: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """SSD is linear attention with C, B and dt x as q, k and v, and h^T as its state."""
    from attention_src.linear.kernel import chunkwise_forward

    (H, n, P), N, batch = x.shape[-3:], B.shape[-1], math.prod(x.shape[:-3])
    B, C = (m.to(x.dtype).reshape(batch, 1, n, N).expand(-1, H, -1, -1) for m in (B, C))
    y, last = chunkwise_forward(
        C,
        B,
        u.to(x.dtype).reshape(batch, H, n, P),
        log_decay.reshape(batch, H, n, 1),
        h.mT.reshape(batch, H, N, P).contiguous(),
    )
    return y.reshape(x.shape), last.mT.reshape(h.shape)


def _ssd_chunk(
    u: Tensor, log_decay: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """One chunk of c tokens: what its own tokens write, and what the state brings along.

    With c = 1 this is the recurrence, with c = n the matrix form.
    """
    total = log_decay.cumsum(dim=-1)  # [..., H, c]
    # log L_ts sums from s + 1 to t. A difference of two long sums would lose float32's last digits.
    c = log_decay.shape[-1]
    gap = log_decay[..., :, None].expand(*log_decay.shape, c).tril(-1).cumsum(dim=-2)
    future = torch.ones(c, c, dtype=torch.bool, device=gap.device).triu(1)
    L = gap.masked_fill(future, -torch.inf).exp()  # [..., H, c, c]
    scores = L * (C @ B.mT)  # [..., H, c, c]
    y = scores @ u + total.exp()[..., None] * (C @ h.mT)  # [..., H, c, P]
    left = (total[..., -1:] - total).exp()  # [..., H, c]  what is left of each at the chunk's end
    h = total[..., -1].exp()[..., None, None] * h + (left[..., None] * u).mT @ B
    return y, h


def _wide(**tensors: Any) -> list[Any]:
    """Floating-point tensors on one device, in float32 at least; None stays None.

    x may be float16 beside a float32 A: parameters are often kept wide.

    Raises:
        ValueError: names the argument
    """
    check_tensors(one_dtype=False, **tensors)
    dtype = compute_dtype(tensors["x"])
    return [None if value is None else value.to(dtype) for value in tensors.values()]


def start_state(h: Tensor | None, shape: tuple[int, ...], x: Tensor) -> Tensor:
    """h_{-1}: zeros, or what was given.

    Raises:
        ValueError: it has another shape
    """
    if h is None:
        return x.new_zeros(shape)
    if tuple(h.shape) != tuple(shape):
        raise ValueError(f"initial_state has shape {list(h.shape)}; it should be {list(shape)}")
    return h
