"""The check of the rotation, with half-split pairs."""

from functools import wraps
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result, passed

Array = np.ndarray


def _angles(d: int, positions: Any, base: float) -> Array:
    """[n, d/2]  the angle of each pair at each position."""
    theta = base ** (-2 * np.arange(d // 2) / d)
    return np.asarray(np.asarray(positions, dtype=np.float64)[:, None] * theta)


def _turn(x: Any, angle: Array, sign: float = -1.0) -> Array:
    """Each half-split pair of x turned by its angle; `sign` is that of the first sine."""
    x = np.asarray(x, dtype=np.float64)
    x1, x2 = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([x1 * cos + sign * x2 * sin, x1 * sin + x2 * cos], axis=-1)


def _rotate(x: Any, positions: Any, base: float = 10_000.0) -> Array:
    return _turn(x, _angles(np.shape(x)[-1], positions, base))


def _interleaved(x: Any, positions: Any, base: float = 10_000.0) -> Array:
    x = np.asarray(x, dtype=np.float64)
    halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    turned = np.split(_rotate(halves, positions, base), 2, axis=-1)
    return np.stack(turned, axis=-1).reshape(x.shape)


def _by_index(x: Any, positions: Any, base: float = 10_000.0) -> Array:
    return _rotate(x, np.arange(np.shape(x)[-2]), base)


def _slow(x: Any, positions: Any, base: float = 10_000.0) -> Array:
    d = np.shape(x)[-1]
    theta = base ** (-np.arange(d // 2) / d)
    return _turn(x, np.asarray(positions, dtype=np.float64)[:, None] * theta)


def _coarse(x: Any, positions: Any, base: float = 10_000.0) -> Array:
    angle = _angles(np.shape(x)[-1], positions, base)
    return _turn(x, angle.astype(np.float32).astype(np.float64))


def _case(name: str, shape: tuple[int, ...], positions: Any, base: float = 10_000.0) -> Case:
    x = np.random.default_rng(0).normal(size=shape).round(2)
    return Case(name, (x, np.asarray(positions), base))


def _draw(rng: np.random.Generator) -> tuple:
    leading = [int(size) for size in rng.integers(1, 4, rng.integers(0, 3))]
    n, d = int(rng.integers(1, 6)), 2 * int(rng.integers(1, 6))
    largest = int(rng.choice([4, 100, 9_000, 200_000]))
    positions: Array = rng.integers(0, largest, n)
    if rng.random() < 0.3:
        positions = positions - largest / 2 + 0.25
    x = rng.normal(size=(*leading, n, d))
    if rng.random() < 0.3:
        x, positions = x.astype(np.float32), positions.astype(np.int32)
    return x, positions, float(rng.choice([50.0, 10_000.0, 10_000.0, 500_000.0]))


ROTATE = Check(
    "rotate",
    reference=_rotate,
    cases=[
        Case("two tokens, one pair", (np.array([[1.0, 0.0], [3.0, 4.0]]), np.array([0, 1]), 1e4)),
        Case("one token, two pairs", (np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([1]), 1e4)),
        _case("three tokens, two pairs", (3, 4), [0, 1, 2]),
        _case("positions that do not begin at 0", (3, 4), [7, 8, 9]),
        _case("positions that jump, and go backwards", (4, 6), [40, 2, 2, 1000]),
        _case("another base", (3, 6), [0, 3, 5], base=100.0),
        _case("a batch of heads", (2, 3, 4, 6), [5, 6, 7, 8]),
        _case("far away", (2, 8), [100_000, 131_071]),
        _case("fractions and negative numbers", (3, 4), [-2.5, 0.25, 3.0]),
        _case("fractions far away", (3, 4), [-199_999.3, 0.1, 150_000.7]),
        _case("as many tokens as components", (6, 6), [0, 1, 2, 3, 4, 5]),
        _case("the same places, another base", (6, 6), [0, 1, 2, 3, 4, 5], base=60.5),
        _case("a base just above 1", (3, 6), [0, 3, 50], base=1.5),
        _case("a wide head", (2, 256), [3, 7]),
        _case("five axes", (1, 2, 1, 3, 2, 4), [3, 7]),
        _case("a long text", (3000, 2), np.arange(3000)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "interleaved",
            _interleaved,
            "You paired neighbours: 0 with 1, 2 with 3. Here component i goes with i + d/2.",
        ),
        Mistake(
            "backwards",
            lambda x, positions, base=10_000.0: _rotate(x, -np.asarray(positions), base),
            "You turned the other way: clockwise. Which of the two sines has the minus?",
        ),
        Mistake(
            "both sines with a plus",
            lambda x, positions, base=10_000.0: _turn(
                x, _angles(np.shape(x)[-1], positions, base), sign=1.0
            ),
            "The first of the two sines needs a minus; otherwise lengths change.",
        ),
        Mistake(
            "positions ignored",
            _by_index,
            "You turned token i by i steps. Turn it by positions[i] steps.",
        ),
        Mistake(
            "exponent -i/d",
            _slow,
            "Your slow pairs turn too fast. With i = 0 ... d/2 - 1 the exponent is -2i/d.",
        ),
        Mistake(
            "base ignored",
            lambda x, positions, base=10_000.0: _rotate(x, positions),
            "Your answer does not depend on base.",
        ),
        Mistake(
            "one frequency",
            lambda x, positions, base=10_000.0: _turn(
                x, np.asarray(positions, dtype=np.float64)[:, None] * np.ones(np.shape(x)[-1] // 2)
            ),
            "All your pairs turn by one angle. Pair i has its own: theta[i].",
        ),
        Mistake(
            "float32 angles",
            _coarse,
            "Far away your angles are off by thousandths: they were computed in float32.",
        ),
        Mistake(
            "degrees",
            lambda x, positions, base=10_000.0: _turn(
                x, np.deg2rad(_angles(np.shape(x)[-1], positions, base))
            ),
            "The angles are in radians already.",
        ),
    ],
    hints=[
        "theta has d/2 entries; angle = positions[:, None] * theta is [n, d/2].",
        "x1, x2 = x[..., : d // 2], x[..., d // 2 :] are the two components of all pairs.",
        "y1 = x1 cos - x2 sin, y2 = x1 sin + x2 cos; concatenate them on the last axis.",
    ],
)


def check_rotate(f: Any) -> Result:
    """Check f(x [..., n, d], positions [n], base=10_000.0) -> [..., n, d], half-split pairs.

    Args:
        f: the learner's function; where the base is 10,000 it is called with two arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    if not callable(f):
        return ROTATE.run(f)

    @wraps(f)
    def called(x: Array, positions: Array, base: float) -> Any:
        return f(x, positions) if base == 10_000.0 else f(x, positions, base)

    result = ROTATE.run(called)
    if result:
        passed[f] = ROTATE.name
    return result
