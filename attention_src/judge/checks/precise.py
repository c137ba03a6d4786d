"""Fewer bits, and gradients."""

import sys
from collections.abc import Callable
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
    for how, _ in t.modes:
        try:
            wrong = _wrong_gradient(t, how, rough)
        except Exception as error:
            return t.draft.add("no gradient", said(error))
        if wrong:
            causal = " with causal=True" * (how is not t.how)
            return t.draft.add("gradient", f"With respect to {wrong}{causal} it is another.")
    return None


def _wrong_gradient(t: Trier, how: How, rough: bool) -> str:
    """Which array's gradient is not that of the output; "" if none is.

    If it is `rough`, computing in float32 inside, differences need large steps.
    """
    torch: Any = sys.modules["torch"]
    given, (step, off) = t.given(how, t.draw(how.sizes)), (1e-3, 1e-2) if rough else (1e-5, 1e-6)

    def answer(**moved: Any) -> Any:
        """A sum of the output, with weights."""
        y = first(t.callee(**given | moved, **how.extra))
        return (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)).sum()

    for r in "qkv":
        given[r].requires_grad_()
    answer().backward()
    for r in "qkv":
        x, grad = given[r], given[r].grad
        if grad is None:
            raise ValueError(f"none reaches {t.callee.names[r]}")
        made = torch.Generator().manual_seed(1)
        way = torch.randn(grad.shape, generator=made, dtype=grad.dtype)
        with torch.no_grad():
            found = (answer(**{r: x + step * way}) - answer(**{r: x - step * way})) / 2 / step
        if abs(found - (grad * way).sum()) > off * (1 + (grad * way).abs().sum()):
            return t.callee.names[r]
    return ""


CHECKS = [precision, gradients]
