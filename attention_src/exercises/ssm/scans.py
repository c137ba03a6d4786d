"""A selective scan with its rules as arguments: right and wrong ones, for checks and tests."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def keep_right(step: Array, A: Array) -> Array:
    """exp(dt A).

    Args:
        step: [..., d, 1]  dt of one token
        A: [d, N]
    Returns: [..., d, N]
    """
    return np.exp(step * A)


def write_right(step: Array, A: Array, x: Array, B: Array) -> Array:
    """dt B x.

    Args:
        step, x: [..., d, 1]  of one token
        A: [d, N]
        B: [..., 1, N]
    Returns: [..., d, N]
    """
    return step * x * B


def write_held(step: Array, A: Array, x: Array, B: Array) -> Array:
    """Zero-order hold: (exp(dt A) - 1) / A B x, which is dt B x where A is 0.

    Args:
        step, A, x, B: as for `write_right`
    Returns: as `write_right`
    """
    return np.where(A == 0, step, np.expm1(step * A) / np.where(A == 0, 1, A)) * x * B


def scanning(
    keep: Callable = keep_right,
    write: Callable = write_right,
    *,
    start: Callable = lambda h: h,
    end: Callable = lambda h, before: h,
    read: str = "new",
    fade: str = "old",
) -> Callable:
    """A scan that goes by these rules; without arguments, the right one.

    Args:
        keep, write: as `keep_right` and `write_right`
        start: of the first state
        end: of the last state and the first one: what is returned
        read: whether C reads the "new" state or the "old" one
        fade: whether the "old" state fades or, after the writing, the "new" one
    Returns: f(x, dt, A, B, C, h) -> y, h
    """

    def scan(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
        y, before = np.zeros(x.shape), h
        h = start(h) + np.zeros(h.shape)
        for t in range(x.shape[-2]):
            step = dt[..., t, :, None]
            added = write(step, A, x[..., t, :, None], B[..., t, None, :])
            old, kept = h, keep(step, A)
            h = kept * h + added if fade == "old" else kept * (h + added)
            seen = h if read == "new" else old
            y[..., t, :] = (seen * C[..., t, None, :]).sum(axis=-1)
        return y, end(h, before) + np.zeros(h.shape)

    return scan


def swapped(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """B and C in each other's place.

    Args:
        x, dt, A, B, C, h: of a scan
    Returns: y, h
    """
    return scanning()(x, dt, A, C, B, h)


def backward(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """From the last token to the first.

    Args:
        x, dt, A, B, C, h: of a scan
    Returns: y, h
    """
    turned = (a[..., ::-1, :] for a in (x, dt, B, C))
    x, dt, B, C = turned
    y, h = scanning()(x, dt, A, B, C, h)
    return y[..., ::-1, :], h


def fixed(name: str) -> Callable:
    """A scan in which all tokens choose what the first one chose.

    Args:
        name: "dt", "B" or "C"
    Returns: f(x, dt, A, B, C, h) -> y, h
    """

    def scan(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
        chosen = dict(dt=dt, B=B, C=C)
        one = chosen[name][..., :1, :]
        chosen[name] = np.broadcast_to(one, chosen[name].shape)
        return scanning()(x, chosen["dt"], A, chosen["B"], chosen["C"], h)

    return scan


def by_scan(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """All states at once, in log2(n) rounds.

    Args:
        x, dt, A, B, C, h: of a scan
    Returns: y, h
    """
    if x.shape[-2] == 0:
        return np.zeros(x.shape), h.copy()
    a = np.exp(dt[..., None] * A)
    b = (dt * x)[..., None] * B[..., None, :]
    reach = 1
    while reach < x.shape[-2]:
        later = a[..., reach:, :, :]
        joined = later * b[..., :-reach, :, :] + b[..., reach:, :, :]
        b = np.concatenate([b[..., :reach, :, :], joined], axis=-3)
        a = np.concatenate([a[..., :reach, :, :], later * a[..., :-reach, :, :]], axis=-3)
        reach *= 2
    states = a * h[..., None, :, :] + b
    return (states * C[..., None, :]).sum(axis=-1), states[..., -1, :, :].copy()


def in_float32(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """Right, in float32.

    Args:
        x, dt, A, B, C, h: of a scan
    Returns: y, h
    """
    return scanning()(*(a.astype(np.float32) for a in (x, dt, A, B, C, h)))
