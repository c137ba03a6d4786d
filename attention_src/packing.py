"""Sequences of different lengths: packed in one row without padding, or as a padded batch.

A packed row [1, H, n, d] holds one sequence after another. cu_seqlens [n_sequences + 1], from 0 to
n, says where: sequence s has the positions cu_seqlens[s] to cu_seqlens[s + 1] - 1.

Under torch.compile: how long the padded batch is depends on the numbers in cu_seqlens, and a graph
cannot depend on a tensor's numbers. So functions that take cu_seqlens do not compile with
fullgraph=True; without it they give the same result, and the graph breaks where cu_seqlens is read.
For one whole graph make the `Packing` outside: its `pad` and `unpad` compile into it, and each new
length of the batch compiles anew.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from attention_src.shapes import check_dense


def check_cu_seqlens(cu_seqlens: Any, n: int, name: str = "cu_seqlens") -> list[int]:
    """Check where the sequences of a packed row start. On a GPU this synchronises.

    Args:
        cu_seqlens: int [n_sequences + 1], from 0 to n, non-decreasing; a sequence may be empty
        n: positions in the row
        name: of the argument
    Returns: the length of each sequence
    Raises:
        ValueError: says what cu_seqlens is and what it should be
    """
    if not isinstance(cu_seqlens, Tensor):
        raise ValueError(f"{name} is a {type(cu_seqlens).__name__}; it should be a torch tensor")
    check_dense(cu_seqlens, name)
    dtype = cu_seqlens.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        raise ValueError(f"{name} has dtype {dtype}; it should be torch.int32 or torch.int64")
    if cu_seqlens.ndim != 1 or len(cu_seqlens) == 0:
        raise ValueError(
            f"{name} has shape {list(cu_seqlens.shape)}; it should be [n_sequences + 1]"
        )
    starts = cu_seqlens.tolist()
    if starts[0] != 0 or starts[-1] != n:
        raise ValueError(
            f"{name} goes from {starts[0]} to {starts[-1]}; it should go from 0 to n = {n}, the "
            "sums of the lengths up to each sequence"
        )
    lengths = [end - start for start, end in pairwise(starts)]
    if min(lengths, default=0) < 0:
        s = lengths.index(min(lengths))
        raise ValueError(
            f"{name} falls from {starts[s]} to {starts[s + 1]}; it should never fall: these are "
            "the sums of the lengths, not the lengths"
        )
    return lengths


class Packing:
    """Turns a packed row into a padded batch, and back.

    Attributes:
        n_sequences, longest: the sizes of the padded batch
        lengths: int64 [n_sequences]  the length of each sequence
        slots: int64 [n]  where each position of the row is in the padded batch, flattened

    Args:
        cu_seqlens: int [n_sequences + 1], from 0 to n, non-decreasing
        n: positions in the row
        front: True = pad before a sequence, so that all end together; False = after it
        device: of the tensors to pad
        name: of the argument cu_seqlens, for messages
    Raises:
        ValueError: as `check_cu_seqlens`
    Cost: the batch has n_sequences * longest positions: many more than n where one sequence is much
        longer than the others.
    """

    def __init__(
        self,
        cu_seqlens: Any,
        n: int,
        *,
        front: bool,
        device: torch.device | str = "cpu",
        name: str = "cu_seqlens",
    ) -> None:
        lengths = check_cu_seqlens(cu_seqlens, n, name)
        self.n_sequences, self.longest = len(lengths), max(lengths, default=0)
        starts = cu_seqlens.to(device, torch.int64)
        self.lengths = starts.diff()
        first = self.longest * torch.arange(self.n_sequences, device=device)  # its first slot
        if front:
            first = first + self.longest - self.lengths
        shift = (first - starts[:-1]).repeat_interleave(self.lengths, output_size=n)  # [n]
        self.slots = torch.arange(n, device=device) + shift

    def pad(self, x: Tensor) -> Tensor:
        """Take a packed row apart: [1, H, n, ...] -> [n_sequences, H, longest, ...].

        Args:
            x: a row whose first axis is 1
        Returns: the padded batch, with zeros as padding
        """
        size = (x.shape[1], self.n_sequences * self.longest, *x.shape[3:])
        padded = x.new_zeros(size).index_copy(1, self.slots, x[0])
        return padded.unflatten(1, (self.n_sequences, self.longest)).transpose(0, 1)

    def unpad(self, x: Tensor) -> Tensor:
        """The inverse of `pad`: [n_sequences, H, longest, ...] -> [1, H, n, ...].

        Args:
            x: a padded batch; what it holds as padding is dropped
        Returns: the packed row
        """
        return x.transpose(0, 1).flatten(1, 2).index_select(1, self.slots)[None]
