"""Random arguments for state space models, the same for the same seed."""

import numpy as np


def ssm_arguments(batch=(2,), n=13, d=3, N=5, seed=0):
    """x [..., n, d], dt [d], A, B, C [d, N], D [d]."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*batch, n, d))
    A = -rng.uniform(0.1, 3.0, (d, N))
    B, C = rng.standard_normal((2, d, N))
    return x, rng.uniform(0.05, 1.0, d), A, B, C, rng.standard_normal(d)


def scan_arguments(batch=(2,), n=13, d=3, N=5, seed=0):
    """x, dt [..., n, d], A [d, N], B, C [..., n, N], D [d]."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*batch, n, d))
    dt = rng.uniform(0.01, 1.0, (*batch, n, d))
    A = -rng.uniform(0.1, 3.0, (d, N))
    B, C = rng.standard_normal((2, *batch, n, N))
    return x, dt, A, B, C, rng.standard_normal(d)


def ssd_arguments(batch=(2,), n=13, H=3, P=5, N=7, seed=0):
    """x [..., H, n, P], dt [..., H, n], A [H], B, C [..., n, N]."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*batch, H, n, P))
    dt = rng.uniform(0.01, 1.0, (*batch, H, n))
    B, C = rng.standard_normal((2, *batch, n, N))
    return x, dt, -rng.uniform(0.1, 3.0, H), B, C
