"""Cosines of all rows with all rows, right and wrong, on which a learner's test is tried.

Each takes x [n, d] and y [m, d], float64 without rows of zeros, and returns [n, m].
"""

import numpy as np

Array = np.ndarray


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).sum(axis=1, keepdims=True)))


# --- right -------------------------------------------------------------------------------------


def unit_rows(x: Array, y: Array) -> Array:
    """Rows of length 1, then one product.

    Args:
        x: [n, d]
        y: [m, d]
    Returns: [n, m]
    """
    return np.asarray((x / _norm(x)) @ (y / _norm(y)).T)


def divided_after(x: Array, y: Array) -> Array:
    """As `unit_rows`, but one product, then divided by both norms."""
    return np.asarray(x @ y.T / _norm(x) / _norm(y).T)


def by_loops(x: Array, y: Array) -> Array:
    """As `unit_rows`, but one pair after another."""
    return np.array([[a @ b / np.sqrt(a @ a) / np.sqrt(b @ b) for b in y] for a in x])


def by_distance(x: Array, y: Array) -> Array:
    """As `unit_rows`, but from the squared distance of unit vectors, which is 2 - 2 cos."""
    u, v = x / _norm(x), y / _norm(y)
    return np.asarray(1 - ((u[:, None] - v[None]) ** 2).sum(axis=-1) / 2)


def in_float32(x: Array, y: Array) -> Array:
    """As `unit_rows`, but in float32: the digits end at the seventh."""
    return unit_rows(x.astype(np.float32), y.astype(np.float32))


def summed_in_float32(x: Array, y: Array) -> Array:
    """As `in_float32`, but summed over an axis, and clipped to the range of a cosine."""
    x, y = x.astype(np.float32), y.astype(np.float32)
    s = (x[:, None] * y[None]).sum(axis=-1) / np.outer(_norm(x), _norm(y))
    return np.clip(s, -1, 1)


# --- wrong -------------------------------------------------------------------------------------


def dots(x: Array, y: Array) -> Array:
    """As `unit_rows`, but plain dot products."""
    return np.asarray(x @ y.T)


def root_two(x: Array, y: Array) -> Array:
    """As `unit_rows`, but each norm is too large by the root of 2, as in spaCy's bug."""
    return unit_rows(x, y) / 2


def x_alone(x: Array, y: Array) -> Array:
    """As `unit_rows`, but divided by the norms of x alone."""
    return np.asarray((x / _norm(x)) @ y.T)


def y_alone(x: Array, y: Array) -> Array:
    """As `unit_rows`, but divided by the norms of y alone."""
    return np.asarray(x @ (y / _norm(y)).T)


def squared_norms(x: Array, y: Array) -> Array:
    """As `unit_rows`, but divided by squared norms."""
    return np.asarray(x @ y.T / _norm(x) ** 2 / (_norm(y) ** 2).T)


def one_norm(x: Array, y: Array) -> Array:
    """As `unit_rows`, but one norm for all rows, brought back to the usual size."""
    return np.asarray(x @ y.T / np.sqrt((x**2).sum() / len(x)) / np.sqrt((y**2).sum() / len(y)))


def absolute(x: Array, y: Array) -> Array:
    """As `unit_rows`, but without its sign."""
    return np.abs(unit_rows(x, y))


def clipped(x: Array, y: Array) -> Array:
    """As `unit_rows`, but negative cosines are 0."""
    return np.maximum(unit_rows(x, y), 0)


def large_epsilon(x: Array, y: Array) -> Array:
    """As `unit_rows`, but 0.01 is added to each norm: short rows feel it."""
    return np.asarray((x / (_norm(x) + 0.01)) @ (y / (_norm(y) + 0.01)).T)


def centred(x: Array, y: Array) -> Array:
    """As `unit_rows`, but each row's mean is taken away first: a correlation, not a cosine."""
    return unit_rows(
        x - x.mean(axis=1, keepdims=True) + 1e-12, y - y.mean(axis=1, keepdims=True) + 1e-12
    )


def angle(x: Array, y: Array) -> Array:
    """As `unit_rows`, but 1 - 2 angle / pi: right at 1, 0 and -1, wrong between."""
    return 1 - 2 * np.arccos(np.clip(unit_rows(x, y), -1, 1)) / np.pi


def transposed(x: Array, y: Array) -> Array:
    """As `unit_rows`, but rows and columns changed places."""
    return unit_rows(y, x)


def in_place(x: Array, y: Array) -> Array:
    """As `unit_rows`, but the caller's rows have length 1 afterwards."""
    x /= _norm(x)
    y /= _norm(y)
    return np.asarray(x @ y.T)


def first_32(x: Array, y: Array) -> Array:
    """As `unit_rows`, but only the first 32 numbers of each vector count."""
    return unit_rows(x[:, :32], y[:, :32])
