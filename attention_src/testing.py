"""The three gates for numerical code: the course's implementations, and yours.

    probe    with v = identity, o IS p: exact zeros where hidden, above zero where visible
    budget   the error is at most twice that of a plain implementation, plus one rounding
    sharp    float32 agrees with float64 to 1e-5

Each catches what the others miss. One dropped key among a thousand stays within any tolerance, but
not past the probe. A scale that is 0.3 % wrong passes a generous tolerance, but not the budget. A
scale that is 1 % wrong is lost in bfloat16's rounding, but not past the sharp gate.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.errstate import own_errstate
from attention_src.shapes import check_groups, check_mask, check_size


@own_errstate()
def make_qkv(
    n_q: int = 7,
    n_k: int | None = None,
    d_k: int = 5,
    d_v: int | None = None,
    *,
    batch: int = 2,
    n_heads: int = 3,
    n_kv_heads: int | None = None,
    dtype: Any = np.float64,
    size: float = 1.0,
    seed: int = 0,
) -> tuple[Any, Any, Any]:
    """Random queries, keys and values, the same for the same seed on any machine.

    Args:
        n_q, n_k: number of queries and keys; n_k None = n_q
        d_k, d_v: width of a key and of a value; d_v None = d_k
        batch, n_heads, n_kv_heads: B, H, H_kv; n_kv_heads None = n_heads
        dtype: a NumPy dtype for arrays, a torch dtype for tensors
        size: standard deviation of the entries of q (k and v have 1)
        seed: of the random generator
    Returns: q [B, H, n_q, d_k], k [B, H_kv, n_k, d_k], v [B, H_kv, n_k, d_v]
    Raises:
        ValueError: a size that is not a whole number; n_kv_heads does not divide n_heads; a dtype
            that is not floating point
    """
    n_k = n_q if n_k is None else n_k
    d_v = d_k if d_v is None else d_v
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    given = dict(n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v, batch=batch, n_heads=n_heads)
    for name, value in given.items():
        check_size(value, name)
    check_groups(n_heads, check_size(n_kv_heads, "n_kv_heads"))
    rng = np.random.default_rng(check_size(seed, "seed"))
    q = size * rng.standard_normal((batch, n_heads, n_q, d_k))
    k = rng.standard_normal((batch, n_kv_heads, n_k, d_k))
    v = rng.standard_normal((batch, n_kv_heads, n_k, d_v))
    return _cast(q, dtype), _cast(k, dtype), _cast(v, dtype)


@own_errstate()
def assert_within_budget(
    actual: Any, exact: Any, plain: Any, *, name: str = "o", times: float = 2
) -> None:
    """Gate 2: the error may be twice that of a plain implementation, plus one rounding.

        max|actual - exact| <= times max|plain - exact| + eps/2 max|exact|

    Args:
        actual: the result under test; its dtype gives eps
        exact: the result in float64, unrounded
        plain: the result of a plain implementation in actual's dtype
        name: what to call it in the message
        times: more than 2 where both are sums in float32, in an order that the processor chooses:
            one of them may be lucky
    Raises:
        AssertionError: the budget is exceeded, or actual is not finite where exact is
        ValueError: shapes differ, or plain is not finite where exact is, so that any error would
            pass
    """
    a, e, p = (_float64(x) for x in (actual, exact, plain))
    _same_shape(name, actual=a, exact=e, plain=p)
    if (np.isfinite(e) & ~np.isfinite(p)).any():
        raise ValueError(f"plain {name} is not finite; a budget drawn from it would allow anything")
    error, at = _largest_error(a, e, name)
    rounding = _eps(actual) / 2 * _size(e)
    budget = times * _largest_error(p, e, f"plain {name}")[0] + rounding
    assert error <= budget, (
        f"{name}: error {error:.3g} at {at} exceeds the budget {budget:.3g} "
        f"({times} times the plain implementation's error, plus one rounding)"
    )


@own_errstate()
def assert_sharp(actual: Any, exact: Any, *, rtol: float = 1e-5, name: str = "o") -> None:
    """Gate 3: for float32 and float64, the error is at most 1e-5 of the largest entry.

        max|actual - exact| <= rtol max|exact|

    Args:
        actual: the result under test, in float32 or float64
        exact: the result in float64
        rtol: the tolerance
        name: what to call it in the message
    Raises:
        AssertionError: the tolerance is exceeded, or actual is not finite where exact is
        ValueError: shapes differ, or actual is float16 or bfloat16, which are too coarse
    """
    a, e = _float64(actual), _float64(exact)
    _same_shape(name, actual=a, exact=e)
    if _eps(actual) > 1e-6:
        raise ValueError(f"{name} has dtype {actual.dtype}; the sharp gate is for float32")
    error, at = _largest_error(a, e, name)
    allowed = rtol * _size(e)
    assert error <= allowed, f"{name}: error {error:.3g} at {at} exceeds {allowed:.3g}"


@own_errstate()
def probe_mask(
    attend: Callable[[Any, Any, Any], Any],
    visible: Any,
    *,
    d_k: int = 16,
    dtype: Any = np.float64,
    seed: int = 0,
) -> np.ndarray:
    """Gate 1: with the identity as values the output is the weights; check where they are zero.

        o = p I = p:  p_ij = 0 exactly iff key j is hidden from query i

    Args:
        attend: attend(q, k, v) -> o, with q [1, 1, n_q, d_k], k [1, 1, n_k, d_k] and
            v [1, 1, n_k, n_k]; bind mask or causal beforehand
        visible: bool [n_q, n_k]  the weights that should not be zero
        d_k: width of the random queries and keys
        dtype: NumPy or torch, as in `make_qkv`
        seed: of the random queries and keys
    Returns: float64 [n_q, n_k]  the weights
    Raises:
        AssertionError: a hidden key has weight, a visible key has none, a row does not sum to 1
            (or to 0, when it is fully masked)
        ValueError: visible is not a boolean matrix, or o has another shape
    """
    visible = np.asarray(visible)
    if visible.ndim != 2:
        raise ValueError(f"visible has shape {list(visible.shape)}; it should be [n_q, n_k]")
    check_mask(visible, visible.shape, "visible")
    n_q, n_k = visible.shape
    q, k, _ = make_qkv(n_q, n_k, d_k, batch=1, n_heads=1, dtype=dtype, seed=seed)
    o = attend(q, k, _cast(np.eye(n_k)[None, None], dtype))
    if tuple(o.shape) != (1, 1, n_q, n_k):
        raise ValueError(f"o has shape {list(o.shape)}; it should be [1, 1, {n_q}, {n_k}]")
    p = _float64(o)[0, 0]
    leaks, misses = np.argwhere(~visible & (p != 0)), np.argwhere(visible & ~(p > 0))
    assert not len(leaks), f"hidden but with weight, [query, key]: {leaks[:5].tolist()}"
    assert not len(misses), f"visible but without weight, [query, key]: {misses[:5].tolist()}"
    total, expected = p.sum(axis=1), visible.any(axis=1)
    # Allows one rounding of each weight.
    off = np.abs(total - expected) > _eps(o) * np.maximum(1, np.sqrt(n_k))
    assert not off.any(), f"rows {np.flatnonzero(off)[:5].tolist()} sum to {total[off][:5]}"
    return p


def _cast(x: np.ndarray, dtype: Any) -> Any:
    """x as an array or a tensor, depending on whose dtype is given."""
    if str(dtype).startswith("torch."):
        import torch

        if not dtype.is_floating_point:
            raise ValueError(f"dtype is {dtype}; it should be floating point")
        return torch.from_numpy(x).to(dtype)
    if np.dtype(dtype).kind != "f":
        raise ValueError(f"dtype is {np.dtype(dtype)}; it should be floating point")
    return x.astype(dtype)


def _float64(x: Any) -> np.ndarray:
    """An array or tensor of any floating dtype, on any device, as float64."""
    if hasattr(x, "detach"):
        x = x.detach().double().cpu().numpy()
    return np.asarray(x, dtype=np.float64)


def _eps(x: Any) -> float:
    """The distance from 1 to the next number in x's dtype."""
    if hasattr(x, "detach"):
        import torch

        return torch.finfo(x.dtype).eps
    return float(np.finfo(np.asarray(x).dtype).eps)


def _same_shape(name: str, **arrays: np.ndarray) -> None:
    shapes = {label: list(x.shape) for label, x in arrays.items()}
    if len({str(s) for s in shapes.values()}) > 1:
        raise ValueError(f"{name}: shapes differ: {shapes}")


def _size(exact: np.ndarray) -> float:
    """The largest finite |entry|."""
    return float(np.abs(exact, where=np.isfinite(exact), out=np.zeros(exact.shape)).max(initial=0))


def _largest_error(a: np.ndarray, e: np.ndarray, name: str) -> tuple[float, Any]:
    """The largest |a - e| and its index; infinities and NaN must agree."""
    finite = np.isfinite(e)
    assert np.array_equal(np.where(finite, 0, a), np.where(finite, 0, e), equal_nan=True), (
        f"{name}: exact is not finite somewhere, and the answer differs there"
    )
    if not finite.any():
        return 0.0, None
    error = np.zeros(e.shape)
    np.subtract(a, e, where=finite, out=error)
    error = np.abs(error)
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(error), math.inf, error))), e.shape)
    worst = float(error[at])
    assert not math.isnan(worst), f"{name}: NaN at {tuple(map(int, at))}"
    return worst, tuple(map(int, at))
