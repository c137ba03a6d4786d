"""Fewer bits, and gradients."""

import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import first, said
from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How, same, see_some

PLAIN: dict[str, Callable] = {
    "numpy": attend,
    "torch": lambda q, k, v, see: sys.modules["torch"].nn.functional.scaled_dot_product_attention(
        q, k, v, see, enable_gqa=True
    ),
}
DTYPES = [("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)]


def precision(t: Trier) -> None:
    """In fewer bits: at most twice the error of a plain implementation, and the rounding."""
    name, to, back = t.how.framework
    if t.right is not attend or name not in ("torch", "numpy"):
        return
    near, right = t.case(t.how)
    off = np.abs(near.o - right).max() if near and right is not None else 0
    if off > 1e-9 and t.own == t.base:
        return t.draft.add("not to the last digit", off)
    arrays, plain = t.draw(t.how.sizes | {"q": 33, "k": 33}), PLAIN[name]
    for dtype, eps in DTYPES[: 2 if name == "numpy" else 3]:
        cast = _caster(name, dtype)
        low = {r: cast(to(x)) for r, x in arrays.items()}
        truth: Any = t.expected({r: np.asarray(back(x), float) for r, x in low.items()})
        trial, _ = t.case(t.how, cast=cast, q=33, k=33)
        if trial is None:
            t.draft.add("not in this dtype", dtype, t.last)
            continue
        made = truth if t.own else back(plain(*low.values(), to(t.band.seen(33, 33))))
        off, usual = (np.abs(np.asarray(x, float) - truth).max() for x in (trial.o, made))
        rounding = (4 if t.own else 1) * eps * np.abs(truth).max()
        if not off <= 2 * usual + rounding:
            t.draft.add("coarse in this dtype", dtype, off, usual + rounding)
    return None


def masked_precision(t: Trier) -> None:
    """With a mask, in float32: what hides some scores leaves the others as they are."""
    if t.right is not attend or t.how.framework[0] not in PLAIN:
        return None
    cast = _caster(t.how.framework[0], "float32")
    for how in t.forms if len(t.callee.masks) == 1 else ():
        trial, right = t.case(how, see_some(how, 8), 8, cast=cast)
        if trial and right is not None and not same(trial, right, 1e-2):
            return t.draft.add("visible scores lost", t.callee.names["mask"])
    return None


def _caster(name: str, dtype: str) -> Callable:
    if name == "numpy":
        return lambda x: x.astype(dtype) if x.dtype == float else x
    wanted = getattr(sys.modules["torch"], dtype)
    return lambda x: x.to(wanted) if x.is_floating_point() else x


def _has_gradients(t: Trier) -> bool:
    return t.how.framework[0] == "torch" and t.right is attend and not t.callee.tied


def gradients(t: Trier) -> None:
    """Backward against differences of the output, in float64; causal too if it can be."""
    if not _has_gradients(t):
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


def masked_gradients(t: Trier) -> None:
    """Behind a mask, and where a query sees nothing, gradients are numbers if the answer is."""
    for empty in (False, True) if t.masked and _has_gradients(t) else ():
        how: Any = t.masked
        see = np.array(see_some(how, 6))
        see[:, :, 1] &= not (empty and "q" in how.mask[0])
        given = t.given(how, t.draw(how.sizes, 6), see)
        inputs = [given[r].requires_grad_() for r in "qkv"]
        with suppress(Exception):
            y = first(t.callee(**given, **how.extra))
            y.sum().backward()
            found = [x.grad.isfinite().all() for x in inputs if x.grad is not None]
            if y.isfinite().all() and not all(found):
                return t.draft.add("NaN in a gradient")
