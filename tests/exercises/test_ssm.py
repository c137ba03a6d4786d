"""Scans that a learner's test meets are as right and wrong as the exercise says; the ladder."""

import numpy as np

from attention_src.exercises.ssm import check_gate_ladder, check_state_test, scan_on


def off(scan, n=10, d=3, N=4):
    """How far a scan's outputs and last state are from the right ones."""
    rng = np.random.default_rng(0)
    x, dt = rng.normal(size=(n, d)), rng.uniform(0.1, 2, (n, d))
    A, h = -rng.uniform(0.2, 2, (d, N)), rng.normal(size=(d, N))
    B, C = rng.normal(size=(2, n, N))
    dt[n // 2] = 0
    pairs = zip(scan(x, dt, A, B, C, h), scan_on(x, dt, A, B, C, h), strict=True)
    return max(abs(got - want).max() for got, want in pairs)


def test_scans_are_as_right_and_as_wrong_as_the_exercise_says():
    for one in check_state_test.right:
        assert max(off(one.function, n) for n in (1, 2, 10, 13)) < 1e-5, one.name
    for one in check_state_test.wrong:
        assert off(one.function) > 1e-2, one.name


def test_three_digits_are_enough_and_near_misses_are_refused():
    exact = {rung.letter: rung.value for rung in check_gate_ladder.rungs}
    assert check_gate_ladder(a=4.02, b=0.018, c=0.982, d=4.09, e=0.982, f=69.3)
    near = dict(a=(4, 4.01), b=(0.0183, 0.02), c=(0.98, 0.985, 1), d=(4, 4.1), e=(0.98, 0.99))
    for letter, answers in (near | {"f": (68, 69, 70, 71)}).items():
        for answer in answers:
            assert check_gate_ladder(**exact | {letter: answer}).status == "wrong", letter
