"""The exercise in which the learner writes a test of what a scan hands on."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.ssm.scans import (
    Array,
    backward,
    by_scan,
    fixed,
    in_float32,
    scanning,
    swapped,
    write_held,
)
from attention_src.ssm.reference import selective_scan


def _package(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    return selective_scan(x, dt, A, B, C, initial_state=h, return_state=True)


def _in_two_parts(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """The state goes from the first half to the second."""
    half, ys = len(x) // 2, []
    for part in (slice(None, half), slice(half, None)):
        y, h = scanning()(x[part], dt[part], A, B[part], C[part], h)
        ys.append(y)
    return np.concatenate(ys), h


def _parts_forget(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """In chunks of 4, each of which starts from 0; the first from h."""
    ys = []
    for start in range(0, len(x), 4):
        part = slice(start, start + 4)
        y, h = scanning()(x[part], dt[part], A, B[part], C[part], h if start == 0 else 0 * h)
        ys.append(y)
    return np.concatenate(ys) if ys else np.zeros(x.shape), h


def _start_unread(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    """The outputs know nothing of the first state; the last state does."""
    y, _ = scanning()(x, dt, A, B, C, 0 * h)
    return y, scanning()(x, dt, A, B, C, h)[1]


def _least_step(x: Array, dt: Array, A: Array, B: Array, C: Array, h: Array) -> Any:
    return scanning()(x, np.maximum(dt, 0.05), A, B, C, h)


STATE_TEST = TestCheck(
    "my_state_test",
    right=[
        Implementation("a loop", scanning(), "it goes token by token"),
        Implementation("the package's", _package, "it is this chapter's own"),
        Implementation("a scan", by_scan, "it joins steps in log2(n) rounds"),
        Implementation("in two parts", _in_two_parts, "it hands the state from half to half"),
        Implementation(
            "float32", in_float32, "it computes in float32: allow for differences of 1e-4"
        ),
    ],
    wrong=[
        Implementation(
            "old state returned",
            scanning(end=lambda h, before: before),
            "it returns the state that it got",
        ),
        Implementation("start ignored", scanning(start=np.zeros_like), "it starts from 0"),
        Implementation(
            "start unread",
            _start_unread,
            "its last state is right, but its outputs know nothing of the first one",
        ),
        Implementation(
            "state faded once more",
            scanning(end=lambda h, before: 0.9 * h),
            "its outputs are right; the state that it returns has faded once too often",
        ),
        Implementation(
            "pads written",
            scanning(write=lambda step, A, x, B: x * B),
            "a token with dt = 0 is written all the same",
        ),
        Implementation(
            "pads fade",
            scanning(keep=lambda step, A: np.exp(A)),
            "the state fades at each token by exp(A), whatever dt is",
        ),
        Implementation(
            "least step", _least_step, "a step of 0 counts as 0.05. Is there padding in your test?"
        ),
        Implementation("B and C swapped", swapped, "B reads and C writes"),
        Implementation(
            "zero-order hold",
            scanning(write=write_held),
            "it writes (exp(dt A) - 1) / A B x, nearly the same for small steps",
        ),
        Implementation(
            "small step",
            scanning(keep=lambda step, A: 1 + step * A),
            "it keeps 1 + dt A, nearly exp(dt A) for small steps",
        ),
        Implementation("read too early", scanning(read="old"), "a token does not see itself"),
        Implementation("new token fades", scanning(fade="new"), "it writes first, then all fades"),
        Implementation("the future", backward, "it reads from the last token to the first"),
        Implementation("one dt", fixed("dt"), "all tokens take the first one's step"),
        Implementation(
            "one channel's dt",
            lambda x, dt, A, B, C, h: scanning()(x, dt[:, :1] + 0 * dt, A, B, C, h),
            "all channels take the first one's step",
        ),
        Implementation(
            "step or no step",
            lambda x, dt, A, B, C, h: scanning()(x, (dt > 0) + 0 * dt, A, B, C, h),
            "each step that is not 0 counts as 1",
        ),
        Implementation("one B", fixed("B"), "all tokens write where the first one does"),
        Implementation("one C", fixed("C"), "all tokens read where the first one does"),
        Implementation(
            "chunks forget",
            _parts_forget,
            "after every four tokens it starts anew. Is your text longer than that?",
        ),
        Implementation(
            "one rate",
            lambda x, dt, A, B, C, h: scanning()(x, dt, A[:, :1] + 0 * A, B, C, h),
            "all numbers of a channel's state fade at the rate of its first one",
        ),
    ],
    hints=[
        "Compare both parts of the answer with a loop of your own: outputs, and the last state.",
        "n = 10, dt from 0.1 to 2 and 0 for one token, a first state that is not 0.",
        "selective_scan(x, dt, A, B, C, initial_state=h, return_state=True) is right.",
    ],
)


def check_state_test(test: Any) -> Result:
    """Check test(scan), which raises AssertionError if a scan or its state is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return STATE_TEST.run(test)
