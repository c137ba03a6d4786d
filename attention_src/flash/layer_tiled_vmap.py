"""torch.func.vmap on tiles: the axis that it adds is joined with the batch axis, then split."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor


def folded(
    size: int, tensors: Sequence[Tensor | None], in_dims: Sequence[Any], slopes: Tensor | None
) -> list[Tensor | None]:
    """Join the mapped axis with the batch axis, the first of every tensor.

    Args:
        size: V, of the mapped axis
        tensors: each [B, ...] and an axis of V more, or without it; a bias may have 1 for B, the
            first tensor has B
        in_dims: for each tensor where that axis is, None = it has none; then for slopes
        slopes: [H]  of an `Alibi`, which are numbers of a model and not of a sequence
    Returns: each as [V B, ...], None where it was None
    Raises:
        ValueError: slopes are mapped too
    """
    if slopes is not None and in_dims[len(tensors)] is not None:
        raise ValueError(
            'bias is an Alibi whose slopes are mapped by torch.func.vmap; for impl "tiled" they '
            'should be the same in all calls. Choose impl "dense"'
        )
    pairs = zip(tensors, in_dims, strict=False)
    whole = [x if x is None else _first(x, at, size) for x, at in pairs]
    assert whole[0] is not None
    B = whole[0].shape[1]
    return [x if x is None else x.expand(size, B, *x.shape[2:]).flatten(0, 1) for x in whole]


def _first(x: Tensor, at: int | None, size: int) -> Tensor:
    """[V, B, ...], whether x had the mapped axis or not."""
    return x.expand(size, *x.shape) if at is None else x.movedim(at, 0)


def unfolded(x: Tensor, size: int) -> Tensor:
    """The inverse of `folded` for one tensor.

    Args:
        x: [V B, ...]
        size: V
    Returns: [V, B, ...]
    """
    return x.unflatten(0, (size, -1))
