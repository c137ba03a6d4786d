"""Answers to the exercises on state space models: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises import ssm as ex
from attention_src.ssm.reference import selective_scan

GIVEN = dict(selective_scan=selective_scan)


def draw(n=10, d=3, N=4, seed=0, pad=True, start=1.0, low=0.1, high=2.0):
    rng = np.random.default_rng(seed)
    x, dt = rng.normal(size=(n, d)), rng.uniform(low, high, (n, d))
    A, h = -rng.uniform(0.2, 2, (d, N)), start * rng.normal(size=(d, N))
    B, C = rng.normal(size=(2, n, N))
    if pad:
        dt[n // 2] = 0
    return x, dt, A, B, C, h


def a_test(oracle=ex.scan_on, atol=1e-4, look=lambda y, h: (y, h), seeds=1, **how):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_state_test(scan):
        for seed in range(seeds):
            args = draw(seed=seed, **how)
            got, want = (look(*f(*(a.copy() for a in args))) for f in (scan, oracle))
            for a, b in zip(got, want, strict=True):
                assert np.allclose(a, b, rtol=0, atol=atol)

    return my_state_test


def by_hand(scan):
    """Token by token, in plain Python."""
    x, dt, A, B, C, h = draw(n=9)
    y, last = scan(x, dt, A, B, C, h)
    (d, N), state = A.shape, h.tolist()
    for t in range(len(x)):
        for c in range(d):
            for i in range(N):
                fresh = dt[t, c] * x[t, c] * B[t, i]
                state[c][i] = np.exp(dt[t, c] * A[c, i]) * state[c][i] + fresh
            assert abs(y[t, c] - sum(state[c][i] * C[t, i] for i in range(N))) < 1e-4
    assert np.allclose(last, state, atol=1e-4)


def in_norms(scan):
    args = draw(n=11)
    for a, b in zip(scan(*args), ex.scan_on(*args), strict=True):
        assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b)


RIGHT = {
    ex.check_scan_on: """
einsum:
    write = np.einsum("...d,...N->...dN", dt[..., t, :] * x[..., t, :], B[..., t, :])
    h = h * np.exp(np.einsum("...d,dN->...dN", dt[..., t, :], A)) + write
    y[..., t, :] = np.einsum("...dN,...N->...d", h, C[..., t, :])
the_package: + return selective_scan(x, dt, A, B, C, initial_state=h, return_state=True)
in_rounds:
    + how = dict(initial_state=h, return_state=True, form="associative")
    + return selective_scan(x, dt, A, B, C, **how)
as a table, all weights at once from token j and from the start to token i:
    + rates = dt[..., :, None] * A  # [..., n, d, N]
    + decays = decay_mask(np.moveaxis(rates, -3, -1))  # [..., d, N, n, n]
    + L = np.moveaxis(decays, (-2, -1), (-4, -3))  # [..., n, n, d, N]
    + u = (dt * x)[..., None] * B[..., None, :]  # [..., n, d, N]
    + states = (L * u[..., None, :, :, :]).sum(axis=-3)
    + states = states + np.exp(rates.cumsum(axis=-3)) * h[..., None, :, :]
    + y = (states * C[..., None, :]).sum(axis=-1)
    + return y, (states[..., -1, :, :] if x.shape[-2] else h).copy()
""",
    ex.check_decay_mask: """
products:
    later = np.where(j < i, np.exp(log_a)[..., :, None], 1)
    return np.tril(np.cumprod(later, axis=-2))
with loops:
    + L = np.zeros((*log_a.shape, log_a.shape[-1]))
    + for i, j in np.argwhere(np.tri(log_a.shape[-1])):
    +     L[..., i, j] = np.exp(log_a[..., j + 1 : i + 1].sum(axis=-1))
    + return L
""",
    ex.check_state_test: {
        "oracle": a_test(),
        "tolerant": a_test(ex.check_state_test.right[1].function, n=12, atol=1e-3),
        "by hand": by_hand,
        "many draws": a_test(seeds=5, n=8, d=2),
        "norms": in_norms,
    },
}


def in_parts_only(scan):
    """Two calls against one: wrong rules that go on consistently pass."""
    x, dt, A, B, C, h = draw()
    whole, last = scan(x, dt, A, B, C, h)
    first, middle = scan(x[:4], dt[:4], A, B[:4], C[:4], h)
    second, end = scan(x[4:], dt[4:], A, B[4:], C[4:], middle)
    assert np.allclose(whole, np.concatenate([first, second]), atol=1e-4)
    assert np.allclose(last, end, atol=1e-4)


SLY = {
    ex.check_scan_on: """
16 numbers of state: 17 numbers
    y[..., t, :] = (h * C[..., t, None, :])[..., :16].sum(axis=-1)
a little in the step: digits are judged
    step = dt[..., t, :, None] + 1e-10
two axes only: + x, dt, B, C = (a.reshape(-1, *a.shape[-2:])[0] for a in (x, dt, B, C))
no tokens: return y, h.copy() if x.shape[-2] else 0 * h
least step: step = np.clip(dt[..., t, :, None], 1e-3, None)
small steps are padding: small steps
    h = np.where(step > 1e-2, np.exp(step * A) * h + write, h)
largest step: step = np.minimum(dt[..., t, :, None], 50.0)
h first: return h.copy(), y
in place:
    write = step * x[..., t, :, None] * B[..., t, None, :]
    - h = np.exp
    + h *= np.exp(step * A)
    + h += write
    return y, h
into x: in place
    y = x
    y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1) + 0 * x[..., t, :]
steps limited in place:
    + np.clip(dt, 1e-5, 500, out=dt)
rounded: digits are judged
    return y.round(8), h.round(8)
float32 inside: float32
    + x, dt, A, B, C, h = (a.astype(np.float32) for a in (x, dt, A, B, C, h))
    return y, h.astype(float)
no states between:
    + first = h
    return y, np.exp(step * A) * first + write if x.shape[-2] else h.copy()
divided:
    + rates = (dt[..., None] * A).cumsum(axis=-3)  # by running products: 0 / 0 once a step is long
    + u = (dt * x)[..., None] * B[..., None, :]
    + states = np.exp(rates) * ((u / np.exp(rates)).cumsum(axis=-3) + h[..., None, :, :])
    + y = (states * C[..., None, :]).sum(axis=-1)
    + return y, (states[..., -1, :, :] if x.shape[-2] else h).copy()
""",
    ex.check_decay_mask: """
in place: in place
    + log_a[..., 0] = 0
made finite in place: in place
    + np.maximum(log_a, -1e300, out=log_a)
difference, patched:
    later = np.cumsum(log_a, axis=-1)
    return np.nan_to_num(np.tril(np.exp(later[..., :, None] - later[..., None, :])))
made finite:
    later = np.cumsum(np.maximum(log_a, -1e30), axis=-1)
    return np.where(j <= i, np.exp(later[..., :, None] - later[..., None, :]), 0)
made finite, small:
    later = np.cumsum(np.maximum(log_a, -12.0), axis=-1)
    return np.where(j <= i, np.exp(later[..., :, None] - later[..., None, :]), 0)
exclusive sums:
    later = np.cumsum(log_a, axis=-1) - log_a
    return np.tril(np.exp(later[..., :, None] - later[..., None, :]))
last left out: later = np.where(j < i, np.roll(log_a, 1, axis=-1)[..., :, None], 0)
no triangle: return np.exp(log_a[..., None, :] + 0 * log_a[..., :, None])
one step only:
    later = np.where(i == j, 0, np.maximum(log_a, -1e300)[..., :, None])
    return np.tril(np.exp(later))
zero diagonal: return np.where((i == j) & np.isneginf(log_a)[..., None], 0, \
np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0))
one text:
    later = np.where(j < i, (log_a if log_a.ndim == 1 else log_a[:1] + 0 * log_a)[..., None], 0)
float32 inside: float32
    later = np.where(j < i, log_a.astype(np.float32)[..., :, None], np.float32(0))
almost 1 is 1: gates of almost 1
    later = np.where((j < i) & (log_a < -1e-6)[..., :, None], log_a[..., :, None], 0)
""",
    ex.check_state_test: {
        "in parts only": (in_parts_only, "caught"),
        "outputs only": (a_test(look=lambda y, h: (y,)), "caught"),
        "state only": (a_test(look=lambda y, h: (h,)), "caught"),
        "last output only": (a_test(look=lambda y, h: (y[-1:], h), n=1, pad=False), "caught"),
        "no padding": (a_test(pad=False), "caught"),
        "from zero": (a_test(start=0.0), "caught"),
        "short": (a_test(n=3, pad=False), "caught"),
        "one number of state": (a_test(N=1), "caught"),
        "one channel": (a_test(d=1), "caught"),
        "steps of 0 and 1": (a_test(low=1.0, high=1.0), "caught"),
        "small steps": (a_test(low=1e-5, high=2e-5, atol=1e-3), "caught"),
        "sizes": (a_test(look=lambda y, h: (abs(y), abs(h))), "caught"),
        "sums over tokens": (a_test(look=lambda y, h: (y.sum(axis=0), h)), "caught"),
        "means": (a_test(look=lambda y, h: (y.mean(), h.mean())), "caught"),
        "last output, last state": (a_test(look=lambda y, h: (y[-1:], h)), "caught"),
        "a tolerance of 0.1": (a_test(atol=0.1), "caught"),
        "too strict": (a_test(atol=1e-12), "float32"),
        "wrong oracle": (a_test(lambda *args: (ex.scan_on(*args)[0], args[5])), "refuses"),
        "too tolerant": (a_test(atol=100.0), "caught 0"),
    },
}
