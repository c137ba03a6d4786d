"""What "softmax" says and draws: each rule's weights are the reference's."""

import numpy as np
import pytest
from drawn import box, figures, numbers, points

from attention_src.explorables.softmax import START
from attention_src.softmax import reference

RULES = {
    "softmax": reference.softmax,
    "entmax-1.5": reference.entmax15,
    "sparsemax": reference.sparsemax,
    "hardmax": reference.hardmax,
    "sigmoid": reference.sigmoid_weights,
}
SCORES = ([4.2, 3.8, 0.6, -0.9], [8, 7, 3, 1, 0], [-8, 8, -8, 8, 0, -3.5], [0, 0, 0, 0])


@pytest.fixture(scope="module")
def every():
    return figures(
        "softmax",
        [
            {"rule": rule, "temperature": heat, "scores": list(scores)}
            for rule in RULES
            for scores in SCORES
            for heat in (0.05, 1, 5.2)
        ],
        [338, 638],
    )


def right(now, temperature):
    return RULES[now["rule"]](np.array(now["scores"]) / temperature)


def test_each_rule_gives_the_reference_s_numbers(every):
    for now in (one.now for one in every):
        weights = right(now, now["temperature"])
        np.testing.assert_allclose(now["weights"], weights, rtol=1e-9, atol=1e-12)
        if now["rule"] != "sigmoid":
            assert abs(now["entropyBits"] - reference.entropy_bits(weights)) < 1e-9


def test_pictures_show_them(every):
    for one in every:
        now, weights = one.now, right(one.now, one.now["temperature"])
        for seen in one.seen:
            assert seen["caption"]["words"] == f"Weights at temperature {now['temperature']:.2f}"
            assert f"key{len(weights)}" not in seen
            zero, top = points(seen["level0"])[0, 1], points(seen["level1"])[0, 1]
            for j, (score, weight) in enumerate(zip(now["scores"], weights, strict=True)):
                assert seen[f"key{j}"]["words"] == START["labels"][j] == seen[f"name{j}"]["words"]
                assert seen[f"number{j}"]["words"].replace("−", "-") == f"{score:.1f}"
                assert seen[f"share{j}"]["words"] == ("0" if weight == 0 else f"{weight:.3f}")
                full, bar = box(seen[f"room{j}"])[2], box(seen[f"weight{j}"])[2]
                assert abs(bar - full * weight) < 0.02
                # The score's bar begins at 0, in the middle of the track, and ends at the handle.
                left, _, wide, _ = box(seen[f"track{j}"])
                middle, handle = left + wide / 2, box(seen[f"handle{j}"])[0] + 6
                assert abs(handle - middle - score / 16 * (wide - 14)) < 0.02
                start, _, long, _ = box(seen[f"score{j}"])
                ends = sorted([middle, handle])
                np.testing.assert_allclose([start, start + long], ends, atol=0.02)
                assert abs(numbers(seen[f"dot{j}"], "cy")[0] - zero - (top - zero) * weight) < 0.02
            hot = right(now, 0.05 * 1000**0.7)
            for j, weight in enumerate(hot):
                curve = points(seen[f"curve{j}"])
                assert len(curve) == 101
                assert abs(curve[70, 1] - zero - (top - zero) * weight) < 0.06


def test_what_is_said(every):
    for one in every:
        weights = right(one.now, one.now["temperature"])
        if one.now["rule"] == "sigmoid":
            assert f"sum to {weights.sum():.3f}, not to 1" in one.said
        else:
            bits, most = reference.entropy_bits(weights), np.log2(len(weights))
            assert f"Entropy {bits:.2f} of at most {most:.2f} bits: like {2**bits:.1f}" in one.said
        if one.now["rule"] in ("sparsemax", "entmax-1.5"):
            zeros = [START["labels"][j] for j in np.flatnonzero(weights == 0)]
            named = f"Exactly 0: {', '.join(zeros)}." if zeros else "No weight is exactly 0"
            assert one.said.startswith(named)
