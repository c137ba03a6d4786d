"""How much memory a learner's function holds at once.

tracemalloc counts what Python and NumPy allocate; torch's own memory is seen through the tensors
that its operations make.
"""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any


def warm_up() -> None:
    """Let torch import what it takes to watch its tensors, before a clock runs.

    The first time these are hundreds of modules; afterwards it takes no time. Without torch there
    is nothing to do.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        _with_largest_tensor(lambda: torch.zeros(1))


def with_peak(call: Callable[[], Any]) -> tuple[Any, int]:
    """Call a function and measure the most memory that it held at once.

    Args:
        call: a function without arguments
    Returns: what it returns, and bytes: Python's and NumPy's, plus torch's largest tensor
    Raises: what `call` raises
    """
    on = tracemalloc.is_tracing()
    if on:  # the learner measures something, or an earlier try forgot to stop
        tracemalloc.reset_peak()
    else:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        answer, largest_tensor = _with_largest_tensor(call)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not on:
            tracemalloc.stop()
    return answer, max(peak, 0) + largest_tensor


def _with_largest_tensor(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the bytes of the largest tensor that torch made meanwhile."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return call(), 0
    sizes, tree_leaves = [0], torch.utils._pytree.tree_leaves

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = {at for at, _ in storages(args)}
            made = operation(*args, **(kwargs or {}))
            # A view of what was there, of a learner's NumPy array for instance, is nothing new.
            sizes.extend(size for at, size in storages(made) if at not in given)
            return made

    def storages(values: Any) -> list[tuple[int, int]]:
        tensors = (x for x in tree_leaves(values) if isinstance(x, torch.Tensor))
        found = (x.untyped_storage() for x in tensors if x.layout == torch.strided)
        return [(storage.data_ptr(), storage.nbytes()) for storage in found]

    with Watch():
        return call(), max(sizes)
