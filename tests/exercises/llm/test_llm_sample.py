"""Drawing a token: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import bisect

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.engine.checking import passed
from attention_src.exercises.keep import PARTS
from attention_src.exercises.llm import check_sample
from attention_src.exercises.llm.graded import by_loop, by_thresholds
from attention_src.exercises.llm.sample import SAMPLE, _clear
from attention_src.exercises.llm.samplers import below, sampler, softmax


# The worked solution, in the words of the chapter.
def sample(logits, temperature, top_p, u):
    if temperature == 0:
        return int(np.argmax(logits))
    p = np.exp((logits - logits.max()) / temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")  # ids, the most probable first
    total = np.cumsum(p[order])  # running sums
    stay = len(p) if top_p == 1 else (total[:-1] < top_p).sum() + 1
    total = total[:stay] / total[stay - 1]
    return int(order[(total[:-1] <= u).sum()])


def test_rounding_decides_in_no_case():
    assert all(_clear(*case.args) for case in SAMPLE.all_cases())


def test_worked_solution_and_stub():
    assert_worked("llm", check_sample, sample)
    assert passed[sample] == "sample" and "sample" in PARTS


def by_masking(logits, temperature, top_p, u):
    """As transformers does it: hide, then softmax again."""
    if temperature == 0:
        return logits.argmax()
    x = logits / temperature
    order = np.argsort(-x, kind="stable")
    before = np.cumsum(softmax(x)[order]) - softmax(x)[order]
    if top_p < 1:
        x = x.copy()
        x[order[1:][before[1:] >= top_p]] = -np.inf
    total = np.cumsum(softmax(x)[order])
    return order[min((total <= u).sum(), len(x) - 1)]


def by_bisection(logits, temperature, top_p, u):
    if not temperature:
        return int(np.argmax(logits))
    p = softmax(np.asarray(logits) / temperature)
    pairs = sorted((-x, i) for i, x in enumerate(p.tolist()))
    total = np.cumsum([-x for x, _ in pairs]).tolist()
    last = len(pairs) - 1 if top_p == 1 else min(bisect.bisect_left(total, top_p), len(pairs) - 1)
    place = bisect.bisect_right(total, u * total[last], 0, last)
    return pairs[place][1]


def in_log_space(logits, temperature, top_p, u):
    if temperature == 0:
        return np.argmax(logits).item()
    x = logits / temperature
    log_p = x - x.max() - np.log(np.exp(x - x.max()).sum())
    order = np.argsort(-log_p, kind="stable")
    total = np.cumsum(np.exp(log_p[order]))
    stay = len(x) if top_p == 1 else (total[:-1] < top_p).sum() + 1
    return order[(total[: stay - 1] <= u * total[stay - 1]).sum()]


def in_torch(logits, temperature, top_p, u):
    torch = pytest.importorskip("torch")
    x = torch.as_tensor(logits)
    if temperature == 0:
        return x.argmax()
    p, order = (x / temperature).softmax(-1).sort(descending=True, stable=True)
    total = p.cumsum(-1)
    stay = len(x) if top_p == 1 else int((total[:-1] < top_p).sum()) + 1
    return order[int((total[: stay - 1] <= u * total[stay - 1]).sum())]


RIGHT = {
    "worked solution": sample,
    "masking": by_masking,
    "bisection": by_bisection,
    "log space": in_log_space,
    "torch": in_torch,
    "loop": by_loop,
    "searchsorted": by_thresholds,
    "as a float": lambda *x: float(sample(*x)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_sample(RIGHT[name]).status == "passed"


def no_ties(p):
    return np.argsort(p, kind="stable")[::-1]


def of_the_best(logits, k):
    """Logits with all others than the k largest forbidden."""
    return np.where(logits >= np.sort(logits)[-k:][0], logits, -np.inf)


def half(logits):
    return np.clip(logits, -6e4, 6e4).astype(np.float16).astype(float)


def below_is_0(logits, temperature, top_p, u):
    if temperature:
        p = softmax(logits / temperature)
        logits = np.where((p > 1e-4) | (p == p.max()), logits, -np.inf)
    return sample(logits, temperature, top_p, u)


def in_place(logits, temperature, top_p, u):
    answer = sample(logits, temperature, top_p, u)
    logits -= 1
    return answer


def unseeded(logits, temperature, top_p, u):
    p = softmax(logits / (temperature or 1e-9))
    return np.random.default_rng(0).choice(len(p), p=p)


def argmax_reaches(p, top_p):
    """As in a bug of ChatRWKV: running sums may end below 1, and argmax of no True is 0."""
    return int(np.argmax(np.cumsum(p) >= top_p)) + 1


def last_place(total, u):
    return min(np.searchsorted(total, u, side="right") + 1, len(total) - 1)


def renormalised_by_softmax(logits, temperature, top_p, u):
    """A second softmax, of probabilities."""
    if temperature == 0:
        return int(np.argmax(logits))
    p = softmax(logits / temperature)
    order = np.argsort(-p, kind="stable")
    stay = (np.cumsum(p[order])[:-1] < top_p).sum() + 1
    total = np.cumsum(softmax(p[order[:stay]]))
    return order[min((total <= u).sum(), stay - 1)]


WRONG = {
    "multiplied": (sampler(scaled=lambda x, t: x * t), "divide"),
    "no temperature": (sampler(scaled=lambda x, t: x), "temperature"),
    "divided twice": (sampler(scaled=lambda x, t: x / t / t), ""),
    "root": (sampler(scaled=lambda x, t: x / np.sqrt(t)), ""),
    "of probabilities": (sampler(weights=lambda x: softmax(softmax(x))), ""),
    "not renormalised": (sampler(renormalised=False), "divide by their sum"),
    "without the last": (sampler(kept=below), "reach"),
    "one too many": (
        sampler(kept=lambda p, top_p: int((np.cumsum(p) < top_p).sum()) + 2),
        "more than are needed",
    ),
    "no top_p": (sampler(kept=lambda p, top_p: len(p)), "top_p"),
    "top_p as a threshold": (
        sampler(kept=lambda p, top_p: max(int((p >= 1 - top_p).sum()), 1)),
        "",
    ),
    "top_p as a share of tokens": (
        sampler(kept=lambda p, top_p: int(np.ceil(top_p * len(p)))),
        "",
    ),
    "argmax of no True": (sampler(kept=argmax_reaches), ""),
    "unsorted": (sampler(order=lambda p: np.arange(len(p))), "by id"),
    "rarest first": (sampler(order=lambda p: np.argsort(p, kind="stable")), "upwards"),
    "ties turned": (sampler(order=no_ties), "higher id"),
    "last of the largest": (sampler(greedy=lambda x: len(x) - 1 - np.argmax(x[::-1])), ""),
    "top_p first": (sampler(nucleus=lambda x, t: softmax(x)), "before the temperature"),
    "u turned": (sampler(drawn=lambda total, u: (total <= 1 - u).sum()), "1 - u"),
    "one further": (sampler(drawn=last_place), ""),
    "no shift": (sampler(weights=lambda x: np.exp(x) / np.exp(x).sum()), "overflows"),
    "greedy": (lambda x, t, p, u: int(np.argmax(x)), "always take"),
    "draws at 0": (lambda x, t, p, u: sample(x, t or 1.0, p, u), ""),
    "divides by 0": (lambda x, t, p, u: sampler()(x, max(t, 1e-3), p, u), ""),
    "below 0.01 as 0": (lambda x, t, p, u: sample(x, 0 if t < 0.01 else t, p, u), ""),
    "at least 0.05": (lambda x, t, p, u: sample(x, t and max(t, 0.05), p, u), ""),
    "forbidden as 0": (lambda x, t, p, u: sample(np.where(x > -np.inf, x, 0), t, p, u), ""),
    "forbidden as 0 at 0": (
        lambda x, t, p, u: sample(x if t else np.where(x > -np.inf, x, 0), t, p, u),
        "",
    ),
    "forbidden as -1e9": (lambda x, t, p, u: sample(np.maximum(x, -1e9), t, p, u), ""),
    "clipped": (lambda x, t, p, u: sample(np.clip(x, -1e4, 1e4), t, p, u), ""),
    "top_p of 0.95 is 1": (lambda x, t, p, u: sample(x, t, 1.0 if p >= 0.95 else p, u), ""),
    "below 1e-4 is 0": (below_is_0, ""),
    "float16": (lambda x, t, p, u: sample(half(x), t, p, u), ""),
    "greedy by an unstable sort": (
        sampler(greedy=lambda x: np.argsort(-x, kind="heapsort")[0]),
        "",
    ),
    "nearest": (sampler(drawn=lambda total, u: np.abs(total - u).argmin()), "nearest"),
    "unstable sort": (sampler(order=lambda p: np.argsort(-p, kind="heapsort")), ""),
    "low temperatures as 0": (lambda x, t, p, u: sample(x, 0 if t < 0.1 else t, p, u), ""),
    "top 1,000": (lambda x, t, p, u: sample(of_the_best(x, 1000), t, p, u), ""),
    "top 10,000": (lambda x, t, p, u: sample(of_the_best(x, 10_000), t, p, u), ""),
    "u to three digits": (lambda x, t, p, u: sample(x, t, p, round(u, 3)), ""),
    "in place": (in_place, "in place"),
    "draws itself": (unseeded, ""),
    "second softmax": (renormalised_by_softmax, ""),
    "the probability": (lambda x, t, p, u: softmax(x)[sample(x, t, p, u)], ""),
    "one-hot": (lambda *args: np.arange(len(args[0])) == sample(*args), "shape"),
    "in a list": (lambda *x: [sample(*x)], "shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_sample, answer, spoken_of)


def test_the_place_in_the_order_is_named():
    def place(logits, temperature, top_p, u):
        order = np.argsort(-logits, kind="stable")
        return list(order).index(sample(logits, temperature, top_p, u))

    assert_rejected(check_sample, place, "Which token")
    assert_rejected(check_sample, lambda x, *how: (place if how[0] else sample)(x, *how), "Which")


def test_it_draws_as_the_package_s_own_probabilities_say():
    torch = pytest.importorskip("torch")
    from attention_src.models.smollm2.sampling import probabilities

    logits = np.random.default_rng(0).normal(size=30) * 2
    p = probabilities(torch.as_tensor(logits).float(), 0.8, None, 0.77).numpy()
    u = (np.arange(2_000) + 0.5) / 2_000
    drawn = np.bincount([sample(logits, 0.8, 0.77, x) for x in u], minlength=30) / 2_000
    np.testing.assert_allclose(drawn, p, atol=1e-3)
