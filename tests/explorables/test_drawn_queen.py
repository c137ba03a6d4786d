"""What "queen" says and draws: its words and cosines are those of MiniLM's whole table."""

import numpy as np
import pytest
from drawn import box, figures

from attention_src.explorables.queen import INPUTS, QUEEN, TABLE, nearest
from attention_src.models.minilm import MiniLM

STATES = [
    {"t": t, "ranking": ranking} for t in (0, 0.01, 1, 1.5, 1.51, 2) for ranking in ("all", "rest")
]


@pytest.fixture(scope="module")
def every():
    return figures("queen", STATES)


@pytest.fixture(scope="module")
def table():
    model = MiniLM.load()
    ids = model.tokenizer.get_vocab()
    words = [w for w in ids if ids[w] >= 1996 and w.isascii() and w.isalpha() and len(w) > 1]
    return words, model.token_embeddings[[ids[w] for w in words]].astype(float)


def test_what_was_recorded(table):
    words, vectors = table
    queen, woman, man = (vectors[words.index(w)] for w in INPUTS)
    step = man - woman
    for word, found in TABLE.items():
        x = vectors[words.index(word)]
        np.testing.assert_allclose(found, (x @ queen, x @ step, np.linalg.norm(x)), atol=6e-6)
    np.testing.assert_allclose(QUEEN, (queen @ queen, queen @ step, step @ step), atol=6e-6)
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    for t in np.linspace(0, 2, 201):
        order = [words[i] for i in np.argsort(-(unit @ (queen + t * step)))[:12]]
        assert [w for w, _ in nearest(t)][:6] == order[:6]
        rest = [w for w in order if w not in INPUTS]
        assert [w for w, _ in nearest(t, "rest")][:6] == rest[:6]


def test_the_list_is_the_table_s(every):
    for state, one in zip(STATES, every, strict=True):
        wanted = nearest(**state)[:6]
        for seen in one.seen:
            rows = {k[5:]: float(m["y"]) for k, m in seen.items() if k.startswith("name-")}
            assert sorted(rows, key=lambda word: rows[word]) == [word for word, _ in wanted]
            for (word, cosine), digits in zip(wanted, written(wanted), strict=True):
                assert seen[f"cosine-{word}"]["words"] == digits
                full, bar = box(seen[f"track-{word}"])[2], box(seen[f"bar-{word}"])[2]
                assert bar == pytest.approx(full * cosine, abs=0.03)


def written(words):
    """Cosines in two digits; in three where a neighbour has the same two."""
    brief = [f"{cosine:.2f}" for _, cosine in words]
    near = [{*brief[max(i - 1, 0) : i], *brief[i + 1 : i + 2]} for i in range(len(brief))]
    return [f"{c:.{3 if brief[i] in near[i] else 2}f}" for i, (_, c) in enumerate(words)]


def test_king_is_first_at_no_amount():
    assert {nearest(t)[0][0] for t in np.linspace(0, 2, 201)} == {"queen", "man"}
    assert {nearest(t, "rest")[0][0] for t in np.linspace(0.01, 2, 200)} == {"king"}


def test_what_is_said(every):
    assert every[4].said == (
        "At 1.00 the nearest word is queen (0.68), then king (0.53) and man (0.47)."
    )
    (_, one), (_, two), (_, three) = nearest(0.01)[:3]
    assert f"{two:.2f}" == f"{three:.2f}"
    assert every[2].said == (
        f"At 0.01 the nearest word is queen ({one:.2f}), then king ({two:.3f}) and queens "
        f"({three:.3f})."
    )
