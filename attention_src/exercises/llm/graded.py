"""The check of a learner's own test: does it tell a sampler that draws wrongly?"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.llm.samplers import below, fewest, sampler, softmax

Array = np.ndarray


def by_loop(logits: Array, temperature: float, top_p: float, u: float) -> int:
    """Token by token, with Python's own lists.

    Args:
        logits: [n_vocabulary]
        temperature, top_p, u: as for `sample`
    Returns: a token's id
    """
    rows = [float(x) for x in logits]
    if temperature == 0:
        return rows.index(max(rows))
    e = np.exp((np.asarray(rows) - max(rows)) / temperature).tolist()
    needed, stay, total = sum(e) * top_p, [], 0.0
    for i in sorted(range(len(e)), key=lambda i: -e[i]):
        stay.append(i)
        total += e[i]
        if top_p < 1 and total >= needed:
            break
    so_far = 0.0
    for i in stay:
        so_far += e[i]
        if so_far > u * total:
            return i
    return stay[-1]


def in_float32(logits: Array, temperature: float, top_p: float, u: float) -> int:
    """As `sample`, in float32.

    Args:
        logits, temperature, top_p, u: as for `by_loop`
    Returns: a token's id
    """
    x = np.asarray(logits, dtype=np.float32)
    if temperature == 0:
        return int(x.argmax())
    e = np.exp((x - x.max()) / np.float32(temperature))
    order = np.argsort(-e, kind="stable")
    total = np.cumsum(e[order] / e.sum(), dtype=np.float32)
    stay = len(x) if top_p >= 1 else int((total[:-1] < top_p).sum()) + 1
    place = int((total[:stay] <= u * total[stay - 1]).sum())
    return int(order[min(place, stay - 1)])


def by_thresholds(logits: Array, temperature: float, top_p: float, u: float) -> Any:
    """As `sample`, with searchsorted; it returns NumPy's own integer.

    Args:
        logits, temperature, top_p, u: as for `by_loop`
    Returns: a token's id
    """
    x = np.asarray(logits, dtype=np.float64)
    if temperature == 0:
        return x.argmax()
    p = softmax(x / temperature)
    order = np.argsort(-p, kind="stable")
    total = np.cumsum(p[order])
    stay = len(p) if top_p >= 1 else min(int(np.searchsorted(total, top_p)), len(p) - 1) + 1
    place = np.searchsorted(total[:stay], u * total[stay - 1], side="right")
    return order[min(int(place), stay - 1)]


def off_by(share: float) -> Any:
    """As `sample`, with running sums that are rounded: larger by a share of themselves.

    Args:
        share: such as 1e-6
    Returns: a sampler
    """

    def kept(p: Array, top_p: float) -> int:
        return len(p) if top_p >= 1 else int((np.cumsum(p)[:-1] * (1 + share) < top_p).sum()) + 1

    return sampler(kept=kept, drawn=lambda total, u: (total * (1 + share) <= u).sum())


_KEEP_AWAY = "keep u and top_p away from running sums by 1e-5"
SAMPLER_TEST = TestCheck(
    "my_sampler_test",
    right=[
        Implementation("running sums", sampler(), "it follows the text"),
        Implementation("a loop", by_loop, "it goes token by token"),
        Implementation("searchsorted", by_thresholds, "it returns a NumPy integer"),
        Implementation("float32", in_float32, f"it computes in float32: {_KEEP_AWAY}"),
        Implementation("rounded up", off_by(1e-6), f"its sums are rounded up: {_KEEP_AWAY}"),
        Implementation("rounded down", off_by(-1e-6), f"its sums are rounded down: {_KEEP_AWAY}"),
    ],
    wrong=[
        Implementation(
            "multiplies",
            sampler(scaled=lambda x, temperature: x * temperature),
            "it multiplies by the temperature. Do you try one that is not 1?",
        ),
        Implementation(
            "no temperature",
            sampler(scaled=lambda x, temperature: x),
            "it ignores the temperature. Do you try one that is not 1?",
        ),
        Implementation(
            "divides twice",
            sampler(scaled=lambda x, temperature: x / temperature**2),
            "it divides by the temperature twice",
        ),
        Implementation(
            "no temperature above 1",
            sampler(scaled=lambda x, temperature: x / min(temperature, 1.0)),
            "it takes temperatures above 1 for 1. Do you try one?",
        ),
        Implementation("no top_p", sampler(kept=lambda p, top_p: len(p)), "it ignores top_p"),
        Implementation(
            "without the one that reaches top_p",
            sampler(kept=below),
            "it drops the token that makes the sum reach top_p",
        ),
        Implementation(
            "one too many",
            sampler(kept=lambda p, top_p: int((np.cumsum(p) < top_p).sum()) + 2),
            "it keeps one token too many",
        ),
        Implementation(
            "never one alone",
            sampler(kept=lambda p, top_p: max(fewest(p, top_p), 2)),
            "it keeps two tokens where one reaches top_p by itself. Have you such a case?",
        ),
        Implementation(
            "not renormalised",
            sampler(renormalised=False),
            "it does not divide by the sum of the tokens that stay",
        ),
        Implementation(
            "top_p before temperature",
            sampler(nucleus=lambda logits, temperature: softmax(logits)),
            "its top_p looks at p before the temperature. Do you use both at once?",
        ),
        Implementation(
            "higher id first",
            sampler(order=lambda p: np.argsort(p, kind="stable")[::-1]),
            "of two equal tokens it takes the higher id first. Have you two equal logits?",
        ),
        Implementation(
            "last of the largest",
            sampler(greedy=lambda x: len(x) - 1 - np.argmax(x[::-1])),
            "at temperature 0 it takes the last of the largest. Have you two of them?",
        ),
        Implementation(
            "draws at temperature 0",
            lambda logits, temperature, top_p, u: sampler()(logits, temperature or 1.0, top_p, u),
            "at temperature 0 it draws as at 1",
        ),
        Implementation(
            "turned round",
            sampler(drawn=lambda total, u: (total <= 1 - u).sum()),
            "it uses 1 - u for u: the same distribution, but not the same token",
        ),
        Implementation(
            "unsorted",
            sampler(order=lambda p: np.arange(len(p))),
            "it goes through the tokens by id",
        ),
        Implementation(
            "no shift",
            sampler(weights=lambda x: np.exp(x) / np.exp(x).sum()),
            "it overflows at logits above 709. Have you any?",
        ),
    ],
    hints=[
        "Start from probabilities: logits = np.log([0.1, 0.4, 0.3, 0.2]) is easy to do by hand.",
        "u = 0.39 and u = 0.41 stand on two sides of a running sum of 0.4.",
        "With top_p = 0.6 the tokens 1 and 2 stay, as 4/7 and 3/7: u = 0.5 gives 1, u = 0.6 gives "
        "2. At temperature 0.5 the probabilities are proportional to p².",
    ],
)


def check_sampler_test(test: Any) -> Result:
    """Check test(sample), which raises AssertionError if the sampler draws wrongly.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return SAMPLER_TEST.run(test)
