"""A scan that goes on: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.ssm import check_scan_on
from attention_src.exercises.ssm.scans import by_scan, scanning, swapped, write_held
from attention_src.ssm.reference import selective_scan


# The worked solution, in the words of the chapter.
def scan_on(x, dt, A, B, C, h):
    y = np.zeros(x.shape)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]  # [..., d, 1]
        write = step * x[..., t, :, None] * B[..., t, None, :]
        h = np.exp(step * A) * h + write  # [..., d, N]
        y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)
    return y, h.copy()


def test_worked_solution_and_stub():
    assert_worked("ssm", check_scan_on, scan_on)


# --- right -------------------------------------------------------------------------------------


def the_package(x, dt, A, B, C, h):
    return selective_scan(x, dt, A, B, C, initial_state=h, return_state=True)


def by_einsum(x, dt, A, B, C, h):
    h, rows = h.copy(), []
    for t in range(x.shape[-2]):
        h = h * np.exp(np.einsum("...d,dN->...dN", dt[..., t, :], A))
        h = h + np.einsum("...d,...N->...dN", dt[..., t, :] * x[..., t, :], B[..., t, :])
        rows.append(np.einsum("...dN,...N->...d", h, C[..., t, :]))
    return (np.stack(rows, axis=-2) if rows else np.zeros(x.shape)), h


def channel_by_channel(x, dt, A, B, C, h):
    y, last = np.zeros(x.shape), h.copy()
    for c in range(x.shape[-1]):
        for t in range(x.shape[-2]):
            step = dt[..., t, c, None]  # [..., 1]
            fresh = step * x[..., t, c, None] * B[..., t, :]
            last[..., c, :] = np.exp(step * A[c]) * last[..., c, :] + fresh
            y[..., t, c] = (last[..., c, :] * C[..., t, :]).sum(axis=-1)
    return y, last


def as_a_table(x, dt, A, B, C, h):
    """All weights at once: from token j and from the start to token i."""
    n = x.shape[-2]
    i, j = np.arange(n)[:, None], np.arange(n)
    rates = dt[..., :, None] * A  # [..., n, d, N]
    later = np.where((j < i)[:, :, None, None], rates[..., :, None, :, :], 0)
    seen = (j <= i)[:, :, None, None]
    L = np.where(seen, np.exp(later.cumsum(axis=-4)), 0)  # [..., n, n, d, N]
    u = (dt * x)[..., None] * B[..., None, :]  # [..., n, d, N]
    states = (L * u[..., None, :, :, :]).sum(axis=-3)
    states = states + np.exp(rates.cumsum(axis=-3)) * h[..., None, :, :]
    y = (states * C[..., None, :]).sum(axis=-1)
    return y, (states[..., -1, :, :] if n else h).copy()


def in_torch(x, dt, A, B, C, h):
    torch = pytest.importorskip("torch")
    x, dt, A, B, C, h = (torch.tensor(a) for a in (x, dt, A, B, C, h))
    rows = []
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]
        h = (step * A).exp() * h + step * x[..., t, :, None] * B[..., t, None, :]
        rows.append((h @ C[..., t, :, None])[..., 0])
    return (torch.stack(rows, dim=-2) if rows else x), h


RIGHT = {
    "worked solution": scan_on,
    "package": the_package,
    "einsum": by_einsum,
    "channel by channel": channel_by_channel,
    "table": as_a_table,
    "scan": by_scan,
    "torch": in_torch,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_scan_on(RIGHT[name]).status == "passed"


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="should be a function"):
        check_scan_on(3)


# --- wrong -------------------------------------------------------------------------------------


def in_place(x, dt, A, B, C, h):
    y = np.zeros(x.shape)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]
        h *= np.exp(step * A)
        h += step * x[..., t, :, None] * B[..., t, None, :]
        y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)
    return y, h.copy()


def two_axes_only(x, dt, A, B, C, h):
    y = np.zeros(x.shape)
    for t in range(len(x)):
        h = np.exp(dt[t][:, None] * A) * h + np.outer(dt[t] * x[t], B[t])
        y[t] = h @ C[t]
    return y, h.copy()


def no_tokens_forgotten(x, dt, A, B, C, h):
    """With n = 0 the state is lost."""
    return scan_on(x, dt, A, B, C, h if x.shape[-2] else 0 * h)


def clipped(x, dt, A, B, C, h):
    return scan_on(x, np.clip(dt, 1e-3, None), A, B, C, h)


def divided(x, dt, A, B, C, h):
    """By running products: 0 / 0 once a step is long."""
    rates = (dt[..., None] * A).cumsum(axis=-3)
    u = (dt * x)[..., None] * B[..., None, :]
    states = np.exp(rates) * ((u / np.exp(rates)).cumsum(axis=-3) + h[..., None, :, :])
    y = (states * C[..., None, :]).sum(axis=-1)
    return y, (states[..., -1, :, :] if x.shape[-2] else h).copy()


def small_step_size(x, dt, A, B, C, h):
    return scan_on(x, np.minimum(dt, 50.0), A, B, C, h)


def summed_channels(x, dt, A, B, C, h):
    y, last = scan_on(x, dt, A, B, C, h)
    return y.sum(axis=-1), last


def squeezed(x, dt, A, B, C, h):
    y, last = scan_on(x, dt, A, B, C, h)
    return y.squeeze(), last


WRONG = {
    "start ignored": (scanning(start=np.zeros_like), "go on from h"),
    "old state": (scanning(end=lambda h, before: before), "not the last one"),
    "no dt in the write": (scanning(write=lambda s, A, x, B: x * B), "dt B x"),
    "no dt in the keep": (scanning(keep=lambda s, A: np.exp(A)), "exp(dt A)"),
    "zero-order hold": (scanning(write=write_held), "Mamba's rule"),
    "not exponentiated": (scanning(keep=lambda s, A: 1 + s * A), "1 + dt A"),
    "growing": (scanning(keep=lambda s, A: np.exp(-s * A)), "grows"),
    "swapped": (swapped, "B and C are swapped"),
    "read too early": (scanning(read="old"), "sees itself"),
    "new token fades": (scanning(fade="new"), "what was there before"),
    "in place": (in_place, "in place"),
    "two axes only": (two_axes_only, ""),
    "no tokens": (no_tokens_forgotten, ""),
    "least step": (clipped, ""),
    "divided": (divided, ""),
    "largest step": (small_step_size, ""),
    "summed": (summed_channels, "shape"),
    "squeezed": (squeezed, "shape"),
    "y alone": (lambda *args: scan_on(*args)[0], "(y, h)"),
    "h first": (lambda *args: scan_on(*args)[::-1], ""),
    "float32 inside": (
        lambda *args: tuple(
            part.astype(float) for part in scan_on(*(a.astype(np.float32) for a in args))
        ),
        "",
    ),
    "no states between": (
        lambda x, dt, A, B, C, h: (
            scan_on(x, dt, A, B, C, h)[0],
            scan_on(x[..., -1:, :], dt[..., -1:, :], A, B[..., -1:, :], C[..., -1:, :], h)[1],
        ),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_scan_on, answer, spoken_of)
