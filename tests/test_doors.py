"""What no function computes with gets the usual ValueError wherever it is given.

Numbers of 8 bits, sparse and nested tensors, fractions as seeds, texts as positions.
"""

import pytest
import torch

from attention_src import testing
from attention_src.attention import layer as attention
from attention_src.attention.bias import Alibi
from attention_src.attention.masks import to_additive
from attention_src.flash.layer import flash_attention
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.kvcache.layer import decode_attention, merge_partials
from attention_src.linear import layer as linear
from attention_src.multihead.layer import MultiHeadAttention, MultiHeadLatentAttention
from attention_src.rope import layer as rope
from attention_src.rope import reference as rope_reference
from attention_src.softmax.layer import softmax
from attention_src.ssm import layer as ssm

pytestmark = pytest.mark.usefixtures("untyped")
X, ROW, STATE = torch.ones(1, 2, 4, 8), torch.zeros(1, 2, 4), torch.zeros(1, 2, 8, 8)
SCAN = dict(x=torch.ones(1, 4, 2), dt=torch.ones(1, 4, 2), A=-torch.ones(2, 3))
SCAN |= dict(B=torch.ones(1, 4, 3), C=torch.ones(1, 4, 3), D=torch.ones(2))
SSD = dict(x=X, dt=ROW, A=-torch.ones(2), B=torch.ones(1, 4, 3), C=torch.ones(1, 4, 3))
COS, SIN = rope.cos_sin(torch.arange(4), 8)
QKV = dict(q=X, k=X, v=X)
CHANGES = dict(bias=torch.zeros(4, 4), sink_logits=torch.zeros(2), mask=torch.ones(4, 4) > 0)
KEYS = dict(key_lengths=torch.tensor([3]), bias=torch.zeros(4, 4), sink_logits=torch.zeros(2))
LINEAR = QKV | dict(initial_state=STATE)


def full_cache():
    cache = KVCache()
    cache.append(X, X)
    return cache


def append(kind, **made_with):
    def run(k, v):
        cache = kind(**made_with)
        cache.append(X, X)
        cache.append(k, v)

    return run


def alibi(slopes):
    return flash_attention(X, X, X, bias=Alibi(slopes))


# Each with arguments that it takes; then each of them in turn is what it does not take.
CALLS = {
    "softmax": (softmax, dict(x=X)),
    "attention": (attention.attention, QKV | CHANGES),
    "sdpa": (
        lambda **given: attention.attention(impl="sdpa", **given),
        QKV | {name: CHANGES[name] for name in ("bias", "mask")},
    ),
    "flash": (flash_attention, QKV | KEYS),
    "alibi": (alibi, dict(slopes=torch.ones(2))),
    "to_additive": (lambda mask: to_additive(mask, torch.float32), dict(mask=CHANGES["mask"])),
    "linear": (linear.linear_attention, QKV | dict(decay=torch.ones(2))),
    "gated": (linear.gated_linear_attention, LINEAR | dict(log_gates=ROW[..., None])),
    "delta": (linear.gated_delta_rule, LINEAR | dict(beta=ROW, log_gates=ROW)),
    "scan": (ssm.selective_scan, SCAN),
    "ssd": (ssm.ssd, SSD | dict(z=X)),
    "rotate_qk": (rope.rotate_qk, dict(q=X, k=X, positions=torch.arange(4))),
    "apply_rotation": (rope.apply_rotation, dict(q=X, k=X, cos=COS, sin=SIN)),
    "rotate": (rope.rotate, dict(x=X, positions=torch.arange(4))),
    "cos_sin": (lambda positions: rope.cos_sin(positions, 8), dict(positions=torch.arange(4))),
    "decode": (lambda q: decode_attention(q, full_cache()), dict(q=X[:, :, :1])),
    "merge": (merge_partials, dict(o_parts=X, lse_parts=X[..., 0])),
    "cache": (append(KVCache), dict(k=X, v=X)),
    "windowed": (append(WindowedKVCache, window=4), dict(k=X, v=X)),
    "paged": (append(PagedKVCache, n_pages=9, page_size=4), dict(k=X, v=X)),
    "quantized": (append(QuantizedKVCache, bits=8), dict(k=X, v=X)),
    "mha": (MultiHeadAttention(8, 2), dict(x=ROW.mT.expand(1, 4, 2).repeat(1, 1, 4))),
    "mla": (MultiHeadLatentAttention(8, 2, d_latent=4), dict(x=torch.zeros(1, 4, 8))),
}
CASES = [(name, argument) for name, (_, given) in CALLS.items() for argument in given]
CONVERTED = {("linear", "decay")}  # a number as any other: nothing is computed in its dtype


def give(name, argument, value):
    function, given = CALLS[name]
    function(**given)  # all else is right
    return function(**given | {argument: value})


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_numbers_of_eight_bits_are_refused(name, argument):
    if (name, argument) in CONVERTED:
        return
    given = CALLS[name][1][argument]
    with pytest.raises(ValueError, match=f"^{argument} .*float8_e4m3fn.*; (it|they) should"):
        give(name, argument, given.to(torch.float8_e4m3fn))


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_sparse_tensors_are_refused(name, argument):
    given = CALLS[name][1][argument]
    dense = rf"^{argument} has layout torch.sparse_coo; it should be dense: {argument}.to_dense"
    with pytest.raises(ValueError, match=dense):
        give(name, argument, given.to_sparse())


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize("name", ["attention", "flash", "linear", "scan"])
def test_nested_tensors_are_refused(name, layout):
    argument = "x" if name == "scan" else "q"
    nested = torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(3, 8)], layout=layout)
    with pytest.raises(ValueError, match=f"^{argument} is a nested tensor; .*to_padded_tensor"):
        give(name, argument, nested)


@pytest.mark.parametrize("seed", [1.5, "one", True, [1]])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(ValueError, match=r"^seed is .*; it should be a whole"):
        testing.make_qkv(3, seed=seed)


@pytest.mark.parametrize("positions", ["abc", None, [1, "a"], [[1], [2, 3]], {1}], ids=repr)
def test_positions_are_numbers(positions):
    calls = [
        lambda: rope.rotate_qk(X, X, positions),
        lambda: rope.rotate(X, positions),
        lambda: rope.cos_sin(positions, 8),
        lambda: rope_reference.rotate(X.numpy(), positions),
        lambda: rope_reference.sinusoids(positions, 8),
    ]
    if positions is not None:
        module = MultiHeadAttention(8, 2, rope=True)
        calls.append(lambda: module(torch.ones(1, 4, 8), positions=positions))
    for call in calls:
        with pytest.raises(ValueError, match=r"^positions (is|has) .*"):
            call()
