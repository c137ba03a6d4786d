"""Chunkwise linear attention and the delta rule as torch operators, with gradients.

The same kernels compute all gradients. With S_t = g_t S_{t-1} + k_t v_t^T, o_t = S_t^T q_t, the
gradient R_t of S_t obeys R_t = g_{t+1} R_{t+1} + q_t do_t^T: the same recurrence, from the end.

    dq_t = S_t do_t       (do, v, k) as q, k, v: forwards, on the transposed state
    dv_t = R_t^T k_t      (k, q, do) as q, k, v: backwards
    dk_t = R_t v_t        (v, do, q) as q, k, v: backwards, on the transposed state
    dlog g_t = sum_{s>=t} (q_s dq_s - k_s dk_s) + (last * dlast), summed over the gate's channels
"""

from typing import Any

import torch
from torch import Tensor

from attention_src.linear.kernel.launch import (
    WIDEST,
    Backwards,
    chunk_size,
    decays_launch,
    delta_launch,
    gated_outputs_launch,
    outputs_launch,
    states_launch,
)
from attention_src.linear.layer_delta_steps import run_delta
from attention_src.tensors import refuse_derivatives, without_autocast
from attention_src.triton_support.launch import capability, check_kernel_tensors, triton


@torch.library.custom_op("attention_src::chunkwise_forward", mutates_args=())
def chunkwise_forward(
    q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """Causal linear attention with decay, chunk by chunk.

        S_t = g_t S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t,   g = exp(log_gates)

    Args:
        q, k: [B, H, n, d_k];  v: [B, H, n, d_v], fp16, bf16 or fp32, any strides
        log_gates: [B, H, n, 1] or [B, H, n, d_k], of those dtypes, at most 0: one gate for each
            position, or for each channel of the key too (then d_k and d_v are at most 256)
        start: fp32 [B, H, d_k, d_v]  the state before the first position
    Returns: o [B, H, n, d_v] in q's dtype, the last state fp32 [B, H, d_k, d_v]
    Raises:
        ValueError: a dtype, device or shape that the kernels do not take
    Cost: for each head 2 n (chunk (d_k + d_v) + 2 d_k d_v) FLOP with chunk = 64; reads k and v
        twice, q once; writes and reads a state for every chunk, in q's dtype with one gate.
    Source: one gate: Dao & Gu 2024, arXiv:2405.21060, section 6; channels: Yang et al. 2023,
        arXiv:2312.06635, section 4.
    """
    _check(q, k, v, start, log_gates=log_gates)
    o, last = _outputs(q, v, start)
    _run(q, k, v, log_gates, start, o, last, gates_of_v=False)
    return o, last


@chunkwise_forward.register_fake
def _(q, k, v, log_gates, start):
    return _outputs(q, v, start)


@torch.library.custom_op("attention_src::chunkwise_backward", mutates_args=())
def chunkwise_backward(
    q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, start: Tensor, last: Tensor,
    do: Tensor, dlast: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of `chunkwise_forward`.

    Args:
        q, k, v, log_gates, start: its arguments;  last: what it returned
        do: [B, H, n, d_v];  dlast: fp32 [B, H, d_k, d_v]  gradients by o and by last
    Returns: dq, dk, dv, dlog_gates, dstart, with the shapes and dtypes of their arguments
    Raises:
        ValueError: as the forward
    Cost: three times the forward; intermediate gradients are float32.
    Source: as the forward; the gradient by gates: arXiv:2312.06635, section 4.4, and the module's
        docstring.
    """
    _check(q, k, v, start, log_gates=log_gates)
    channels = log_gates.shape[-1] > 1
    wide: dict[str, Any] = dict(dtype=torch.float32, device=q.device)
    dq, dk = torch.empty(q.shape, **wide), torch.empty(k.shape, **wide)
    dv = torch.empty(v.shape, **wide)
    unused = torch.empty(start.mT.shape, **wide)
    _run(do, v, k, log_gates, start.mT.contiguous(), dq, unused, gates_of_v=channels)
    # Going backwards, position t follows t + 1 and decays by gate t + 1; the last has none.
    later = torch.cat([log_gates[:, :, 1:], torch.zeros_like(log_gates[:, :, :1])], dim=2)
    first = torch.empty(start.shape, **wide)  # R_0
    ends = [Backwards(x) for x in (q, k, v, later, do, dk, dv)]
    q_end, k_end, v_end, g_end, do_end, dk_end, dv_end = ends
    _run(k_end, q_end, do_end, g_end, dlast.contiguous(), dv_end, first, gates_of_v=False)
    _run(v_end, do_end, q_end, g_end, dlast.mT.contiguous(), dk_end, unused, gates_of_v=channels)
    dlog_gates, dstart = _gate_gradients(q, k, log_gates, dq, dk, last, dlast, first)
    dlog_gates = dlog_gates.to(log_gates.dtype)
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), dlog_gates, dstart


@chunkwise_backward.register_fake
def _(q, k, v, log_gates, start, last, do, dlast):
    return tuple(
        torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v, log_gates, start)
    )


def _save(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, output[1])


def _backward(ctx: Any, do: Tensor, dlast: Tensor) -> tuple[Tensor, ...]:
    return chunkwise_backward(*ctx.saved_tensors, do, dlast)


chunkwise_forward.register_autograd(_backward, setup_context=_save)
refuse_derivatives(chunkwise_backward, "torch")


@torch.library.custom_op("attention_src::delta_forward", mutates_args=())
def delta_forward(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_gates: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """The gated delta rule, chunk by chunk.

        S_t = g_t S_{t-1} + beta_t k_t (v_t - g_t S_{t-1}^T k_t)^T,   o_t = S_t^T q_t

    Args:
        q, k: [B, H, n, d_k];  v: [B, H, n, d_v], fp16, bf16 or fp32, any strides
        beta, log_gates: [B, H, n], of those dtypes; a log gate of 0 forgets nothing
        start: fp32 [B, H, d_k, d_v]  the state before the first position
    Returns: o [B, H, n, d_v] in q's dtype, the last state fp32 [B, H, d_k, d_v]. For gradients the
        PyTorch form runs again.
    Raises:
        ValueError: a dtype, device or shape that the kernel does not take
    Cost: for each head n (chunk (5 d_k + 3 d_v) + 6 d_k d_v) FLOP with chunk = 32, one chunk after
        another; q and k are read once for every 32 columns of v.
    Source: Yang et al. 2024, arXiv:2406.06484, section 3; gates: arXiv:2412.06464, section 3.3.
    """
    _check(q, k, v, start, beta=beta, log_gates=log_gates)
    o, last = _outputs(q, v, start)
    last.copy_(start)
    delta_launch(q, k, v, beta, log_gates, o, last, capability=capability(q)).run()
    return o, last


@delta_forward.register_fake
def _(q, k, v, beta, log_gates, start):
    return _outputs(q, v, start)


def _save_delta(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs)


@without_autocast
def _backward_delta(ctx: Any, do: Tensor, dlast: Tensor) -> tuple[Tensor, ...]:
    again = torch.is_grad_enabled()  # create_graph=True: gradients that have gradients
    with torch.enable_grad():
        leaves = [x.view_as(x) if again else x.detach() for x in ctx.saved_tensors]
        leaves = [x if x.requires_grad else x.requires_grad_() for x in leaves]
        o, last = run_delta("chunkwise", 32, *(x.float() for x in leaves))
        outputs = o.to(do.dtype), last
    return torch.autograd.grad(outputs, leaves, (do, dlast), create_graph=again)


delta_forward.register_autograd(_backward_delta, setup_context=_save_delta)


def _run(
    q: Any, k: Any, v: Any, log_gates: Any, start: Tensor, o: Any, last: Tensor, *, gates_of_v: bool
) -> None:
    """Launch the kernels: decays, states, outputs. Sequences may be reversed views."""
    B, H, n, d_k = k.shape
    per_channel = log_gates.shape[-1] > 1
    chunk = chunk_size(q.dtype, capability(start), per_channel)
    size = (B, H, triton.cdiv(n, chunk), d_k, v.shape[-1])
    # With one gate a state is only multiplied by q, so it may already be rounded to q's dtype.
    dtype = torch.float32 if per_channel else q.dtype
    states = torch.empty(size, dtype=dtype, device=start.device)
    options: dict[str, Any] = dict(chunk=chunk, capability=capability(start))
    if per_channel:
        options["gates_of_v"] = gates_of_v
        states_launch(k, v, log_gates, start, states, last, **options).run()
        gated_outputs_launch(q, k, v, log_gates, states, o, **options).run()
    else:
        in_chunks = (B, H, size[2] * 2 * chunk, 1)
        decays = torch.empty(in_chunks, dtype=torch.float32, device=start.device)
        decays_launch(log_gates, decays, chunk=chunk).run()
        states_launch(k, v, decays, start, states, last, **options).run()
        outputs_launch(q, k, v, decays, states, o, **options).run()


def _gate_gradients(
    q: Tensor, k: Tensor, log_gates: Tensor, dq: Tensor, dk: Tensor,
    last: Tensor, dlast: Tensor, first: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """dlog_gates in float32, and dstart = g_0 R_0."""
    own = q.float() * dq - k.float() * dk  # [B, H, n, d_k]
    at_end = (last * dlast).sum(dim=-1)[:, :, None]  # [B, H, 1, d_k]
    if log_gates.shape[-1] == 1:
        own, at_end = own.sum(dim=-1, keepdim=True), at_end.sum(dim=-1, keepdim=True)
    dlog_gates = own.flip(2).cumsum(dim=2).flip(2) + at_end
    if q.shape[2] == 0:
        return dlog_gates, dlast.clone()
    return dlog_gates, log_gates[:, :, 0, :, None].float().exp() * first


def _outputs(q: Tensor, v: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    o = torch.empty((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=q.device)
    return o, torch.empty(start.shape, dtype=start.dtype, device=start.device)


def _check(q: Tensor, k: Tensor, v: Tensor, start: Tensor, **others: Tensor) -> None:
    """Check what the kernels need beyond the layer's checks: dtypes, devices, widths, layout.

    Raises:
        ValueError: names the argument
    """
    check_kernel_tensors(q=q, k=k, v=v)
    check_kernel_tensors(one_dtype=False, q=q, start=start, **others)
    per_channel = "beta" not in others and others["log_gates"].shape[-1] > 1
    if per_channel and max(q.shape[-1], v.shape[-1]) > WIDEST:  # d_v: v is the key of dq
        raise ValueError(
            f"q has d_k={q.shape[-1]} and v has d_v={v.shape[-1]}; with a gate for each channel a "
            f'program holds up to {WIDEST}. Choose impl="torch"'
        )
    if not start.is_contiguous():
        raise ValueError("start is not contiguous; pass start.contiguous()")
