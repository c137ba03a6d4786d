"""Bytes between a GPU's large memory (HBM) and a core's small one (SRAM), counted tile by tile.

    standard  Θ(n d + n²)      scores and weights go out and come back
    flash     Θ(n d + n² d² / M)  only queries and outputs do, once for each block of keys

with n = n_q = n_k and M = sram_bytes / dtype_bytes numbers of SRAM. One head, forward, no mask.
What is counted are the lines "load" and "write" of the paper's algorithms, nothing else: no caches
between the two memories, statistics in the same dtype as the rest. The standard method is counted
in its own favour: each of its three steps reads its operands once, although a matrix product with
so little SRAM reads them several times. So the ratio of the two is a lower bound in that respect.
"""

import math
from dataclasses import dataclass

from attention_src.flash.visibility import blocks
from attention_src.shapes import check_impl, check_size

METHODS = ("standard", "flash")


@dataclass
class Counter:
    """Adds up what crosses between HBM and SRAM, in numbers."""

    loaded: int = 0
    written: int = 0

    def load(self, *shape: int) -> None:
        """A block comes from HBM."""
        self.loaded += math.prod(shape)

    def write(self, *shape: int) -> None:
        """A block goes to HBM."""
        self.written += math.prod(shape)


def hbm_bytes(
    n_q: int, n_k: int, d: int, *, sram_bytes: int, dtype_bytes: int = 2, method: str
) -> int:
    """Bytes read from and written to HBM by one head's forward pass, counted along a walk.

        standard  dtype_bytes (2 (n_q + n_k) d + 4 n_q n_k)
        flash     dtype_bytes (2 n_k d + n_q (d + 2) + T (3 n_q d + 4 n_q)),  T = ceil(n_k / B_c)

    Args:
        n_q, n_k: number of queries and of keys
        d: width of queries, keys and values
        sram_bytes: size of SRAM, of which flash makes its blocks: B_c = ceil(M / 4d) keys and
            B_r = min(B_c, d) queries, M = sram_bytes / dtype_bytes
        dtype_bytes: bytes of one number
        method: "standard" or "flash"
    Returns: bytes in both directions together; the equations above, which nothing here uses, are
        what the walk amounts to
    Raises:
        ValueError: sizes that are not whole numbers, or negative; SRAM for less than four rows;
            another method
    Cost: a step for each tile, n_q n_k / (B_r B_c).
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


def peak_bytes(n_q: int, n_k: int, d: int, *, dtype_bytes: int = 2, method: str) -> int:
    """Bytes that one head's forward pass holds in HBM at its fullest.

        both      dtype_bytes 2 (n_q + n_k) d      q, k, v, o
        standard  + dtype_bytes 2 n_q n_k          s and p
        flash     + dtype_bytes 2 n_q              l and m

    Args:
        n_q, n_k, d, dtype_bytes, method: as for `hbm_bytes`
    Returns: bytes
    Raises:
        ValueError: as `hbm_bytes`
    Source: Dao et al. 2022, arXiv:2205.14135, Algorithms 0 and 1, Theorem 1.
    """
    n_q, n_k, d, dtype_bytes = _checked(n_q, n_k, d, dtype_bytes, method)
    between = 2 * n_q * n_k if method == "standard" else 2 * n_q
    return dtype_bytes * (2 * (n_q + n_k) * d + between)


def flash_blocks(d: int, *, sram_bytes: int, dtype_bytes: int = 2) -> tuple[int, int]:
    """How many queries and keys a tile of FlashAttention has.

        B_c = ceil(M / 4d),  B_r = min(B_c, d),  M = sram_bytes / dtype_bytes

    Args:
        d: width of queries, keys and values
        sram_bytes: size of SRAM
        dtype_bytes: bytes of one number
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
    """Algorithm 0: each step reads its operands and writes its answer, in full."""
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
    """Algorithm 1: for each block of keys, all queries and what they have summed so far."""
    counter = Counter()
    counter.write(n_q, d)  # o = 0
    counter.write(n_q)  # l = 0
    counter.write(n_q)  # m = −inf
    for j in blocks(n_k, block_k):
        for _ in ("k", "v"):
            counter.load(j.stop - j.start, d)
        for i in blocks(n_q, block_q):
            rows = i.stop - i.start
            for _ in ("q", "o"):
                counter.load(rows, d)
            for _ in ("l", "m"):
                counter.load(rows)
            counter.write(rows, d)  # o
            for _ in ("l", "m"):
                counter.write(rows)
    return counter


def _checked(
    n_q: int, n_k: int, d: int, dtype_bytes: int, method: str
) -> tuple[int, int, int, int]:
    check_impl(method, METHODS, "method")
    return (
        check_size(n_q, "n_q"),
        check_size(n_k, "n_k"),
        check_size(d, "d", at_least=1),
        check_size(dtype_bytes, "dtype_bytes", at_least=1),
    )
