"""How many scores are computed when blocks in which every pair is hidden are left out."""

from attention_src.shapes import check_size


def computed_pairs(
    n: int, *, block: int | None = None, window: int | None = None, sinks: int = 0
) -> int:
    """Pairs of query and key that a causal mask makes one compute, block by block.

        a block is computed whole if any of its pairs is visible:
        visible[i, j] = j <= i and (i - j < window or j < sinks)

    Args:
        n: queries, and keys
        block: queries and keys of one block; None = all pairs are computed; 1 = the visible ones
        window, sinks: as for `visible_pairs`; None = causal
    Returns: the number of pairs; blocks at the end may be smaller
    Raises:
        ValueError: a size that is not a whole number; a block or window below 1
    """
    n = check_size(n, "n")
    if block is None:
        return n * n
    block = check_size(block, "block", at_least=1)
    window = n if window is None else check_size(window, "window", at_least=1)
    sinks = check_size(sinks, "sinks")
    pairs = 0
    for start in range(0, n, block):
        stop = min(start + block, n)
        # Keys of whole blocks: from that of the first query's oldest key to that of the last query.
        first = max(0, start - window + 1) // block * block
        kept_for_sinks = min(first, -(-sinks // block) * block)
        pairs += (stop - start) * (stop - first + kept_for_sinks)
    return pairs
