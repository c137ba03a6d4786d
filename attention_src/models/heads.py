"""A head by its place: (layer, head), both counted from 0."""

import operator
from typing import Any

from attention_src.shapes import check_whole

Head = tuple[int, int]


def check_head(at: Any, name: str, n_layers: int, n_heads: int) -> Head:
    """Return a pair (layer, head) that exists.

    Args:
        at: the pair
        name: of the argument that holds it
        n_layers, n_heads: of the model; heads of one layer
    Returns: the pair, of ints
    Raises:
        ValueError: not a pair, or no such head
    """
    try:
        layer, head = (operator.index(i) for i in at)
    except (TypeError, ValueError):
        raise ValueError(f"{name} holds {at!r}; it should hold pairs (layer, head)") from None
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(
            f"{name} holds (layer, head) = {(layer, head)}; layers are 0 to {n_layers - 1}, "
            f"heads 0 to {n_heads - 1}"
        )
    return layer, head


def check_layer(layer: Any, n_layers: int) -> int:
    """Return the number of a layer that exists.

    Args:
        layer: counted from 0
        n_layers: of the model
    Returns: the number, an int
    Raises:
        ValueError: no whole number, or no such layer
    """
    return int(check_whole(layer, "layer", 0, n_layers - 1))
