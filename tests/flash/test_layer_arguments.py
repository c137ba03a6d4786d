"""The layer's arguments: key lengths of any kind, what "auto" stands for, what is refused."""

import types
from unittest import mock

import numpy as np
import pytest
import torch

from attention_src.attention.bias import Alibi
from attention_src.flash import layer
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from attention_src.flash.layer_arguments import check_lengths
from attention_src.testing import make_qkv

IMPLS = ("dense", "sdpa", "tiled")


@pytest.mark.parametrize(
    "key_lengths",
    [[3, 0], (3, 0), np.array([3, 0], dtype=np.uint8), torch.tensor([3, 0], dtype=torch.int64)],
    ids=lambda x: type(x).__name__,
)
def test_key_lengths_of_any_kind(key_lengths):
    q, k, v = make_qkv(5, 7, dtype=torch.float64)
    assert check_lengths(key_lengths, q, k).dtype == torch.int32
    o = flash_attention(q, k, v, key_lengths=key_lengths)
    assert (o[1] == 0).all()
    torch.testing.assert_close(o[:1], flash_attention(q[:1], k[:1, :, :3], v[:1, :, :3]))


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled", "triton"])
def test_causal_is_aligned_to_each_sequences_length(impl):
    # Four tokens prefilled into 16 slots, of which 10 and 4 are in use.
    q, k, v = make_qkv(4, 16, 16, batch=2, n_heads=1, dtype=torch.float32)
    for rule in (dict(causal=True), dict(window=3), dict(window=2, lookahead=1)):
        o = flash_attention(q, k, v, key_lengths=[10, 4], impl=impl, **rule)
        for b, length in ((0, 10), (1, 4)):
            kept = (x[b : b + 1, :, :length] for x in (k, v))
            alone = flash_attention(q[b : b + 1], *kept, impl="dense", **rule)
            torch.testing.assert_close(o[b : b + 1], alone)


def test_auto_is_tiled_on_a_cpu_and_triton_where_the_kernel_can(untyped):
    inputs = make_qkv(37, 41, 64, dtype=torch.float32)
    assert torch.equal(flash_attention(*inputs), flash_attention(*inputs, impl="tiled"))

    def chosen(dtype=torch.float16, d_k=64, d_v=64, cuda=True):
        q, v = (
            types.SimpleNamespace(is_cuda=cuda, dtype=dtype, shape=(1, 1, 8, d)) for d in (d_k, d_v)
        )
        return layer._chosen(q, v)

    with mock.patch.object(layer.importlib.util, "find_spec", lambda name: name == "triton"):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            assert chosen(dtype) == chosen(dtype, 16, 256) == chosen(dtype, 80, 17) == "triton"
        for unfit in (dict(dtype=torch.float64), dict(d_k=15), dict(d_v=257), dict(cuda=False)):
            assert chosen(**unfit) == "tiled"
    with mock.patch.object(layer.importlib.util, "find_spec", lambda name: None):
        assert chosen() == "tiled"


Q, K, V = (torch.ones(2, 6, 5, 4), torch.ones(2, 3, 7, 4), torch.ones(2, 3, 7, 8))
BAD = [
    (dict(impl="flash"), "impl is 'flash'.*'auto', 'dense', 'sdpa', 'tiled', 'triton'"),
    (dict(q=Q[0]), r"q has shape \[6, 5, 4\].*q\[None, None\]"),
    (dict(k=K[..., :3]), "k has d_k=3 but q has d_k=4"),
    (dict(v=V[:, :, :5]), "v has n_k=5 but k has n_k=7"),
    (dict(q=Q[:, :4]), "k has H_kv=3 heads, which does not divide the H=4"),
    (dict(q=Q.numpy()), "q is a ndarray; it should be a torch tensor"),
    (dict(k=K.half()), r"k is torch.float16.*k.to\(q\)"),
    (dict(v=V.to("meta")), "v is torch.float32 on meta"),
    (dict(scale=float("inf")), "scale is inf"),
    (dict(window=0), "window is 0; it should be at least 1"),
    (dict(window=2, sinks=-1), "sinks is -1; it should be at least 0"),
    (dict(sinks=1), "sinks is 1 but window is None"),
    (dict(lookahead=1), "lookahead is 1 but window is None"),
    (dict(window=2, lookahead=1, causal=True), "lookahead is 1 but .* causal is True; a lookahead"),
    (dict(window=2, lookahead=-1), "lookahead is -1; it should be at least 0"),
    (dict(softcap=0), "softcap is 0; it should be a finite number above 0"),
    (dict(bias=torch.ones(5, 7) > 0), "bias is torch.bool;.*To hide keys pass mask="),
    (dict(bias=torch.ones(7, 5)), r"bias has shape \[7, 5\].*\[2, 6, 5, 7\]"),
    (dict(bias=Alibi([0.5])), r"bias has slopes \[1\] but q has H=6 heads"),
    (dict(key_lengths=[1, 8]), r"key_lengths is \[1, 8\]; each should be between 0 and n_k=7"),
    (dict(key_lengths=[-1, 7]), r"key_lengths is \[-1, 7\]; each should be between 0 and n_k=7"),
    (dict(key_lengths=[1, 2, 3]), r"key_lengths has shape \[3\]; it should be \[B\] = \[2\]"),
    (dict(key_lengths=[1.0, 2.0]), "key_lengths has dtype torch.float32; it should hold whole"),
    (dict(key_lengths=[True, False]), "key_lengths has dtype torch.bool; it should hold whole"),
    (dict(key_lengths=[[1], [2, 3]]), r"key_lengths is \[\[1\], \[2, 3\]\]; it should be a list"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(untyped, arguments, message):
    arguments = dict(q=Q, k=K, v=V) | arguments
    for function in (flash_attention, flash_attention_with_lse):
        for impl in IMPLS:
            with pytest.raises(ValueError, match=message):
                function(**(dict(impl=impl) | arguments))


def test_bad_sinks(untyped):
    for sinks, message in (
        (torch.ones(3), r"sink_logits has shape \[3\]; it should be \[H\] = \[6\]"),
        ([0.0] * 6, "sink_logits is a list; it should be a torch tensor"),
        (torch.ones(6).long(), "sink_logits has dtype torch.int64"),
        (torch.ones(6, device="meta"), "sink_logits is torch.float32 on meta"),
    ):
        for impl in ("dense", "tiled"):
            with pytest.raises(ValueError, match=message):
                flash_attention(Q, K, V, sink_logits=sinks, impl=impl)


def test_what_an_impl_cannot_do_is_refused_by_name():
    for option in (dict(softcap=1.0), dict(sink_logits=torch.zeros(6))):
        with pytest.raises(ValueError, match=f'impl is "sdpa", which has no {next(iter(option))}'):
            flash_attention(Q, K, V, impl="sdpa", **option)
    with pytest.raises(ValueError, match=r'bias is a tensor but impl is "triton".*"tiled"'):
        flash_attention(Q, K, V, impl="triton", bias=torch.zeros(5, 7))
