"""Attentions with the conventions of public ones: taken as they are, and never blamed in error."""

import importlib
import statistics

import pytest
from verdicts import share, verdict_of
from wild import FOUND, RIGHT, UNNAMED, VARIANT

pytest.importorskip("torch")
FILES = "functions_torch functions_numpy modules_torch variants layers layers_more layers_fused"
FILES += " layers_grouped rotations masks_softmaxes wrong"
for file in FILES.split():
    importlib.import_module(f"wild.{file}")
TAKEN, FOUND_CAUSE, KNOWN = 0.98, 1.0, 1.0
QUICK = (
    "harvardnlp/annotated-transformer",
    "jaymody/picoGPT",
    "karpathy/nanoGPT",
    "meta-llama/llama",
)


def judged(one):
    return verdict_of(one.name, one.expected, one.object, one.kind, **one.given)


@pytest.fixture(scope="module")
def verdicts():
    return [judged(one) for one in FOUND]


def test_there_are_enough_of_them():
    named = {one.repository.split(" ")[0] for one in FOUND if one.repository != UNNAMED}
    assert len(FOUND) >= 40 and len(named) >= 25


@pytest.mark.parametrize("repository", QUICK)
def test_well_known_ones_are_right(repository):
    one = next(x for x in FOUND if x.repository == repository)
    verdict = judged(one)
    assert verdict.verdict in ("right", "fragile"), (verdict.keys, verdict.why)


@pytest.mark.slow
def test_all_but_two_are_taken_without_an_adapter(verdicts):
    taken, others = share(verdicts, lambda v: v.verdict != "not judged")
    assert taken >= TAKEN, others


@pytest.mark.slow
def test_no_right_one_is_called_wrong(verdicts):
    right = [v for v in verdicts if v.expected in (RIGHT, VARIANT)]
    accused = [(v.name, v.keys) for v in right if v.verdict == "wrong"]
    assert not accused


@pytest.mark.slow
def test_variants_are_called_by_their_name(verdicts):
    variants = [v for v in verdicts if v.expected == VARIANT]
    known, others = share(variants, lambda v: "not plain attention" in v.notes)
    assert known >= KNOWN, others


@pytest.mark.slow
def test_the_cause_of_each_wrong_one_is_found(verdicts):
    wrong = [v for v in verdicts if v.expected not in (RIGHT, VARIANT)]
    found, others = share(wrong, lambda v: v.refused and v.named)
    assert found >= FOUND_CAUSE, others


@pytest.mark.slow
def test_a_verdict_takes_little(verdicts):
    assert statistics.median(v.seconds for v in verdicts) < 2
