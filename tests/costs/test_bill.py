"""The bill, against a machine that runs the workload number by number, and by hand."""

from itertools import product

import numpy as np
import pytest
from counting import ALL, Machine
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.masks import window_mask
from attention_src.costs import kv_cache_bytes, quantized_kv_cache_bytes
from attention_src.costs.algorithms import visible_pairs
from attention_src.costs.bill import SMOLLM2, Bill, Setup, Workload, bill, print_bill
from attention_src.costs.roofline import Cost
from attention_src.costs.tiles import computed_pairs

SMALL = Workload(
    n_layers=2,
    n_heads=4,
    n_kv_heads=2,
    d_head=3,
    d_model=5,
    d_ff=4,
    n_vocabulary=7,
    read=7,
    write=4,
)


def computed(n, block, window, sinks):
    """bool [n, n]  what is computed: whole blocks that hold a visible pair."""
    visible = window_mask(n, n, window or n, sinks if window else 0)
    if block is None:
        return np.ones_like(visible)
    whole = np.zeros_like(visible)
    for a, b in product(range(0, n, block), repeat=2):
        whole[a : a + block, b : b + block] = visible[a : a + block, b : b + block].any()
    return whole


@given(
    st.integers(1, 23),
    st.none() | st.integers(1, 9),
    st.none() | st.integers(1, 25),
    st.integers(0, 9),
)
def test_computed_pairs(n, block, window, sinks):
    sinks = sinks if window else 0
    got = computed_pairs(n, block=block, window=window, sinks=sinks)
    assert got == computed(n, block, window, sinks).sum()


def test_blocks_of_one_are_the_visible_pairs():
    for mask in ({}, {"window": 5}, {"window": 5, "sinks": 3}):
        assert computed_pairs(29, block=1, **mask) == visible_pairs(29, 29, causal=True, **mask)


def attend(machine, setup, w, pairs):
    """One layer's attention over the pairs computed: bool [n_q, n_k]."""
    n_q, n_k = pairs.shape
    heads = setup.n_kv_heads or w.n_kv_heads
    k, v = (machine.memory(np.ones((heads, n_k, w.d_head))) for _ in "kv")
    for h in range(w.n_heads):
        q, o = (machine.memory(np.ones((n_q, w.d_head))) for _ in "qo")
        lse = machine.memory(np.ones(n_q), dtype_bytes=4)
        kv = h * heads // w.n_heads
        for i, j in np.argwhere(pairs):
            x = q.load(i)
            machine.dot(x, k.load(kv, j))
            machine.add_multiple(np.zeros(w.d_head), 1.0, v.load(kv, j))
            if setup.method == "dense":
                for matrix in (machine.memory(np.zeros(1)) for _ in range(4)):
                    matrix.store(0.0, 0)
        o.store(1.0, ALL)
        if setup.method == "flash":
            lse.store(1.0, ALL)


def multiply(machine, n, d_in, d_out):
    x, weight = machine.memory(np.ones((n, d_in))), machine.memory(np.ones((d_in, d_out)))
    y = machine.memory(np.ones((n, d_out)))
    y.store(machine.product(x.load(ALL), weight.load(ALL).T), ALL)


def run(setup, w, n, n_new):
    """A pass that reads n_new tokens where there are n: (attention, the rest), counted."""
    attention, rest = Machine(remembers=True), Machine(remembers=True)
    heads, kv = w.n_heads * w.d_head, (setup.n_kv_heads or w.n_kv_heads) * w.d_head
    if n_new == n:
        pairs = computed(n, setup.block, setup.window, setup.sinks)
    else:  # a cache holds what the newest query sees
        seen = window_mask(1, n, setup.window or n, setup.sinks if setup.window else 0).sum()
        pairs = np.ones((1, seen), dtype=bool)
    for _ in range(w.n_layers):
        attend(attention, setup, w, pairs)
        for d_in, d_out in [(w.d_model, heads), (w.d_model, kv), (w.d_model, kv)]:
            multiply(rest, n_new, d_in, d_out)
        multiply(rest, n_new, heads, w.d_model)
        for d_in, d_out in [(w.d_model, w.d_ff), (w.d_model, w.d_ff), (w.d_ff, w.d_model)]:
            multiply(rest, n_new, d_in, d_out)
    multiply(rest, 1, w.d_model, w.n_vocabulary)
    return [Cost(machine.flops, machine.n_bytes) for machine in (attention, rest)]


@pytest.mark.parametrize(
    "setup",
    [
        Setup("all pairs"),
        Setup("blocks", block=3),
        Setup("flash", method="flash", block=2),
        Setup("window", block=2, window=3, sinks=1),
        Setup("wide window", window=20),
        Setup("no cache", cache=None),
        Setup("no cache, blocks", cache=None, block=3, method="flash"),
        Setup("one kv head", n_kv_heads=1),
        Setup("own kv heads", n_kv_heads=4, method="flash"),
    ],
    ids=lambda setup: setup.name,
)
def test_a_machine_that_runs_the_workload_counts_the_same(setup):
    got, w = bill(setup, SMALL), SMALL
    assert [got.reading, got.rest_reading] == run(setup, w, w.read, w.read)
    writing = rest = Cost(0, 0)
    for n in range(w.read + 1, w.read + w.write):  # the last token written is not read
        a, b = run(setup, w, n, n if setup.cache is None else 1)
        writing, rest = writing + a, rest + b
    assert [got.writing, got.rest_writing] == [writing, rest]
    assert got.total == got.reading + writing + got.rest_reading + rest


def test_kept_is_the_cache():
    n = SMOLLM2.read + SMOLLM2.write - 1
    assert bill(Setup("a")).kept == 30 * 2 * 3 * 64 * n * 2 == kv_cache_bytes(30, 3, 64, 64, n)
    assert bill(Setup("a", cache=None)).kept == 0
    assert bill(Setup("a", window=64, sinks=4)).kept == kv_cache_bytes(30, 3, 64, 64, 68)
    int4 = bill(Setup("a", cache="int4"))
    assert int4.kept == quantized_kv_cache_bytes(30, 3, 64, 64, n, bits=4)
    # Reading a quantized cache moves fewer bytes; q, o and the scores stay as they were.
    less = bill(Setup("a")).writing.n_bytes - int4.writing.n_bytes
    caches = [
        kv_cache_bytes(30, 3, 64, 64, t) - quantized_kv_cache_bytes(30, 3, 64, 64, t, bits=4)
        for t in range(1025, 1280)
    ]
    assert less == sum(caches)


def test_the_shape_is_smollm2s():
    weights = 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536) + 49152 * 576
    assert weights + 30 * 2 * 576 + 576 == 134_515_008  # with the norms: the model's parameters
    assert bill(Setup("a")).rest_writing.flops == 255 * 2 * weights
    assert bill(Setup("a")).reading.flops == 30 * 4 * 9 * 1024**2 * 64


def test_the_printed_bill(capsys):
    print_bill(Setup("all pairs"), Setup("skipped", block=64), rows={"ms here": (3.0, 1.5)})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "30 layers; 1,024 tokens read, 256 written"
    assert lines[1].split("  ")[-2:] == ["all pairs", "skipped"]
    tiles = 16 * 17 // 2 * 64 * 64
    assert "reading, attention  FLOP" in lines[2] and lines[2].endswith("÷ 1.88")
    assert f"{30 * 4 * 9 * tiles * 64 / 1e9:.1f} G" in lines[2]
    assert lines[4].endswith("same")
    assert lines[-1].split() == ["ms", "here", "3.00", "1.50", "÷", "2.00"]
    assert max(map(len, lines)) <= 76 and all(line == line.rstrip() for line in lines)


def test_a_bill_made_by_hand_is_printed_too(capsys):
    nothing = Cost(0, 0)
    mine = Bill("mine", Cost(2_000_000, 10), nothing, nothing, nothing, 999)
    print_bill(mine, bill(Setup("theirs", cache=None), SMALL))
    out = capsys.readouterr().out
    assert "2.00 M" in out and "999" in out and "new" in out and "gone" in out and "× 414" in out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Setup("a", method="sparse"), "method is 'sparse'"),
        (lambda: Setup("a", cache="int2"), "cache is 'int2'"),
        (lambda: Setup("a", block=0), "block is 0; it should be at least 1"),
        (lambda: Setup("a", sinks=4), "sinks is 4 but window is None"),
        (lambda: bill(Setup("a", n_kv_heads=2)), "H_kv=2"),
        (lambda: bill(Setup("a"), Workload(read=0)), "read is 0"),
        (lambda: computed_pairs(5, block=0), "block is 0"),
    ],
)
def test_bad_input_names_the_argument(call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call()
