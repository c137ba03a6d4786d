"""The check of a selective scan that goes on from a state."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.exercises.ssm import scans

Array = np.ndarray
_SCAN = scans.scanning()


def _scan_on(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    return _SCAN(x, dt, A, B, C, h)


def _arguments(rng: np.random.Generator, lead: tuple[int, ...], sizes: tuple[int, ...]) -> list:
    """x, dt, A, B, C and h; sizes: n, d, N."""
    n, d, N = sizes
    x, dt = rng.normal(size=(*lead, n, d)), rng.uniform(0.05, 2, (*lead, n, d))
    A, h = -rng.uniform(0.1, 2, (d, N)), rng.normal(size=(*lead, d, N))
    B, C = rng.normal(size=(2, *lead, n, N))
    return [x, dt, A, B, C, h]


def _case(name: str, seed: int, lead: tuple[int, ...], sizes: tuple[int, ...], **change: Any):
    """A named case; change replaces arguments by functions of them."""
    args = _arguments(np.random.default_rng(seed), lead, sizes)
    for key, f in change.items():
        at = ("x", "dt", "A", "B", "C", "h").index(key)
        args[at] = f(args[at])
    return Case(name, tuple(args))


def _with_pads(dt: Array) -> Array:
    dt = dt.copy()
    dt[..., 1:3, :] = 0
    return dt


def _one_rate_0(A: Array) -> Array:
    A = A.copy()
    A[0, 0] = 0
    return A


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n, d, N = int(rng.integers(0, 6)), *(int(size) for size in rng.integers(1, 5, 2))
    x, dt, A, B, C, h = _arguments(rng, lead, (n, d, N))
    if rng.random() < 0.4:
        dt = np.where(rng.random(dt.shape) < 0.3, 0, dt)
    dt = dt * rng.choice([1.0, 1.0, 500.0])
    A = np.where(rng.random(A.shape) < 0.15, 0, A)
    return x, dt, A, B, C, h


SCAN_ON = Check(
    "scan_on",
    reference=_scan_on,
    returns=("y", "h"),
    cases=[
        _case("two tokens, one channel, two numbers of state", 0, (), (2, 1, 2)),
        _case("three tokens, two channels", 1, (), (3, 2, 3)),
        _case("starting from 0", 2, (), (3, 2, 2), h=np.zeros_like),
        _case("padding: dt is 0 for two tokens", 3, (), (4, 2, 3), dt=_with_pads),
        _case("steps of a thousand", 4, (), (3, 2, 2), dt=lambda dt: dt * 500),
        _case("one rate is 0: it never fades", 5, (), (4, 2, 2), A=_one_rate_0),
        _case("no tokens", 6, (), (0, 2, 3)),
        _case("one token", 7, (), (1, 3, 2)),
        _case("two texts", 8, (2,), (3, 2, 4)),
        _case("two axes in front", 9, (2, 3), (4, 3, 2)),
        _case("forty tokens", 10, (), (40, 2, 3)),
    ],
    draw=_draw,
    drawn=40,
    mistakes=[
        Mistake(
            "start ignored",
            scans.scanning(start=np.zeros_like),
            "Your scan starts from 0. It should go on from h.",
        ),
        Mistake(
            "first state returned",
            scans.scanning(end=lambda h, before: before),
            "You return the h that you got, not the last one.",
        ),
        Mistake(
            "step not in the write",
            scans.scanning(write=lambda step, A, x, B: x * B),
            "You write B x. It should be dt B x; otherwise padding with dt = 0 is written too.",
        ),
        Mistake(
            "step not in the keep",
            scans.scanning(keep=lambda step, A: np.exp(A)),
            "Your state fades by exp(A) at each token. It should be exp(dt A).",
        ),
        Mistake(
            "zero-order hold",
            scans.scanning(write=scans.write_held),
            "You write (exp(dt A) - 1) / A B x. Mamba's rule, asked for here, is dt B x.",
        ),
        Mistake(
            "not exponentiated",
            scans.scanning(keep=lambda step, A: 1 + step * A),
            "You keep 1 + dt A, one small step of the equation. It should be exp(dt A).",
        ),
        Mistake(
            "growing",
            scans.scanning(keep=lambda step, A: np.exp(-step * A)),
            "A is negative already: exp(dt A) fades, exp(-dt A) grows.",
        ),
        Mistake("swapped", scans.swapped, "B and C are swapped: B writes, C reads."),
        Mistake(
            "read too early",
            scans.scanning(read="old"),
            "You read the state before the token is written. A token sees itself.",
        ),
        Mistake(
            "new token fades",
            scans.scanning(fade="new"),
            "You write first and then let all fade. Only what was there before fades.",
        ),
        Mistake("from the end", scans.backward, "You read the tokens from the last to the first."),
    ],
    hints=[
        "One token: h = exp(dt A) * h + dt x B. Which shapes have the three?",
        "dt[..., t, :, None] is [..., d, 1], B[..., t, None, :] is [..., 1, N].",
        "y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)",
    ],
)


def check_scan_on(f: Any) -> Result:
    """Check f(x [..., n, d], dt [..., n, d], A [d, N], B, C [..., n, N], h [..., d, N]) -> y, h.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SCAN_ON.run(f)
