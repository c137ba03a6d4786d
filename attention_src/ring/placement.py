"""Which tokens each rank holds. A rank is one process, with one device of the ring.

    contiguous  rank r holds the r-th of R equal pieces
    zigzag      the sequence is cut into 2 R chunks, and rank r holds chunks r and 2 R - 1 - r

With a causal mask, late tokens take the most work. With contiguous pieces, the first rank is idle
while the last one works; zigzag gives each rank an early and a late chunk, and so equal work.
"""

from attention_src.shapes import check_impl, check_size

PLACEMENTS = ("zigzag", "contiguous")


def check_placement(n: int, n_ranks: int, placement: str) -> int:
    """Check that every rank can hold equally many tokens.

    Args:
        n: tokens of the whole sequence
        n_ranks: R
        placement: "zigzag" or "contiguous"
    Returns: n / R, the tokens of each rank
    Raises:
        ValueError: an unknown placement; n cannot be cut into equal pieces
    """
    check_impl(placement, PLACEMENTS, "placement")
    n_ranks = check_size(n_ranks, "n_ranks", at_least=1)
    pieces = 2 * n_ranks if placement == "zigzag" else n_ranks
    if check_size(n, "n") % pieces:
        raise ValueError(
            f"n is {n}, which {placement} placement on {n_ranks} ranks cannot cut into {pieces} "
            "equal pieces; pad the sequence"
        )
    return n // n_ranks


def spans(rank: int, n: int, n_ranks: int, placement: str = "zigzag") -> list[range]:
    """The positions that a rank holds, as one or two ranges in order.

    Args:
        rank: 0 to n_ranks - 1
        n, n_ranks, placement: as for `check_placement`
    Returns: ranges of positions
    Raises:
        ValueError: as `check_placement`; a rank out of range
    Source: zigzag: the "striped" idea of Brandon et al. 2023, arXiv:2311.09431, with two chunks a
        rank, as in the ring-flash-attention library and Llama 3 (arXiv:2407.21783, section 3.3.2).
    """
    n_local = check_placement(n, n_ranks, placement)
    if not 0 <= check_size(rank, "rank") < n_ranks:
        raise ValueError(f"rank is {rank}; it should be below n_ranks={n_ranks}")
    if placement == "contiguous":
        return [range(rank * n_local, (rank + 1) * n_local)]
    chunk, last = n_local // 2, 2 * n_ranks - 1 - rank
    return [
        range(rank * chunk, (rank + 1) * chunk),
        range(last * chunk, (last + 1) * chunk),
    ]


def order(n: int, n_ranks: int, placement: str = "zigzag") -> list[int]:
    """All positions, rank by rank: equal pieces of x[order] are the ranks' shards.

    Args:
        n, n_ranks, placement: as for `spans`
    Returns: n positions
    Raises:
        ValueError: as `spans`
    """
    ranges = [s for rank in range(n_ranks) for s in spans(rank, n, n_ranks, placement)]
    return [position for span in ranges for position in span]
