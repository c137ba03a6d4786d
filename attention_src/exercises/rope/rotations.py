"""Rotations, right and wrong, on which a learner's test is tried: f(x [n, d], positions [n])."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.rope.reference import rotate, sinusoids
from attention_src.rope.scaling import PositionInterpolation

Array = np.ndarray
Rotation = Callable[[Any, Any], Array]
CLIP, TABLE, WRAP = 4096, 3000, 512


def bfloat16(x: Any) -> Array:
    """Numbers as bfloat16 holds them: 8 significant bits.

    Args:
        x: [...]  numbers
    Returns: float64 [...]
    """
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.int64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def turn(x: Any, angle: Array, matrix: str = "rotation") -> Array:
    """Every half-split pair of x multiplied by a 2 × 2 matrix of its angle.

    Args:
        x: [n, d]
        angle: [n, d/2]
        matrix: "rotation", "reflection" or "plus", whose sines both have a plus
    Returns: [n, d]
    """
    x1, x2 = np.split(np.asarray(x, dtype=np.float64), 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    first, last = {"rotation": (-1, 1), "reflection": (1, -1), "plus": (1, 1)}[matrix]
    return np.concatenate([x1 * cos + first * x2 * sin, x1 * sin + last * x2 * cos], axis=-1)


def angles(x: Any, positions: Any) -> Array:
    """The usual angles, base 10,000.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d/2]
    """
    d = np.shape(x)[-1]
    theta = 10_000.0 ** (-2 * np.arange(d // 2) / d)
    return np.asarray(np.asarray(positions, dtype=np.float64)[:, None] * theta)


def moved(change: Callable[[Array], Array]) -> Rotation:
    """The rotation by changed positions.

    Args:
        change: [n] -> [n]
    Returns: f(x, positions)
    """
    return lambda x, positions: rotate(x, change(np.asarray(positions, dtype=np.float64)))


def complex_numbers(x: Any, positions: Any) -> Array:
    """Interleaved pairs as complex numbers, times e^(i angle).

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    return (x.view(np.complex128) * np.exp(1j * angles(x, positions))).view(np.float64)


def mixed(x: Any, positions: Any) -> Array:
    """All components mixed by one orthogonal matrix, then rotated.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    x = np.asarray(x, dtype=np.float64)
    d = x.shape[-1]
    mix, _ = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))
    return np.asarray(rotate(x @ mix, positions))


def partial(x: Any, positions: Any) -> Array:
    """The slower half of the pairs is left alone.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    angle = angles(x, positions)
    return turn(x, np.where(np.arange(angle.shape[1]) < (angle.shape[1] + 1) // 2, angle, 0.0))


def float32_inside(x: Any, positions: Any) -> Array:
    """Cosines, sines and products in float32; angles in float64.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    angle = angles(x, positions)
    x1, x2 = np.split(np.asarray(x, dtype=np.float32), 2, axis=-1)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    turned = np.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], axis=-1)
    return turned.astype(np.float64)  # so that a test need not care for dtypes


def added(x: Any, positions: Any) -> Array:
    """Sinusoids added, as in the first Transformer.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    return np.asarray(np.asarray(x) + sinusoids(positions, np.shape(x)[-1]))


def grows(x: Any, positions: Any) -> Array:
    """Vectors grow by a ten-thousandth with each position.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    growth = 1 + 1e-4 * np.asarray(positions, dtype=np.float64)[:, None]
    return np.asarray(rotate(x, positions) * growth)


def short_table(x: Any, positions: Any) -> Array:
    """Beyond the end of its table it leaves vectors as they are.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    inside = np.asarray(positions)[:, None] < TABLE
    return np.where(inside, rotate(x, positions), x)


def interpolated(x: Any, positions: Any) -> Array:
    """Every angle a quarter.

    Args:
        x: [n, d]
        positions: [n]
    Returns: [n, d]
    """
    return np.asarray(rotate(x, positions, scaling=PositionInterpolation(4.0)))
