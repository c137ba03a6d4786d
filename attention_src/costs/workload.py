"""A workload, how attention may be computed, and what that costs; `costs.bill` prints it."""

from dataclasses import dataclass, replace

from attention_src.costs import attention_bytes, kv_cache_bytes, quantized_kv_cache_bytes
from attention_src.costs import stored_bytes as stored
from attention_src.costs.algorithms import decode_cost
from attention_src.costs.algorithms_flash import FP32_BYTES
from attention_src.costs.roofline import Cost
from attention_src.costs.tiles import computed_pairs
from attention_src.shapes import check_groups, check_impl, check_size

NOTHING = Cost(0, 0)


@dataclass(frozen=True)
class Workload:
    """A model's shape, and what it is asked to do.

    n_layers, n_heads, n_kv_heads, d_head, d_model: of attention
    d_ff: width of the feed-forward part, which has three matrices
    n_vocabulary: of the matrix that gives logits, for the last token only
    read, write: tokens of the prompt, and tokens generated
    dtype_bytes: bytes of one number of weights, activations and cache
    """

    n_layers: int = 30
    n_heads: int = 9
    n_kv_heads: int = 3
    d_head: int = 64
    d_model: int = 576
    d_ff: int = 1536
    n_vocabulary: int = 49152
    read: int = 1024
    write: int = 256
    dtype_bytes: float = 2


SMOLLM2 = Workload()


@dataclass(frozen=True)
class Setup:
    """How attention is computed.

    Args:
        name: the column's heading
        method: "dense" writes the scores to memory and reads them again; "flash" keeps them on the
            chip
        block: None = every pair of query and key is computed, hidden or not; a number = blocks of
            that many queries and keys are left out where all of their pairs are hidden
        window, sinks: of the mask, as for `window_mask`; None = causal. The cache drops what no
            later query sees
        cache: "contiguous"; "int8" or "int4"; None = every new token reads everything again
        n_kv_heads: None = the workload's
    Raises:
        ValueError: an unknown method or cache; sizes below 1; sinks without a window
    """

    name: str
    method: str = "dense"
    block: int | None = None
    window: int | None = None
    sinks: int = 0
    cache: str | None = "contiguous"
    n_kv_heads: int | None = None

    def __post_init__(self) -> None:
        check_impl(self.method, ("dense", "flash"), "method")
        if self.cache is not None:
            check_impl(self.cache, ("contiguous", "int8", "int4"), "cache")
        for name in ("block", "window", "n_kv_heads"):
            if (size := getattr(self, name)) is not None:
                check_size(size, name, at_least=1)
        if check_size(self.sinks, "sinks") and self.window is None:
            raise ValueError(
                f"sinks is {self.sinks} but window is None: nothing is hidden from sinks"
            )


@dataclass(frozen=True)
class Bill:
    """What a workload costs.

    name: the column's heading
    reading, writing: of attention, from q, k and v to o
    rest_reading, rest_writing: of all products with weights
    kept: bytes that must stay in memory between two tokens: the cache
    """

    name: str
    reading: Cost
    writing: Cost
    rest_reading: Cost
    rest_writing: Cost
    kept: int

    @property
    def total(self) -> Cost:
        """Everything that is computed and moved."""
        return self.reading + self.writing + self.rest_reading + self.rest_writing


def bill(setup: Setup, workload: Workload = SMOLLM2) -> Bill:
    """Count a workload. The first new token comes from reading; each later one takes a pass.

    Args:
        setup: how attention is computed
        workload: SmolLM2's, unless you try another
    Returns: its Bill
    Raises:
        ValueError: key/value heads that do not divide the heads; nothing to read or write
    """
    if setup.n_kv_heads is not None:
        workload = replace(workload, n_kv_heads=setup.n_kv_heads)
    w = workload
    check_groups(w.n_heads, w.n_kv_heads)
    check_size(w.read, "read", at_least=1)
    check_size(w.write, "write", at_least=1)
    writing = rest_writing = NOTHING
    for n in range(w.read + 1, w.read + w.write):  # tokens so far, with the one that is read now
        if setup.cache is None:
            writing, rest_writing = writing + _prefill(setup, w, n), rest_writing + _weights(w, n)
        else:
            writing, rest_writing = writing + _decode(setup, w, n), rest_writing + _weights(w, 1)
    return Bill(
        setup.name,
        _prefill(setup, w, w.read),
        writing,
        _weights(w, w.read),
        rest_writing,
        _cache_bytes(setup, w, w.read + w.write - 1),
    )


def _prefill(setup: Setup, w: Workload, n: int) -> Cost:
    """Attention of n queries over n keys, in all layers."""
    pairs = computed_pairs(n, block=setup.block, window=setup.window, sinks=setup.sinks)
    flops = 4 * w.n_heads * pairs * w.d_head
    moved = attention_bytes(
        n,
        n,
        w.d_head,
        w.d_head,
        n_heads=w.n_heads,
        n_kv_heads=w.n_kv_heads,
        dtype_bytes=w.dtype_bytes,
    )
    if setup.method == "dense":  # write s, read s, write p, read p
        moved += stored(4 * w.n_heads * pairs, w.dtype_bytes)
    else:  # lse
        moved += FP32_BYTES * w.n_heads * n
    return Cost(w.n_layers * flops, w.n_layers * moved)


def _decode(setup: Setup, w: Workload, n: int) -> Cost:
    """Attention of the newest query over the cache of n tokens, in all layers."""
    seen = _seen(setup, n)
    cost = decode_cost(
        seen,
        w.d_head,
        w.d_head,
        n_heads=w.n_heads,
        n_kv_heads=w.n_kv_heads,
        dtype_bytes=w.dtype_bytes,
        cache_bytes=_cache_bytes(setup, replace(w, n_layers=1), n),
    )
    if setup.method == "dense":
        cost += Cost(0, stored(4 * w.n_heads * seen, w.dtype_bytes))
    else:
        cost += Cost(0, FP32_BYTES * w.n_heads)
    return Cost(w.n_layers * cost.flops, w.n_layers * cost.n_bytes)


def _seen(setup: Setup, n: int) -> int:
    """How many of n keys the newest query sees."""
    return n if setup.window is None else min(n, setup.window + setup.sinks)


def _cache_bytes(setup: Setup, w: Workload, n: int) -> int:
    """Bytes of the cache after n tokens."""
    if setup.cache is None:
        return 0
    sizes = (w.n_layers, w.n_kv_heads, w.d_head, w.d_head, _seen(setup, n))
    if setup.cache == "contiguous":
        return kv_cache_bytes(*sizes, dtype_bytes=w.dtype_bytes)
    bits = int(setup.cache.removeprefix("int"))
    return quantized_kv_cache_bytes(*sizes, bits=bits, dtype_bytes=w.dtype_bytes)


def _weights(w: Workload, n: int) -> Cost:
    """All products with weights, for n tokens; logits for the last one."""
    heads, kv = w.n_heads * w.d_head, w.n_kv_heads * w.d_head
    layer = [(w.d_model, heads), (w.d_model, kv), (w.d_model, kv), (heads, w.d_model)]
    layer += [(w.d_model, w.d_ff), (w.d_model, w.d_ff), (w.d_ff, w.d_model)]
    products = [(n, *sizes) for sizes in w.n_layers * layer] + [(1, w.d_model, w.n_vocabulary)]
    flops = sum(2 * m * a * b for m, a, b in products)
    numbers = sum(m * a + a * b + m * b for m, a, b in products)
    return Cost(flops, stored(numbers, w.dtype_bytes))
