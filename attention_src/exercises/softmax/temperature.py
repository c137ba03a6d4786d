"""The check of the thermostat: the temperature at which softmax has a given entropy."""

from functools import lru_cache
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _entropy_bits(scores: np.ndarray, temperature: float) -> float:
    e = np.exp((scores - scores.max()) / temperature)
    p = e / e.sum()
    return float(-(p * np.log2(np.where(p > 0, p, 1))).sum())


def _draw(rng: np.random.Generator) -> tuple:
    """Distinct scores of any spread, and an entropy that they can reach."""
    n = int(rng.choice([2, 3, 3, 4, 4, 8, 40]))
    scores = rng.choice([0.0, -50.0, 900.0]) + rng.choice([0.01, 1.0, 30.0]) * (
        rng.permutation(n) + rng.uniform(-0.3, 0.3, n)
    )
    return scores, float(rng.uniform(0.1, 0.9) * np.log2(n))


def _temperature(scores: np.ndarray, bits: float) -> float:
    """The temperature at which the entropy is `bits`; NaN if there is none."""
    if not 0 < bits < np.log2(len(scores)):
        return float("nan")
    return _bisected(tuple(scores.tolist()), float(bits))


@lru_cache(maxsize=1024)
def _bisected(scores: tuple[float, ...], bits: float) -> float:
    """Bisect the temperature's logarithm. Cached, because each try of a learner asks again."""
    low, high = -12.0, 16.0
    for _ in range(45):
        middle = (low + high) / 2
        if _entropy_bits(np.array(scores), np.exp(middle)) < bits:
            low = middle
        else:
            high = middle
    return float(np.exp(low))


def _what_it_gives(scores: np.ndarray, bits: float, answer: np.ndarray) -> str:
    """A sentence about the entropy at the learner's temperature."""
    t = float(answer)  # raises for anything but one number; then nothing is said
    if not (t > 0 and np.isfinite(t)):
        return (
            "A temperature is positive and finite. Is an entropy NaN on the way? exp overflows, or "
            "0 log 0 is taken."
        )
    reached = _entropy_bits(scores, t)
    said = f"At your temperature the entropy is {reached:.4g} bits; {bits:.4g} were asked for."
    ratio = t / _temperature(scores, bits)
    if not 0.02 < ratio < 50:
        return (
            f"{said}\n  You ended at one end of your bracket. Either it does not hold the answer, "
            "or you kept\n  the wrong half: where the entropy is too low, a higher temperature is "
            "needed.\n  (Do you divide the scores by the temperature? Is an entropy NaN, from an "
            "overflow or\n  from 0 log 0?)"
        )
    if abs(ratio - 1) < 0.05:
        return f"{said} Close: bisect further."
    return said


_FRUIT = np.array([8.0, 7.0, 3.0, 1.0])

TEMPERATURE_FOR_ENTROPY = Check(
    "temperature_for_entropy",
    reference=_temperature,
    cases=[
        Case("four keys", (_FRUIT, 1.2)),
        Case("two keys", (np.array([-1.0, 2.0]), 0.5)),
        Case("sharper", (_FRUIT, 0.4)),
        Case("flatter", (_FRUIT, 1.9)),
        Case("negative scores", (np.array([-3.0, -1.0, -2.0]), 1.0)),
        Case("scores far apart", (np.array([9e4, 6e4, 5e4, 1e4, -8e4]), 1.5)),
        Case("scores close together", (np.array([0.13, 0.11, 0.1, 0.16]), 1.5)),
        Case("32 keys", (np.linspace(-3.0, 3.0, 32), 3.0)),
        Case("300 keys", (np.linspace(-3.0, 3.0, 300), 5.0)),
        Case("very cold", (np.array([0.0, 5e-4]), 0.2)),
        Case("very hot", (np.array([-1e5, 1e5]), 0.98)),
        Case("nearly one-hot", (_FRUIT, 1e-4)),
        Case("nearly uniform", (np.sin(np.arange(8.0)), 2.9999)),
    ],
    mistakes=[
        Mistake(
            "entropy in nats",
            lambda scores, bits: _temperature(scores, bits / np.log(2)),
            "You measure the entropy in nats, with the natural logarithm. Bits need np.log2.",
        ),
        Mistake(
            "multiplied by the temperature",
            lambda scores, bits: 1 / _temperature(scores, bits),
            "Your answer is 1 over the temperature: you multiply the scores by it. Divide them.",
        ),
        Mistake(
            "logarithm of the temperature",
            lambda scores, bits: np.log(_temperature(scores, bits)),
            "Your answer is the logarithm of the temperature. Return np.exp of it.",
        ),
        Mistake(
            "number of keys instead of bits",
            lambda scores, bits: _temperature(scores, np.log2(bits)),
            "You compared 2**entropy with bits. Compare the entropy itself.",
        ),
        Mistake(
            "entropy instead of temperature",
            lambda scores, bits: bits,
            "You returned the entropy. Return the temperature that gives it.",
        ),
    ],
    hints=[
        "Entropy rises with temperature: halve a bracket [low, high] that holds the answer.",
        "At the middle, if the entropy is below `bits`, it is too cold: low = middle.",
        "Temperatures span many sizes: bisect log(temperature) between log(1e-6) and log(1e6), "
        "a hundred times.",
    ],
    rtol=6e-4,  # four digits, rounded
    note=_what_it_gives,
    draw=_draw,
    drawn=40,
)


def check_temperature_for_entropy(f: Any) -> Result:
    """Check f(scores, bits) -> t, the temperature with entropy_bits(softmax(scores / t)) = bits.

    scores is one row of n_k >= 2 distinct float64 numbers, 0 < bits < log2(n_k), and the answer
    lies between 10^-4 and 10^6. Four right digits are enough.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return TEMPERATURE_FOR_ENTROPY.run(f)
