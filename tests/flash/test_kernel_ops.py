"""The flash kernels as operators: registration, refusals, launches, the same bits every time."""

from itertools import product

import pytest
import torch
from kernel_support import BACKEND, DEVICE, DTYPES, needs_gpu

from attention_src.flash.kernel import flash_backward, flash_forward
from attention_src.flash.kernel.backward import dkdv_launch, dq_launch
from attention_src.flash.kernel.config import Inputs
from attention_src.flash.kernel.forward import forward_launch
from attention_src.flash.kernel.tiles import (
    DQ,
    MAX_TILE_ROWS,
    Tiles,
    dkdv_tiles,
    dq_tiles,
    forward_tiles,
)
from attention_src.flash.visibility import Visibility
from attention_src.triton_support.launch import INTERPRETED
from flash.oracle import arguments, results

from .test_kernel import attend, on_device

CHIPS = (0, 75, 80, 86, 89, 90, 100, 120)


def problem(size=(5, 7, 16, 24, 2, 1), dtype=torch.float32, batch=1):
    return on_device(*arguments(size, dtype, batch=batch))


@pytest.mark.slow
def test_opcheck():
    q, k, v, do, dlse = problem()
    lengths = torch.tensor([3], dtype=torch.int32, device=DEVICE)
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    torch.library.opcheck(flash_forward, (*leaves, lengths, False, 0, 0, 0.25))
    q, k, v, do = (x.mT.contiguous().mT for x in (q, k, v, do))
    rule = (True, 4, 1, 0.25)
    o, lse = flash_forward(q, k, v, None, *rule)
    torch.library.opcheck(flash_backward, (q, k, v, None, o, lse, do, dlse, *rule))


@pytest.mark.slow
def test_compiles_into_one_graph():
    def loss(q, k, v):
        o, lse = attend(2 * q, k, v, causal=True)
        return (o * o).sum() + lse.sum()

    found = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend=BACKEND)):
        leaves = [x.clone().requires_grad_() for x in problem()[:3]]
        value = function(*leaves)
        value.backward()
        found.append([value.detach(), *(leaf.grad for leaf in leaves)])
    for eager, compiled in zip(*found, strict=True):
        torch.testing.assert_close(eager, compiled, rtol=1e-5, atol=1e-5)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("d", [64, 128, 256])
def test_the_same_bits_200_times(dtype, d):
    inputs = problem((515, 773, d, d, 4, 2), dtype, batch=2)
    for rule in (dict(causal=True), dict(window=200, sinks=5, key_lengths=[773, 301])):
        expected = results(attend, *inputs, **rule)
        for _ in range(200):
            actual = results(attend, *inputs, **rule)
            assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))


def refused(match, *tensors, lengths=None, causal=False, window=0, sinks=0, scale=0.25):
    with pytest.raises(ValueError, match=match):
        flash_forward(*tensors, lengths, causal, window, sinks, scale)


SIZE = (17, 21, 16, 24, 4, 2)


def test_refusals_of_tensors():
    q, k, v, *_ = problem(SIZE, batch=2)
    refused(r"k has d_k=15 but q has d_k=16", q, k[..., :15], v)
    refused(r"v has n_k=20 but k has n_k=21", q, k, v[:, :, :20])
    refused(r"H_kv=2 heads, which does not divide the H=3 heads", q[:, :3], k, v)
    refused(r"d_k is 15; the flash kernels take widths from 16 to 256.*'tiled' or 'sdpa'",
            q[..., :15], k[..., :15], v)  # fmt: skip
    wide = torch.zeros(2, 2, 21, 257, device=DEVICE)
    refused(r"d_v is 257; the flash kernels take widths", q, k, wide)
    refused(r"q has dtype torch.float64.*Choose another impl", q.double(), k.double(), v.double())
    refused(r"v is torch.float16 on .* but q is torch.float32", q, k, v.half())
    if INTERPRETED:
        refused(r"bfloat16.*interpreter", q.bfloat16(), k.bfloat16(), v.bfloat16())
    else:
        refused("on cpu, but kernels run on cuda", q.cpu(), k.cpu(), v.cpu())


def test_refusals_of_the_rule():
    q, k, v, *_ = problem(SIZE, batch=2)
    lengths = torch.tensor([21, 3], dtype=torch.int32, device=DEVICE)
    for wrong in (lengths.long(), lengths[:1], lengths[:, None]):
        refused(
            r"key_lengths is .*; it should be \[B\] = \[2\] torch.int32", q, k, v, lengths=wrong
        )
    if not INTERPRETED:
        refused("key_lengths is .* on cpu", q, k, v, lengths=lengths.cpu())
    refused("window is -1; it should be at least 0", q, k, v, window=-1)
    refused("sinks is 4 but window is None", q, k, v, sinks=4)
    refused("scale is inf; it should be a finite number", q, k, v, scale=float("inf"))


def test_refusals_of_gradients():
    q, k, v, do, dlse = problem(SIZE, batch=2)
    rule = (False, 0, 0, 0.25)
    given = dict(o=do, lse_log2=dlse, do=do, dlse_log2=dlse)
    for name in given:
        wrong = given | {name: given[name][:1]}
        message = rf"{name} has shape \[1, .*; it should be \[B, .* = \[2, 4, 17"
        with pytest.raises(ValueError, match=message):
            flash_backward(q, k, v, None, *wrong.values(), *rule)
        wrong = given | {name: given[name].double()}
        with pytest.raises(ValueError, match=f"{name} (has|is).* torch.float64"):
            flash_backward(q, k, v, None, *wrong.values(), *rule)


def test_a_second_derivative_is_an_error_and_not_zero():
    leaves = [x.requires_grad_() for x in problem()[:3]]
    o, _ = attend(*leaves)
    (dq,) = torch.autograd.grad(o.sum(), leaves[0], create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(dq.sum(), leaves[0])


@pytest.mark.parametrize("chip", CHIPS)
def test_tiles_fit_together(chip):
    dtypes = (torch.float16, torch.bfloat16, torch.float32)
    for dtype, d, changed in product(dtypes, (16, 64, 72, 80, 128, 256), (False, True)):
        if (chip, dtype, d) == (75, torch.float32, 256):
            continue
        chosen = (forward_tiles, dq_tiles, dkdv_tiles)
        tiles = [choose(dtype, d, chip, changed) for choose in chosen]
        assert all(min(t.block_q, t.block_k) >= 16 for t in tiles), "tl.dot takes no less"
        assert all(MAX_TILE_ROWS % side == 0 for t in tiles for side in (t.block_q, t.block_k))
        # dkdv's programs read only those entries of lse_padded and delta that dq's wrote.
        assert tiles[1].block_q % tiles[2].block_q == 0


def test_what_does_not_fit_a_chip_is_refused():
    assert forward_tiles(torch.float32, 256, 75)
    for tiles in (dq_tiles, dkdv_tiles):
        with pytest.raises(ValueError, match=r"d is 192 in torch.float32.*sm_75.*at most 128"):
            tiles(torch.float32, 192, 75)


def test_dk_and_dv_read_only_whole_blocks_of_dqs(monkeypatch):
    monkeypatch.setitem(DQ, (90, 2), 3 * (Tiles(32, 64, 8, 3),))
    assert dkdv_tiles(torch.float16, 72, 90)
    with pytest.raises(ValueError, match="block_q is 64 for dk and dv; it should divide dq's 32"):
        dkdv_tiles(torch.float16, 128, 90)


def test_launches():
    n = 4096
    q, k = (torch.empty(4, heads, n, 64, device="meta") for heads in (16, 4))
    lse = torch.empty(4, 16, n, device="meta")

    def launch(q=q, k=k, v=k, do=q, **rule):
        inputs = Inputs(q, k, v, None, Visibility(n, n, **rule), 0.1)
        dq = dq_launch(inputs, q, lse, do, lse, lse, lse, q, capability=90)
        dkdv = dkdv_launch(inputs, do, lse, lse, k, v, capability=90)
        return forward_launch(inputs, q, lse, capability=90), dq, dkdv

    forward, dq, dkdv = launch()
    assert forward.grid == (4 * 16 * n // forward.arguments["BLOCK_Q"],)
    assert dq.grid == (4 * 16 * n // dq.arguments["BLOCK_Q"],)
    assert dkdv.grid == (4 * 4 * n // dkdv.arguments["BLOCK_K"],)
    assert forward.arguments["n_kv_heads"] == 4 and dkdv.arguments["GROUP"] == 4
    assert not any(x.arguments["WINDOW"] for x in launch(window=n)), "plain causal is faster"
    assert all(x.arguments["WINDOW"] for x in launch(window=n - 1))
    # Whichever tensor spans 2**31 elements, offsets have 64 bits; forward knows nothing of do.
    assert not any(x.arguments["INT64"] for x in (forward, dq, dkdv))
    for name, x in dict(q=q, k=k, v=k, do=q).items():
        far = torch.empty_strided(x.shape, (64, 64, 2**24, 1), device="meta")
        wide = [x.arguments["INT64"] for x in launch(**{name: far})]
        assert wide == [name != "do", True, True], name
