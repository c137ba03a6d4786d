"""The check of the thermostat: right answers of every style pass, wrong ones are refused."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.softmax import check_temperature_for_entropy
from attention_src.softmax import reference


def my_temperature(scores, bits):
    low, high = np.log(1e-6), np.log(1e8)
    for _ in range(60):
        middle = (low + high) / 2
        p = reference.softmax(scores, temperature=np.exp(middle))
        if reference.entropy_bits(p) < bits:
            low = middle  # too cold
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def on_a_grid(scores, bits):
    low, high = -12.0, 16.0
    for _ in range(6):
        grid = np.linspace(low, high, 100)
        entropies = [bits_at(scores, np.exp(u)) for u in grid]
        i = np.clip(np.searchsorted(entropies, bits), 1, 99)
        low, high = grid[i - 1], grid[i]
    return np.exp((low + high) / 2)


def bracket_that_grows(scores, bits):
    low, high = 0.0, 1.0
    while bits_at(scores, high) < bits:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if bits_at(scores, middle) < bits else (low, middle)
    return high


def in_nats_throughout(scores, bits):
    def nats(t):
        x = (scores - scores.max()) / t
        lse = np.log(np.exp(x).sum())
        return lse - (np.exp(x - lse) * x).sum()

    return bisect(lambda t: nats(t) < bits * np.log(2))


RIGHT = {
    "a grid": on_a_grid,
    "a bracket that grows": bracket_that_grows,
    "in nats": in_nats_throughout,
    "inverse temperature": lambda s, bits: 1 / bisect(lambda b: bits_at(s, 1 / b) > bits),
    "four digits": lambda s, bits: float(f"{my_temperature(s, bits):.4g}"),
    "float32": lambda s, bits: np.float32(my_temperature(s, bits)),
    "an array without axes": lambda s, bits: np.array(my_temperature(s, bits)),
    "scaled first": lambda s, bits: my_temperature(s / np.ptp(s), bits) * np.ptp(s),
}


def bisect(too_cold, low=-20.0, high=20.0, steps=100):
    """Bisect log(temperature); too_cold(t) says that the answer lies above t."""
    for _ in range(steps):
        middle = (low + high) / 2
        if too_cold(np.exp(middle)):
            low = middle
        else:
            high = middle
    return np.exp((low + high) / 2)


def bits_at(scores, t):
    return reference.entropy_bits(reference.softmax(scores / t))


def in_nats(scores, bits):
    return bisect(lambda t: bits_at(scores, t) * np.log(2) < bits)


def multiplies(scores, bits):
    return bisect(lambda t: bits_at(scores, 1 / t) > bits)


def multiplies_and_keeps_the_wrong_half(scores, bits):
    return bisect(lambda t: bits_at(scores, 1 / t) < bits)


def keeps_the_wrong_half(scores, bits):
    return bisect(lambda t: bits_at(scores, t) > bits)


def entropy_without_its_minus(scores, bits):
    return bisect(lambda t: -bits_at(scores, t) < bits)


def bracket_too_small(scores, bits):
    return bisect(lambda t: bits_at(scores, t) < bits, low=np.log(0.1), high=np.log(20))


def returns_the_logarithm(scores, bits):
    return np.log(my_temperature(scores, bits))


def stops_early(scores, bits):
    return bisect(lambda t: bits_at(scores, t) < bits, steps=11)


def counts_keys(scores, bits):
    return bisect(lambda t: 2 ** bits_at(scores, t) < bits)


def returns_the_entropy(scores, bits):
    return bits_at(scores, my_temperature(scores, bits))


def overflows(scores, bits):
    def too_cold(t):
        p = np.exp(scores / t) / np.exp(scores / t).sum()
        return -(p * np.log2(p)).sum() < bits

    return bisect(too_cold)


def scales_in_place(scores, bits):
    t = my_temperature(scores, bits)
    scores /= t
    return t


WRONG = {
    in_nats: "You measure the entropy in nats",
    multiplies: "1 over the temperature: you multiply",
    multiplies_and_keeps_the_wrong_half: "Do you divide the scores by the temperature?",
    keeps_the_wrong_half: "you kept the wrong half",
    entropy_without_its_minus: "end of your bracket",
    bracket_too_small: "it does not hold the answer",
    returns_the_logarithm: "Return np.exp of it",
    stops_early: "Close: bisect further",
    counts_keys: "You compared 2**entropy with bits",
    returns_the_entropy: "Return the temperature that gives it",
    overflows: "end of your bracket",
    scales_in_place: "changed its input scores in place",
}


def seen():
    kept = {}
    return lambda s, bits: kept.setdefault(len(s), my_temperature(s, bits))


def with_p_log_p(f):
    """Bisect with an entropy computed by f(p)."""

    def answer(scores, bits):
        return bisect(lambda t: f(reference.softmax(scores / t)) < bits)

    return answer


SLY = {
    "three digits": lambda s, bits: float(f"{my_temperature(s, bits):.3g}"),
    "three decimals": lambda s, bits: round(my_temperature(s, bits), 3),
    "linear bracket": lambda s, bits: min(max(my_temperature(s, bits), 0.01), 100.0),
    "14 steps": lambda s, bits: bisect(lambda t: bits_at(s, t) < bits, steps=14),
    "NaN where p is 0": with_p_log_p(lambda p: -(p * np.log2(p)).sum()),
    "a thousandth inside the logarithm": with_p_log_p(lambda p: -(p * np.log2(p + 1e-3)).sum()),
    "another entropy": with_p_log_p(lambda p: -np.log2((p * p).sum())),
    "mean entropy": with_p_log_p(lambda p: reference.entropy_bits(p) / len(p)),
    "share of the largest entropy": lambda s, b: my_temperature(s, b / np.log2(len(s))),
    "scores over √n": lambda s, bits: my_temperature(s / np.sqrt(len(s)), bits),
    "absolute scores": lambda s, bits: my_temperature(abs(s), bits),
    "a list": lambda s, bits: [my_temperature(s, bits)],
    "the bracket": lambda s, bits: (my_temperature(s, bits), my_temperature(s, bits)),
    "the weights": lambda s, bits: reference.softmax(s, temperature=my_temperature(s, bits)),
    "kept by length": seen(),
}


def test_the_worked_solution_and_a_stub():
    assert_worked("softmax", check_temperature_for_entropy, my_temperature)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_written_differently(name):
    assert check_temperature_for_entropy(RIGHT[name]), name


@pytest.mark.parametrize("answer", WRONG, ids=lambda f: f.__name__)
def test_wrong_answers_that_people_give(answer):
    assert_rejected(check_temperature_for_entropy, answer, WRONG[answer])


@pytest.mark.parametrize("name", SLY)
def test_answers_that_are_nearly_right(name):
    assert check_temperature_for_entropy(SLY[name]).status == "wrong", name
