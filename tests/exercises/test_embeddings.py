"""Cosines that a learner's test meets; the relations of the open exercise."""

import numpy as np
import pytest
from worked import BOOK

from attention_src.exercises.embeddings import check_cosine_test
from attention_src.models.minilm import MiniLM

BY_LOOPS = check_cosine_test.right[2].function


@pytest.mark.parametrize("one", check_cosine_test.wrong, ids=lambda one: one.name)
def test_each_wrong_one_is_as_wrong_as_the_exercise_says(one):
    rng, worst = np.random.default_rng(0), 0.0
    for n, m, d in [(3, 5, 7), (4, 4, 40)]:
        x, y = rng.normal(size=(n, d)) / 50, rng.normal(size=(m, d)) * 2
        kept = x.copy(), y.copy()
        answer = one.function(x, y)
        if answer.shape != (n, m):
            worst = 1.0
        else:
            worst = max(worst, np.abs(answer - BY_LOOPS(*kept)).max(), np.abs(x - kept[0]).max())
    assert worst > 0.01


@pytest.mark.parametrize("one", check_cosine_test.right, ids=lambda one: one.name)
def test_right_ones_agree(one):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(6, 50)) * 10, rng.normal(size=(9, 50)) / 50
    np.testing.assert_allclose(one.function(x, y), BY_LOOPS(x, y), atol=3e-6)


def test_the_relations_of_the_open_exercise():
    page = (BOOK / "embeddings.md").read_text(encoding="utf-8")
    model = MiniLM.load()
    ids = model.tokenizer.get_vocab()
    words = [w for w in sorted(ids, key=ids.get) if ids[w] >= 1996]
    words = [w for w in words if w.isascii() and w.isalpha() and len(w) > 1]
    vectors = model.token_embeddings[[ids[w] for w in words]]
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    names = {"np": np, "place": {w: i for i, w in enumerate(words)}, "unit": unit}
    for start in ("def analogies", "def hits", "def three_columns"):
        code = start + page.split(start)[1].split("\n\n\n")[0].split("```")[0]
        exec("\n".join(_function(code)), names)
    text = page.split("{solution-start} ex:embeddings-relation")[1]
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert len(names["report"]) == 3


def _function(code):
    """The lines of a function without what follows it in its cell."""
    first, *rest = code.split("\n")
    yield first
    for line in rest:
        if line and not line.startswith((" ", ")")):
            return
        yield line
