"""Mutants of right attentions in many styles: each is refused, and its cause named."""

import pytest
import spoiled
from verdicts import share, verdict_of

pytest.importorskip("torch")
REFUSED, NAMED = 1.0, 0.9  # of all; what issue 44 asks for


def judged(mutant):
    name = f"{mutant.style} {mutant.function}"
    return verdict_of(name, mutant.cause, mutant.make(), mutant.kind)


def test_a_sample_of_mutants_is_refused_and_named():
    verdicts = [judged(mutant) for mutant in spoiled.mutants()[::36]]
    refused, others = share(verdicts, lambda v: v.refused)
    assert refused == 1, others
    named, others = share(verdicts, lambda v: v.named)
    assert named >= 0.8, others


@pytest.mark.slow
def test_mutants_are_refused_and_their_cause_is_named():
    verdicts = [judged(mutant) for mutant in spoiled.mutants()]
    assert len(verdicts) >= 150
    refused, others = share(verdicts, lambda v: v.refused)
    assert refused >= REFUSED, others
    named, others = share(verdicts, lambda v: v.named)
    assert named >= NAMED, others


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "name", "kind", "function"), spoiled.right_ones(), ids=lambda x: str(x)[:20]
)
def test_what_the_mutants_were_made_of_is_right(style, name, kind, function):
    verdict = verdict_of(name, "right", function, kind)
    assert verdict.verdict in ("right", "fragile"), (verdict.keys, verdict.why)
