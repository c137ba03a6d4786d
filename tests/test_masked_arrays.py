"""np.ma arrays with masked entries are refused, as np.asarray would unmask them without a word."""

import numpy as np
import pytest
import torch

from attention_src.attention import maps, masks
from attention_src.attention import reference as attention
from attention_src.attention.bias import Alibi
from attention_src.attention.layer import attention as on_tensors
from attention_src.flash import reference as flash
from attention_src.flash.layer import flash_attention
from attention_src.kvcache import reference as kvcache
from attention_src.kvcache.cache import PagedKVCache
from attention_src.linear.reference import delta_rule, linear_attention
from attention_src.multihead import reference as multihead
from attention_src.multihead.layer import MultiHeadAttention
from attention_src.ring import reference as ring
from attention_src.rope import layer as rope_layer
from attention_src.rope import reference as rope
from attention_src.scores import reference as scores
from attention_src.softmax import reference as softmax
from attention_src.ssm import reference as ssm


def masked(x):
    """x with its first entry masked."""
    return np.ma.array(x, mask=np.arange(np.size(x)).reshape(np.shape(x)) == 0)


X, Q, T = np.random.default_rng(0).random((4, 4)), np.ones((1, 2, 4, 4)), torch.ones(1, 2, 4, 4)
M, B, ROW = masked(X), masked(np.ones((4, 4), bool)), masked([1, 2, 3, 4])
CODES = masked(np.ones((4, 4), np.uint8))
CALLS = {
    "x": [
        lambda: softmax.softmax(M),
        lambda: softmax.softmax([masked([1.0, 2.0]), masked([3.0, 4.0])]),
        lambda: softmax.naive_softmax(M),
        lambda: softmax.log_sum_exp(M),
        lambda: softmax.sparsemax(M),
        lambda: kvcache.quantize_symmetric(M),
        lambda: kvcache.quantize_per_channel(M, group=2),
        lambda: ssm.selective_scan(M, X, -X, X, X),
        lambda: rope.rotate(M, np.arange(4)),
        lambda: multihead.split_heads(M, 2),
        lambda: multihead.rms_norm(M, np.ones(4)),
        lambda: multihead.multihead_attention(M, X, X, X, X, n_heads=2),
    ],
    "p": [lambda: softmax.entropy_bits(M), lambda: maps.offset_score(M, 1)],
    "dp": [lambda: softmax.softmax_backward(X, M)],
    "q": [
        lambda: attention.attention(M, X, X),
        lambda: flash.flash_attention(M, X, X),
        lambda: linear_attention(M, X, X),
        lambda: scores.dot(M, X),
        lambda: ring.ring_attention(M, X, X, n_ranks=1),
    ],
    "k": [
        lambda: attention.attention_lse(X, M),
        lambda: kvcache.decode(Q[:, :, :1], masked(Q), Q),
        lambda: kvcache.read_contiguous([(M, X)]),
        lambda: kvcache.read_windowed(M, X, 2),
    ],
    "v": [lambda: attention.attention(X, X, M), lambda: flash.flash_attention(X, X, M)],
    "do": [lambda: attention.attention_backward(X, X, X, M)],
    "lse": [lambda: flash.flash_attention_backward(X, X, X, X, M[0], X)],
    "mask": [
        lambda: attention.attention(X, X, X, mask=B),
        lambda: multihead.multihead_attention(X, X, X, X, X, n_heads=2, mask=B),
        lambda: on_tensors(T, T, T, mask=B),
        lambda: on_tensors(T, T, T, mask=list(B)),
        lambda: MultiHeadAttention(4, 2)(T[0], mask=B),
        lambda: masks.to_additive(B, np.float32),
    ],
    r"masks\[0\]": [lambda: masks.combine(B)],
    "bias": [lambda: attention.attention(X, X, X, bias=M), lambda: on_tensors(T, T, T, bias=M)],
    "sink_logits": [lambda: attention.attention(Q, Q, Q, sink_logits=masked([1.0, 2.0]))],
    "slopes": [lambda: Alibi(masked([1.0, 2.0]))],
    "lengths": [
        lambda: masks.padding_mask(ROW, 4),
        lambda: kvcache.decode(Q[:, :, :1], Q, Q, lengths=masked([3])),
        lambda: kvcache.read_paged(Q, [[0]], masked([2])),
        lambda: PagedKVCache(2, 4).append(T, T, lengths=masked([3])),
    ],
    "key_lengths": [lambda: flash_attention(T, T, T, key_lengths=masked([3]))],
    "document_ids": [lambda: masks.document_mask(ROW)],
    "positions": [lambda: rope.rotate(X, ROW), lambda: rope_layer.rotate(T, ROW)],
    "beta": [lambda: delta_rule(X, X, X, ROW / 10)],
    "codes": [lambda: kvcache.dequantize_symmetric(M, X), lambda: kvcache.pack_int4(CODES)],
    "zero": [lambda: kvcache.dequantize_asymmetric(X, X, M)],
    "packed": [lambda: kvcache.unpack_int4(CODES, 8)],
    "block_table": [lambda: kvcache.read_paged(Q, masked([[0]]), [2])],
}


@pytest.mark.parametrize("name", CALLS)
def test_masked_entries_are_refused(name, untyped):
    for call in CALLS[name]:
        with pytest.raises(ValueError, match=rf"^(each of )?{name} (has|is).*masked"):
            call()


def test_an_array_without_masked_entries_is_an_array():
    """As are the other subclasses."""
    for x in (np.ma.array(X), np.asmatrix(X), X.view(np.recarray)):
        for found in (softmax.softmax(x), flash.flash_attention(x, x, x)[0]):
            assert type(found) is np.ndarray
        np.testing.assert_array_equal(softmax.softmax(x), softmax.softmax(X))
        o = attention.attention(x, x, x, mask=np.ma.array(np.ones((4, 4), bool)))
        np.testing.assert_array_equal(o, attention.attention(X, X, X))
