"""Perplexity and the ladder on operations: right answers pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.llm import check_flops_ladder, check_perplexity
from attention_src.exercises.llm.perplexity import pooled


# The worked solution, in the words of the chapter.
def perplexity(logits, ids, counted):
    s = logits[:, :-1]  # [B, n - 1, n_vocabulary]: what is expected next
    s = s - s.max(axis=-1, keepdims=True)
    log_p = s - np.log(np.exp(s).sum(axis=-1, keepdims=True))
    loss = -np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)[..., 0]
    return np.exp(loss[counted[:, 1:]].mean())


def test_worked_solution_and_stub():
    assert_worked("llm", check_perplexity, perplexity)


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def by_loop(logits, ids, counted):
    losses = []
    for b, t in np.argwhere(counted):
        if t > 0:
            row = logits[b, t - 1]
            losses.append(np.logaddexp.reduce(row) - row[ids[b, t]])
    return float(np.exp(np.mean(losses)))


def by_one_hot(logits, ids, counted):
    one = np.eye(logits.shape[-1])[ids]  # [B, n, n_vocabulary]
    log_p = (log_softmax(logits)[:, :-1] * one[:, 1:]).sum(-1)
    weight = counted[:, 1:].astype(float)
    return np.exp(-(log_p * weight).sum() / weight.sum())


def by_sums(logits, ids, counted):
    totals = [0.0, 0]
    for x, row, chosen in zip(logits, ids, counted, strict=True):
        log_p = log_softmax(x)[np.arange(len(row) - 1), row[1:]]
        totals[0] -= log_p[chosen[1:]].sum()
        totals[1] += chosen[1:].sum()
    return np.exp(totals[0] / totals[1])


def in_torch(logits, ids, counted):
    torch = pytest.importorskip("torch")
    x, y = torch.as_tensor(logits)[:, :-1], torch.as_tensor(ids)[:, 1:].long()
    y = y.masked_fill(~torch.as_tensor(counted)[:, 1:], -100)
    return torch.nn.functional.cross_entropy(x.flatten(0, 1), y.flatten()).exp()


def geometric(logits, ids, counted):
    """The root of the product of 1/p, in logarithms of base 2."""
    bits = -np.take_along_axis(log_softmax(logits)[:, :-1], ids[:, 1:, None], -1)[..., 0]
    return 2 ** (bits[counted[:, 1:]] / np.log(2)).mean()


RIGHT = {
    "worked solution": perplexity,
    "loop": by_loop,
    "one-hot": by_one_hot,
    "sums": by_sums,
    "torch": in_torch,
    "geometric": geometric,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_perplexity(RIGHT[name]).status == "passed"


def losses(logits, ids):
    return -np.take_along_axis(log_softmax(logits)[:, :-1], ids[:, 1:, None], -1)[..., 0]


def unshifted(logits, ids, counted):
    loss = -np.take_along_axis(log_softmax(logits), ids[..., None], -1)[..., 0]
    return np.exp(loss[:, 1:][counted[:, 1:]].mean())


def of_means(loss, counted):
    rows = [row[c].mean() for row, c in zip(loss, counted, strict=True) if c.any()]
    return np.mean(rows)


def mean_of_perplexities(logits, ids, counted):
    loss = losses(logits, ids)
    some = [np.exp(r[c].mean()) for r, c in zip(loss, counted[:, 1:], strict=True) if c.any()]
    return np.mean(some)


def overflowing(logits, ids, counted):
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    q = np.take_along_axis(p[:, :-1], ids[:, 1:, None], -1)[..., 0]
    return np.exp(-np.log(q[counted[:, 1:]]).mean())


def underflowing(logits, ids, counted):
    """NaN where a token of probability 0 is not counted: 0 · inf."""
    x = logits - logits.max(-1, keepdims=True)
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    q = np.take_along_axis(p[:, :-1], ids[:, 1:, None], -1)[..., 0]
    weight = counted[:, 1:].astype(float)
    return np.exp((-np.log(q) * weight).sum() / weight.sum())


def clipped(least):
    """With probabilities that never fall below the least."""

    def perplexity(logits, ids, counted):
        p = np.maximum(np.exp(-losses(logits, ids)), least)
        return np.exp(-np.log(p)[counted[:, 1:]].mean())

    return perplexity


def added(logits, ids, counted):
    p = np.exp(-losses(logits, ids)) + 1e-30
    return np.exp(-np.log(p)[counted[:, 1:]].mean())


def without_zeros(logits, ids, counted):
    loss = losses(logits, ids) * counted[:, 1:]
    return np.exp(loss[loss != 0].mean())


def over_texts(logits, ids, counted):
    x = logits - logits.max()
    log_p = x - np.log(np.exp(x).sum((0, 1), keepdims=True))
    q = np.take_along_axis(log_p[:, :-1], ids[:, 1:, None], -1)[..., 0]
    return np.exp(-q[counted[:, 1:]].mean())


def in_place(logits, ids, counted):
    answer = perplexity(logits, ids, counted)
    logits -= logits.max()
    return answer


WRONG = {
    "no shift": (unshifted, "after"),
    "backwards": (lambda x, i, c: perplexity(x[:, ::-1], i, c), ""),
    "mean of means": (pooled(mean=of_means), "weighs as much"),
    "mean of perplexities": (mean_of_perplexities, ""),
    "all tokens": (pooled(mean=lambda loss, c: loss.mean()), "count every token"),
    "divided by all": (
        pooled(mean=lambda loss, c: (loss * c).sum() / loss.size),
        "number of tokens that are counted",
    ),
    "divided by counted[:, 0] too": (
        lambda x, i, c: np.exp((losses(x, i) * c[:, 1:]).sum() / c.sum()),
        "",
    ),
    "wrong end": (pooled(shift=0), "whether token t is counted"),
    "mean of exponentials": (lambda x, i, c: np.exp(losses(x, i)[c[:, 1:]]).mean(), "exponentiate"),
    "mean of p": (lambda x, i, c: 1 / np.exp(-losses(x, i)[c[:, 1:]]).mean(), "logarithms"),
    "loss": (lambda *x: np.log(perplexity(*x)), "mean loss"),
    "minus": (lambda *x: 1 / perplexity(*x), ""),
    "base 2": (lambda *x: 2 ** np.log(perplexity(*x)), "nats"),
    "median": (lambda x, i, c: np.exp(np.median(losses(x, i)[c[:, 1:]])), ""),
    "sum": (lambda x, i, c: np.exp(losses(x, i)[c[:, 1:]].sum()), ""),
    "overflow": (overflowing, ""),
    "underflow": (underflowing, ""),
    "1e-30 added": (added, ""),
    "log of softmax": (lambda x, i, c: np.exp(-np.log(np.exp(-losses(x, i)))[c[:, 1:]].mean()), ""),
    "losses above 100 clipped": (
        lambda x, i, c: np.exp(np.minimum(losses(x, i), 100)[c[:, 1:]].mean()),
        "",
    ),
    "a loss of 0 not counted": (without_zeros, ""),
    "root of the product": (
        lambda x, i, c: np.exp(-losses(x, i)[c[:, 1:]]).prod() ** (-1 / c[:, 1:].sum()),
        "",
    ),
    "logits clipped": (lambda x, i, c: perplexity(np.clip(x, -1e4, 1e4), i, c), ""),
    "clipped at 1e-30": (clipped(1e-30), ""),
    "clipped at 1e-300": (clipped(1e-300), ""),
    "one maximum, one sum": (over_texts, ""),
    "first text": (lambda x, i, c: perplexity(x[:1], i[:1], c[:1]), ""),
    "in place": (in_place, "in place"),
    "an array": (lambda *x: np.array([perplexity(*x)]), "shape"),
    "counted turned round": (lambda x, i, c: perplexity(x, i, ~c), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_perplexity, answer, spoken_of)


# --- the ladder --------------------------------------------------------------------------------


BEST = (3_538_944, 134_479_872, 268_959_744, 70_778_880, 3891.2, 12455.5)


@pytest.mark.parametrize(
    "answers",
    [
        BEST,
        tuple(map(float, BEST)),
        tuple(np.array(x) for x in BEST),
        (3538944, 134479872, 2.69e8, 7.08e7, 3891, 12_500),
        (3538944, 134479872, 268.96e6, 30 * 9 * 1024 * 256, 3890, 12_400),
        (6144 * 576, 134479872, 2 * 134479872, 7.078e7, 3900, 3.35e12 / 268959744),
    ],
)
def test_right_rungs(answers):
    assert check_flops_ladder(*answers).status == "passed"


@pytest.mark.parametrize(
    ("letter", "value"),
    [
        *(("a", x) for x in (3_980_000, 884_736, 2_654_208, 3_538_945, "many")),
        *(("b", x) for x in (106_168_320, 162_791_424, 134_515_008, np.nan)),
        *(("c", x) for x in (134_479_872, 212_336_640, 4 * 134_479_872)),
        *(("d", x) for x in (35_389_440, 23_592_960, 7.2e10, 2_359_296)),
        *(("e", x) for x in (1945.6, 0.263, 8192, -3891)),
        *(("f", x) for x in (3_680_000, 24_911, 6228, 16.6)),
    ],
)
def test_wrong_rungs(letter, value):
    best = dict(zip("abcdef", BEST, strict=True))
    assert check_flops_ladder(**best | {letter: value}).status == "wrong"
