"""What "masking" says and draws: its masks are the package's, its weights the reference's."""

import numpy as np
import pytest
from drawn import figures, shade

from attention_src.attention import masks
from attention_src.explorables.masking import START
from attention_src.softmax.reference import softmax

TOKENS, SCORES = START["tokens"], np.array(START["scores"])
N = len(TOKENS)
PRESETS = {
    "everything": np.ones((N, N), bool),
    "causal": masks.causal_mask(N),
    "sliding window": masks.window_mask(N, N, 3),
    "prefix": masks.prefix_mask(N, 3),
    "padding": np.broadcast_to(masks.padding_mask([N - 2], N)[0, 0], (N, N)),
    "documents": masks.document_mask([0, 0, 0, 1, 1, 1]),
}


@pytest.fixture(scope="module")
def every():
    rng = np.random.default_rng(0)
    blind = PRESETS["causal"].copy()
    blind[2] = False
    painted = [*PRESETS.values(), blind, np.zeros((N, N), bool), *(rng.random((4, N, N)) < 0.6)]
    return figures("masking", [{"mask": mask.tolist(), "row": 1} for mask in painted])


def test_each_preset_is_the_package_s_mask(every):
    assert [one.now["preset"] for one in every] == [*PRESETS, *[None] * 6]


def test_weights_are_the_reference_s(every):
    for now in (one.now for one in every):
        p = softmax(np.where(now["mask"], SCORES, -np.inf))
        np.testing.assert_allclose(now["weights"], p, rtol=1e-9, atol=1e-12)


def test_pictures_show_them(every):
    for one in every:
        mask = np.array(one.now["mask"])
        p = softmax(np.where(mask, SCORES, -np.inf))
        for seen in one.seen:
            for i, j in np.ndindex(N, N):
                weight = f"{p[i, j]:.2f}" if mask[i, j] else "0"
                assert seen[f"weight{i}-{j}"]["words"] == weight
                assert seen[f"score{i}-{j}"]["words"].replace("−", "-") == f"{SCORES[i, j]:.1f}"
                assert shade(seen[f"out{i}-{j}"]) == (not mask[i, j])
                if mask[i, j]:
                    assert abs(shade(seen[f"cell{i}-{j}"]) - 0.6 * p[i, j]) < 0.0051
            sums = [seen[f"sum{i}"]["words"] for i in range(N)]
            assert sums == ["1" if row.any() else "0" for row in mask]
            bold = [seen[f"query{i}"]["font-weight"] == "700" for i in range(N)]
            assert bold == [i == 1 for i in range(N)]


def test_what_is_said(every):
    for one in every:
        mask = np.array(one.now["mask"])
        p = softmax(np.where(mask, SCORES, -np.inf))[1]
        if one.now["preset"] is None:
            start = f"Your own mask: {mask.sum()} of 36 pairs may look. "
            assert one.said.startswith(start)
        blind = [f"“{token}”" for token, row in zip(TOKENS, mask, strict=True) if not row.any()]
        if blind:
            assert f"{', '.join(blind)} may look at nothing: all weights are 0" in one.said
        else:
            terms = [f"{TOKENS[j]} {p[j]:.2f}" for j in np.flatnonzero(mask[1])]
            assert one.said.endswith(f" “cat” looks at {', '.join(terms)}.")
    assert every[2].said.startswith("Sliding window: causal, and only the last three keys")
