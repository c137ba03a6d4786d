"""Rotary positions inside a module: how to rotate, and the positions of the tokens."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.kvcache.cache_base import Cache
from attention_src.rope.layer import IMPLS, rotate_qk
from attention_src.rope.scaling import Scaling, amplitude
from attention_src.shapes import check_flags, check_impl, check_number
from attention_src.tensors import as_tensor


@dataclass(frozen=True)
class Rotary:
    """Rotates queries and keys with `rope.layer.rotate_qk`; frozen, so that modules can share it.

    Args:
        base, interleaved, scaling, impl: as for `rotate_qk`
    Raises:
        ValueError: one of them is not what `rotate_qk` takes
    """

    base: float = 10000.0
    interleaved: bool = False
    scaling: Scaling | None = None
    impl: str = "auto"

    def __post_init__(self) -> None:
        check_number(self.base, "base", above=1)
        check_flags(interleaved=self.interleaved)
        amplitude(self.scaling)  # refuses anything but a scaling
        check_impl(self.impl, IMPLS)

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """q [B, H, n, d] and k [B, H_kv, n, d], rotated by positions [n] or [B, n]."""
        return rotate_qk(
            q,
            k,
            positions,
            base=self.base,
            interleaved=self.interleaved,
            scaling=self.scaling,
            impl=self.impl,
        )


def rotary_of(rope: bool | Rotary, d_k: int) -> Rotary | None:
    """The rotation that a module's `rope` argument asks for.

    Args:
        rope: True = with the defaults, False = none, or a `Rotary`
        d_k: width of what is rotated
    Returns: the rotation; None = no rotation
    Raises:
        ValueError: rope is neither a bool nor a `Rotary`; d_k is odd
    """
    if not isinstance(rope, bool | Rotary):
        raise ValueError(f"rope is {rope!r}; it should be True, False or a Rotary")
    if rope is False:
        return None
    if d_k % 2:
        raise ValueError(f"d_k is {d_k}, but rope turns pairs of components; it should be even")
    return Rotary() if rope is True else rope


def positions_of(positions: Any, n: int, cache: Cache | None) -> Tensor:
    """Positions of n new tokens: as given, or after all tokens that the cache has seen.

    Args:
        positions: [n] or [B, n]; None = from the cache
        n: number of new tokens
        cache: from `kvcache.cache`; None = count from 0
    Returns: [n], or [B, n] if sequences differ in length
    Raises:
        ValueError: no tensor can be made of positions
    """
    if positions is not None:
        return as_tensor(positions, "positions", "a row of real numbers, [n]")
    new = torch.arange(n)
    if cache is None or cache.layout is None:
        return new
    lengths = cache.lengths
    if bool((lengths != lengths[:1]).any()):
        return lengths[:, None] + new.to(lengths.device)
    return cache.n_seen + new
