"""Fewer bits, and gradients."""

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.frameworks import first, said
from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How

MOST = 8  # roundings that are usual
DTYPES = [("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)]


def precision(t: Trier) -> None:
    """In fewer bits it is off by a few roundings of the largest number, not by many."""
    name, to, back = t.how.framework
    if t.right is not attend or name not in ("torch", "numpy"):
        return
    arrays = t.draw(t.how.sizes | {"q": 33, "k": 33})
    for dtype, eps in DTYPES[: 2 if name == "numpy" else 3]:
        cast = _caster(name, dtype)
        low = {r: np.asarray(back(cast(to(x))), float) for r, x in arrays.items()}
        truth: Any = t.expected(low)
        trial, _ = t.case(t.how, cast=cast, q=33, k=33)
        if trial is None:
            t.draft.add("not in this dtype", dtype, t.last)
            continue
        off, rounding = np.abs(trial.o - truth).max(), eps * np.abs(truth).max()
        if not off <= MOST * rounding:
            t.draft.add("coarse in this dtype", dtype, off, rounding)


def _caster(name: str, dtype: str) -> Callable:
    if name == "numpy":
        return lambda x: x.astype(dtype) if x.dtype == float else x
    wanted = getattr(sys.modules["torch"], dtype)
    return lambda x: x.to(wanted) if x.is_floating_point() else x


def gradients(t: Trier) -> None:
    """Backward against differences of the output, in float64; causal too if it can be."""
    if t.how.framework[0] != "torch" or t.right is not attend or t.callee.tied:
        return
    trial, right = t.case(t.how)
    rough = trial is None or right is None or np.abs(trial.o - right).max() > 1e-9
    for (how, _), r in product(t.modes, "qkv"):
        name, causal = t.callee.names.get(r, r), " with causal=True" * (how is not t.how)
        try:
            if not _gradient_is_right(t, how, r, 1e-2 if rough else 1e-5):
                return t.draft.add("gradient", f"With respect to {name}{causal} it is another.")
        except Exception as error:
            return t.draft.add("no gradient", f"With respect to {name}{causal}: {said(error)}")
    return None


def _gradient_is_right(t: Trier, how: How, r: str, off: float) -> bool:
    """Whether one array's gradient is that of the output; it fails if there is none."""
    torch: Any = sys.modules["torch"]
    given = t.given(how, t.draw(how.sizes))
    call = lambda x: first(t.callee(**given | {r: x}, **how.extra))  # noqa: E731
    x = given[r].requires_grad_()
    torch.autograd.grad(call(x).sum(), x)
    rules = {"fast_mode": True, "raise_exception": False, "check_undefined_grad": False}
    return torch.autograd.gradcheck(
        call, x, eps=off / 10, atol=off, rtol=off, nondet_tol=1, **rules
    )


CHECKS = [precision, gradients]
