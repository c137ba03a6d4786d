"""One tile of scores in PyTorch: scaled, changed, hidden. Shared by the passes of `layer_tiled`."""

from typing import NamedTuple

import torch
from torch import Tensor

from attention_src.attention.bias import Alibi
from attention_src.flash.visibility import Visibility
from attention_src.tensors import compute_dtype


class ScoreRule(NamedTuple):
    """How scores are made from q·k.

    Args:
        visibility: which query sees which key
        key_lengths: int [B] on q's device, each 0 to n_k; None = all n_k
        scale: of the scores
        softcap: None = no bound
        bias: broadcast to [B, H, n_q, n_k]; None = none
        slopes: [H]  of an `Alibi`; None = none
    """

    visibility: Visibility
    key_lengths: Tensor | None
    scale: float
    softcap: float | None
    bias: Tensor | None
    slopes: Tensor | None


def tile_scores(
    q_i: Tensor, k: Tensor, i: slice, j: slice, rule: ScoreRule
) -> tuple[Tensor, Tensor | float]:
    """The scores of some queries and some keys, −inf where hidden.

    Args:
        q_i: [B, H_kv, rows, d_k]  queries i of every head, stacked by group
        k: [B, H_kv, n_k, d_k]  all keys
        i, j: the tile's queries and keys
        rule: how scores are made
    Returns: s [B, H_kv, rows, columns], and its derivative by q·k
    """
    s = rule.scale * (q_i @ tile(k, j).mT)
    slope: Tensor | float = rule.scale
    if rule.softcap is not None:
        bounded = torch.tanh(s / rule.softcap)
        s, slope = rule.softcap * bounded, rule.scale * (1 - bounded**2)
    offs_k = torch.arange(j.start, j.stop, device=k.device)
    t = rule.visibility.positions(torch.arange(i.start, i.stop, device=k.device), rule.key_lengths)
    heads = s.unflatten(2, (-1, i.stop - i.start)).flatten(1, 2)  # [B, H, n, columns]
    if rule.bias is not None:
        heads = heads + bias_tile(rule.bias, i, j)
    if rule.slopes is not None:
        heads = heads + Alibi(rule.slopes).tile(t, offs_k)
    if rule.visibility.restricts:
        visible = rule.visibility.visible(t, offs_k)  # [n, columns] or [B, n, columns]
        heads = heads.masked_fill(~visible.unsqueeze(-3), -torch.inf)
    if rule.key_lengths is not None:
        padding = offs_k >= rule.key_lengths[:, None, None, None]  # [B, 1, 1, columns]
        heads = heads.masked_fill(padding, -torch.inf)
    return heads.unflatten(1, (k.shape[1], -1)).flatten(2, 3), slope


def bias_tile(bias: Tensor, i: slice, j: slice) -> Tensor:
    """The part of a bias for some queries and keys.

    Args:
        bias: [1 or B, 1 or H, 1 or n_q, 1 or n_k]
        i, j: the tile's queries and keys
    Returns: a view, whose last axes are 1 where the bias is broadcast
    """
    rows = slice(None) if bias.shape[2] == 1 else i
    columns = slice(None) if bias.shape[3] == 1 else j
    return bias[:, :, rows, columns]


def tile(x: Tensor, rows: slice) -> Tensor:
    """Some rows of every head, in the dtype of the computation.

    Args:
        x: [B, H_kv, n, d]
        rows: which
    Returns: [B, H_kv, rows, d]
    """
    return x[:, :, rows].to(compute_dtype(x))


def stack(x: Tensor, rows: slice, k: Tensor) -> Tensor:
    """Some rows of every query head, stacked by group, in the dtype of the computation.

    Args:
        x: [B, H, n, d]
        rows: which
        k: [B, H_kv, n_k, d_k]
    Returns: [B, H_kv, group rows, d]
    """
    return tile(x, rows).unflatten(1, (k.shape[1], -1)).flatten(2, 3)


def unstack(tile: Tensor, q: Tensor) -> Tensor:
    """The inverse of `stack`.

    Args:
        tile: [B, H_kv, group rows, d]
        q: [B, H, n_q, d_k]
    Returns: [B, H, rows, d]
    """
    return tile.unflatten(2, (q.shape[1] // tile.shape[1], -1)).flatten(1, 2)
