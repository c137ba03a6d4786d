"""What flash attention computes and moves: visible pairs only, and no scores in memory.

Import these functions from `attention_src.costs.algorithms`, which has all costs.
"""

from dataclasses import dataclass
from typing import Any

from attention_src.costs import attention_bytes
from attention_src.costs.roofline import Cost
from attention_src.shapes import check_size

FP32_BYTES = 4  # of one number of lse and of delta


def visible_pairs(
    n_q: int, n_k: int, *, causal: bool = False, window: int | None = None, sinks: int = 0
) -> int:
    """How many pairs of query and key are visible: the scores that an exact algorithm needs.

        visible[i, j] = j <= t and (t - j < window or j < sinks),  t = i + n_k - n_q

    Args:
        n_q, n_k: number of queries and of keys
        causal: hide later keys; without it and without a window, every pair is visible
        window: how many keys back a query sees, counting its own; implies causal; None = all
        sinks: how many of the first keys stay visible outside the window
    Returns: the number of pairs; n (n + 1) / 2 for causal and n_q = n_k = n
    Raises:
        ValueError: a size that is not a whole number, or negative; a window below 1; sinks without
            a window
    """
    return _Mask.checked(n_q, n_k, causal, window, sinks).pairs()


def flash_cost(
    n_q: int,
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    block_q: int | None = None,
    dtype_bytes: float = 2,
) -> Cost:
    """Flash attention, forward.

        2 products, for visible pairs: s = q k^T, o = p v
        flops = 2 batch n_heads visible_pairs (d_k + d_v)

    Args:
        n_q, n_k, d_k, d_v, n_heads, n_kv_heads, batch, dtype_bytes: as for `attention_bytes`
        causal, window, sinks: as for `visible_pairs`
        block_q: None = the least traffic possible: each visible key and value is read once.
            A number = traffic without cache hits: in each query head, each block of that many
            queries reads all keys and values that it sees. A real chip lies between the two.
    Returns: its cost, including writing o and lse (float32)
    Raises:
        ValueError: as `attention_bytes` and `visible_pairs`; a block below 1
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1.
    """
    mask = _Mask.checked(n_q, n_k, causal, window, sinks)
    sizes: dict[str, Any] = dict(n_heads=n_heads, batch=batch, dtype_bytes=dtype_bytes)
    moved = attention_bytes(n_q, mask.keys_read(), d_k, d_v, n_kv_heads=n_kv_heads, **sizes)
    if block_q is not None:
        moved = attention_bytes(n_q, mask.keys_read(block_q), d_k, d_v, **sizes)
    flops = 2 * batch * n_heads * mask.pairs() * (d_k + d_v)
    return Cost(flops, moved + FP32_BYTES * batch * n_heads * n_q)


def flash_backward_cost(
    n_q: int,
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    block_q: int | None = None,
    block_k: int | None = None,
    dtype_bytes: float = 2,
) -> Cost:
    """Flash attention, backward: the weights are recomputed from q, k and lse.

        5 products, for visible pairs: s = q k^T, dp = do v^T, dv = p^T do, dq = ds k, dk = ds^T q
        flops = 2 batch n_heads visible_pairs (3 d_k + 2 d_v)

    Args:
        n_q, n_k, d_k, d_v, n_heads, n_kv_heads, batch, dtype_bytes: as for `attention_bytes`
        causal, window, sinks: as for `visible_pairs`
        block_q, block_k: None = the least traffic possible: one kernel reads q, k, v, o, do and lse
            once. Both given = the course's two kernels, which need no sums across programs. One
            computes dq and delta: each block of queries reads the keys and values that it sees. The
            other computes dk and dv: each block of keys reads the q, do, lse and delta of the
            queries that see it. Both compute s and dp: 7 products, 4 d_k + 3 d_v.
    Returns: its cost
    Raises:
        ValueError: as `flash_cost`; one block without the other
    Source: Dao 2023, arXiv:2307.08691, Algorithm 2; Dao et al. 2022, arXiv:2205.14135, Algorithm 4.
    """
    mask = _Mask.checked(n_q, n_k, causal, window, sinks)
    if (block_q is None) != (block_k is None):
        raise ValueError(
            f"block_q is {block_q} and block_k is {block_k}; give both, or neither for the least"
        )
    sizes: dict[str, Any] = dict(n_heads=n_heads, batch=batch, dtype_bytes=dtype_bytes)
    # Reads q, do and o, writes dq: twice the size of q and o. Reads k and v, writes dk and dv.
    keys = mask.keys_read() + n_k
    moved = attention_bytes(2 * n_q, keys, d_k, d_v, n_kv_heads=n_kv_heads, **sizes)
    fp32_per_head = n_q  # lse
    products = 3 * d_k + 2 * d_v
    if block_q is not None and block_k is not None:
        queries = mask.queries_read(block_k)
        moved = attention_bytes(2 * n_q, mask.keys_read(block_q), d_k, d_v, **sizes)
        moved += attention_bytes(queries, 2 * n_k, d_k, d_v, n_kv_heads=n_kv_heads, **sizes)
        # The first kernel reads lse and writes delta; the second reads both.
        fp32_per_head = 2 * n_q + 2 * queries
        products = 4 * d_k + 3 * d_v
    flops = 2 * batch * n_heads * mask.pairs() * products
    return Cost(flops, moved + FP32_BYTES * batch * n_heads * fp32_per_head)


@dataclass(frozen=True)
class _Mask:
    """Which query sees which key, counted without a matrix; window None = all pairs visible."""

    n_q: int
    n_k: int
    window: int | None
    sinks: int

    @classmethod
    def checked(cls, n_q: int, n_k: int, causal: bool, window: int | None, sinks: int) -> "_Mask":
        n_q, n_k = check_size(n_q, "n_q"), check_size(n_k, "n_k")
        if check_size(sinks, "sinks") and window is None:
            raise ValueError(f"sinks is {sinks} but window is None: nothing is hidden from sinks")
        if window is not None:
            window = check_size(window, "window", at_least=1)
        elif causal:
            window = max(1, n_k)  # a window that reaches back to the first key
        return cls(n_q, n_k, window, sinks)

    def pairs(self) -> int:
        if self.window is None:
            return self.n_q * self.n_k
        # Up to their own position the queries have first, first + 1, …, n_k keys (negative: none).
        first = self.n_k - self.n_q + 1
        in_window = _clamped_sum(first, self.n_k, self.window)
        in_sinks = _clamped_sum(first - self.window, self.n_k - self.window, self.sinks)
        return in_window + in_sinks

    def keys_read(self, block_q: int | None = None) -> int:
        """How many keys the blocks of queries see, summed over blocks; None = one block."""
        return sum(self._keys_of(start, stop) for start, stop in _blocks(self.n_q, block_q, "q"))

    def queries_read(self, block_k: int) -> int:
        """How many queries see a key of a block, summed over the blocks of keys."""
        return sum(self._queries_of(start, stop) for start, stop in _blocks(self.n_k, block_k, "k"))

    def _keys_of(self, start: int, stop: int) -> int:
        """How many keys are visible to at least one of the queries start … stop - 1."""
        if self.window is None:
            return self.n_k
        shift = self.n_k - self.n_q
        end = max(0, stop + shift)
        low = max(0, start + shift - self.window + 1)
        return end - low + min(self.sinks, low)

    def _queries_of(self, start: int, stop: int) -> int:
        """How many queries see at least one of the keys start … stop - 1."""
        if self.window is None:
            return self.n_q
        shift = self.n_k - self.n_q
        low, end = max(0, start - shift), self.n_q
        if start >= self.sinks:  # a sink stays visible to every later query
            end = min(end, stop - 1 - shift + self.window)
        return max(0, end - low)


def _blocks(n: int, size: int | None, axis: str) -> list[tuple[int, int]]:
    """(start, stop) of each block of `size`; None = one block."""
    size = max(1, n) if size is None else check_size(size, f"block_{axis}", at_least=1)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def _clamped_sum(first: int, last: int, top: int) -> int:
    """The sum of min(max(x, 0), top) over x = first … last."""

    def up_to(x: int) -> int:
        ramp = min(max(x, 0), top)
        return ramp * (ramp + 1) // 2 + max(x - top, 0) * top

    return up_to(last) - up_to(first - 1)
