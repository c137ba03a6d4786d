"""What the exercises take as right, the judge does not call wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest
from verdicts import verdict_of

sys.path.insert(0, str(Path(__file__).parents[1] / "exercises"))
from worked import listed, solution_of

from attention_src.attention import masks
from attention_src.exercises import equation, flash, gqa, kvcache, masking, multihead, rope, softmax

pytest.importorskip("torch")
KINDS = [
    ("equation", equation.check_attention, "attention"),
    ("gqa", gqa.check_grouped_attention, "grouped"),
    ("flash", flash.check_tiled_attention, "tiled"),
    ("rope", rope.check_rotate, "rope"),
    ("softmax", softmax.check_softmax, "softmax"),
    ("masking", masking.check_masked_softmax, "softmax"),
    ("masking", masking.check_window_mask, "mask"),
    ("masking", masking.check_packed_causal_mask, "mask"),
    ("multihead", multihead.check_multihead_attention, "multihead"),
    ("equation", equation.check_attention_by_rows, "tiled"),
    ("kvcache", kvcache.check_append_and_read, "cache"),
]


def answers():
    """Name, kind and function of each answer that passes an exercise whose kind can be judged."""
    for chapter, check, kind in KINDS:
        yield f"{chapter}: the page's", kind, solution_of(chapter, check)
        for name, answer, _ in listed(chapter, "RIGHT", check):
            yield f"{chapter}: {name}", kind, getattr(answer, "function", answer)


FUNCTIONS = list(answers())
TAKEN = 0.81


@pytest.fixture(scope="module")
def verdicts():
    return [verdict_of(name, "right", f, kind) for name, kind, f in FUNCTIONS]


@pytest.mark.slow
def test_no_right_answer_is_called_wrong(verdicts):
    accused = [(v.name, v.keys) for v in verdicts if v.verdict == "wrong"]
    assert not accused


@pytest.mark.slow
def test_most_right_answers_are_taken(verdicts):
    left_out = [(v.name, v.why) for v in verdicts if v.verdict == "not judged"]
    assert len(left_out) <= (1 - TAKEN) * len(verdicts), left_out


def test_masks_of_the_package_are_right():
    for mask in (masks.causal_mask, masks.window_mask):
        verdict = verdict_of(mask.__name__, "right", mask, "mask")
        assert verdict.verdict != "wrong", verdict.keys
    verdict = verdict_of("tri", "right", lambda n: np.tri(n, dtype=bool), "mask")
    assert verdict.verdict == "right"
