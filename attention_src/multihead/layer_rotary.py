"""Rotary positions inside a module: how to rotate, and the positions of the tokens."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.multihead.layer_config import rotation_of_config
from attention_src.rope.layer import rotate_qk
from attention_src.shapes import check_size


@dataclass(frozen=True)
class Rotary:
    """Rotates queries and keys with `rope.layer.rotate_qk`; frozen, so that modules can share it.

    Args:
        base, interleaved, scaling, impl: as for `rotate_qk`
        d_rotary: only the first d_rotary components are rotated, as if they were all; even, at
            least 2; None = all
    """

    base: float = 10000.0
    interleaved: bool = False
    scaling: Any = None
    impl: str = "auto"
    d_rotary: int | None = None

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """q [B, H, n, d] and k [B, H_kv, n, d], rotated by positions [n] or [B, n]."""
        options: dict[str, Any] = dict(base=self.base, interleaved=self.interleaved)
        options |= dict(scaling=self.scaling, impl=self.impl)
        d = self.d_rotary
        if d is None or d == q.shape[-1]:
            return rotate_qk(q, k, positions, **options)
        rotated = rotate_qk(q[..., :d], k[..., :d], positions, **options)
        return torch.cat([rotated[0], q[..., d:]], dim=-1), torch.cat([rotated[1], k[..., d:]], -1)

    @classmethod
    def of_config(cls, config: Any) -> "Rotary":
        """The rotation of a transformers config.

        Args:
            config: has rope_parameters, or rope_theta before version 5
        Returns: a rotation of half-split pairs with the config's base and scaling
        Raises:
            ValueError: as `layer_config.rotation_of_config`, for types such as dynamic and longrope
        """
        base, scaling = rotation_of_config(config)
        return cls(base=base, scaling=scaling)


def rotary_of(rope: bool | Rotary, d_k: int) -> Rotary | None:
    """The rotation that a module's `rope` argument asks for.

    Args:
        rope: True = with the defaults, False = none, or a `Rotary`
        d_k: width of what is rotated
    Returns: the rotation; None = no rotation
    Raises:
        ValueError: rope is neither a bool nor a `Rotary`; d_k is odd; its d_rotary is odd or more
            than d_k
    """
    if not isinstance(rope, bool | Rotary):
        raise ValueError(f"rope is {rope!r}; it should be True, False or a Rotary")
    if rope is False:
        return None
    rope = Rotary() if rope is True else rope
    if rope.d_rotary is not None:
        d_rotary = check_size(rope.d_rotary, "d_rotary", at_least=2)
        if d_rotary % 2 or d_rotary > d_k:
            raise ValueError(f"d_rotary is {d_rotary}; it should be even, and at most d_k={d_k}")
    elif d_k % 2:
        raise ValueError(f"d_k is {d_k}, but rope turns pairs of components; it should be even")
    return rope


def positions_of(positions: Any, n: int, cache: Any) -> Tensor:
    """Positions of n new tokens: as given, or after all tokens that the cache has seen.

    Args:
        positions: [n] or [B, n]; None = from the cache
        n: number of new tokens
        cache: from `kvcache.cache`; None = count from 0
    Returns: [n], or [B, n] if sequences differ in length
    """
    if positions is not None:
        return torch.as_tensor(positions)
    new = torch.arange(n)
    if cache is None or cache.layout is None:
        return new
    lengths = cache.lengths
    if bool((lengths != lengths[:1]).any()):
        return lengths[:, None] + new.to(lengths.device)
    return cache.n_seen + new
