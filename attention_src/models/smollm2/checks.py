"""Checks of SmolLM2's input: token ids and positions."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from attention_src.models.smollm2.config import Config
from attention_src.tensors import as_tensor, whole_numbers


def check_ids(ids: Any, config: Config, device: torch.device) -> Int[Tensor, "*B_or_none n"]:
    """Convert token ids to int64 on the model's device.

    Args:
        ids: [n] or [B, n]  a tensor, an array or nested lists of integers
        config: says how many tokens there are
        device: of the model
    Returns: int64 [n] or [B, n]
    Raises:
        ValueError: no ids, out-of-range ids, another shape or dtype
    """
    if isinstance(ids, str):
        raise ValueError(f"ids is {ids!r:.50}; it should hold token ids: model.encode(text)")
    ids = as_tensor(ids, "ids", "an array of token ids, [n] or [B, n]", device=device)
    if ids.ndim not in (1, 2) or 0 in ids.shape:
        raise ValueError(
            f"ids has shape {list(ids.shape)}; it should be [n] or [B, n] with at least one token"
        )
    ids = whole_numbers(ids, "ids")
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= config.n_vocabulary:
        raise ValueError(
            f"ids holds {low if low < 0 else high}; ids should be from 0 to "
            f"{config.n_vocabulary - 1}"
        )
    return ids


def check_one_text(ids: Any, config: Config, device: torch.device) -> Int[Tensor, "n"]:
    """As `check_ids`, for a single text of at least two tokens.

    Returns: int64 [n]
    Raises:
        ValueError: as `check_ids`; a batch, or a single token
    """
    ids = check_ids(ids, config, device)
    if ids.ndim != 1 or len(ids) < 2:
        raise ValueError(f"ids has shape {list(ids.shape)}; it should be [n] with n >= 2")
    return ids


def check_positions(
    positions: Any, ids: Tensor, caches: Sequence[Any] | None, config: Config
) -> Shaped[Tensor, "*B_or_none n"]:
    """Check the positions of ids, or count on from what the caches have seen.

    Args:
        positions: [n] or [B, n]; None = the next n
        ids: [B, n]
        caches: one per layer, or None
        config: number of layers and longest context
    Returns: [n] or [B, n]
    Raises:
        ValueError: not one cache per layer; caches that have seen different numbers of tokens;
            more tokens than the model was trained for; positions that do not fit ids
    """
    if caches is not None and len(caches) != config.n_layers:
        raise ValueError(
            f"caches has {len(caches)} entries; it should be one a layer, {config.n_layers}"
        )
    seen = sorted({cache.n_seen for cache in caches or ()})
    if len(seen) > 1:
        raise ValueError(
            f"caches have seen {seen[0]} tokens in one layer and {seen[-1]} in another, because a "
            "call failed half-way or a layer's cache was changed; begin with new ones"
        )
    batch, n = ids.shape
    if positions is None:
        start = seen[0] if seen else 0
        if start + n > config.max_tokens:
            raise ValueError(
                f"ids has {n} tokens and the caches have seen {start}: together more than the "
                f"{config.max_tokens} that the model was trained for"
            )
        return torch.arange(start, start + n, device=ids.device)
    positions = as_tensor(positions, "positions", "a row of real numbers, [n]", device=ids.device)
    if tuple(positions.shape) not in ((n,), (batch, n)):
        raise ValueError(
            f"positions has shape {list(positions.shape)}; it should be [n] = [{n}] or [B, n] = "
            f"[{batch}, {n}]"
        )
    return positions
