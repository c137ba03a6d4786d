"""Bytes moved between a GPU's large memory (HBM) and a core's small one (SRAM), tile by tile.

    standard  Θ(n d + n²)         scores and weights are written and read back
    flash     Θ(n d + n² d² / M)  queries and outputs are moved once for each block of keys

with n = n_q = n_k and M = sram_bytes / dtype_bytes, how many numbers SRAM holds. One head, forward,
no mask.

This counts the "load" and "write" lines of the paper's algorithms and nothing else: no cache
between the two memories; l and m in the same dtype as the rest. It favours the standard method:
each of its three steps counts as reading its operands once, although a matrix product with so
little SRAM reads them several times. In that respect the ratio of the two methods is a lower bound.
"""

import math
from dataclasses import dataclass

from attention_src.flash.visibility import blocks
from attention_src.shapes import check_impl, check_size

METHODS = ("standard", "flash")


@dataclass
class Counter:
    """Counts the numbers (not bytes) moved between HBM and SRAM."""

    loaded: int = 0
    written: int = 0

    def load(self, *shape: int) -> None:
        """Count a block read from HBM.

        Args:
            shape: of the block, in numbers
        """
        self.loaded += math.prod(shape)

    def write(self, *shape: int) -> None:
        """Count a block written to HBM.

        Args:
            shape: as for `load`
        """
        self.written += math.prod(shape)


def hbm_bytes(
    n_q: int, n_k: int, d: int, *, sram_bytes: int, dtype_bytes: int = 2, method: str
) -> int:
    """Bytes read from and written to HBM by one head's forward pass.

        standard  dtype_bytes (2 (n_q + n_k) d + 4 n_q n_k)
        flash     dtype_bytes (2 n_k d + n_q (d + 2) + T (3 n_q d + 4 n_q)),  T = ceil(n_k / B_c)

    Args:
        n_q, n_k: number of queries and of keys
        d: width of queries, keys and values
        sram_bytes: size of SRAM; flash sizes its blocks by it: B_c = ceil(M / 4d) keys and
            B_r = min(B_c, d) queries, M = sram_bytes / dtype_bytes
        dtype_bytes: bytes per number
        method: "standard" or "flash"
    Returns: bytes in both directions together, counted step by step; the equations above are the
        closed form
    Raises:
        ValueError: sizes that are not whole numbers, or negative; SRAM for fewer than four rows;
            an unknown method
    Cost: one step per tile, n_q n_k / (B_r B_c).
    Source: Dao et al. 2022, arXiv:2205.14135: Algorithm 0 (standard), Algorithm 1 (flash), Theorem
        2 (their N, B_r, B_c, T_c, M).
    """
    n_q, n_k, d, dtype_bytes = _checked(n_q, n_k, d, dtype_bytes, method)
    block_q, block_k = flash_blocks(d, sram_bytes=sram_bytes, dtype_bytes=dtype_bytes)
    if method == "standard":
        counter = _walk_standard(n_q, n_k, d)
    else:
        counter = _walk_flash(n_q, n_k, d, block_q, block_k)
    return dtype_bytes * (counter.loaded + counter.written)


def flash_blocks(d: int, *, sram_bytes: int, dtype_bytes: int = 2) -> tuple[int, int]:
    """The number of queries and keys in a tile of FlashAttention.

        B_c = ceil(M / 4d),  B_r = min(B_c, d),  M = sram_bytes / dtype_bytes

    Args:
        d: width of queries, keys and values
        sram_bytes: size of SRAM
        dtype_bytes: bytes per number
    Returns: block_q, block_k  (B_r, B_c)
    Raises:
        ValueError: SRAM does not hold one row each of q, k, v and o
    Source: Dao et al. 2022, arXiv:2205.14135, Algorithm 1, line 1.
    """
    d = check_size(d, "d", at_least=1)
    dtype_bytes = check_size(dtype_bytes, "dtype_bytes", at_least=1)
    numbers = check_size(sram_bytes, "sram_bytes") // dtype_bytes
    if numbers < 4 * d:
        raise ValueError(
            f"sram_bytes is {sram_bytes}; it should be at least {4 * d * dtype_bytes}, one row "
            f"each of q, k, v and o with d={d} and dtype_bytes={dtype_bytes}"
        )
    block_k = math.ceil(numbers / (4 * d))
    return min(block_k, d), block_k


def _walk_standard(n_q: int, n_k: int, d: int) -> Counter:
    """Algorithm 0: each step reads its whole operands and writes its whole result."""
    counter = Counter()
    counter.load(n_q, d)  # s = q k^T
    counter.load(n_k, d)
    counter.write(n_q, n_k)
    for _ in range(n_q):  # p = softmax(s), row by row
        counter.load(n_k)
        counter.write(n_k)
    counter.load(n_q, n_k)  # o = p v
    counter.load(n_k, d)
    counter.write(n_q, d)
    return counter


def _walk_flash(n_q: int, n_k: int, d: int, block_q: int, block_k: int) -> Counter:
    """Algorithm 1: each block of keys reads all queries, and reads and writes o, l and m."""
    counter = Counter()
    counter.write(n_q, d)  # o = 0
    counter.write(2, n_q)  # l = 0, m = −inf
    for j in blocks(n_k, block_k):
        counter.load(2, j.stop - j.start, d)  # k, v
        for i in blocks(n_q, block_q):
            rows = i.stop - i.start
            counter.load(2, rows, d)  # q, o
            counter.load(2, rows)  # l, m
            counter.write(rows, d)  # o
            counter.write(2, rows)  # l, m
    return counter


def _checked(
    n_q: int, n_k: int, d: int, dtype_bytes: int, method: str
) -> tuple[int, int, int, int]:
    """Check the arguments; return the four sizes as ints."""
    check_impl(method, METHODS, "method")
    return (
        check_size(n_q, "n_q"),
        check_size(n_k, "n_k"),
        check_size(d, "d", at_least=1),
        check_size(dtype_bytes, "dtype_bytes", at_least=1),
    )
