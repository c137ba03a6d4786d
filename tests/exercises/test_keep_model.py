"""What learners write runs a real language model."""

import pytest
import torch
from worked import run_exercise

from attention_src.attention.reference import attention
from attention_src.exercises.keep import PARTS, parts
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.learner.dispatch import Parts

# Where the book has the worked solution of each part, and its name there.
SOLUTIONS = {
    "softmax": ("softmax", "ex:softmax-implement", "my_softmax"),
    "dot_scores": ("scores", "ex:scores-dot", "dot_scores"),
    "attention": ("equation", "ex:equation-line", "my_attention"),
    "project": ("projections", "ex:projections-project", "project"),
    "masked_softmax": ("masking", "ex:masking-softmax", "my_masked_softmax"),
    "split_heads": ("multihead", "ex:multihead-split", "split_heads"),
    "merge_heads": ("multihead", "ex:multihead-split", "merge_heads"),
    "grouped_attention": ("gqa", "ex:gqa-grouped", "grouped_attention"),
    "rotate": ("rope", "ex:rope-rotate", "rotate"),
}
COARSE = ("grouped_attention", "attention", "masked_softmax")


@pytest.fixture(scope="module")
def solutions():
    """The worked solutions, by part; those that call attention get ours."""
    return {
        part: run_exercise(*place, attention=attention)[name]
        for part, (*place, name) in SOLUTIONS.items()
    }


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The model on a function that lies where `keep` puts it."""
    folder = tmp_path_factory.mktemp("mine")
    body = "return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(-2, -3)"
    (folder / "split_heads.py").write_text(f"def split_heads(x, n_heads): {body}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_ATTENTION", str(folder))
        return SmolLM2.load(parts=parts())


@pytest.fixture(scope="module")
def ours(loaded):
    return SmolLM2(loaded.config, loaded.weights, loaded.tokenizer)


def test_every_part_of_a_forward_pass_is_solved_in_the_book():
    elsewhere = {"multihead_attention", "attention_backward", "append_and_read", "sample"}
    assert set(SOLUTIONS) | elsewhere >= set(PARTS)


@pytest.mark.parametrize("left_out", [0, 1, 2, 3])
def test_smollm2_runs_on_worked_solutions(solutions, ours, left_out):
    """The coarse ones first; without them the finer ones do the work."""
    own = {part: f for part, f in solutions.items() if part not in COARSE[:left_out]}
    used = set()

    def counted(part, f):
        return lambda *arguments: [used.add(part), f(*arguments)][1]

    parts = Parts({part: counted(part, f) for part, f in own.items()})
    model = SmolLM2(ours.config, ours.weights, ours.tokenizer, parts)
    ids = ours.encode("Keys are compared with queries, and values are blended.")
    expected, found = ours.logits(ids), model.logits(ids)
    assert (found - expected).abs().max() < 2e-3
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
    needed = {"project", "split_heads", "merge_heads", "rotate"}
    needed |= {*COARSE[left_out : left_out + 1]} if left_out < 3 else {"softmax"}
    needed |= {"dot_scores"} if left_out >= 2 else set()
    assert used == needed


def test_kept_functions_are_loaded_from_their_folder(loaded):
    assert loaded.parts.whose()["split_heads"] == "yours, split_heads"
    assert loaded.generate("The capital of France is", 1) == " Paris"
