"""The ring's wire: pass tensors to the next rank while computing, count bytes, notice the dead."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class Wire:
    """This rank's connection to its two neighbours in a ring.

    Args:
        group: a process group; None = all ranks
    Raises:
        ValueError: torch.distributed was not started
    """

    def __init__(self, group: Any = None):
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "group: torch.distributed is not running; start the program with torchrun and call "
                "torch.distributed.init_process_group first"
            )
        self.group = group
        self.rank, self.n_ranks = dist.get_rank(group), dist.get_world_size(group)
        self.bytes_sent = 0

    def start(self, *tensors: Tensor) -> "Transfer":
        """Begin to send tensors to the next rank and to receive as many from the one before.

        Returns: a transfer; `finish` it before touching what was sent
        Raises:
            RuntimeError: a neighbour is gone
        """
        sent = [x.contiguous() for x in tensors]
        received = [torch.empty_like(x) for x in sent]
        if self.n_ranks == 1:
            return Transfer(self, [], sent, sent)
        after, before = (self._global((self.rank + step) % self.n_ranks) for step in (1, -1))
        operations = [dist.P2POp(dist.isend, x, after, self.group) for x in sent]
        operations += [dist.P2POp(dist.irecv, x, before, self.group) for x in received]
        try:
            requests = dist.batch_isend_irecv(operations)
        except (RuntimeError, ValueError) as error:
            raise self.lost() from error
        self.bytes_sent += sum(x.numel() * x.element_size() for x in sent)
        return Transfer(self, requests, sent, received)

    def agree(self, numbers: list[int], names: str) -> None:
        """Check that all ranks have the same numbers: shapes that differ would hang the ring.

        Raises:
            ValueError: they differ; shows every rank's
            RuntimeError: a rank is gone
        """
        mine = torch.tensor(numbers, dtype=torch.int64)
        if dist.get_backend(self.group) == "nccl":
            mine = mine.cuda()
        everyone = [torch.empty_like(mine) for _ in range(self.n_ranks)]
        try:
            dist.all_gather(everyone, mine, group=self.group)
        except RuntimeError as error:
            raise self.lost() from error
        if any(not torch.equal(other, mine) for other in everyone):
            told = "; ".join(f"rank {r}: {other.tolist()}" for r, other in enumerate(everyone))
            raise ValueError(f"{names} should be the same on every rank, but they are {told}")

    def lost(self) -> RuntimeError:
        """The error for a neighbour that no longer answers."""
        before, after = (self.rank - 1) % self.n_ranks, (self.rank + 1) % self.n_ranks
        return RuntimeError(
            f"ring attention: rank {self.rank} lost its neighbour, rank {before} or {after}, which "
            "has ended or cannot be reached; its own message says why"
        )

    def _global(self, rank: int) -> int:
        """A rank of the group as a rank of all."""
        return rank if self.group is None else dist.get_global_rank(self.group, rank)


class Transfer:
    """Tensors on their way; computing may go on until `finish`."""

    def __init__(self, wire: Wire, requests: list, sent: list[Tensor], received: list[Tensor]):
        self._wire, self._requests, self._sent, self._received = wire, requests, sent, received

    def finish(self) -> list[Tensor]:
        """Wait; return what came from the rank before.

        Raises:
            RuntimeError: a neighbour is gone
        """
        try:
            for request in self._requests:
                request.wait()
        except RuntimeError as error:
            raise self._wire.lost() from error
        return self._received
