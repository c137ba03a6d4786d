"""Answers to the exercises on a language model: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises import llm as ex
from attention_src.exercises.llm import sample as sampler

SAMPLE_OTHERWISE = """
u times the sum, a NumPy integer:
    total = total[:stay]
    return order[np.searchsorted(total[:-1], u * total[-1], side="right")]
"""

PERPLEXITY_OTHERWISE = """
by logaddexp, and a weighted sum:
    log_p = s - np.logaddexp.reduce(s, axis=-1)[..., None]
    return np.exp((loss * counted[:, 1:]).sum() / counted[:, 1:].sum())
by one-hot rows: loss = -(log_p * np.eye(s.shape[-1])[ids[:, 1:]]).sum(axis=-1)
"""


def by_cross_entropy(logits, ids, counted):
    x, y = torch.as_tensor(logits)[:, :-1], torch.as_tensor(ids)[:, 1:].long()
    y = y.masked_fill(~torch.as_tensor(counted)[:, 1:], -100)
    return torch.nn.functional.cross_entropy(x.flatten(0, 1), y.flatten()).exp()


FOUR = np.log([0.1, 0.4, 0.3, 0.2])
TIES = np.array([1.0, 3.0, 0.0, 3.0, 2.0])
BIG = np.array([900.0, 902.0, 901.0])


def clear(x, t, p, u):
    """Whether a nudge of u or of top_p changes nothing."""
    nudged = {
        sampler(x, t, min(p * (1 + dp), 1), u + du)
        for dp in (-1e-4, 0, 1e-4)
        for du in (-1e-4, 1e-4)
    }
    return p == 1 or len(nudged) == 1


GRID = [
    (x, t, p, (i + 0.37) / 23)
    for x in (FOUR, TIES, BIG)
    for t in (0, 0.5, 1, 2)
    for p in (0.35, 0.6, 0.8, 1)
    for i in range(23)
]
CASES = [case for case in GRID if clear(*case)]


def a_test(some=lambda x, t, p, u: True, oracle=sampler, also=None):
    """A learner's test, right by default, wrong in the way that an argument says."""
    cases = [case for case in CASES if some(*case)] + ([] if also is None else [also])

    def my_sampler_test(sample):
        for x, t, p, u in cases:
            assert sample(x.copy(), t, p, u) == oracle(x, t, p, u)

    return my_sampler_test


def by_shares(sample):
    """As histograms over u, compared with probabilities worked out by hand."""
    us = (np.arange(200) + 0.5) / 200
    for t, top_p, wanted in [
        (1.0, 1.0, [0.1, 0.4, 0.3, 0.2]),
        (1.0, 0.6, [0, 4 / 7, 3 / 7, 0]),
        (1.0, 0.8, [0, 4 / 9, 3 / 9, 2 / 9]),
        (0.5, 1.0, np.array([1, 16, 9, 4]) / 30),
        (0.5, 0.8, [0, 16 / 25, 9 / 25, 0]),
        (2.0, 1.0, np.sqrt([1, 4, 3, 2]) / np.sqrt([1, 4, 3, 2]).sum()),
        (1.0, 0.35, [0, 1, 0, 0]),
    ]:
        drawn = np.bincount([sample(FOUR, t, top_p, u) for u in us], minlength=4) / 200
        assert np.abs(drawn - wanted).max() < 0.02
    assert sample(FOUR, 1.0, 1.0, 0.1) == 1 and sample(FOUR, 1.0, 1.0, 0.95) == 0
    assert sample(FOUR, 1.0, 0.6, 0.9) == 2
    assert sample(TIES, 0, 1.0, 0.5) == 1 and sample(TIES, 1.0, 1.0, 0.1) == 1
    assert sample(BIG, 1.0, 1.0, 0.3) == 1 and sample(FOUR, 0, 1.0, 0.99) == 1


def drawn_anew(sample):
    rng = np.random.default_rng()
    for _ in range(150):
        x = (2 * rng.normal(size=5)).round(1) + rng.choice([0, 2000])
        case = x, float(rng.choice([0, 0.5, 2])), float(rng.choice([0.3, 0.6, 0.9])), rng.random()
        if clear(*case):
            assert sample(*case) == sampler(*case)
    a_test(lambda x, t, p, u: int(23 * u) % 3 == 0)(sample)


RIGHT = {
    ex.check_sample: [SAMPLE_OTHERWISE, {"a loop": ex.by_loop}],
    ex.check_perplexity: [PERPLEXITY_OTHERWISE, {"torch": by_cross_entropy}],
    ex.check_sampler_test: {
        "a grid": a_test(),
        "half of the grid": a_test(lambda x, t, p, u: int(23 * u) % 2 == 0),
        "shares": by_shares,
        "drawn anew": drawn_anew,
        "no u below a half but for ties": a_test(lambda x, t, p, u: u > 0.5 or x is not FOUR),
    },
}


def a_valid_id(sample):
    assert all(0 <= sample(*case) < len(case[0]) for case in CASES)


def of_python_s_own(sample):
    assert all(type(sample(*case)) is int for case in CASES)


def alone(x, t, p, u):
    """Whether one token stays."""
    return t > 0 and len({sampler(x, t, p, i / 50) for i in range(50)}) == 1


SLY = {
    ex.check_sample: """
divided twice: p = np.exp((logits - logits.max()) / temperature**2)
of probabilities:
    p /= p.sum()
    + p = np.exp(p) / np.exp(p).sum()
top_p as a threshold: stay = max((p >= 1 - top_p).sum(), 1)
argmax of no True: stay = int(np.argmax(total >= top_p)) + 1
last of the largest:
    - return int(np.argmax
    + return int(len(logits) - 1 - np.argmax(logits[::-1]))
one further: return int(order[min((total <= u).sum() + 1, len(total) - 1)])
draws at 0: if (temperature := temperature or 1.0) == 0:
below 0.01 as 0: if temperature < 0.01:
at least 0.05: p = np.exp((logits - logits.max()) / max(temperature, 0.05))
forbidden as 0 at 0:
    - return int(np.argmax
    + return int(np.argmax(np.where(logits > -np.inf, logits, 0)))
forbidden as -1e9:
    - if temperature
    + logits = np.maximum(logits, -1e9)
    + if temperature == 0:
clipped:
    - if temperature
    + logits = np.clip(logits, -1e4, 1e4)
    + if temperature == 0:
float32: near logits of 10,000
    - if temperature
    + logits, temperature = logits.astype(np.float32), np.float32(temperature)
    + if temperature == 0:
top_p of 0.95 is 1: stay = len(p) if top_p >= 0.95 else (total[:-1] < top_p).sum() + 1
below 1e-4 is 0:
    p /= p.sum()
    + p = np.where((p > 1e-4) | (p == p.max()), p, 0)
greedy by an unstable sort:
    - return int(np.argmax
    + return int(np.argsort(-logits, kind="heapsort")[0])
unstable sort: order = np.argsort(-p, kind="heapsort")
top 10,000:
    p = np.exp((logits - logits.max()) / temperature)
    + p = np.where(p >= np.sort(p)[-10_000:][0], p, 0)
u to three digits: return int(order[(total[:-1] <= round(u, 3)).sum()])
draws itself: return int(np.random.default_rng(0).choice(order[:stay]))
second softmax:
    - total = total
    + total = np.cumsum(np.exp(p[order[:stay]])) / np.exp(p[order[:stay]]).sum()
the probability: return p[order[(total[:-1] <= u).sum()]]
a float: ids are floats
    return float(order[(total[:-1] <= u).sum()])
one-hot: shape
    return np.arange(len(p)) == order[(total[:-1] <= u).sum()]
a word: should return one number; it returned str
    return str(order[(total[:-1] <= u).sum()])
u = 0 is another: return int(order[(total[:-1] <= u).sum() if u or top_p == 1 else stay - 1])
""",
    ex.check_perplexity: """
backwards: s = logits[:, :0:-1]
mean of perplexities:
    return np.mean([np.exp(x[c].mean()) for x, c in zip(loss, counted[:, 1:]) if c.any()])
divided by all of counted: return np.exp((loss * counted[:, 1:]).sum() / counted.sum())
minus: return np.exp(-loss[counted[:, 1:]].mean())
sum: return np.exp(loss[counted[:, 1:]].sum())
underflow:
    loss = -np.log(np.exp(np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)[..., 0]))
    return np.exp((loss * counted[:, 1:]).sum() / counted[:, 1:].sum())
clipped at 1e-300: return np.exp(np.minimum(loss, 690)[counted[:, 1:]].mean())
a loss of 0 not counted: return np.exp(loss[counted[:, 1:] & (loss != 0)].mean())
logits clipped:
    - s = logits
    + s = np.clip(logits[:, :-1], -1e4, 1e4)
one maximum, one sum:
    s = s - s.max()
    log_p = s - np.log(np.exp(s).sum(axis=(0, 1), keepdims=True))
three texts: return np.exp(loss[:3][counted[:3, 1:]].mean())
counted turned round: return np.exp(loss[~counted[:, 1:]].mean())
a generator: should return one number; it returned generator
    return (np.exp(x) for x in loss)
""",
    ex.check_sampler_test: {
        "temperature 1 alone": (a_test(lambda x, t, p, u: t in (0, 1)), "caught"),
        "temperature 0 alone": (a_test(lambda x, t, p, u: t == 0), "caught"),
        "top_p 1 alone": (a_test(lambda x, t, p, u: p == 1), "caught"),
        "no temperature 0": (a_test(lambda x, t, p, u: t > 0), "caught"),
        "no ties": (a_test(lambda x, t, p, u: x is not TIES), "caught"),
        "small logits": (a_test(lambda x, t, p, u: x is not BIG), "caught"),
        "never both": (a_test(lambda x, t, p, u: t == 1), "caught"),
        "a valid id": (a_valid_id, "caught 0"),
        "no temperature above 1": (a_test(lambda x, t, p, u: t < 2), "caught"),
        "two tokens or more": (a_test(lambda *case: not alone(*case)), "caught"),
        "one u": (a_test(lambda x, t, p, u: u < 0.05), "caught"),
        "top_p on a running sum": (a_test(also=(FOUR, 1.0, 0.7, 0.9)), "rounded"),
        "u on a running sum": (a_test(also=(FOUR, 1.0, 1.0, 0.7)), "refuses a right"),
        "a wrong oracle": (
            a_test(oracle=lambda x, t, p, u: sampler(x, t, 1.0, u)),
            "refuses a right",
        ),
        "Python's int": (of_python_s_own, "NumPy integer"),
    },
}
