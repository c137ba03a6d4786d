"""The checks of the chapter on state space models."""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.ssm.reference import selective_scan  # noqa: F401  two right scans call it

Array = np.ndarray

# --- A gate is a step -------------------------------------------------------------------------

Z, SLOW = 4.0, 0.01
STEP, SMALL_STEP = math.log1p(math.exp(Z)), math.log1p(math.exp(-Z))  # softplus
TAKEN = 1 / (1 + math.exp(-Z))  # the sigmoid

# fmt: off
check_gate_ladder = Ladder("gate", [
    Rung("a", "the step for z = 4", STEP, {
        Z: "Near, but softplus of 4 is a little more than 4.",
        math.log10(1 + math.exp(Z)): "That is the logarithm of base 10.",
        TAKEN: "That is the sigmoid. Softplus is ln(1 + exp(z)).",
    }, hint="ln(1 + exp(4)): np.log1p(np.exp(4)).", rtol=1e-3),
    Rung("b", "the share that is kept", 1 - TAKEN, {
        TAKEN: "That is the share that is replaced.",
        math.exp(-Z): "You took exp(-4): the step is not 4, but your (a).",
        math.exp(STEP): "A is -1: the state fades, it does not grow.",
    }, hint="exp(-dt), with your (a) for dt."),
    Rung("c", "what zero-order hold multiplies x with", TAKEN, {
        1 - TAKEN: "That is what is kept. What is added?",
        STEP: "That is dt B, Mamba's rule. Zero-order hold: (exp(dt A) - 1)/A.",
        -TAKEN: "Both exp(dt A) - 1 and A are negative: the sign goes.",
    }, hint="(exp(-dt) - 1) / (-1) = 1 - your (b)."),
    Rung("d", "how many times more Mamba's rule writes", STEP / TAKEN, {
        TAKEN / STEP: "The other way round: Mamba's over yours.",
        STEP: "That is what it writes. Divide it by your (c).",
        STEP - TAKEN: "Divide the two, don't subtract.",
    }, hint="dt B is your (a). Divide it by your (c).", rtol=1e-3),
    Rung("e", "the share that is kept for z = -4", TAKEN, {
        1 - TAKEN: "That is what is replaced. A small z, a small step.",
        SMALL_STEP: "That is the step. What does exp(-dt) give?",
    }, hint="1 - sigmoid(-4) = sigmoid(4)."),
    Rung("f", "tokens until half is left", math.log(2) / SLOW, {
        1 / SLOW: "After 100 tokens exp(-1) is left, 37 %.",
        0.5 / SLOW: "It does not fade along a line: exp(-0.5) is 61 %.",
        math.log10(2) / SLOW: "The natural logarithm: ln 2.",
    }, hint="exp(-0.01 t) = 1/2: take the logarithm."),
], asks="the rungs of \"A gate is a step\"")
# fmt: on

# --- A scan that goes on ----------------------------------------------------------------------


def scan_on(x, dt, A, B, C, h):
    y = np.zeros(x.shape)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]  # [..., d, 1]
        write = step * x[..., t, :, None] * B[..., t, None, :]
        h = np.exp(step * A) * h + write  # [..., d, N]
        y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)
    return y, h.copy()


def _arguments(rng: np.random.Generator, lead: tuple[int, ...], sizes: tuple[int, ...]) -> list:
    """x, dt, A, B, C and h; sizes: n, d, N."""
    n, d, N = sizes
    x, dt = rng.normal(size=(*lead, n, d)), rng.uniform(0.05, 2, (*lead, n, d))
    A, h = -rng.uniform(0.1, 2, (d, N)), rng.normal(size=(*lead, d, N))
    B, C = rng.normal(size=(2, *lead, n, N))
    return [x, dt, A, B, C, h]


def _scan(name: str, seed: int, lead: tuple[int, ...], sizes: tuple[int, ...], **times: Any):
    """A named case; dt, A or h multiplied by an array."""
    args = _arguments(np.random.default_rng(seed), lead, sizes)
    for key, factor in times.items():
        at = ("x", "dt", "A", "B", "C", "h").index(key)
        args[at] = args[at] * np.array(factor) + 0.0  # no -0
    return Case(name, tuple(args))


def _draw_scan(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n, d, N = int(rng.integers(0, 6)), *(int(size) for size in rng.integers(1, 5, 2))
    x, dt, A, B, C, h = _arguments(rng, lead, (n, d, N))
    if rng.random() < 0.4:
        dt = np.where(rng.random(dt.shape) < 0.3, 0, dt)
    dt = dt * rng.choice([1.0, 1.0, 500.0])
    A = np.where(rng.random(A.shape) < 0.15, 0, A)
    return x, dt, A, B, C, h


check_scan_on = Check(
    "scan_on",
    scan_on,
    asks="f(x [..., n, d], dt [..., n, d], A [d, N], B, C [..., n, N], h [..., d, N]) -> y, h",
    returns=("y", "h"),
    cases=[
        _scan("two tokens, one channel, two numbers of state", 0, (), (2, 1, 2)),
        _scan("three tokens, two channels", 1, (), (3, 2, 3)),
        _scan("starting from 0", 2, (), (3, 2, 2), h=0),
        _scan("padding: dt is 0 for two tokens", 3, (), (4, 2, 3), dt=[[1], [0], [0], [1]]),
        _scan("steps of a thousand", 4, (), (3, 2, 2), dt=500),
        _scan("one rate is 0: it never fades", 5, (), (4, 2, 2), A=[[0, 1], [1, 1]]),
        _scan("no tokens", 6, (), (0, 2, 3)),
        _scan("one token", 7, (), (1, 3, 2)),
        _scan("two texts", 8, (2,), (3, 2, 4)),
        _scan("two axes in front", 9, (2, 3), (4, 3, 2)),
        _scan("forty tokens", 10, (), (40, 2, 3)),
        _scan("20 channels, 17 numbers of state", 15, (), (4, 20, 17)),
        _scan("small steps", 11, (), (3, 2, 2), dt=[[1e-3], [1e-4], [1e-6]]),
        _scan("padding alone", 12, (), (2, 2, 3), dt=0),
        _scan("nothing fades", 13, (), (3, 2, 2), A=0),
        Case("to twelve digits", _scan("", 14, (), (3, 2, 2)).args, rtol=1e-12),
    ],
    draw=_draw_scan,
    drawn=40,
    mistakes="""
start ignored: Your scan starts from 0. It should go on from h.
    + h = np.zeros(h.shape)
first state returned: You return the h that you got, not the last one.
    + before = h
    return y, before.copy()
step not in the write: You write B x. It should be dt B x; otherwise padding with dt = 0 is \
written too.
    write = x[..., t, :, None] * B[..., t, None, :]
step not in the keep: Your state fades by exp(A) at each token. It should be exp(dt A).
    h = np.exp(A) * h + write
zero-order hold: You write (exp(dt A) - 1) / A B x. Mamba's rule, asked for here, is dt B x.
    step = dt[..., t, :, None]
    + held = np.where(A == 0, step, np.expm1(step * A) / np.where(A == 0, 1, A))
    write = held * x[..., t, :, None] * B[..., t, None, :]
not exponentiated: You keep 1 + dt A, one small step of the equation. It should be exp(dt A).
    h = (1 + step * A) * h + write
growing: A is negative already: exp(dt A) fades, exp(-dt A) grows.
    h = np.exp(-step * A) * h + write
swapped: B and C are swapped: B writes, C reads.
    write = step * x[..., t, :, None] * C[..., t, None, :]
    y[..., t, :] = (h * B[..., t, None, :]).sum(axis=-1)
read too early: You read the state before the token is written. A token sees itself.
    step = dt[..., t, :, None]
    + old = h
    y[..., t, :] = (old * C[..., t, None, :]).sum(axis=-1)
new token fades: You write first and then let all fade. Only what was there before fades.
    h = np.exp(step * A) * (h + write)
from the end: You read the tokens from the last to the first.
    for t in reversed(range(x.shape[-2])):
""",
    hints=[
        "One token: h = exp(dt A) * h + dt x B. Which shapes have the three?",
        "dt[..., t, :, None] is [..., d, 1], B[..., t, None, :] is [..., 1, N].",
        "y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)",
    ],
)

# --- The mask with soft edges -----------------------------------------------------------------


def decay_mask(log_a):
    n = log_a.shape[-1]
    i, j = np.arange(n)[:, None], np.arange(n)
    later = np.where(j < i, log_a[..., :, None], 0)  # [..., n, n]
    return np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0)


def _gates(name: str, log_a: Any) -> Case:
    return Case(name, (np.array(log_a, dtype=np.float64),))


def _draw_gates(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n = int(rng.integers(1, 8))
    log_a = -rng.exponential(size=(*lead, n)) * rng.choice([0.1, 1.0, 1.0, 30.0])
    if rng.random() < 0.5:
        log_a = np.where(rng.random(log_a.shape) < 0.25, -np.inf, log_a)
    if rng.random() < 0.3:
        log_a = np.where(rng.random(log_a.shape) < 0.2, -1e12, log_a)
    return (log_a,)


check_decay_mask = Check(
    "decay_mask",
    decay_mask,
    asks="f(log_a [..., n]) -> L [..., n, n]",
    cases=[
        _gates("three tokens", [-0.5, -0.2, -0.7]),
        _gates("all gates 1", [0.0, 0.0, 0.0, 0.0]),
        _gates("one token", [-0.3]),
        _gates("a new document: one gate is 0", [-0.5, -0.2, -np.inf, -0.1]),
        _gates("two new documents", [-0.1, -np.inf, -0.2, -np.inf, -np.inf, -0.3]),
        _gates("the first gate is 0", [-np.inf, -0.2, -0.4]),
        _gates("a sum below -100,000", [-0.5, -1e5, -0.2, -3e5]),
        _gates("small ones after -1e12", [-0.5, -1e12, -0.125, -0.3, -0.2]),
        _gates("three hundred tokens", -np.random.default_rng(0).exponential(0.01, 300)),
        _gates("two texts", [[-0.5, -0.2, -0.7], [-1.0, -0.1, -0.3]]),
        _gates("two axes in front", -np.random.default_rng(1).exponential(size=(2, 3, 4))),
        _gates("three axes in front", -np.random.default_rng(2).exponential(size=(2, 1, 3, 2))),
        _gates("gates of almost 1", [-1e-7, -3e-8, -2e-7]),
        Case("to twelve digits", (np.array([-0.5, -0.2, -0.7, -1.1]),), rtol=1e-12),
    ],
    draw=_draw_gates,
    drawn=50,
    mistakes="""
own gate counted: Your product starts at a_j. What token j has written does not pass its own \
gate: start at a_(j+1), so that the diagonal is 1.
    later = np.where(j <= i, log_a[..., :, None], 0)
last gate left out: Your product ends at a_(i-1). At step i all that was there fades by a_i.
    later = np.where(j < i - 1, np.roll(log_a, 1, axis=-1)[..., :, None], 0)
difference of running sums: You subtract two running sums. Where a gate is 0 that is -inf - \
(-inf), not a number, and after a very large sum the small ones have lost their digits.
    later = np.cumsum(log_a, axis=-1)
    return np.where(j <= i, np.exp(later[..., :, None] - later[..., None, :]), 0)
transposed: Rows are i, the later token; yours are columns.
    return np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0).swapaxes(-1, -2)
the future: Above the diagonal stand later tokens. They should have 0.
    return np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 1)
logarithms: These are the logarithms. Take exp at the end.
    return np.log(np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0))
products of logarithms: log_a holds logarithms: add them and take exp; you multiplied them.
    later = np.where(j < i, log_a[..., :, None], 1)
    return np.where(j <= i, np.cumprod(later, axis=-2), 0)
""",
    hints=[
        "What is L[i, i], and what L[i, i - 1]?",
        "For each j, a running sum over i that starts after j: put 0 where t <= j, then cumsum.",
        "np.where(j < i, log_a[..., :, None], 0), then cumsum along axis -2.",
    ],
)

# --- A test of what is handed on --------------------------------------------------------------

one_scan = scan_on  # in the lines below `scan_on` is what they make of it

check_state_test = TestCheck(
    "my_state_test",
    asks="test(scan), which raises AssertionError if a scan or its state is wrong",
    of=scan_on,
    right="""
a loop: it goes token by token
the package's: it is this chapter's own
    + return selective_scan(x, dt, A, B, C, initial_state=h, return_state=True)
a scan: it joins steps in log2(n) rounds
    + how = dict(form="associative", initial_state=h, return_state=True)
    + return selective_scan(x, dt, A, B, C, **how)
in two parts: it hands the state from half to half
    + half = len(x) // 2
    + first, h = one_scan(x[:half], dt[:half], A, B[:half], C[:half], h)
    + second, h = one_scan(x[half:], dt[half:], A, B[half:], C[half:], h)
    + return np.concatenate([first, second]), h
float32: it computes in float32: allow for differences of 1e-4
    + x, dt, A, B, C, h = (a.astype(np.float32) for a in (x, dt, A, B, C, h))
""",
    wrong="""
old state returned: it returns the state that it got
    + before = h
    return y, before.copy()
start ignored: it starts from 0
    + h = np.zeros(h.shape)
start unread: its last state is right, but its outputs know nothing of the first one
    + unstarted = np.zeros(h.shape)
    h = np.exp(step * A) * h + write
    + unstarted = np.exp(step * A) * unstarted + write
    y[..., t, :] = (unstarted * C[..., t, None, :]).sum(axis=-1)
state faded once more: its outputs are right; the state that it returns has faded once too often, \
by a fiftieth. Is your tolerance small enough?
    return y, 0.98 * h
pads written: a token with dt = 0 is written all the same
    write = x[..., t, :, None] * B[..., t, None, :]
pads fade: the state fades at each token by exp(A), whatever dt is
    h = np.exp(A) * h + write
least step: a step of 0 counts as 0.05. Is there padding in your test?
    step = np.maximum(dt[..., t, :, None], 0.05)
B and C swapped: B reads and C writes
    write = step * x[..., t, :, None] * C[..., t, None, :]
    y[..., t, :] = (h * B[..., t, None, :]).sum(axis=-1)
zero-order hold: it writes (exp(dt A) - 1) / A B x, nearly the same for small steps
    step = dt[..., t, :, None]
    + held = np.where(A == 0, step, np.expm1(step * A) / np.where(A == 0, 1, A))
    write = held * x[..., t, :, None] * B[..., t, None, :]
small step: it keeps 1 + dt A, nearly exp(dt A) for small steps
    h = (1 + step * A) * h + write
read too early: a token does not see itself
    step = dt[..., t, :, None]
    + old = h
    y[..., t, :] = (old * C[..., t, None, :]).sum(axis=-1)
new token fades: it writes first, then all fades
    h = np.exp(step * A) * (h + write)
the future: it reads from the last token to the first
    for t in reversed(range(x.shape[-2])):
one dt: all tokens take the first one's step
    step = dt[..., 0, :, None]
one channel's dt: all channels take the first one's step
    step = dt[..., t, :1, None]
step or no step: each step that is not 0 counts as 1
    step = (dt[..., t, :, None] > 0) * 1.0
one B: all tokens write where the first one does
    write = step * x[..., t, :, None] * B[..., 0, None, :]
one C: all tokens read where the first one does
    y[..., t, :] = (h * C[..., 0, None, :]).sum(axis=-1)
chunks forget: after every four tokens it starts anew. Is your text longer than that?
    step = dt[..., t, :, None]
    + h = np.zeros(h.shape) if t in range(4, len(x), 4) else h
one rate: all numbers of a channel's state fade at the rate of its first one
    h = np.exp(step * A[:, :1]) * h + write
outputs exchanged: tokens 1 and 2 get each other's output, which is right while all tokens are the \
same. Do you compare each output with its token?
    + order = np.arange(len(x))
    + order[1:3] = order[1:3][::-1]
    return y[order], h.copy()
channels reversed: outputs and states change channels, which is right while all are the same
    return y[:, ::-1], h[::-1].copy()
sign: the signs of its outputs are turned, and of its state
    return -y, -h
""",
    hints=[
        "Compare both parts of the answer with a loop of your own: outputs, and the last state.",
        "n = 10, dt from 0.1 to 2 and 0 for one token, a first state that is not 0.",
        "selective_scan(x, dt, A, B, C, initial_state=h, return_state=True) is right.",
    ],
)
