"""Mutants of right attentions in many styles: each is refused, and its cause named."""

import pytest
import spoiled
from verdicts import share, verdict_of

pytest.importorskip("torch")
REFUSED, NAMED = 1.0, 0.99  # of those that are wrong in every convention
RIGHT_OTHERWISE = [m for m in spoiled.mutants() if m.excuse]
SAMPLE = (
    "by_the_formula",
    "folded",
    "sdpa_by_hand",
    "subsequent_mask",
    "GrowingCache",
    "comparing_places",
)


def judged(mutant):
    name = f"{mutant.style} {mutant.function}"
    return verdict_of(name, mutant.cause, mutant.make(), mutant.kind)


@pytest.mark.parametrize("function", SAMPLE)
def test_the_first_mutant_of_a_style_is_refused_and_named(function):
    verdict = judged(next(m for m in spoiled.mutants() if m.function == function))
    assert verdict.refused and verdict.named, verdict


@pytest.mark.slow
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.weekly)])
def test_mutants_are_refused_and_their_cause_is_named(every):
    verdicts = [judged(mutant) for mutant in spoiled.mutants()[::every] if not mutant.excuse]
    spread = 0 if every == 1 else 2 / len(verdicts)  # a few are no even share
    refused, others = share(verdicts, lambda v: v.refused)
    assert refused >= REFUSED - spread, others
    named, others = share(verdicts, lambda v: v.named)
    assert named >= NAMED - spread, others


@pytest.mark.parametrize("mutant", RIGHT_OTHERWISE, ids=lambda m: f"{m.function} {m.cause}")
def test_a_mutant_that_is_right_in_another_convention_is_right(mutant):
    assert judged(mutant).verdict == "right"


def test_few_mutants_are_right_in_another_convention():
    assert len(RIGHT_OTHERWISE) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "name", "kind", "function"), spoiled.right_ones(), ids=lambda x: str(x)[:20]
)
def test_what_the_mutants_were_made_of_is_right(style, name, kind, function):
    verdict = verdict_of(name, "right", function, kind)
    assert verdict.verdict in ("right", "fragile"), (verdict.keys, verdict.why)
