"""How ranks exchange tensors in a ring: they send and receive while they compute."""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup


class RingExchange:
    """Sends tensors to the next rank and receives from the previous one; `bytes_sent` counts.

    Args:
        group: a process group; None = all ranks
    Raises:
        ValueError: torch.distributed is not initialised
    """

    def __init__(self, group: ProcessGroup | None = None):
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "group: torch.distributed is not running; start the program with torchrun and call "
                "torch.distributed.init_process_group first"
            )
        self.group = group
        self.rank, self.n_ranks = dist.get_rank(group), dist.get_world_size(group)
        self.bytes_sent = 0

    def start(self, *tensors: Tensor) -> "Transfer":
        """Start sending tensors to the next rank and receiving those of the previous one.

        Args:
            tensors: of the same shapes and dtypes on every rank
        Returns: a transfer; call its `finish` before you write to what was sent
        Raises:
            RuntimeError: a neighbour has ended
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
        """Check that all ranks have the same numbers: different shapes would hang the ring.

        Args:
            numbers: of this rank, equally many on every rank
            names: what the message calls them
        Raises:
            ValueError: they differ; shows those of every rank
            RuntimeError: a rank has ended
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
            found = "; ".join(f"rank {r}: {other.tolist()}" for r, other in enumerate(everyone))
            raise ValueError(f"{names} should be the same on every rank, but they are {found}")

    def lost(self) -> RuntimeError:
        """The error to raise when a neighbour does not answer.

        Returns: the error, for the caller to raise
        """
        before, after = (self.rank - 1) % self.n_ranks, (self.rank + 1) % self.n_ranks
        return RuntimeError(
            f"ring attention: rank {self.rank} lost its neighbour, rank {before} or {after}, which "
            "has ended or cannot be reached; its own message says why"
        )

    def _global(self, rank: int) -> int:
        """The global rank of a rank of the group."""
        return rank if self.group is None else dist.get_global_rank(self.group, rank)


class Transfer:
    """An exchange in progress: `start` made it, `finish` waits for it."""

    def __init__(
        self, ring: RingExchange, requests: list, sent: list[Tensor], received: list[Tensor]
    ):
        self._ring, self._requests, self._received = ring, requests, received
        self._sent = sent  # keeps the memory alive until all is sent

    def finish(self) -> list[Tensor]:
        """Wait until everything is sent and received.

        Returns: what the previous rank sent
        Raises:
            RuntimeError: a neighbour has ended
        """
        try:
            for request in self._requests:
                request.wait()
        except RuntimeError as error:
            raise self._ring.lost() from error
        return self._received
