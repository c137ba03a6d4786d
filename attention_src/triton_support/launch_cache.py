"""Operators that are called often: what does not change between two calls is computed once.

A kernel may take less time than Python takes to check its tensors and to choose its tiles. Both
depend on the signature of a call alone: shapes, strides, dtypes, devices and alignment of the
tensors, and the numbers beside them. So the first call with a signature does all of it, and what
later calls need is kept as a plan: what to allocate, and which compiled kernels to start.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from attention_src.triton_support.launch import Launch, on_device_of

MOST_PLANS = 256  # of one operator; a growing text has a new signature with every token
ALIGNMENT = 16  # bytes; Triton compiles a kernel for pointers that are divisible by it
Prepared = tuple[tuple[Tensor, ...], list[Launch]]  # what was allocated, and what fills it


def planned(prepare: Callable[..., Prepared]) -> Callable[..., tuple[Tensor, ...]]:
    """Decorator: run an operator, checking and describing it once for each signature.

    Args:
        prepare: takes an operator's arguments, at least one tensor among them. It checks them,
            allocates and returns the outputs, then scratch memory, all contiguous; and the
            launches that fill them, not yet run. It may look at the signature only.
    Returns: a function of the same arguments that runs the launches and returns what was allocated.
        Its attribute `plans` holds what it has kept, by signature. A plan holds no tensor.
    Raises:
        ValueError: as prepare; what was refused is not kept, so it is refused every time
    """
    plans: dict[tuple, Plan] = {}

    @functools.wraps(prepare)
    def run(*arguments: Any) -> tuple[Tensor, ...]:
        key = signature(arguments)
        plan = plans.get(key)
        if plan is not None:
            return plan.run(arguments)
        new, launches = prepare(*arguments)
        compiled = [launch.run() for launch in launches]
        if len(plans) >= MOST_PLANS:
            plans.clear()
        if plan := _plan(arguments, new, launches, compiled):
            plans[key] = plan
        return new

    run.plans = plans  # type: ignore[attr-defined]
    return run


def signature(arguments: tuple) -> tuple:
    """All that the launches of an operator depend on.

    Args:
        arguments: tensors, numbers and None
    Returns: equal for two calls if one's launches, on the other's tensors, are the other's. Which
        tensors start at the same address belongs to it, because tensors are told apart by that.
    """
    key: list[Any] = []
    addresses = []
    for x in arguments:
        if isinstance(x, Tensor):
            address = x.data_ptr()
            addresses.append(address)
            key.append((x.shape, x.stride(), x.dtype, x.device, address % ALIGNMENT))
        else:
            key.append(x)
    if len(set(addresses)) < len(addresses):
        key.append(tuple(addresses.index(address) for address in addresses))
    return tuple(key)


@dataclass(frozen=True)
class Start:
    """A launch without its tensors.

    Args:
        launch: with None in place of its tensors
        compiled: what Triton made of its kernel; None if it is interpreted
        tensors: for each parameter that is a tensor: its name, its position among the parameters,
            which of the operator's tensors it is, and the dtype that the kernel sees
    """

    launch: Launch
    compiled: Any
    tensors: tuple[tuple[str, int, int, torch.dtype], ...]

    @functools.cached_property
    def in_order(self) -> list[Any]:
        """The launch's arguments in the order of the kernel's parameters."""
        return [self.launch.arguments[name] for name in self.launch.kernel.arg_names]

    @functools.cached_property
    def start(self) -> Callable[..., None]:
        """Starts the compiled kernel, given all of its arguments."""
        return self.compiled[(*self.launch.grid, 1, 1)[:3]]

    def run(self, tensors: list[Tensor]) -> None:
        """Start the kernel.

        Args:
            tensors: the operator's arguments that are tensors, then what it allocated
        """
        if self.compiled is None:
            given = {name: _seen_as(tensors[of], dtype) for name, _, of, dtype in self.tensors}
            replace(self.launch, arguments=self.launch.arguments | given).run()
            return
        arguments = self.in_order.copy()
        for _, position, of, _ in self.tensors:
            arguments[position] = tensors[of]  # whose address is all that a compiled kernel takes
        self.start(*arguments)


@dataclass(frozen=True)
class Plan:
    """What a later call with the same signature does.

    Args:
        new: shape, dtype and device of each tensor to allocate
        starts: kernels to start, in order
    """

    new: tuple[tuple[torch.Size, torch.dtype, torch.device], ...]
    starts: tuple[Start, ...]

    def run(self, arguments: tuple) -> tuple[Tensor, ...]:
        """Do what the first call did.

        Args:
            arguments: of the operator
        Returns: the tensors that were allocated, written by the kernels
        """
        new = tuple(torch.empty(shape, dtype=dtype, device=at) for shape, dtype, at in self.new)
        tensors = [x for x in (*arguments, *new) if isinstance(x, Tensor)]
        with on_device_of(tensors[0]):
            for start in self.starts:
                start.run(tensors)
        return new


def _plan(
    arguments: tuple, new: tuple[Tensor, ...], launches: list[Launch], compiled: list[Any]
) -> Plan | None:
    """The plan of a call that has run; None if it launches on a copy of one of its arguments."""
    tensors = [x for x in (*arguments, *new) if isinstance(x, Tensor)]
    starts = []
    for launch, kernel in zip(launches, compiled, strict=True):
        if 0 in launch.grid:
            continue
        found = []
        for position, name in enumerate(launch.kernel.arg_names):
            x = launch.arguments.get(name)
            if not isinstance(x, Tensor):
                continue
            of = _find(x, tensors)
            if of is None:
                return None
            found.append((name, position, of, x.dtype))
        without = launch.arguments | {name: None for name, *_ in found}
        starts.append(Start(replace(launch, arguments=without), kernel, tuple(found)))
    return Plan(tuple((x.shape, x.dtype, x.device) for x in new), tuple(starts))


def _find(x: Tensor, tensors: list[Tensor]) -> int | None:
    """Which tensor has x's address; if several have, one of x's dtype before others."""
    same = [i for i, y in enumerate(tensors) if y.data_ptr() == x.data_ptr()]
    return min(same, key=lambda i: tensors[i].dtype != x.dtype, default=None)


def _seen_as(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x's memory as numbers of another dtype; all tensors without numbers are at address 0."""
    if x.dtype == dtype:
        return x
    return x.view(dtype) if x.numel() else x.new_empty(0, dtype=dtype)
